"""Matrices that are hard on certificates, and their best supports by trying all of them."""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

import rspca
from rspca.operators.convert import prepare
from rspca.operators.deflated import ScoreDeflated

NOTHING = 1e-13
"""Relative error of the enumeration itself."""


class Case(NamedTuple):
    """What certify is given, with which options, and X'X of the data as they are then taken."""

    kind: str
    given: Any
    options: dict[str, Any]
    A: np.ndarray

    @property
    def n(self) -> int:
        return len(self.A)


def variances(A: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return all supports of k features, one a row, and the variance of each."""
    supports = np.array(list(combinations(range(len(A)), k)))
    return supports, np.linalg.eigvalsh(A[supports[:, :, None], supports[:, None, :]])[:, -1]


def optimum(A: np.ndarray, k: int) -> float:
    return float(variances(A, k)[1].max())


def optima(A: np.ndarray) -> list[float]:
    """Return the best variance for k = 1, 2, ..., n."""
    return [optimum(A, k) for k in range(1, len(A) + 1)]


def centered(X: Any) -> np.ndarray:
    X = np.asarray(X, dtype=np.longdouble)
    return np.asarray(X - X.mean(axis=0), dtype=float)


def product(X: Any) -> np.ndarray:
    X = np.asarray(X, dtype=float)
    return X.T @ X


def _factors(rng: np.random.Generator, m: int, n: int) -> np.ndarray:
    return rng.standard_normal((m, 2)) @ rng.standard_normal((2, n)) + 0.5 * rng.standard_normal((m, n))


def _duplicates(rng: np.random.Generator, m: int, n: int) -> np.ndarray:
    X = _factors(rng, m, n)
    X[:, rng.integers(n, size=n // 2)] = X[:, rng.integers(n, size=n // 2)]
    return X


def _collinear(rng: np.random.Generator, m: int, n: int) -> np.ndarray:
    """Return multiples of a few columns, some of them turned by a millionth."""
    X = _factors(rng, m, max(2, n // 3))[:, rng.integers(max(2, n // 3), size=n)] * rng.choice([1.0, -1.0, 0.5, 2.0], n)
    return X + 1e-6 * rng.standard_normal((m, n)) * (rng.random(n) < 0.5)


def _zeros(rng: np.random.Generator, m: int, n: int) -> np.ndarray:
    X = _factors(rng, m, n)
    X[:, rng.permutation(n)[: n // 3]] = 0.0
    return X


PLAIN = {
    "tall": lambda rng, m, n: _factors(rng, n + 5, n),
    "wide, of low rank": lambda rng, m, n: _factors(rng, max(2, n // 2), n),
    "noise": lambda rng, m, n: rng.standard_normal((m, n)),
    "small integers": lambda rng, m, n: rng.integers(-1, 2, (m, n)).astype(float) + np.eye(m, n),
    "duplicates": _duplicates,
    "collinear": _collinear,
    "zero columns": _zeros,
    "rank one": lambda rng, m, n: np.outer(rng.standard_normal(m), rng.standard_normal(n)),
    "wild scales": lambda rng, m, n: _factors(rng, m, n) * 10.0 ** rng.uniform(-6, 6, n),
    "float32": lambda rng, m, n: _factors(rng, m, n).astype(np.float32),
}
CENTERED = {
    "centered": _factors,
    "far from zero": lambda rng, m, n: _factors(rng, m, n) + 10.0 ** rng.uniform(0, 5, n),
    "float32 far from zero": lambda rng, m, n: (_factors(rng, m, n) + rng.uniform(-200, 200, n)).astype(np.float32),
    "sparse": lambda rng, m, n: np.maximum(_factors(rng, m, n) - 0.5, 0.0),
}
GRAM = {
    "equal correlations": lambda rng, n: np.full((n, n), 0.3) + 0.7 * np.eye(n),
    "correlations": lambda rng, n: np.corrcoef(_factors(rng, n + 3, n), rowvar=False),
    "rounded correlations": lambda rng, n: np.round(np.corrcoef(_factors(rng, 3 * n, n), rowvar=False), 1) + np.eye(n),
}
KINDS = [*PLAIN, *CENTERED, "deflated", *GRAM]


def case(seed: int, n: int | None = None) -> Case:
    """Return the case of a seed: all kinds in turn."""
    kind = KINDS[seed % len(KINDS)]
    rng = np.random.default_rng(seed)
    n = n or int(rng.integers(4, 9))
    m = int(rng.integers(max(2, n // 2), 2 * n))
    if kind in GRAM:
        A = GRAM[kind](rng, n)
        A += max(0.0, -np.linalg.eigvalsh((A + A.T) / 2)[0]) * np.eye(n)
        op = rspca.GramOperator(A)
        return Case(kind, op, {}, op.matrix)
    if kind in PLAIN:
        X = PLAIN[kind](rng, m, n)
        return Case(kind, X, {"center": False}, product(X))
    if kind == "deflated":
        X = centered(_factors(rng, m + 2, n))  # of rank two at least: something is left
        v = rspca.decompose(X, 1, k=max(1, n // 2), random_state=0).components[0]
        u = X[:, v.support] @ v.loadings
        u /= np.linalg.norm(u)
        return Case(kind, ScoreDeflated(prepare(X), u), {"center": False}, product(X - np.outer(u, u @ X)))
    X = CENTERED[kind](rng, m, n)
    X[0, 0] += 1.0  # not all of it constant
    return Case(kind, scipy.sparse.csr_array(X) if kind == "sparse" else X, {}, product(centered(X)))


def operator(one: Case) -> Any:
    """Return the data as certify takes them."""
    return prepare(one.given, center=one.options.get("center", True))
