"""One run at a time in a folder, and results that are replaced all together or not at all."""

import errno
import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest
from support.commandline import call, one_line, source_folder, write_table
from support.killing import ended

import rspca
from rspca.base import atomic
from rspca.base.atomic import replaced_together, written_atomically
from rspca.cli.support import locks
from rspca.cli.support.locks import LOCK, locked_folder

FIT = ("fit", "table.csv", "-k", "3", "-o", "out")
RESULTS = ["components.csv", "model.npz", "report.html", "scores.csv"]
SLOW = """
import os, sys, time
from rspca.cli.support.checkpoint import Partial
add = Partial.add
def slow(self, component):
    add(self, component)
    open("started", "w").close()
    while not os.path.exists("go"):
        time.sleep(0.01)
Partial.add = slow
from rspca.cli import main; main()
"""


@pytest.fixture
def folder(tmp_path):
    write_table(tmp_path / "table.csv", 30, 12)
    return tmp_path


def contents(folder):
    return {name: (folder / name).read_bytes() for name in os.listdir(folder)}


# issue 14, item 14
def test_a_second_fit_into_a_folder_says_who_holds_it_and_changes_nothing(folder):
    first = subprocess.Popen(
        [sys.executable, "-c", SLOW, *FIT], cwd=folder, env=os.environ | {"PYTHONPATH": source_folder()},
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        while not (folder / "started").exists():
            assert first.poll() is None
            time.sleep(0.02)
        before = contents(folder / "out")
        result = call("fit", "table.csv", "-k", "2", "-o", "out", cwd=folder)
        assert result.returncode == 2
        said = one_line(result.stderr)
        assert f"out is in use by another run, process {first.pid} on {os.uname().nodename} since 20" in said
        assert "choose another folder with -o" in said
        assert contents(folder / "out") == before
    finally:
        (folder / "go").touch()
        assert first.wait(60) == 0
    assert sorted(os.listdir(folder / "out")) == RESULTS
    assert len(rspca.load(folder / "out" / "model.npz").supports_[0]) == 3


def test_the_lock_of_a_process_that_died_is_taken_over(folder):
    def die():
        locks._description = lambda: os.kill(os.getpid(), 9)

    status, _ = ended(folder, *FIT, first=die)
    assert status == -9
    assert os.listdir(folder / "out") == [LOCK]
    (folder / "out" / LOCK).write_text('{"pid": 1, "host": "gone", "since": "yesterday"}\n')
    result = call(*FIT, cwd=folder)
    assert result.returncode == 0, result.stderr
    assert sorted(os.listdir(folder / "out")) == RESULTS


def test_a_folder_that_was_made_for_nothing_is_removed_again(folder):
    result = call("fit", "absent.csv", "-k", "3", "-o", "deep/er/out", cwd=folder)
    assert result.returncode == 2
    assert os.listdir(folder) == ["table.csv"]
    with locked_folder(folder / "one" / "two"):
        assert os.listdir(folder / "one" / "two") == [LOCK]
        told = json.loads((folder / "one" / "two" / LOCK).read_text())
        assert told["pid"] == os.getpid()
    assert os.listdir(folder) == ["table.csv"]


def test_a_report_does_not_replace_that_of_a_fit_that_runs(folder):
    assert call(*FIT, cwd=folder).returncode == 0
    with locked_folder(folder / "out"):
        result = call("report", "out", cwd=folder)
        assert result.returncode == 2
        assert f"in use by another run, process {os.getpid()}" in one_line(result.stderr)
        assert call("report", "out", "-o", "page.html", cwd=folder).returncode == 0
    assert call("report", "out", cwd=folder).returncode == 0


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"[]", b'{"pid": 1}', b"x" * 10**5])
def test_a_holder_that_does_not_say_its_name_holds_all_the_same(folder, content):
    with locked_folder(folder / "out"):
        (folder / "out" / LOCK).write_bytes(content)
        with pytest.raises(OSError, match="in use by another run, which does not say its name"):
            locks._acquired(folder / "out" / LOCK)


def test_a_lock_that_was_removed_meanwhile_is_not_held(folder, monkeypatch):
    path, lock = folder / LOCK, locks._lock

    def remove_and_lock(handle, name):
        monkeypatch.setattr(locks, "_lock", lock)
        path.unlink()  # as its last holder does
        return lock(handle, name)

    monkeypatch.setattr(locks, "_lock", remove_and_lock)
    with locked_folder(folder):
        assert json.loads(path.read_text())["pid"] == os.getpid()


def test_a_link_in_the_place_of_the_lock_is_not_followed(folder):
    (folder / "precious").write_text("keep")
    (folder / "out").mkdir()
    (folder / "out" / LOCK).symlink_to(folder / "precious")
    result = call(*FIT, cwd=folder)
    assert result.returncode == 2
    assert "out/.rspca.lock could not be written" in one_line(result.stderr)
    assert (folder / "precious").read_text() == "keep"


def test_a_file_system_without_locks_is_said(folder, monkeypatch):
    import fcntl

    def unable(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unable)
    with pytest.warns(UserWarning, match="cannot be locked .no locks available.; do not start a second run"):  # noqa: SIM117
        with locked_folder(folder / "out"):
            pass


# --- results that belong together -------------------------------------------------------------------------------------


# issue 14, item 14
@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_replaced_only_when_the_new_one_is_complete(folder, name, monkeypatch):
    assert call(*FIT, cwd=folder).returncode == 0
    before = contents(folder / "out")
    real = os.fsync

    def fail(handle):
        written = os.path.basename(os.readlink(f"/proc/self/fd/{handle}"))
        if written.startswith(f".{name}."):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle)

    monkeypatch.setattr(atomic.os, "fsync", fail)
    result = call("fit", "table.csv", "-k", "2", "-o", "out", cwd=folder)
    assert result.returncode == 2
    said = one_line(result.stderr)
    assert f"out/{name} could not be written: no space left on device. What was there before is untouched." in said
    after = contents(folder / "out")
    assert set(after) - set(before) == {"partial.npz"}
    assert {one: after[one] for one in before} == before


def test_a_fit_says_what_it_replaced(folder):
    first = call(*FIT, "--no-report", cwd=folder)
    assert "replaced" not in first.stdout
    second = call(*FIT, cwd=folder)
    assert "replaced, from an earlier run: components.csv, scores.csv, model.npz\n" in second.stdout
    third = call(*FIT, "--json", cwd=folder)
    assert json.loads(third.stdout)["replaced"] == ["components.csv", "scores.csv", "model.npz", "report.html"]


def test_files_that_belong_together_are_moved_together(tmp_path):
    (tmp_path / "a").write_bytes(b"old")

    def write(fail):
        with replaced_together():
            for name in ("a", "b"):
                with written_atomically(tmp_path / name) as file:
                    file.write(b"new")
            assert (tmp_path / "a").read_bytes() == b"old"
            if fail:
                raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        write(fail=True)
    assert contents(tmp_path) == {"a": b"old"}
    write(fail=False)
    assert contents(tmp_path) == {"a": b"new", "b": b"new"}


def test_genotypes_are_replaced_with_their_names_or_not_at_all(tmp_path, monkeypatch):
    rspca.formats.write_plink(tmp_path / "toy.bed", [[0, 2], [1, 1]])
    before, real, count = contents(tmp_path), os.fsync, 0

    def fail(handle):
        nonlocal count
        count += 1
        if count == 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle)

    monkeypatch.setattr(atomic.os, "fsync", fail)
    with pytest.raises(OSError, match=r"toy\.fam could not be written"):
        rspca.formats.write_plink(tmp_path / "toy.bed", np.zeros((3, 4)))
    assert contents(tmp_path) == before
