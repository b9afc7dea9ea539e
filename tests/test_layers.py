"""The tree is the layer diagram: a folder imports only from folders below it, and no modules import each other."""

import ast
import re
from pathlib import Path

import pytest

import rspca

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "rspca"

PUBLIC_MODULES = "public modules"  # api, estimator, ...: the files at the top level
LAYERS = [  # from the ground up
    "base", "linalg", "operators", "genetics", "formats", "datasets", "algorithm", "certificates", "methods",
    "analysis", "models", PUBLIC_MODULES, "report", "cli",
]  # fmt: skip
STEPS = {"relax", "round", "normalize", "polish", "deflate"}
TEST_FOLDERS = {"contracts", "campaigns", "support"}
"""Folders of tests that are no folders of the package."""


def name_of(path):
    return ".".join(("rspca", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")


MODULES = {name_of(path): path for path in sorted(SOURCE.rglob("*.py"))}
ENTRANCES = {"rspca", "rspca.__main__"}
"""What may import from everywhere: the table of lazy names, and the start of the command line."""


PLACE = re.compile(r"rspca(\.\w+)+:\w+")
"""What `rspca.base.imports.load` takes."""


def imports_of(path):
    """Yield the modules of rspca that a file imports: at the top, inside functions, for type checkers, by place."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and PLACE.fullmatch(node.value):
            yield node.value.partition(":")[0]
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name.split(".")[0] == "rspca")
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            if node.module.split(".")[0] == "rspca":
                for one in node.names:
                    whole = f"{node.module}.{one.name}"
                    if whole != "rspca.__version__":  # the package is loaded before any of its modules
                        yield whole if whole in MODULES else node.module


IMPORTS = {name: set(imports_of(path)) for name, path in MODULES.items()}


def layer_of(name):
    folder = name.split(".")[1]
    return LAYERS.index(folder if (SOURCE / folder).is_dir() and folder != "plotting" else PUBLIC_MODULES)


@pytest.mark.parametrize("name", sorted(set(MODULES) - ENTRANCES))
def test_a_folder_imports_only_from_folders_below_it(name):
    for other in IMPORTS[name]:
        assert other in MODULES, f"{name} imports {other}, which is not there"
        assert other not in ENTRANCES, f"{name} imports {other}"
        assert layer_of(other) <= layer_of(name), f"{name} imports {other}, which is above it"


def test_no_modules_import_each_other():
    finished, pending = set(), []

    def visit(name):
        assert name not in pending, " -> ".join([*pending[pending.index(name) :], name])
        if name not in finished:
            pending.append(name)
            for other in sorted(IMPORTS[name] - ENTRANCES):
                visit(other)
            finished.add(pending.pop())

    for name in sorted(set(MODULES) - ENTRANCES):
        visit(name)
    assert finished == set(MODULES) - ENTRANCES


def test_imports_inside_functions_and_for_types_are_found(tmp_path):
    (tmp_path / "module.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from rspca.api import relax\n"
        "def f():\n    from rspca.operators import dense\n    import rspca.estimator\n"
        "    from rspca import __version__\n    return load('rspca.linalg.eigen:top_pair')\n"
    )
    found = {"rspca.api", "rspca.operators.dense", "rspca.estimator", "rspca.linalg.eigen"}
    assert set(imports_of(tmp_path / "module.py")) == found


@pytest.mark.parametrize("step", sorted(STEPS))
def test_steps_of_the_algorithm_never_import_each_other(step):
    others = {f"rspca.algorithm.{other}" for other in STEPS - {step}}
    assert not IMPORTS[f"rspca.algorithm.{step}"] & others


def test_at_most_a_dozen_modules_are_at_the_top_level():
    assert len(list(SOURCE.glob("*.py"))) <= 12


def test_every_folder_is_a_layer():
    folders = {path.parent.name for path in SOURCE.glob("*/*.py")}
    assert folders == {*LAYERS, "plotting"} - {PUBLIC_MODULES}


def test_no_folder_is_called_like_a_public_function():
    folders = {path.name for path in SOURCE.iterdir() if path.is_dir()}
    assert not {name for name in folders & set(rspca.__all__) if callable(getattr(rspca, name))}


def test_the_type_of_arrays_is_defined_once():
    assert [name for name, path in MODULES.items() if "\nArray = " in path.read_text()] == ["rspca.base.types"]


def test_only_operators_ask_how_data_are_stored():
    for path in SOURCE.rglob("*.py"):
        text = path.read_text()
        if "operators" not in path.parts and "formats" not in path.parts:
            assert "isinstance(op, DenseOperator" not in text, path
            assert "isinstance(op, SparseOperator" not in text, path


def test_tests_mirror_the_tree():
    tests = ROOT / "tests"
    folders = {path.parent.relative_to(tests).as_posix() for path in tests.rglob("test_*.py")} - {"."}
    assert {folder.split("/")[0] for folder in folders} <= {*LAYERS, *TEST_FOLDERS}
    assert all((SOURCE / folder).is_dir() for folder in folders - TEST_FOLDERS)
    for path in tests.rglob("*.py"):
        imported = {
            node.module for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)
        }  # fmt: skip
        assert not {name for name in imported if name and name.startswith("test_")}, f"{path} imports a test file"


@pytest.mark.parametrize("folder", ["benchmarks", "experiments"])
def test_measurements_and_experiments_import_no_tests(folder):
    for path in (ROOT / folder).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            assert not {name.split(".")[0] for name in names} & {"pytest", "support", "tests"}, path
