"""The engines of long loops: plain NumPy for short ones, numba for those longer than compilation."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from rspca.base.machine_code import can_compile, is_kept
from rspca.base.types import Array
from rspca.certificates import budgets, nodes
from rspca.certificates.bounds import score_roots
from rspca.certificates.bounds.limits import GroupLimits
from rspca.certificates.compiled import compiled_copies
from rspca.certificates.progress import Progress


class _Work:
    """Work of this process so far: many short searches justify compilation as much as one long search."""

    plain_features = 0
    is_compiled = False
    plain_terms = 0
    roots_are_compiled = False


class Examiner:
    """Examines the nodes of one search, and compiles when past and expected work justify it."""

    def __init__(self, run: Progress | None = None) -> None:
        self.run = run

    def __call__(
        self,
        A: Array,
        parts: Array,
        fixed: Array,
        free: Array,
        k: int,
        least: float,
        *,
        open_nodes: int,
        limits: GroupLimits | None = None,
    ) -> tuple[float, Array, Array]:
        """Return the result of `nodes.examine`; each of the open nodes will have two children."""
        labels, most = (nodes.NO_LABELS, 0) if limits is None else (limits.labels, limits.most)
        size = len(fixed) + len(free)
        if self._uses_machine_code(size * (1 + 2 * open_nodes)):
            result: tuple[float, Array, Array] = _machine_code()(A, parts, fixed, free, k, least, labels, most)
            return result
        _Work.plain_features += size
        return nodes.examine(A, parts, fixed, free, k, least, labels, most)

    def _uses_machine_code(self, features_to_come: int) -> bool:
        if not _Work.is_compiled:
            if _Work.plain_features + features_to_come <= budgets.PLAIN_FEATURES or not can_compile():
                return False
            if self.run is None:
                _compile()
            else:
                self.run.spend_compiling(_compile, is_new=not is_kept(_machine_code()))
        if self.run is not None:
            self.run.ran_with("numba")
        return True


class RootFinder:
    """Finds the roots of `score_roots`, and compiles when past work of this process justifies it."""

    def __init__(self, run: Progress | None = None) -> None:
        self.run = run

    def __call__(
        self, squares: Array, weights: Array, rho: float, start: Array, steps: int, tol: float
    ) -> tuple[Array, Array]:
        """Return the result of `score_roots.newton_plain`."""
        if self._uses_machine_code():
            result: tuple[Array, Array] = _roots_code()(np.ascontiguousarray(squares), weights, rho, start, steps, tol)
            return result
        _Work.plain_terms += squares.size + budgets.PLAIN_ROOTS_CALL
        return score_roots.newton_plain(squares, weights, rho, start, steps, tol)

    def _uses_machine_code(self) -> bool:
        if not _Work.roots_are_compiled:
            if _Work.plain_terms <= budgets.PLAIN_ROOTS or not can_compile():
                return False
            if self.run is None:
                _compile_roots()
            else:
                self.run.spend_compiling(_compile_roots, is_new=not is_kept(_roots_code()))
        return True


@cache
def _roots_code() -> Any:
    """Return `score_roots.newton_loop` for numba to compile."""
    return compiled_copies(vars(score_roots), score_roots.COMPILED)["newton_loop"]


def _compile_roots() -> None:
    """Compile, or load the machine code of an earlier run from disk."""
    _roots_code()(np.ones((2, 3)), np.ones(3), 0.5, np.zeros(2), 2, 1e-9)
    _Work.roots_are_compiled = True


@cache
def _machine_code() -> Any:
    """Return `nodes.examine` for numba to compile."""
    return compiled_copies(vars(nodes), nodes.COMPILED, _top_sum="_top_sum_loop")["examine"]


def _compile() -> None:
    """Compile, or load the machine code of an earlier run from disk."""
    nothing, three = np.empty(0, dtype=np.intp), np.arange(3)
    _machine_code()(np.eye(3), np.eye(3)[None], nothing, three, 2, 0.5, nodes.NO_LABELS, 0)
    _Work.is_compiled = True
