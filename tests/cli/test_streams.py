"""Streams that cannot be written to: one line that names the place, exit status 2, and whole files or none."""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.commandline import START, call, one_line, source_folder, write_table

from rspca.cli.support import streams

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
RESULTS = ["components.csv", "model.npz", "report.html", "scores.csv"]
COMMANDS = {
    "fit": ("fit", "table.csv", "-k", "3", "-o", "new"),
    "certify": ("certify", "table.csv", "-k", "2", "--json"),
    "transform": ("transform", "out", "table.csv"),
    "help": ("fit", "--help"),
    "version": ("--version",),
    "mistake": ("fit", "absent.csv", "-k", "3"),
}


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A table, and what a fit of it has written."""
    folder = tmp_path_factory.mktemp("fitted")
    write_table(folder / "table.csv", 30, 12)
    assert call("fit", "table.csv", "-k", "3", "-o", "out", cwd=folder).returncode == 0
    return folder


@pytest.fixture
def folder(fitted, tmp_path):
    return shutil.copytree(fitted, tmp_path, dirs_exist_ok=True)


def run(folder, redirection, arguments):
    """Run a command as a shell does that closes or redirects a stream."""
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {redirection}', "sh", *START, *arguments], cwd=folder, capture_output=True, text=True,
        check=False, timeout=120, env=os.environ | {"PYTHONPATH": source_folder()},
    )  # fmt: skip


# issue 14, item 17
@pytest.mark.parametrize("command", ["fit", "transform", "version"])
def test_a_closed_output_is_one_line_before_the_work(folder, command):
    result = run(folder, ">&-", COMMANDS[command])
    assert result.returncode == 2
    assert one_line(result.stderr) == (
        "rspca: The standard output is closed; redirect it to a file, or with > /dev/null."
    )
    assert sorted(os.listdir(folder)) == ["out", "table.csv"]


# issue 14, item 17
@pytest.mark.parametrize("command", ["fit", "mistake"])
def test_a_closed_error_stream_is_one_line_before_the_work(folder, command):
    result = run(folder, "2>&-", COMMANDS[command])
    assert result.returncode == 2
    assert one_line(result.stdout) == (
        "rspca: The standard error stream is closed; redirect it to a file, or with 2> /dev/null."
    )
    assert sorted(os.listdir(folder)) == ["out", "table.csv"]


def test_a_command_without_any_stream_ends_with_its_status(folder):
    assert run(folder, ">&- 2>&-", COMMANDS["fit"]).returncode == 2
    assert sorted(os.listdir(folder)) == ["out", "table.csv"]


# issue 14, item 17
@needs_full
@pytest.mark.parametrize("command", ["fit", "certify", "transform", "help"])
def test_an_output_without_room_is_one_line_that_names_it(folder, command):
    result = run(folder, "> /dev/full", COMMANDS[command])
    assert result.returncode == 2
    assert one_line(result.stderr).startswith(
        "rspca: The standard output could not be written: no space left on device"
    )
    if command == "fit":
        assert sorted(os.listdir(folder / "new")) == RESULTS


@needs_full
def test_a_mistake_whose_line_has_no_room_keeps_its_status(folder):
    assert run(folder, "2> /dev/full", COMMANDS["mistake"]).returncode == 2


# issue 14, item 17
@needs_full
@pytest.mark.parametrize(
    "arguments",
    [
        ("transform", "out", "table.csv", "-o", FULL), ("path", "table.csv", "--ks", "2", "-o", FULL),
        ("certify", "table.csv", "-k", "2", "-o", FULL), ("report", "out", "-o", FULL),
        ("compare", "table.csv", "-k", "2", "--methods", "pca", "--seconds", "0", "-o", FULL),
    ],
    ids=lambda one: one[0],
)  # fmt: skip
def test_a_device_without_room_is_named(folder, arguments):
    result = call(*arguments, cwd=folder)
    assert result.returncode == 2
    assert one_line(result.stderr).startswith("rspca: /dev/full could not be written: no space left on device.")


def test_a_device_is_no_folder(folder):
    result = call("fit", "table.csv", "-k", "3", "-o", "/dev/null", cwd=folder)
    assert result.returncode == 2
    assert "/dev/null is a file, so /dev/null cannot be a folder" in one_line(result.stderr)


class Stream:
    """A stream whose writes fail."""

    closed = False

    def __init__(self, error):
        self.error = error

    def write(self, text):
        raise self.error

    def flush(self):
        raise self.error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.EIO, "Input/output error"), "The standard output could not be written: input/output error"),
        (OSError("of what is written"), "of what is written"),
    ],
    ids=["device", "other"],
)
def test_errors_of_the_output_name_it_and_other_errors_do_not(monkeypatch, error, said):
    monkeypatch.setattr(sys, "stdout", Stream(error))
    with streams.named_output(), pytest.raises(OSError, match=said):
        sys.stdout.write("x")


def test_a_pipe_that_nobody_reads_stays_one(monkeypatch):
    monkeypatch.setattr(sys, "stdout", Stream(BrokenPipeError(errno.EPIPE, "Broken pipe")))
    with streams.named_output(), pytest.raises(BrokenPipeError):
        sys.stdout.flush()
