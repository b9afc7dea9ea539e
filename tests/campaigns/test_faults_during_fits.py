"""Input files that change under a fit, and Ctrl-C in each of its phases: one line, and what was found is kept."""

import os
import signal
import time

import numpy as np
import pytest
import scipy.sparse
from support.commandline import call, one_line, rspca_command, write_table
from support.killing import ended, kept_components

import rspca

SMALL = ("fit", "table.csv", "-k", "4,3,3", "--seed", "1", "-o", "out", "--resume")


@pytest.fixture
def folder(tmp_path):
    write_table(tmp_path / "table.csv", 30, 12)
    return tmp_path


def write_matrix(path, m=60, n=40, seed=0):
    rng = np.random.default_rng(seed)
    np.save(path, rng.standard_normal((m, n)) * rng.uniform(0.5, 2.0, n))
    return path


def changing(monkeypatch, count, change):
    """Let this happen as soon as so many components are kept."""
    from rspca.cli.support.checkpoint import Partial

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
    read = rspca.formats.reading.read

    def read_and_change(*arguments, **options):
        found = read(*arguments, **options)
        write_table(folder / "table.csv", 31, 12)
        return found

    monkeypatch.setattr("rspca.formats.reading.read", read_and_change)
    for command in (SMALL, ("path", "table.csv", "--ks", "2", "-o", "path.csv")):
        write_table(folder / "table.csv", 30, 12)
        result = call(*command, cwd=folder)
        assert result.returncode == 2
        assert "what was read is neither the old nor the new data" in one_line(result.stderr)
    assert sorted(os.listdir(folder)) == ["table.csv"]


def test_a_path_over_data_that_changed_is_not_written(tmp_path, monkeypatch):
    data = write_matrix(tmp_path / "data.npy")
    find = rspca.analysis.k_path.path

    def find_and_change(*arguments, **options):
        found = find(*arguments, **options)
        os.utime(data, (1, 1))
        return found

    monkeypatch.setattr("rspca.analysis.k_path.path", find_and_change)
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
    data = write_matrix(tmp_path / "data.npy", 60, 80)  # a tall matrix is read once, before the first component
    whole = data.read_bytes()

    def cut_off():
        changing(pytest.MonkeyPatch(), 2, lambda: os.truncate(data, 4096))

    status, _ = ended(tmp_path, *FIT_MAPPED, first=cut_off)
    assert status == -signal.SIGBUS
    assert kept_components(tmp_path / "out" / "partial.npz") == 2
    data.write_bytes(whole)
    status, said = ended(tmp_path, *FIT_MAPPED, "--resume")
    assert status == 0, said
    assert "continuing after 2 component(s)" in said


# --- Ctrl-C -----------------------------------------------------------------------------------------------------------


INTERRUPTS = {
    "reading": ("rspca.formats.reading.read", "nothing was written."),
    "checksums": ("rspca.cli.support.provenance.described", "nothing was written."),
    "relaxing": ("rspca.algorithm.component.relaxation", "{found}"),
    "polishing": ("rspca.algorithm.component.improve", "{found}"),
    "certifying": ("rspca.certificates.in_memory.in_memory", "{found}"),
    "searching": ("rspca.certificates.engines.Examiner.__call__", "{found}"),
    "between components": ("rspca.algorithm.deflate.DEFLATIONS.schur", "{found}"),
    "keeping": ("rspca.cli.support.checkpoint.written_atomically", "{found}"),
    "scores": ("rspca.estimator.SparsePCA.transform", "{all}"),
    "writing the model": ("rspca.model_files.written_atomically", "{all}"),
    "writing tables": ("rspca.cli.support.spreadsheets.written_atomically", "{all}"),
    "report": ("rspca.report.write_report", "{all}"),
}
FIT_CERTIFIED = ("fit", "table.csv", "-k", "5", "-n", "2", "--certify", "--seconds", "20", "-o", "out", "--resume")


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("phase", INTERRUPTS)
def test_an_interrupt_in_every_phase_ends_with_one_line_and_keeps_what_was_found(tmp_path, phase, count):
    """The interrupt comes as the phase begins for the first or for the second time."""
    X = np.random.default_rng(0).standard_normal((30, 14))
    np.savetxt(tmp_path / "table.csv", X, delimiter=",", header=",".join(f"f{j}" for j in range(14)), comments="")
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
        words = f"{kept} of 2 component(s) are kept in out/partial.npz: the same command with --resume continues."
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
from rspca.cli.support.checkpoint import Partial
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
    words = "1 of 3 component(s) are kept in out/partial.npz: the same command with --resume continues."
    assert one_line(result.stderr) == f"rspca: interrupted; {words}"
    assert late < 10.0  # two seconds on a machine that is not loaded
    assert kept_components(folder / "out" / "partial.npz") == 1


def test_an_interrupt_of_the_exact_search_is_answered_by_other_threads():
    numba = pytest.importorskip("numba", reason="without numba there is no compiled search")
    from rspca.certificates.engines import _machine_code

    examine = _machine_code()
    assert isinstance(examine, numba.core.dispatcher.Dispatcher)
    assert examine.targetoptions["nogil"]


@pytest.mark.parametrize("kind", ["dense", "sparse", "columns"])
def test_an_hdf5_file_that_is_cut_off_is_one_clear_error_and_no_zeros(tmp_path, kind):
    h5py = pytest.importorskip("h5py", reason="HDF5 needs h5py")
    from rspca.operators.stored_rows import SomeColumns, StoredRows

    X = scipy.sparse.random(400, 50, density=0.5, random_state=0, format="csr")
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file["X"], file["data"], file["indices"], file["indptr"] = X.toarray(), X.data, X.indices, X.indptr
    file = h5py.File(tmp_path / "data.h5", "r")
    source = {
        "dense": lambda: file["X"],
        "sparse": lambda: StoredRows(file["data"], file["indices"], file["indptr"], 50),
        "columns": lambda: SomeColumns(file["X"], np.arange(20)),
    }[kind]()
    op = rspca.as_operator(source)
    op.gram(np.ones(op.shape[1]))
    os.truncate(tmp_path / "data.h5", 4096)
    with pytest.raises((ValueError, OSError), match=r"data\.h5 ended early"):
        op.gram(np.ones(op.shape[1]))
