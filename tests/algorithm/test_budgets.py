"""Every tuned number has a unit, a reason, and a reader."""

import ast
import re
from pathlib import Path

import pytest

import rspca

SOURCE = Path(rspca.__file__).parent
TEXTS = {path: path.read_text() for path in sorted(SOURCE.rglob("*.py"))}
BUDGETS = [SOURCE / "algorithm" / "budgets.py", SOURCE / "certificates" / "budgets.py"]
REASON = re.compile(r"benchmarks/\w+\.py|Arithmetic: |[Nn]ot tuned|[Cc]ounted|[Ll]imit of memory")


def constants(path):
    """Yield the names of each assignment of a module, and the docstring below it."""
    body = ast.parse(TEXTS[path]).body
    for node, following in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.Assign):
            targets = node.targets[0].elts if isinstance(node.targets[0], ast.Tuple) else node.targets
            text = following.value.value if isinstance(following, ast.Expr) else ""
            yield [target.id for target in targets if isinstance(target, ast.Name)], text


@pytest.mark.parametrize("path", BUDGETS, ids=lambda path: path.parent.name)
def test_every_budget_has_a_reason_and_is_read(path):
    others = "".join(text for other, text in TEXTS.items() if other != path)
    for names, text in constants(path):
        assert REASON.search(text), f"{names} in {path.parent.name}/budgets.py: unit, reason, script"
        for name in names:
            assert re.search(rf"budgets\.{name}\b|import {name}\b", others), f"{name} is not used"


@pytest.mark.parametrize("folder", ["linalg", "operators"])
def test_every_number_of_a_single_module_has_a_reason_below_it(folder):
    for path in TEXTS:
        if path.parent == SOURCE / folder:
            for names, text in constants(path):
                public = [name for name in names if name.isupper() and not name.startswith("_")]
                assert not public or text, f"{path.name}: {public}"


@pytest.mark.parametrize("folder", ["algorithm", "certificates", "certificates/bounds"])
def test_numbers_of_the_algorithm_and_of_proofs_are_in_one_file(folder):
    # machine epsilon; limits of the file format; how finely words round
    allowed = {"EPS", "REACHED_TOL", "MOST_CHARACTERS", "MOST_BOUNDS", "FINEST"}
    for path, text in TEXTS.items():
        if path.parent == SOURCE / folder and path.name != "budgets.py":
            numbers = {
                name for name, value in re.findall(r"^([A-Z][A-Z_]+) = (.*)", text, re.M) if value[0] in "0123456789"
            }
            assert not numbers - allowed, f"{path.name}: {numbers}"
