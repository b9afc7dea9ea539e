"""Faults of machines: kills, full disks, folders that cannot be written; what is on disk stays whole."""

import errno
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from support.commandline import call, one_line, rspca_command, source_folder, write_table
from support.killing import Forked, Killing, check_whole, ended, kept_components, write_data

import rspca
from rspca.base.atomic import scratch_folder, written_atomically
from rspca.cli.support.locks import LOCK

SMALL = ("fit", "table.csv", "-k", "4,3,3", "--seed", "1", "--verbose", "-o", "out", "--resume")
RESULTS = ["components.csv", "model.npz", "report.html", "scores.csv"]


@pytest.fixture
def folder(tmp_path):
    write_table(tmp_path / "table.csv", 30, 12)
    return tmp_path


# --- kill -9 ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_twenty_kills_lose_nothing(tmp_path):
    run = Killing(write_data(tmp_path / "data.npy", 200, 1500), seed=0)
    run.until(20)
    assert run.kills == 20
    assert run.finished >= 1


CRASH_POINTS = {os: ("replace", "fsync", "fchmod", "unlink", "mkdir"), tempfile: ("mkstemp",)}


def killed_at(number):
    """Return what makes a process kill itself before the call with this number that tells of a step or writes."""
    count = 0

    def counted(function):
        def call(*arguments, **options):
            nonlocal count
            count += 1
            if count == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **options)

        return call

    def patch():
        for module, names in CRASH_POINTS.items():
            for name in names:
                setattr(module, name, counted(getattr(module, name)))
        sys.stderr.write = counted(sys.stderr.write)

    return patch


def test_a_kill_at_every_step_leaves_whole_files(folder):
    """A kill before every step that is told and every call that changes the folder; the next goes on from there."""
    whole = call(*SMALL[:-3], "-o", "whole", cwd=folder)
    assert whole.returncode == 0, whole.stderr
    kills, before, last_words = 0, 0, set()
    for number in range(1, 200):
        with (folder / "log").open("wb") as log:
            status = Forked(SMALL, folder, log, killed_at(number)).wait()
        there = set(os.listdir(folder / "out")) if (folder / "out").exists() else set()
        there.discard(LOCK)  # of a dead process: the next one takes it over
        drafts = {name for name in there if name.startswith(".")}
        assert there - drafts <= {*RESULTS, "partial.npz"}
        assert len({name.rsplit(".", 2)[0] for name in drafts}) == len(drafts)
        for name in there - drafts - {"partial.npz", "model.npz", "components.csv", "scores.csv"}:
            check_whole(folder / "out" / name)
        if "model.npz" in there:
            assert rspca.load(folder / "out" / "model.npz").n_components_ == 3
        kept = kept_components(folder / "out" / "partial.npz") if "partial.npz" in there else 0
        assert kept >= before or set(RESULTS) <= there
        before = kept
        if status == 0:
            break
        kills += 1
        last_words.update(re.findall(r"component \d of 3, (\w+)", (folder / "log").read_text())[-1:])
    assert status == 0
    assert kills > 20
    assert last_words == {"relax", "polish", "found"}
    assert sorted(os.listdir(folder / "out")) == RESULTS
    for name in ("model.npz", "components.csv", "scores.csv"):
        assert (folder / "out" / name).read_bytes() == (folder / "whole" / name).read_bytes()


def test_a_component_is_kept_before_it_is_reported():
    events = []
    X = np.random.default_rng(0).standard_normal((20, 8))
    rspca.decompose(
        X, 2, k=3, on_component=lambda one: events.append("kept"),
        on_step=lambda step: events.append("told") if step.stage == "component" else None,
    )  # fmt: skip
    assert events == ["kept", "told"] * 2


def test_the_same_model_is_saved_as_the_same_bytes(tmp_path, monkeypatch):
    model = rspca.SparsePCA(1, k=3, random_state=0).fit(np.random.default_rng(0).standard_normal((20, 8)))
    model.save(tmp_path / "one.npz")
    monkeypatch.setattr("time.time", lambda: 2e9)
    model.save(tmp_path / "two.npz")
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()


def test_drafts_of_dead_writers_are_removed_and_those_of_living_ones_are_not(tmp_path):
    dead, other = tmp_path / ".file.abcdefg1.tmp", tmp_path / ".file2.abcdefg1.tmp"
    dead.write_bytes(b"half")
    other.write_bytes(b"not ours")
    with written_atomically(tmp_path / "file") as living:
        assert not dead.exists()
        living.write(b"first")
        with written_atomically(tmp_path / "file") as second:
            second.write(b"second")
        assert (tmp_path / "file").read_bytes() == b"second"
    assert (tmp_path / "file").read_bytes() == b"first"
    assert sorted(os.listdir(tmp_path)) == [".file2.abcdefg1.tmp", "file"]


def test_what_only_resembles_a_draft_is_left_alone(tmp_path):
    (tmp_path / ".file.backup.tmp").write_text("somebody's")
    (tmp_path / ".file.abcdefg2.tmp").mkdir()
    with written_atomically(tmp_path / "file") as file:
        file.write(b"x")
    assert sorted(os.listdir(tmp_path)) == [".file.abcdefg2.tmp", ".file.backup.tmp", "file"]


def test_a_name_with_braces_is_reported_as_it_is(tmp_path):
    with pytest.raises(OSError, match=r"\{0\}\.csv could not be written: no space left on device\. What"):  # noqa: SIM117
        with written_atomically(tmp_path / "{0}.csv"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_link_that_looks_like_a_draft_is_left_alone(tmp_path):
    (tmp_path / "mine").write_text("precious")
    (tmp_path / ".file.abcdefg1.tmp").symlink_to(tmp_path / "mine")
    with written_atomically(tmp_path / "file") as file:
        file.write(b"x")
    assert (tmp_path / "mine").read_text() == "precious"
    assert (tmp_path / ".file.abcdefg1.tmp").is_symlink()


def test_downloads_of_dead_processes_are_removed_too(tmp_path):
    (tmp_path / ".download-deaddead.tmp").mkdir()
    (tmp_path / ".download-deaddead.tmp" / "half").write_bytes(b"half")
    with scratch_folder(tmp_path, ".download-") as first, scratch_folder(tmp_path, ".download-") as second:
        assert sorted(Path(one).name for one in os.listdir(tmp_path)) == sorted([first.name, second.name])
    assert not os.listdir(tmp_path)


def test_an_interrupt_just_after_the_move_is_no_other_error(tmp_path, monkeypatch):
    replace = os.replace

    def replace_and_stop(*names):
        replace(*names)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", replace_and_stop)
    with pytest.raises(KeyboardInterrupt), written_atomically(tmp_path / "file") as file:
        file.write(b"whole")
    assert (tmp_path / "file").read_bytes() == b"whole"
    assert os.listdir(tmp_path) == ["file"]


# --- full disks -------------------------------------------------------------------------------------------------------


def small_files(size):
    """Return what lets a process write no file beyond so many bytes, as a disk with so much room would."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


WRITERS = {
    "partial": (("fit", "table.csv", "-k", "3", "-o", "."), "partial.npz"),
    "path": (("path", "table.csv", "--ks", "1,2,3", "-o", "old.csv"), "old.csv"),
    "compare": (("compare", "table.csv", "-k", "3", "--methods", "pca", "--seconds", "0", "-o", "old.csv"), "old.csv"),
    "certify": (("certify", "table.csv", "-k", "1", "-o", "old.json"), "old.json"),
    "transform": (("transform", "fitted", "table.csv", "-o", "old.csv"), "old.csv"),
    "report": (("report", "fitted", "-o", "old.html"), "old.html"),
}  # fmt: skip


@pytest.mark.parametrize("writer", WRITERS)
def test_a_disk_without_room_leaves_what_was_there(folder, writer):
    assert call("fit", "table.csv", "-k", "3", "-o", "fitted", "--no-report", cwd=folder).returncode == 0
    arguments, name = WRITERS[writer]
    (folder / name).write_bytes(b"old")
    before = sorted(os.listdir(folder))
    status, said = ended(folder, *arguments, first=small_files(20))
    assert status == 2, said
    last = said.strip().splitlines()[-1]
    assert last == f"rspca: {name} could not be written: file too large. What was there before is untouched."
    assert (folder / name).read_bytes() == b"old"
    assert sorted(os.listdir(folder)) == before


@pytest.mark.parametrize("number", range(6))
def test_a_disk_that_fills_up_during_a_fit_spoils_no_file(folder, number):
    """A fit of two components writes six files; each write fails once, at the moment when a real disk says so."""
    whole = call("fit", "table.csv", "-k", "3,2", "-o", "whole", cwd=folder)
    assert whole.returncode == 0
    shutil.copytree(folder / "whole", folder / "out")
    (folder / "out" / "scores.csv").write_text("sample,component1\nold,1.0\n")

    def full():
        fsync, count = os.fsync, 0

        def fail(handle):
            nonlocal count
            if os.path.isfile(f"/proc/self/fd/{handle}"):
                count += 1
                if count == number + 1:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            fsync(handle)

        os.fsync = fail

    status, said = ended(folder, "fit", "table.csv", "-k", "3,2", "-o", "out", first=full)
    assert status == 2
    name = ["partial.npz", "partial.npz", "model.npz", "components.csv", "scores.csv", "report.html"][number]
    assert one_line(said).startswith(f"rspca: out/{name} could not be written: no space left on device.")
    there = sorted(os.listdir(folder / "out"))
    assert there == sorted([*RESULTS, *(["partial.npz"] if number else [])])
    assert "old,1.0" in (folder / "out" / "scores.csv").read_text()
    if number:
        assert kept_components(folder / "out" / "partial.npz") == min(number, 2)
    again = call("fit", "table.csv", "-k", "3,2", "-o", "out", "--resume", cwd=folder)
    assert again.returncode == 0, again.stderr
    for file in RESULTS[:2]:
        assert (folder / "out" / file).read_bytes() == (folder / "whole" / file).read_bytes()


@pytest.fixture
def small_disk(tmp_path):
    """A real file system of 64 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], check=False, capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("only root may mount a small disk")
    yield disk
    subprocess.run(["umount", disk], check=True)


def test_a_real_disk_that_is_full(folder, small_disk):
    (small_disk / "other").write_bytes(bytes(60000))
    result = call("fit", "table.csv", "-k", "3", "-o", "disk/out", cwd=folder)
    assert result.returncode == 2
    said = one_line(result.stderr)
    assert "could not be written: no space left on device" in said
    assert os.listdir(small_disk) == ["other"]
    (small_disk / "other").unlink()
    assert call("fit", "table.csv", "-k", "3", "-o", "disk/out", "--resume", "--no-report", cwd=folder).returncode == 0
    assert sorted(os.listdir(small_disk / "out"))[:2] == ["components.csv", "model.npz"]


def test_a_figure_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib", reason="figures need matplotlib: pip install 'rspca[plot]'")
    import rspca.cli.support.demonstration

    monkeypatch.setattr(
        rspca.cli.support.demonstration,
        "examples",
        lambda: [rspca.cli.support.demonstration.Example("x", np.eye(4)[:, :3], 2, None, False)] * 2,
    )
    monkeypatch.setattr("rspca.cli.support.demonstration.SharesDisplay.from_data", lambda *_, **__: Figure())
    (tmp_path / "shares.png").write_bytes(b"old")
    with pytest.raises(OSError, match=r"shares\.png could not be written: no space left"):
        rspca.cli.support.demonstration.run(tmp_path, echo=lambda line: None)
    assert (tmp_path / "shares.png").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["shares.png"]


class Figure:
    """A display whose figure is written in part, until the disk is full."""

    @property
    def figure_(self):
        return self

    def savefig(self, file, **_):
        file.write(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_genotypes_that_cannot_be_written_leave_no_drafts(tmp_path):
    rspca.formats.write_plink(tmp_path / "toy.bed", [[0, 2], [1, 1]])
    before = {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)}
    with pytest.raises(ValueError, match="not genotypes"):
        rspca.formats.write_plink(tmp_path / "toy.bed", [[0, 2, 1], [1, 7, 1]])
    assert {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)} == before


KEPT = """
import resource, sys, numpy, made
from rspca.base.machine_code import compiled
from rspca.operators.kernels import _compiled
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
print(compiled(made.one)(1), _compiled(made.two)(2))
"""


def test_a_full_disk_where_numba_keeps_its_code_ends_no_work(tmp_path):
    pytest.importorskip("numba", reason="without numba nothing is kept")
    (tmp_path / "made.py").write_text("def one(x):\n    return x + 1\n\n\ndef two(x):\n    return x + 1\n")
    path = f"{source_folder()}:{tmp_path}"
    result = rspca_command(program=KEPT, NUMBA_CACHE_DIR=str(tmp_path / "kept"), PYTHONPATH=path)
    assert result.stdout == "2 3\n", result.stderr
    assert result.stderr.count("could not store a compiled kernel (file too large)") >= 1


UNCOMPILED = """
import rspca, rspca.operators.kernels
print(rspca.certify(rspca.GramOperator(rspca.datasets.load_pitprops()), 2).status)
"""


def test_functions_that_numba_is_told_not_to_compile_are_used_as_they_are():
    pytest.importorskip("numba", reason="without numba nothing is compiled anyway")
    result = rspca_command(program=UNCOMPILED, NUMBA_DISABLE_JIT="1")
    assert result.stdout == "optimal\n", result.stderr


# --- rights -----------------------------------------------------------------------------------------------------------


def as_nobody():
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)


@pytest.fixture
def open_folder():
    """A folder that other users may enter."""
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield write_table(Path(name, "table.csv"), 30, 12).parent


@pytest.mark.parametrize("command", ["fit", "path", "certify", "demo"])
def test_a_folder_that_cannot_be_written_is_refused_before_the_work(open_folder, command, monkeypatch):
    arguments = {
        "fit": ("fit", "no_such_file.csv", "-k", "3", "-o", "out"),  # reading would come first and say otherwise
        "path": ("path", "no_such_file.csv", "--ks", "2", "-o", "path.csv"),
        "certify": ("certify", "no_such_file.csv", "-k", "2", "-o", "proof.json"),
        "demo": ("demo", "-o", "demo"),
    }[command]
    status, said = ended(open_folder, *arguments, first=as_nobody)
    assert status == 2
    assert one_line(said) == f"rspca: {open_folder} cannot be written to; choose another {'folder '}with -o."


def test_a_read_only_disk_is_refused_even_for_root(folder, small_disk):
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    result = call("fit", "no_such_file.csv", "-k", "3", "-o", "disk/out", cwd=folder)
    assert one_line(result.stderr) == f"rspca: {small_disk} cannot be written to; choose another folder with -o."


def test_the_file_of_another_in_a_shared_folder_is_refused_before_the_work(open_folder):
    shared = open_folder / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    (shared / "model.npz").write_text("root's")
    status, said = ended(open_folder, "fit", "no_such_file.csv", "-k", "3", "-o", "shared", first=as_nobody)
    assert status == 2
    assert one_line(said) == "rspca: shared/model.npz is another user's and cannot be replaced; choose another with -o."


def test_a_folder_in_the_place_of_a_result_is_refused_before_the_work(folder):
    (folder / "out" / "scores.csv").mkdir(parents=True)
    result = call("fit", "no_such_file.csv", "-k", "3", "-o", "out", cwd=folder)
    assert "out/scores.csv is a folder, where a file is to be written" in one_line(result.stderr)


def test_data_that_may_not_be_read_are_one_line(open_folder):
    (open_folder / "table.csv").chmod(0o600)
    status, said = ended(open_folder, "path", "table.csv", "--ks", "2", first=as_nobody)
    assert status == 2
    assert "'table.csv' is not readable" in one_line(said)
