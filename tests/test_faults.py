"""Faults: kills, full disks, folders that cannot be written, files that change, interrupts, a lost scheduler."""

import os
import signal
import tempfile
from pathlib import Path

import numpy as np
import pytest
from commandline import call, one_line, write_table
from killing import Forked, Killing, check_whole, kept_components, write_data

import rspca
from rspca.atomic import scratch_folder, written_atomically

SMALL = ("fit", "table.csv", "-k", "4,3,3", "--seed", "1", "-o", "out", "--resume")
RESULTS = ["components.csv", "model.npz", "report.html", "scores.csv"]


@pytest.fixture
def folder(tmp_path):
    write_table(tmp_path / "table.csv", 30, 12)
    return tmp_path


# --- kill -9 ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_twenty_kills_lose_nothing(tmp_path):
    run = Killing(write_data(tmp_path / "data.npy"), seed=0)
    run.until(20)
    assert run.kills == 20
    assert run.finished >= 1
    assert len(run.phases) >= 3


CRASH_POINTS = {os: ("replace", "fsync", "fchmod", "unlink", "mkdir"), tempfile: ("mkstemp",)}


def killed_at(number):
    """Return what makes a process kill itself before the call with this number that changes the folder."""
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

    return patch


def test_a_kill_at_every_step_of_writing_leaves_whole_files(folder):
    """Every call that changes the folder is met once by a kill before it; each kill is followed by the next."""
    whole = call(*SMALL[:-3], "-o", "whole", cwd=folder)
    assert whole.returncode == 0, whole.stderr
    kills, before = 0, 0
    for number in range(1, 100):
        with (folder / "log").open("wb") as log:
            status = Forked(SMALL, folder, log, killed_at(number)).wait()
        there = set(os.listdir(folder / "out")) if (folder / "out").exists() else set()
        drafts = {name for name in there if name.startswith(".")}
        assert there - drafts <= {*RESULTS, "partial.npz"}
        assert len(drafts) <= 1
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
    assert status == 0
    assert kills > 10
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
    dead, other = tmp_path / ".file.abc.tmp", tmp_path / ".file2.abc.tmp"
    dead.write_bytes(b"half")
    other.write_bytes(b"not ours")
    with written_atomically(tmp_path / "file") as living:
        assert not dead.exists()
        living.write(b"first")
        with written_atomically(tmp_path / "file") as second:
            second.write(b"second")
        assert (tmp_path / "file").read_bytes() == b"second"
    assert (tmp_path / "file").read_bytes() == b"first"
    assert sorted(os.listdir(tmp_path)) == [".file2.abc.tmp", "file"]


def test_a_link_that_looks_like_a_draft_is_left_alone(tmp_path):
    (tmp_path / "mine").write_text("precious")
    (tmp_path / ".file.abc.tmp").symlink_to(tmp_path / "mine")
    with written_atomically(tmp_path / "file") as file:
        file.write(b"x")
    assert (tmp_path / "mine").read_text() == "precious"
    assert (tmp_path / ".file.abc.tmp").is_symlink()


def test_downloads_of_dead_processes_are_removed_too(tmp_path):
    (tmp_path / ".download-dead.tmp").mkdir()
    (tmp_path / ".download-dead.tmp" / "half").write_bytes(b"half")
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
