"""Windows and macOS, simulated: no fcntl, open files that cannot be renamed or removed, other newlines, no /proc.

No Windows or macOS machine ran these tests: what is simulated is what Python's documentation says differs.
"""

import ast
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from support.commandline import call, one_line

import rspca
from rspca.base.atomic import replaced_together, scratch_folder, written_atomically
from rspca.base.memory import free_memory
from rspca.cli.support.locks import locked_folder
from rspca.genetics.pgen import read_psam, read_pvar
from rspca.genetics.plink import read_bim, read_fam

ABSENT = ("fchmod", "geteuid", "pwrite", "O_NOFOLLOW", "O_CLOEXEC")
"""What the module os has on POSIX systems only, or on Windows from a later Python on."""
UNIX_MODULES = ("fcntl", "resource", "pwd", "grp", "termios")


def is_open(path):
    """Return whether this process has the file open."""
    here = os.path.realpath(path)
    handles = (f"/proc/self/fd/{handle}" for handle in os.listdir("/proc/self/fd"))
    return any(os.path.realpath(handle) == here for handle in handles)


@pytest.fixture
def windows(monkeypatch, tmp_path):
    if not Path("/proc/self/fd").exists():
        pytest.skip("open files are looked up in /proc")
    pytest.importorskip("filelock")
    monkeypatch.setitem(sys.modules, "fcntl", None)
    for name in ABSENT:
        monkeypatch.delattr(os, name, raising=False)
    real = {name: getattr(os, name) for name in ("replace", "unlink")}

    def guarded(name):
        def act(path, *rest, **options):
            for place in (path, *rest):
                if isinstance(place, str | os.PathLike) and is_open(place):
                    raise PermissionError(13, "The process cannot access the file because it is being used", str(place))
            return real[name](path, *rest, **options)

        return act

    for name in real:
        monkeypatch.setattr(os, name, guarded(name))


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


# issue 20, item 8
def test_files_are_written_together_or_not_at_all(windows, tmp_path):
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / ".a.abcdefg1.tmp").write_bytes(b"of a killed run")
    with written_atomically(tmp_path / "a") as file:
        file.write(b"new")
    assert contents(tmp_path) == {"a": b"new"}
    with pytest.raises(ValueError, match="no"), replaced_together():  # noqa: PT012
        with written_atomically(tmp_path / "a") as file:
            file.write(b"newer")
        raise ValueError("no")
    assert contents(tmp_path) == {"a": b"new"}
    with replaced_together():
        for name in "ab":
            with written_atomically(tmp_path / name) as file:
                file.write(name.encode())
    assert contents(tmp_path) == {"a": b"a", "b": b"b"}
    with scratch_folder(tmp_path, ".download-") as folder:
        assert folder.is_dir()
    assert not folder.exists()


# issue 20, item 8
def test_a_folder_is_locked_by_filelock(windows, tmp_path):
    with locked_folder(tmp_path / "out"):
        with pytest.raises(OSError, match="in use by another run"), locked_folder(tmp_path / "out"):
            pass
        (tmp_path / "out" / "result").write_text("x")
    with locked_folder(tmp_path / "out"):
        pass
    assert os.listdir(tmp_path / "out") == ["result"]


# issue 20, item 8
def test_a_fit_and_a_transform_run(windows, tmp_path):
    X = np.random.default_rng(0).standard_normal((20, 5)).round(3)
    lines = [",".join(f"f{j}" for j in range(5)), *(",".join(map(str, row)) for row in X)]
    (tmp_path / "crlf.csv").write_bytes("\r\n".join(lines).encode() + b"\r\n")
    (tmp_path / "lf.csv").write_bytes("\n".join(lines).encode())
    (tmp_path / "labels.txt").write_bytes(b"a\r\nb\r\n" * 10)
    for name in ("crlf", "lf"):
        result = call("fit", f"{name}.csv", "-k", "2", "-o", name, "--label", "labels.txt", cwd=tmp_path)
        assert result.returncode == 0, result.stderr
    for name in ("components.csv", "scores.csv"):
        assert (tmp_path / "crlf" / name).read_bytes() == (tmp_path / "lf" / name).read_bytes()
    assert not [path for path in (tmp_path / "crlf").iterdir() if path.name.startswith(".")]
    assert call("fit", "lf.csv", "-k", "3", "-o", "lf", cwd=tmp_path).returncode == 0  # over an earlier result
    assert call("transform", "lf", "crlf.csv", cwd=tmp_path).returncode == 0
    assert "does not exist" in one_line(call("fit", "none.csv", "-k", "2", cwd=tmp_path).stderr)


# issue 20, item 8
def test_no_module_needs_those_of_unix_to_be_imported():
    for path in Path(rspca.__file__).parent.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not set(names) & set(UNIX_MODULES), path


# issue 20, item 8
def test_memory_is_known_or_unlimited_without_proc(tmp_path):
    assert free_memory(tmp_path) > 0


# issue 20, item 8
def test_text_files_may_have_the_newlines_of_windows(tmp_path):
    X = np.random.default_rng(0).integers(0, 3, (9, 7))
    rspca.formats.write_plink(tmp_path / "g.bed", X)
    for suffix in ("bim", "fam"):
        file = tmp_path / f"g.{suffix}"
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert read_bim(tmp_path / "g.bim")["allele_2"].tolist() == ["G"] * 7
    assert read_fam(tmp_path / "g.fam")["iid"][8] == "I8"
    (tmp_path / "g.pvar").write_bytes(b"##x\r\n#CHROM\tPOS\tID\tREF\tALT\r\n1\t5\trs1\tG\tA\r\n")
    (tmp_path / "g.psam").write_bytes(b"#IID\r\nI1\r\n")
    assert read_pvar(tmp_path / "g.pvar")["allele_1"].tolist() == ["A"]
    assert read_psam(tmp_path / "g.psam")["iid"].tolist() == ["I1"]
