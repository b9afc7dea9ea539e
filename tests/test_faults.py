"""Faults: kills, full disks, folders that cannot be written, files that change, interrupts, a lost scheduler."""

import errno
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from commandline import call, one_line, rspca_command, source_folder, write_table
from killing import Forked, Killing, check_whole, kept_components, write_data

import rspca
from rspca.atomic import scratch_folder, written_atomically
from rspca.memory import free_memory

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


# --- full disks -------------------------------------------------------------------------------------------------------


def ended(folder, *arguments, first=None):
    """Run the command in a copy of this process; return its exit status and what it said."""
    with (folder / "log").open("wb") as log:
        status = Forked(arguments, folder, log, first).wait()
    said = (folder / "log").read_text()
    (folder / "log").unlink()
    return status, said


def small_files(size):
    """Return what lets a process write no file beyond so many bytes, as a disk with so much room would."""

    def limit():
        # what the command says goes to a file too: to a pipe instead, which has no size
        reader, writer = os.pipe()
        if os.fork() == 0:
            os.close(writer)
            while said := os.read(reader, 1 << 16):
                os.write(2, said)
            os._exit(0)
        os.dup2(writer, 2)
        os.close(writer)
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
    old = number < 5
    assert ("old,1.0" in (folder / "out" / "scores.csv").read_text()) == old
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
    assert not [name for name in os.listdir(small_disk / "out") if name.startswith(".")]
    (small_disk / "other").unlink()
    assert call("fit", "table.csv", "-k", "3", "-o", "disk/out", "--resume", "--no-report", cwd=folder).returncode == 0
    assert sorted(os.listdir(small_disk / "out"))[:2] == ["components.csv", "model.npz"]


def test_a_figure_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib", reason="figures need matplotlib: pip install 'rspca[plot]'")
    import rspca.demo

    monkeypatch.setattr(rspca.demo, "examples", lambda: [rspca.demo.Example("x", np.eye(4)[:, :3], 2, None, False)] * 2)
    monkeypatch.setattr("rspca.plotting.plot_shares", lambda *_, **__: Figure())
    (tmp_path / "shares.png").write_bytes(b"old")
    with pytest.raises(OSError, match=r"shares\.png could not be written: no space left"):
        rspca.demo.run(tmp_path, echo=lambda line: None)
    assert (tmp_path / "shares.png").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["shares.png"]


class Figure:
    """Axes whose figure is written in part, until the disk is full."""

    @property
    def figure(self):
        return self

    def savefig(self, file, **_):
        file.write(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_genotypes_that_cannot_be_written_leave_no_drafts(tmp_path):
    rspca.formats.write_plink(tmp_path / "toy.bed", [[0, 2], [1, 1]])
    before = {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)}
    with pytest.raises(ValueError, match="not genotypes"):
        rspca.formats.write_plink(tmp_path / "toy.bed", [[0, 2], [1, 7]])
    assert {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)} == before


KEPT = """
import resource, sys, numpy, made
from rspca.certificates.compiled import compiled
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
    assert result.stderr.count("could not keep a compiled kernel (file too large)") >= 1


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


# --- files that change ------------------------------------------------------------------------------------------------


def write_matrix(path, m=60, n=40, seed=0):
    rng = np.random.default_rng(seed)
    np.save(path, rng.standard_normal((m, n)) * rng.uniform(0.5, 2.0, n))
    return path


def changing(monkeypatch, count, change):
    """Let this happen as soon as so many components are kept."""
    from rspca.commands.partial import Partial

    add = Partial.add

    def add_and_change(self, component):
        add(self, component)
        if len(self.components) == count:
            change()

    monkeypatch.setattr(Partial, "add", add_and_change)


FIT_MAPPED = ("fit", "data.npy", "-k", "3", "-n", "3", "--no-report", "-o", "out")


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("how", ["written to", "replaced"])
def test_data_that_change_during_the_fit_are_noticed_before_results_are_written(tmp_path, monkeypatch, count, how):
    data = write_matrix(tmp_path / "data.npy")

    def change():
        if how == "replaced":
            os.replace(write_matrix(tmp_path / "other.npy", seed=1), data)
        else:
            with data.open("r+b") as file:
                file.seek(-8, os.SEEK_END)
                file.write(np.float64(5.0).tobytes())

    changing(monkeypatch, count, change)
    result = call(*FIT_MAPPED, cwd=tmp_path)
    assert result.returncode == 2
    what = "the component found meanwhile is" if count == 1 else "its scores are"
    said = f"rspca: data.npy was {how} while it was being read: {what} of neither the old nor the new data"
    assert one_line(result.stderr).startswith(said)
    assert os.listdir(tmp_path / "out") == ["partial.npz"]
    assert kept_components(tmp_path / "out" / "partial.npz") == count
    again = call(*FIT_MAPPED, "--resume", cwd=tmp_path)
    assert "belongs to other data" in one_line(again.stderr)


def test_a_table_in_memory_may_change_after_it_was_read(folder, monkeypatch):
    changing(monkeypatch, 1, lambda: write_table(folder / "table.csv", 30, 12, seed=5))
    assert call(*SMALL[:-1], cwd=folder).returncode == 0


def test_data_that_change_while_they_are_read_are_an_error(folder, monkeypatch):
    read = rspca.tables.read

    def read_and_change(*arguments, **options):
        found = read(*arguments, **options)
        write_table(folder / "table.csv", 31, 12)
        return found

    monkeypatch.setattr("rspca.tables.read", read_and_change)
    for command in (SMALL, ("path", "table.csv", "--ks", "2", "-o", "path.csv")):
        write_table(folder / "table.csv", 30, 12)
        result = call(*command, cwd=folder)
        assert result.returncode == 2
        assert "what was read is neither the old nor the new data" in one_line(result.stderr)
    assert sorted(os.listdir(folder)) == ["table.csv"]


def test_a_path_over_data_that_changed_is_not_written(tmp_path, monkeypatch):
    data = write_matrix(tmp_path / "data.npy")
    find = rspca.paths.path

    def find_and_change(*arguments, **options):
        found = find(*arguments, **options)
        os.utime(data, (1, 1))
        return found

    monkeypatch.setattr("rspca.paths.path", find_and_change)
    result = call("path", "data.npy", "--ks", "2,3", "-o", "path.csv", cwd=tmp_path)
    assert "the results belong to neither the old nor the new data" in one_line(result.stderr)
    assert os.listdir(tmp_path) == ["data.npy"]


def test_a_streamed_file_that_is_cut_off_is_one_clear_error(tmp_path):
    data = write_matrix(tmp_path / "data.npy")
    op = rspca.as_operator(np.load(data, mmap_mode="r"), max_memory="1MB")
    os.truncate(data, 10000)
    with pytest.raises(ValueError, match=r"data\.npy ended early: it was cut off while it was being read"):
        op.gram(np.ones(40))


def test_a_mapped_file_that_is_cut_off_ends_the_process_and_what_was_found_is_kept(tmp_path):
    """The system kills whoever reads a mapping beyond the end of its file: no program can turn that into an error."""
    data = write_matrix(tmp_path / "data.npy")
    whole = data.read_bytes()

    def cut_off():
        changing(pytest.MonkeyPatch(), 2, lambda: os.truncate(data, 4096))

    status, _ = ended(tmp_path, *FIT_MAPPED, first=cut_off)
    assert status == -signal.SIGBUS
    assert kept_components(tmp_path / "out" / "partial.npz") == 2
    data.write_bytes(whole)
    status, said = ended(tmp_path, *FIT_MAPPED, "--resume")
    assert status == 0, said
    assert "going on after 2 component(s)" in said


# --- Ctrl-C -----------------------------------------------------------------------------------------------------------


INTERRUPTS = {
    "reading": ("rspca.tables.read", "nothing was written."),
    "checksums": ("rspca.commands.provenance.described", "nothing was written."),
    "relaxing": ("rspca.decomposition.relax", "{found}"),
    "polishing": ("rspca.decomposition.improve", "{found}"),
    "certifying": ("rspca.certificates.stages.in_memory", "{found}"),
    "searching": ("rspca.certificates.search.examine", "{found}"),
    "between components": ("rspca.sequence.DEFLATIONS.schur", "{found}"),
    "keeping": ("rspca.commands.partial.written_atomically", "{found}"),
    "scores": ("rspca.estimator.SparsePCA.transform", "{all}"),
    "writing the model": ("rspca.models.written_atomically", "{all}"),
    "writing tables": ("rspca.commands.spreadsheets.written_atomically", "{all}"),
    "report": ("rspca.report.write_report", "{all}"),
}
FIT_CERTIFIED = ("fit", "table.csv", "-k", "5", "-n", "2", "--certify", "--seconds", "20", "-o", "out", "--resume")


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("phase", INTERRUPTS)
def test_an_interrupt_in_every_phase_ends_with_one_line_and_keeps_what_was_found(tmp_path, phase, count):
    """The interrupt comes as the phase begins for the first or for the second time."""
    X = np.random.default_rng(0).standard_normal((60, 25))
    np.savetxt(tmp_path / "table.csv", X, delimiter=",", header=",".join(f"f{j}" for j in range(25)), comments="")
    place, said = INTERRUPTS[phase]
    holder, name, function = found_at(place)
    calls = 0

    def interrupted(*arguments, **options):
        nonlocal calls
        calls += 1
        if calls == count:
            os.kill(os.getpid(), signal.SIGINT)
        return function(*arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        if isinstance(holder, dict):
            patch.setitem(holder, name, interrupted)
        else:
            patch.setattr(holder, name, interrupted)
        result = call(*FIT_CERTIFIED, cwd=tmp_path)
    if calls < count:  # this happens once in a fit
        assert result.returncode == 0
        return
    assert result.returncode == 130, result.stderr
    there = os.listdir(tmp_path / "out") if (tmp_path / "out").exists() else []
    assert not [name for name in there if name.startswith(".")]
    kept = kept_components(tmp_path / "out" / "partial.npz") if "partial.npz" in there else 0
    if said == "nothing was written.":
        assert one_line(result.stderr) == "rspca: interrupted; nothing was written."
        assert kept == 0
    elif kept == 0:
        assert one_line(result.stderr) == "rspca: interrupted; no component was found yet."
    else:
        words = f"{kept} of 2 component(s) are kept in out/partial.npz: the same command with --resume goes on."
        assert one_line(result.stderr) == f"rspca: interrupted; {words}"
        assert kept == (2 if said == "{all}" else 1)
        again = call(*FIT_CERTIFIED, cwd=tmp_path)
        assert again.returncode == 0, again.stderr


def found_at(place):
    """Return what holds the function of this name, its name in there, and the function."""
    import importlib

    words = place.split(".")
    for cut in range(len(words) - 1, 0, -1):
        try:
            holder = importlib.import_module(".".join(words[:cut]))
        except ImportError:
            continue
        for word in words[cut:-1]:
            holder = getattr(holder, word)
        function = holder[words[-1]] if isinstance(holder, dict) else getattr(holder, words[-1])
        return holder, words[-1], function
    raise AssertionError(place)


def test_an_interrupt_is_answered_while_a_computation_outside_python_goes_on(tmp_path, folder):
    """Two seconds are promised. A hash of many rounds stands for a product that takes minutes: Python waits for it."""
    program = """
import hashlib, os, signal, sys, threading, time
from rspca.commands.partial import Partial
add = Partial.add
def add_and_compute(self, component):
    add(self, component)
    threading.Timer(0.2, lambda: (print(time.monotonic(), flush=True), os.kill(os.getpid(), signal.SIGINT))).start()
    hashlib.pbkdf2_hmac("sha256", b"x", b"y", 10**9)
Partial.add = add_and_compute
from rspca.cli import main; main()
"""
    result = rspca_command(*SMALL, "--no-report", cwd=folder, program=program)
    late = time.monotonic() - float(result.stdout)
    assert result.returncode == 130
    words = "1 of 3 component(s) are kept in out/partial.npz: the same command with --resume goes on."
    assert one_line(result.stderr) == f"rspca: interrupted; {words}"
    assert late < 10.0  # two seconds on a machine that is not loaded
    assert kept_components(folder / "out" / "partial.npz") == 1


def test_an_interrupt_of_the_exact_search_is_answered_by_other_threads():
    numba = pytest.importorskip("numba", reason="without numba there is no compiled search")
    from rspca.certificates.nodes import examine

    assert isinstance(examine, numba.core.dispatcher.Dispatcher)
    assert examine.targetoptions["nogil"]


# --- memory -----------------------------------------------------------------------------------------------------------


class Untouched:
    """Data of any size that must not be looked at."""

    dtype = np.dtype(np.float64)

    def __init__(self, m, n):
        self.shape = (m, n)

    def matmat(self, V):
        raise AssertionError("the work has started")

    rmatmat = columns = matmat


@pytest.mark.parametrize(
    ("shape", "k", "said"),
    [
        ((10**6, 10**6), 10**6, r"work on k=1000000 of 1000000 features with 1000000 samples needs 8\.\d* TB, and"),
        ((10, 10**12), 5, r"needs 336 TB, and [\d.]+ \w+ is free\. Choose fewer features"),
        ((10**12, 10), 5, r"needs 360 TB, and [\d.]+ \w+ is free\. Choose"),
    ],
    ids=["columns", "features", "samples"],
)
def test_work_beyond_the_memory_is_refused_before_it_starts(shape, k, said):
    with pytest.raises(MemoryError, match=said):
        rspca.decompose(Untouched(*shape), 1, k=k)
    with pytest.raises(MemoryError, match=said):
        rspca.SparsePCA(1, k=k).fit(Untouched(*shape))


LIMITED = """
import resource, sys, numpy as np, rspca, rspca.memory
sys.path.insert(0, {tests!r})
from test_faults import Untouched
size = 4096 * int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (size + {room}, resource.RLIM_INFINITY))
try:
    {work}
except MemoryError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize(
    ("work", "said"),
    [
        ("rspca.decompose(Untouched(10**6, 1000), 1, k=100)", "work on k=100 of 1000 features with 1000000 samples"),
        ("rspca.GramOperator(np.lib.stride_tricks.as_strided(np.ones(1), (4000, 4000), (0, 0)))", "a 4000 x 4000 matrix"),
        ("rspca.read('large.npz')", "large.npz, unpacked, needs 320 MB"),
        ("rspca.read('large.mtx')", "the matrix of large.mtx needs 320 MB"),
    ],
    ids=["columns", "gram", "npz", "mtx"],
)  # fmt: skip
def test_the_limits_of_the_process_count(tmp_path, work, said):
    np.savez_compressed(tmp_path / "large.npz", X=np.zeros((5000, 8000)))
    (tmp_path / "large.mtx").write_bytes(
        b"%%MatrixMarket matrix coordinate real general\n5000 8000 20000000\n" + bytes(1 << 27)
    )
    program = LIMITED.format(tests=os.path.dirname(__file__), room=200 * 10**6, work=work)
    result = rspca_command(program=program, cwd=tmp_path)
    assert result.stdout.startswith("NotEnoughMemory Not enough memory: "), result.stdout + result.stderr
    assert said in result.stdout
    assert "is free. " in result.stdout


def test_the_command_line_says_it_in_one_line(folder, monkeypatch):
    monkeypatch.setattr("rspca.memory.free_memory", lambda: 1000)
    result = call("fit", "table.csv", "-k", "3", "-o", "out", cwd=folder)
    assert result.returncode == 2
    said = (
        "rspca: Not enough memory: work on k=3 of 12 features with 30 samples needs 912 bytes, and 900 bytes is free."
    )
    monkeypatch.setattr("rspca.memory.free_memory", lambda: 900)
    result = call("fit", "table.csv", "-k", "3", "-o", "out", cwd=folder)
    assert one_line(result.stderr).startswith(said)
    assert not (folder / "out").exists()


def test_a_proof_leaves_out_what_does_not_fit(monkeypatch):
    """The spectrum needs a square matrix; a proof without it is weaker, and still one."""
    X = np.random.default_rng(0).standard_normal((50, 2000))
    full = rspca.certify(X, 30, seconds=2.0)
    monkeypatch.setattr("rspca.certificates.stages.has_room", lambda needed: False)
    less = rspca.certify(X, 30, seconds=2.0)
    assert "largest eigenvalue" in {bound.name for bound in full.bounds}
    assert "largest eigenvalue" not in {bound.name for bound in less.bounds}
    assert less.upper >= less.lower


def system(root, **files):
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_free_memory_is_the_least_of_machine_and_control_group(tmp_path):
    meminfo = "MemTotal: 9000 kB\nMemAvailable: 5000 kB\nSwapFree: 1000 kB\n"
    root = system(tmp_path, proc__meminfo=meminfo)
    assert free_memory(root) == 6000 * 1024
    second = {
        "proc__self__cgroup": "0::/job\n",
        "sys__fs__cgroup__job__memory_dot_max": "3000000\n",
        "sys__fs__cgroup__job__memory_dot_current": "2500000\n",
        "sys__fs__cgroup__job__memory_dot_stat": "anon 1\ninactive_file 400000\nactive_file 100000\n",
    }
    assert free_memory(system(tmp_path, **second)) == 1000000
    assert free_memory(system(tmp_path, sys__fs__cgroup__job__memory_dot_max="max\n")) == 6000 * 1024
    first = {
        "proc__self__cgroup": "4:memory:/a/b\n",
        "sys__fs__cgroup__memory__a__b__memory_dot_limit_in_bytes": "2000000\n",
        "sys__fs__cgroup__memory__a__b__memory_dot_usage_in_bytes": "1500000\n",
    }
    assert free_memory(system(tmp_path, **first)) == 500000


def test_packed_and_sparse_data_need_less_than_dense_ones():
    dense = rspca.as_operator(np.ones((400, 100)))
    sparse = rspca.as_operator(scipy.sparse.random(400, 100, density=0.01, format="csr", random_state=0))
    assert dense.restricted_bytes(10) == 400 * 10 * 8
    assert sparse.restricted_bytes(10) == 400 * 10 * 0.01 * 12
    assert rspca.operators.Centered(sparse).restricted_bytes(10) == sparse.restricted_bytes(10)
    assert sparse.transposed().restricted_bytes(10) <= 1000
