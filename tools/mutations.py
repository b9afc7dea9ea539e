"""Small wrong changes to Python source, found in its syntax tree: comparisons, arithmetic, constants, slices, ..."""

from __future__ import annotations

import ast
import copy
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

SEED = 8
SOURCE = Path(__file__).resolve().parent.parent / "src" / "rspca"

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq, ast.NotEq),
    ast.NotEq: (ast.Eq, ast.Eq),
    ast.Is: (ast.IsNot, ast.IsNot),
    ast.IsNot: (ast.Is, ast.Is),
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
SWAPPED = {"min": "max", "minimum": "maximum", "argmin": "argmax", "any": "all", "zeros": "ones"}
SWAPPED |= {other: name for name, other in SWAPPED.items()}


class Mutant(NamedTuple):
    """One change: the place, what stands there, and what is put in its stead."""

    file: str
    line: int
    column: int
    kind: str
    start: int
    end: int
    text: str

    @property
    def key(self) -> str:
        """What this mutant is, wherever in the file it stands: it stays the same when other lines change."""
        return key_of(self.name, difference(self))

    @property
    def name(self) -> str:
        return f"{self.file}:{self.line}:{self.column}+{self.end - self.start} {self.kind}"


def key_of(name: str, lines: list[str]) -> str:
    """Return the key of a mutant from its name, less the number of the line, and from what it changes."""
    file, _, rest = name.split(":", 2)
    return hashlib.sha256("\n".join([str(SEED), file, rest, *lines]).encode()).hexdigest()


@cache
def source_of(file: str) -> bytes:
    """Return a file as it was at the beginning: who works on it meanwhile does not disturb."""
    return (SOURCE / file).read_bytes()


def mutants_of(file: str) -> list[Mutant]:
    """Return all mutants of a file, in the order of their places."""
    source = source_of(file)
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for node, kind, changed in changes(ast.parse(source)):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        text = changed if isinstance(changed, str) else f"({ast.unparse(changed)})"
        found.append(Mutant(file, node.lineno, node.col_offset, kind, start, end, text))
    return sorted(found, key=lambda one: (one.start, one.end, one.kind))


def changes(tree: ast.Module) -> Iterator[tuple[Any, str, Any]]:
    """Yield every change of the code inside functions: the node, the kind, and the new node or text."""
    for top in tree.body:
        for function in ast.walk(top):
            if isinstance(function, ast.FunctionDef):
                for statement in function.body:
                    yield from within(statement)


def within(node: ast.AST) -> Iterator[tuple[Any, str, Any]]:
    """Yield the changes of a statement or expression and of all that it contains."""
    if isinstance(node, ast.FunctionDef | ast.Raise | ast.Import | ast.ImportFrom | ast.JoinedStr):
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):  # a docstring
        return
    yield from of_statement(node)
    yield from of_expression(node)
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from within(child)


def of_statement(node: ast.AST) -> Iterator[tuple[Any, str, Any]]:
    stored = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript)
    called = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    if isinstance(node, ast.AugAssign | ast.Break | ast.Continue) or stored or called:
        yield node, "statement left out", "pass"
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        yield node.test, "condition negated", ast.UnaryOp(ast.Not(), node.test)
    if isinstance(node, ast.AugAssign) and type(node.op) in ARITHMETIC:
        yield node, "arithmetic", unparenthesized(node, op=ARITHMETIC[type(node.op)]())


def of_expression(node: ast.AST) -> Iterator[tuple[Any, str, Any]]:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        border, opposite = COMPARISONS[type(node.ops[0])]
        for number, operator in enumerate(dict.fromkeys((border, opposite))):
            yield node, ("border" if number == 0 else "comparison"), replaced(node, ops=[operator(), *node.ops[1:]])
    elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        yield node, "arithmetic", replaced(node, op=ARITHMETIC[type(node.op)]())
    elif isinstance(node, ast.BoolOp):
        yield node, "and, or", replaced(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub | ast.Invert):
        yield node, "sign or negation left out", node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield node, "truth", ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield node, "one more", ast.Constant(node.value + 1)
        yield node, "one less", ast.Constant(node.value - 1)
    elif isinstance(node, ast.Slice):
        for part in ("lower", "upper"):
            end = getattr(node, part)
            if end is not None and not isinstance(end, ast.Constant):
                yield end, "slice", ast.BinOp(end, ast.Add(), ast.Constant(1))
    elif isinstance(node, ast.Call):
        name = node.func
        if isinstance(name, ast.Name) and name.id in SWAPPED:
            yield name, "least, largest", SWAPPED[name.id]
        if isinstance(name, ast.Attribute) and name.attr in SWAPPED:
            yield name, "least, largest", ast.unparse(replaced(name, attr=SWAPPED[name.attr]))
    elif isinstance(node, ast.Return) and isinstance(node.value, ast.Name | ast.BinOp | ast.Call):
        yield node.value, "result negated", ast.UnaryOp(ast.USub(), node.value)


def replaced(node: Any, **fields: Any) -> Any:
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def unparenthesized(node: Any, **fields: Any) -> str:
    return ast.unparse(replaced(node, **fields))


def mutated(one: Mutant) -> bytes:
    source = source_of(one.file)
    return source[: one.start] + one.text.encode() + source[one.end :]


def lines_of(one: Mutant) -> range:
    """Return the lines of the statement that is changed, of one with a body the lines before the body."""
    holders = [
        node for node in ast.walk(ast.parse(source_of(one.file)))
        if isinstance(node, ast.stmt) and node.lineno <= one.line <= (node.end_lineno or node.lineno)
    ]  # fmt: skip
    statement = max(holders, key=lambda node: (node.lineno, node.col_offset))
    body = getattr(statement, "body", None)
    return range(statement.lineno, (body[0].lineno if body else (statement.end_lineno or statement.lineno) + 1))


def difference(one: Mutant) -> list[str]:
    """Return the lines before and after."""
    before, after = source_of(one.file).decode().splitlines(), mutated(one).decode().splitlines()
    first = one.line - 1
    last = first + 1 + max(0, len(after) - len(before))
    return [f"- {before[first].strip()}", *(f"+ {line.strip()}" for line in after[first:last])]
