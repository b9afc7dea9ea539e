"""The layers of CONTRIBUTING.md: a file imports only from rows below its own, and steps never import each other."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src" / "rspca"

ROWS = [  # from the ground up; what stands in one row may import each other, unless it is a step
    {
        "vectors",
        "choice",
        "gram_search",
        "arguments",
        "checks",
        "dataframes",
        "components",
        "atomic",
        "memory",
        "machine_code",
    },
    {"operators"},
    {"spectral", "sketch", "pool", "linkage"},
    {"datasets", "text", "formats", "tables", "studies"},
    {"relaxation", "rounding", "normalization", "polishing", "deflation", "variance"},
    {"ascent"},
    {"sequence"},
    {"decomposition"},
    {"certificates"},
    {"methods", "comparison", "paths"},
    {"api"},
    {"estimator", "models", "singlecell", "displays", "plotting", "demo", "report", "commands", "cli", "__main__"},
]
LEVEL = {name: level for level, row in enumerate(ROWS) for name in row}
STEPS = ROWS[4]
RESULTS = ("certificates.certificate",)
"""What the core below it passes on as a result."""


def modules():
    for path in sorted(SOURCE.rglob("*.py")):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        if name != "__init__":
            yield pytest.param(name, path, id=name)


def imported(path):
    """Yield the modules of rspca that are imported when a file is loaded; those inside functions may wait."""
    pending = list(ast.parse(path.read_text()).body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("rspca."):
            yield node.module.removeprefix("rspca.")
        elif isinstance(node, ast.Try | ast.With) or (
            isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test)
        ):
            pending += ast.iter_child_nodes(node)


@pytest.mark.parametrize(("name", "path"), list(modules()))
def test_a_file_imports_only_from_rows_below_its_own(name, path):
    own = name.partition(".")[0]
    assert own in LEVEL, f"{name} is in no row"
    for other in imported(path):
        row = other.partition(".")[0]
        if row == own or other in RESULTS:
            continue
        assert LEVEL[row] <= LEVEL[own], f"{name} imports {other}, which stands above it"
        assert own not in STEPS or row not in STEPS, f"{name} imports {other}: steps never import each other"


def test_only_operators_ask_how_data_are_stored():
    for path in SOURCE.rglob("*.py"):
        text = path.read_text()
        if "operators" not in path.parts and "formats" not in path.parts:
            assert "isinstance(op, DenseOperator" not in text, path
            assert "isinstance(op, SparseOperator" not in text, path
