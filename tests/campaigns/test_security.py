"""Files from strangers: nothing in them is executed, extracted, followed or allowed to fill the memory."""

import ast
import gzip
import io
import json
import os
import stat
import tarfile
from pathlib import Path

import numpy as np
import pytest
from support.commandline import call
from support.extras import skip_without_extras

import rspca
from rspca.base.atomic import written_atomically
from rspca.cli.support.checkpoint import NAME, Partial
from rspca.datasets import download
from rspca.datasets.registry import DataFile, Remote

SOURCE = Path(rspca.__file__).parent


class Trap:
    """Unpickling this leaves a file behind."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return (open, (self.path, "w"))


def trap(folder):
    return np.array([[Trap(folder / "sprung")]], dtype=object)


# Nothing is executed


def test_pickled_objects_in_arrays_are_refused_and_never_run(tmp_path):
    np.save(tmp_path / "a.npy", trap(tmp_path), allow_pickle=True)
    np.savez(tmp_path / "a.npz", X=np.eye(3), names=trap(tmp_path)[0], allow_pickle=True)
    np.savez(tmp_path / "b.npz", X=trap(tmp_path), allow_pickle=True)
    np.savez(tmp_path / "c.npz", format="csr", shape=(1, 1), data=trap(tmp_path)[0], allow_pickle=True)
    for name in ("a.npy", "a.npz", "b.npz", "c.npz"):
        with pytest.raises((ValueError, TypeError), match=name):
            rspca.read(tmp_path / name)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "a.h5ad", "a.parquet"])
def test_a_pickle_named_like_an_array_is_refused_and_never_run(name, tmp_path):
    import pickle

    skip_without_extras(name)
    (tmp_path / name).write_bytes(pickle.dumps(Trap(tmp_path / "sprung")))
    with pytest.raises(ValueError, match=name):
        rspca.read(tmp_path / name)
    assert not (tmp_path / "sprung").exists()


def test_an_unfinished_fit_with_pickled_objects_is_refused_and_they_are_never_run(tmp_path):
    partial = Partial(tmp_path, {}, {"shape": [10, 6]})
    meta = {"format": 1, "settings": partial.settings, "data": partial.data, "components": [{}]}
    arrays = {"partial.json": np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8), "0.support": trap(tmp_path)}
    np.savez(tmp_path / NAME, allow_pickle=True, **arrays)
    with pytest.raises(ValueError, match="Python objects, which are not unpickled"):
        partial.resume()
    assert not (tmp_path / "sprung").exists()


FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__", "system", "popen", "mktemp", "extractall"}
FORBIDDEN_MODULES = {"pickle", "marshal", "shelve", "subprocess", "dill", "cloudpickle", "yaml", "xml"}


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_the_package_runs_no_strings_shells_or_pickles(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            of_re = isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") == "re"
            assert name not in FORBIDDEN_CALLS or of_re, f"line {node.lineno}: {name}()"
            for word in node.keywords:
                allowed = isinstance(word.value, ast.Constant) and word.value.value is False
                assert word.arg not in ("shell", "allow_pickle") or allowed, f"line {node.lineno}: {word.arg}"
        names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert not FORBIDDEN_MODULES & {name.partition(".")[0] for name in names}, f"line {node.lineno}"


# Archives and downloads


def archive(*entries, mode="w:gz"):
    """Return a tar file of (name, content, kind, link) entries."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as tar:
        for name, content, kind, link in entries:
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname, entry.size = kind, link, len(content)
            tar.addfile(entry, io.BytesIO(content))
    return file.getvalue()


MED = Remote("https://example.org/med.tar.gz", "0" * 64, member="med.all")


@pytest.mark.parametrize("name", ["../med.all", "/etc/med.all", "a/../../med.all", "./med.all"])
def test_a_member_is_read_and_never_written_whatever_its_name(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content = download.unpacked(
        archive(("../../evil", b"x", tarfile.REGTYPE, ""), (name, b"text", tarfile.REGTYPE, "")), MED
    )
    assert content == b"text"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE])
def test_links_and_devices_are_not_followed(kind):
    with pytest.raises(ValueError, match=r"an archive without med\.all"):
        download.unpacked(archive(("med.all", b"", kind, "/etc/passwd")), MED)


def test_an_archive_that_unpacks_to_too_much_is_refused_before_it_is_unpacked(monkeypatch):
    monkeypatch.setattr(download, "MOST_BYTES", 10**6)
    large = archive(("large", bytes(2 * 10**6), tarfile.REGTYPE, ""), ("med.all", b"text", tarfile.REGTYPE, ""))
    assert len(large) < 10**4
    with pytest.raises(ValueError, match="more than 1,000,000 bytes up to large"):
        download.unpacked(large, MED)
    with pytest.raises(ValueError, match="more than 1,000,000 bytes"):
        download.unpacked(archive(("med.all", bytes(2 * 10**6), tarfile.REGTYPE, "")), MED)


def test_a_gzipped_download_that_unpacks_to_too_much_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(download, "MOST_BYTES", 10**6)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with pytest.raises(ValueError, match="unpacks to more than 1,000,000 bytes"):
        download._install(
            gzip.compress(bytes(2 * 10**6)), DataFile("a.txt", None, ()), tmp_path / "a.txt", scratch, None
        )
    assert [one.name for one in tmp_path.iterdir()] == ["scratch"]


# Temporary files


def test_a_file_is_private_while_it_is_written_and_lies_beside_its_place(tmp_path):
    with written_atomically(tmp_path / "result.csv") as file:
        (temporary,) = tmp_path.iterdir()
        assert Path(file.name if isinstance(file.name, str) else temporary).parent == tmp_path
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600
        assert temporary.name.startswith(".result.csv.")
        file.write(b"1")
    assert [one.name for one in tmp_path.iterdir()] == ["result.csv"]


def test_a_private_result_stays_private_when_it_is_replaced(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_bytes(b"old")
    path.chmod(0o600)
    with written_atomically(path) as file:
        file.write(b"new")
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", 0o600)


@pytest.mark.parametrize(
    "error", [OSError("disk full"), KeyboardInterrupt(), ValueError("x")], ids=["full", "Ctrl-C", "bug"]
)
def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, error):
    path = tmp_path / "model.npz"
    path.write_bytes(b"old")

    def write():
        with written_atomically(path) as file:
            file.write(b"half")
            raise error

    with pytest.raises(type(error)):
        write()
    assert [one.name for one in tmp_path.iterdir()] == ["model.npz"]
    assert path.read_bytes() == b"old"


def test_a_link_in_the_place_of_a_result_is_replaced_and_not_followed(tmp_path):
    precious, path = tmp_path / "precious", tmp_path / "model.npz"
    precious.write_bytes(b"keep")
    path.symlink_to(precious)
    with written_atomically(path) as file:
        file.write(b"new")
    assert precious.read_bytes() == b"keep"
    assert not path.is_symlink()


# Names are never paths

EVIL = [
    "../../evil",
    "/tmp/evil",
    "evil/../../x",
    "C:\\evil",
    "a\0b",
    "..",
    "con",
    "$(touch evil)",
    "`id`",
    "%00",
    "~/evil",
    "|ls",
]


def test_names_of_features_and_samples_lead_nowhere(tmp_path):
    folder = tmp_path / "deep" / "inside"
    folder.mkdir(parents=True)
    X = np.random.default_rng(0).standard_normal((12, 12)) * np.arange(1, 13)
    heads = [name.replace("\0", "") for name in EVIL]
    rows = [",".join(["id", *heads])] + [
        ",".join([f"{heads[i]}{i}", *map(repr, map(float, row))]) for i, row in enumerate(X)
    ]
    (folder / "t.csv").write_text("\n".join(rows) + "\n")
    result = call("fit", "t.csv", "-k", "12", "-n", "2", "-o", "out", cwd=folder)
    assert result.returncode == 0, result.stderr
    assert call("report", "out", cwd=folder).returncode == 0
    assert call("transform", "out", "t.csv", "-o", "s.csv", cwd=folder).returncode == 0
    found = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    made = {"components.csv", "model.npz", "report.html", "scores.csv"}
    assert found == {"deep/inside/t.csv", "deep/inside/s.csv", *(f"deep/inside/out/{name}" for name in made)}
    assert not os.path.exists("/tmp/evil")


def test_features_stored_in_a_model_lead_nowhere(tmp_path):
    names = np.array([name.replace("\0", "") for name in EVIL], dtype=object)
    model = rspca.SparsePCA(1, k=2, random_state=0).fit(np.random.default_rng(0).standard_normal((20, len(names))))
    model.feature_names_in_ = names
    model.features_ = {"../../path": np.arange(len(names)), "/abs": np.arange(len(names))}
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    model.save(inside / "model.npz")
    again = rspca.load(inside / "model.npz")
    assert list(again.features_) == ["../../path", "/abs"]
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["model.npz"]


def test_a_pipe_is_written_to_and_stays_one(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with written_atomically(pipe) as file:
            file.write(b"scores")
        assert os.read(reader, 100) == b"scores"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_a_place_where_nothing_can_be_written_is_named_and_not_the_draft(tmp_path):
    with pytest.raises(OSError, match=r"absent/x\.csv'$"), written_atomically(tmp_path / "absent" / "x.csv"):
        pass
