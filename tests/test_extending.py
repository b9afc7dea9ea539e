"""The patches of docs/extending.md: each is one new file, one line of a table and a test, and works as it stands."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PATCHES = re.findall(
    r"^```diff\n(.*?)^```$", (ROOT / "docs" / "extending.md").read_text(), flags=re.DOTALL | re.MULTILINE
)
KINDS = [f"src/rspca/{folder}/" for folder in ("operators", "formats", "methods", "certificates/bounds", "cli")]


def files_of(patch):
    """Return the new files, and the lines that are added to each existing file."""
    new, added = [], {}
    for part in re.split(r"^(?=diff --git )", patch, flags=re.MULTILINE)[1:]:
        path = re.search(r"^\+\+\+ b/(.*)$", part, flags=re.MULTILINE)[1]
        changes = re.findall(r"^([+-])(?!\+\+ |-- )", part, flags=re.MULTILINE)
        if "\nnew file mode" in part:
            new.append(path)
        else:
            assert "-" not in changes, f"{path} loses lines"
            added[path] = len(changes)
    return new, added


@pytest.mark.parametrize("patch", PATCHES, ids=[files_of(patch)[0][0] for patch in PATCHES])
def test_a_patch_is_one_new_file_one_line_of_a_table_and_a_test(patch):
    new, added = files_of(patch)
    assert sorted(path.split("/")[0] for path in new) == ["src", "tests"]
    assert sum(added.values()) <= 1, added


def test_every_kind_of_extension_has_a_patch():
    new = [path for patch in PATCHES for path in files_of(patch)[0]]
    assert all(any(path.startswith(kind) for path in new) for kind in KINDS)


@pytest.mark.skipif(shutil.which("git") is None, reason="git applies the patches, and is not installed")
def test_the_patches_apply_and_their_tests_pass(tmp_path):
    ignored = shutil.ignore_patterns("__pycache__", "results", "stored", "test_*")
    for name in ("src", "tests", "benchmarks"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "src"), "GIT_CEILING_DIRECTORIES": str(tmp_path.parent)}
    options = {"cwd": tmp_path, "env": environment, "capture_output": True, "text": True, "check": False}
    for patch in PATCHES:
        applied = subprocess.run(["git", "apply", "-"], input=patch, **options)
        assert applied.returncode == 0, applied.stderr
    tests = [path for patch in PATCHES for path in files_of(patch)[0] if path.startswith("tests/")]
    ran = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests], **options)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr
    assert "passed" in ran.stdout
