"""A fit that was stopped keeps what it had found, and goes on to what it would have been."""

import os
import signal
from contextlib import contextmanager
from unittest import mock

import numpy as np
import pytest
from support.commandline import TESTS, call, interrupt, one_line, rspca_command, write_table

import rspca
from rspca.analysis import stability
from rspca.certificates import in_memory
from rspca.cli.support.checkpoint import Partial
from rspca.cli.support.locks import LOCK

ARGUMENTS = ("fit", "table.csv", "-k", "5,4,3,3", "--no-report", "--seed", "3")
STOP = """
import sys; sys.path[:0] = {tests!r}
from test_resume import stopping
with stopping(2, "{signal}"):
    from rspca.cli import main; main()
"""


@pytest.fixture
def folder(tmp_path):
    write_table(tmp_path / "table.csv", 60, 30)
    return tmp_path


@contextmanager
def stopping(count, by="SIGINT"):
    """Send this process a signal as soon as so many components are kept."""
    add = Partial.add

    def add_and_stop(self, component):
        add(self, component)
        if len(self.components) == count:
            os.kill(os.getpid(), getattr(signal, by))

    with mock.patch.object(Partial, "add", add_and_stop):
        yield


def stopped(folder, *more, count=2, arguments=ARGUMENTS):
    with stopping(count):
        return call(*arguments, "-o", "out", *more, cwd=folder)


def check_as_uninterrupted(folder, *more, arguments=ARGUMENTS):
    whole = call(*arguments, "-o", "whole", *more, cwd=folder)
    assert whole.returncode == 0, whole.stderr
    assert sorted(os.listdir(folder / "out")) == sorted(os.listdir(folder / "whole"))
    for name in ("components.csv", "scores.csv"):
        assert (folder / "out" / name).read_bytes() == (folder / "whole" / name).read_bytes()
    with np.load(folder / "out" / "model.npz") as one, np.load(folder / "whole" / "model.npz") as other:
        assert set(one.files) == set(other.files)
        for name in one.files:
            np.testing.assert_array_equal(one[name], other[name])


@pytest.mark.parametrize("by", ["SIGINT", "SIGKILL"])
def test_a_stopped_fit_goes_on_to_the_same_bits(folder, by):
    program = STOP.format(tests=[os.path.dirname(__file__), TESTS], signal=by)
    first = rspca_command(*ARGUMENTS, "-o", "out", cwd=folder, program=program)
    assert sorted(os.listdir(folder / "out")) == [*([LOCK] if by == "SIGKILL" else []), "partial.npz"]
    if by == "SIGINT":
        assert first.returncode == 130
        assert one_line(first.stderr) == (
            "rspca: interrupted; 2 of 4 component(s) are kept in out/partial.npz: the same command with --resume continues."  # noqa: E501
        )
    else:
        assert first.returncode == -signal.SIGKILL
    second = call(*ARGUMENTS, "-o", "out", "--resume", cwd=folder)
    assert second.returncode == 0, second.stderr
    assert one_line(second.stderr) == "rspca: continuing after 2 component(s) of out/partial.npz."
    check_as_uninterrupted(folder)


def test_a_fit_can_be_stopped_again_and_again(folder):
    for count in (1, 2, 3):
        stopped(folder, "--resume", count=count)
        with np.load(folder / "out" / "partial.npz") as kept:
            assert sum(name.endswith(".support") for name in kept.files) == count
    assert call(*ARGUMENTS, "-o", "out", "--resume", cwd=folder).returncode == 0
    check_as_uninterrupted(folder)


def test_certificates_are_kept_with_their_components(folder):
    arguments = ("fit", "table.csv", "-k", "3", "-n", "2", "--certify", "--no-report")
    stopped(folder, count=1, arguments=arguments)
    assert call(*arguments, "-o", "out", "--resume", cwd=folder).returncode == 0
    first, second = rspca.load(folder / "out" / "model.npz").certificates_
    assert first.status == second.status == "optimal"
    assert "given the 1 component(s)" in " ".join(second.assumptions)


def test_a_proof_that_was_interrupted_is_no_finished_component(folder):
    with mock.patch.object(in_memory, "in_memory", side_effect=lambda *_, **__: interrupt()):
        result = call("fit", "table.csv", "-k", "3", "-n", "2", "--certify", cwd=folder)
    assert result.returncode == 130
    assert one_line(result.stderr) == "rspca: interrupted; no component was found yet."
    assert not (folder / "rspca-out").exists()


def test_resume_where_nothing_was_kept_begins_at_the_beginning(folder):
    assert call(*ARGUMENTS, "-o", "out", "--resume", cwd=folder).returncode == 0
    check_as_uninterrupted(folder)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (["-k", "5,4,3,2"], "other settings: -k was [5, 4, 3, 3] and is [5, 4, 3, 2]"),
        (["--seed", "4"], "--seed was 3 and is 4"),
        (["--scale", "yes"], "scale was false and is true"),
        (["--certify"], "certify was false and is true"),
    ],
    ids=lambda one: one if isinstance(one, str) else one[0],
)
def test_other_settings_are_refused(folder, change, said):
    stopped(folder)
    result = call(*ARGUMENTS, "-o", "out", "--resume", *change, cwd=folder)
    assert result.returncode == 2
    assert said in one_line(result.stderr)
    assert "begin again without --resume" in result.stderr


def test_other_data_are_refused_and_moved_files_are_not(folder):
    stopped(folder)
    text = (folder / "table.csv").read_text()
    (folder / "table.csv").write_text(text.replace("gene1,", "gene_one,"))
    result = call(*ARGUMENTS, "-o", "out", "--resume", cwd=folder)
    assert "belongs to other data: content was" in one_line(result.stderr)
    (folder / "moved").mkdir()
    (folder / "moved" / "elsewhere.csv").write_text(text)
    moved = ("fit", "moved/elsewhere.csv", *ARGUMENTS[2:])
    assert call(*moved, "-o", "out", "--resume", cwd=folder).returncode == 0


def test_a_damaged_file_is_refused_and_replaced_without_resume(folder):
    stopped(folder)
    kept = folder / "out" / "partial.npz"
    kept.write_bytes(kept.read_bytes()[:200])
    result = call(*ARGUMENTS, "-o", "out", "--resume", cwd=folder)
    assert result.returncode == 2
    assert "it is damaged" in one_line(result.stderr)
    result = call(*ARGUMENTS, "-o", "out", cwd=folder)
    assert one_line(result.stderr) == "rspca: out/partial.npz of a run that stopped will be replaced."
    check_as_uninterrupted(folder)


def test_methods_that_find_all_together_begin_again(folder):
    arguments = ("fit", "table.csv", "-k", "3", "-n", "2", "--method", "spasm", "--no-report")
    assert call(*arguments, "-o", "out", "--resume", cwd=folder).returncode == 0
    check_as_uninterrupted(folder, arguments=arguments)


def test_halves_of_the_samples_are_kept_too(folder, monkeypatch):  # issue 19, item 9
    monkeypatch.setattr(stability, "PART_BYTES", 1)  # a pair at a time
    arguments, add = (*ARGUMENTS, "--stability", "5"), Partial.add_halves

    def add_and_stop(self, halves):
        add(self, halves)
        if halves.count == 4:
            os.kill(os.getpid(), signal.SIGINT)

    with mock.patch.object(Partial, "add_halves", add_and_stop):
        first = call(*arguments, "-o", "out", cwd=folder)
    assert first.returncode == 130
    assert "4 of 4 component(s) and 4 halves of the samples are kept in out/partial.npz" in one_line(first.stderr)
    parts, fits = [], stability.Resampler.fits
    with mock.patch.object(stability.Resampler, "fits", lambda self, some: parts.append(some) or fits(self, some)):
        second = call(*arguments, "-o", "out", "--resume", cwd=folder)
    assert second.returncode == 0, second.stderr
    assert [part.shape[1] for part in parts] == [2, 2, 2]
    check_as_uninterrupted(folder, arguments=arguments)
