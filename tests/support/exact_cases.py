"""Small data on which proofs went wrong, or could, with their Gram matrix in exact rational arithmetic.

A case is what a user would give to `certify`, and the matrix X'X of the data as they are then taken, computed with
fractions from the very floats that are given: centered, deflated by earlier vectors, and only then rounded once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from fractions import Fraction
from importlib.util import find_spec
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

import rspca
from rspca.certificates import budgets
from rspca.genetics.plink import pack
from rspca.operators.plink import PackedOperator, Part
from support.operators import FiveMembers

ENUMERATION_ERROR = 1e-12
"""Relative error of eigenvalues of the exact matrix, rounded once, and of divisions by exact spreads."""

Rational = list[list[Fraction]]


class ExactCase(NamedTuple):
    """Data, the options of `certify`, and the exact matrix whose best support is sought."""

    family: str
    given: Any
    options: dict[str, Any]
    A: np.ndarray
    whole: np.ndarray | None = None
    """The same before anything was taken off it; A itself where nothing was."""
    removed: str = "exactly"
    """"loosely" where new scores of an earlier vector are near to rounding: less may be removed than exactly."""


class Checked(NamedTuple):
    """What was wrong with a certificate, in words; empty if nothing was."""

    wrong: str
    optimal: bool


# --- exact arithmetic -------------------------------------------------------------------------------------------------


def exact_gram(X: np.ndarray, center: bool) -> Rational:
    """Return X'X, about the column means if `center`, as fractions."""
    columns = [[Fraction(float(x)) for x in column] for column in np.asarray(X, dtype=np.float64).T]
    if center:
        columns = [[x - sum(column) / len(column) for x in column] for column in columns]
    n = len(columns)
    A = [[Fraction(0)] * n for _ in range(n)]
    for i in range(n):
        for j in range(i, n):
            A[i][j] = A[j][i] = sum((a * b for a, b in zip(columns[i], columns[j], strict=True)), Fraction(0))
    return A


class OfSamples(NamedTuple):
    """What is known of samples beside X: weights, and covariates as numbers, samples by columns."""

    weights: np.ndarray | None = None
    covariates: np.ndarray | None = None

    def options(self) -> dict[str, Any]:
        """Return the arguments of functions of rspca."""
        known = {"sample_weight": self.weights, "covariates": self.covariates}
        return {name: value for name, value in known.items() if value is not None}


def exact_gram_of_samples(X: np.ndarray, center: bool, known: OfSamples) -> Rational:
    """Return X' diag(w) X about weighted means, of what covariates leave by weighted least squares, as fractions."""
    m = len(X)
    w = [Fraction(float(x)) for x in (np.ones(m) if known.weights is None else known.weights)]
    total = sum(w, Fraction(0))

    def about_mean(column: np.ndarray) -> list[Fraction]:
        values = [Fraction(float(x)) for x in column]
        mean = sum((a * x for a, x in zip(w, values, strict=True)), Fraction(0)) / total
        return [x - mean for x in values] if center else values

    def inner(a: list[Fraction], b: list[Fraction]) -> Fraction:
        return sum((c * x * y for c, x, y in zip(w, a, b, strict=True)), Fraction(0))

    columns = [about_mean(column) for column in np.asarray(X, dtype=np.float64).T]
    directions: list[list[Fraction]] = []
    for covariate in () if known.covariates is None else known.covariates.T:
        q = about_mean(covariate)
        for earlier in directions:
            q = _less(q, earlier, inner(earlier, q) / inner(earlier, earlier))
        if inner(q, q):
            directions.append(q)
    for q in directions:
        length = inner(q, q)
        columns = [_less(column, q, inner(q, column) / length) for column in columns]
    A = [[Fraction(0)] * len(columns) for _ in columns]
    for i, a in enumerate(columns):
        for j in range(i, len(columns)):
            A[i][j] = A[j][i] = inner(a, columns[j])
    return A


def exactly_deflated(A: Rational, vectors: np.ndarray, deflation: str) -> tuple[Rational | None, str]:
    """Return what vectors leave of A, one after another, in exact arithmetic, and whether that is well determined.

    New scores of a vector that are near to the rounding of the products they come from may not be removed: then the
    exact answer is no larger. None for "orthogonal" where either answer is right.
    """
    earlier: list[list[Fraction]] = []
    removed, lengths = "exactly", [float(A[i][i]) ** 0.5 for i in range(len(A))]
    for row in np.atleast_2d(vectors):
        v = [Fraction(float(x)) for x in row]
        if deflation == "schur":
            Av = _times(A, v)
            length = _dot(v, Av)
            terms = sum(abs(float(x)) * lengths[i] for i, x in enumerate(v))
            if 0.0 < float(length) ** 0.5 < 1e-10 * terms:
                removed = "loosely"
            if length:
                A = [[a - x * y / length for a, y in zip(line, Av, strict=True)] for line, x in zip(A, Av, strict=True)]
            continue
        if deflation == "orthogonal":
            for q in earlier:
                v = _less(v, q, _dot(q, v) / _dot(q, q))
            if not any(v):
                continue
            share = float(_dot(v, v)) ** 0.5 / (1e-12 * float(np.linalg.norm(row)))
            if share < 1e3:
                return None, "loosely"
            earlier.append(v)
        A = _projected(A, v)
    return A, removed


def _projected(A: Rational, v: list[Fraction]) -> Rational:
    """Return (I - P) A (I - P), P the projection on v."""
    length, Av = _dot(v, v), _times(A, v)
    both = _dot(v, Av) / length**2
    return [
        [A[i][j] - (v[i] * Av[j] + Av[i] * v[j]) / length + both * v[i] * v[j] for j in range(len(v))]
        for i in range(len(v))
    ]


def _dot(a: list[Fraction], b: list[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def _times(A: Rational, v: list[Fraction]) -> list[Fraction]:
    return [_dot(line, v) for line in A]


def _less(v: list[Fraction], q: list[Fraction], factor: Fraction) -> list[Fraction]:
    return [x - factor * y for x, y in zip(v, q, strict=True)]


def rounded(A: Rational) -> np.ndarray:
    return np.array([[float(a) for a in line] for line in A])


def exactly_scaled(A: np.ndarray, X: np.ndarray, scale: bool | str, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the Gram matrix of columns divided by their spread; constant columns stay, and are zero if centered."""
    w = np.ones(len(X)) if weights is None else weights
    each = [Fraction(float(x)) for x in w]
    if scale == "patterson":
        sums = [_dot(each, [Fraction(float(x)) for x in column]) for column in X.T]
        means = [total / sum(each, Fraction(0)) for total in sums]
        squares = np.array([float(mean * (1 - mean / 2)) for mean in means])
    else:
        about = exact_gram_of_samples(X, True, OfSamples(w))
        squares = np.array([float(about[j][j] / sum(each, Fraction(0))) for j in range(len(about))])
    spread = np.sqrt(np.where(squares > 0.0, squares, 1.0))
    return A / spread[:, None] / spread


def optimum(A: np.ndarray, k: int) -> float:
    """Return the largest variance of k features, by trying all supports."""
    supports = np.array(list(combinations(range(len(A)), k)))
    return float(np.linalg.eigvalsh(A[supports[:, :, None], supports[:, None, :]])[:, -1].max())


# --- data -------------------------------------------------------------------------------------------------------------


def _factors(rng: np.random.Generator, m: int, n: int) -> np.ndarray:
    return rng.standard_normal((m, 2)) @ rng.standard_normal((2, n)) + 0.5 * rng.standard_normal((m, n))


def _far_integers(rng: np.random.Generator, m: int, n: int) -> np.ndarray:
    """Whole numbers with means up to 1e14, and spreads from one different entry to hundreds."""
    spread = rng.choice([1, 2, 5, 100], n)
    X = rng.integers(-spread, spread + 1, (m, n)) * (rng.random((m, n)) < rng.choice([0.1, 0.5, 1.0], n))
    return X + np.round(10.0 ** rng.uniform(0, 14, n)) * rng.choice([-1, 0, 1], n)


def _far_single(rng: np.random.Generator, m: int, n: int) -> np.ndarray:
    """The same in single precision, with means up to 1e7: all of them exact."""
    spread = rng.choice([1, 2, 5], n)
    X = rng.integers(-spread, spread + 1, (m, n)) * (rng.random((m, n)) < rng.choice([0.1, 0.5, 1.0], n))
    return (X + np.round(10.0 ** rng.uniform(0, 7, n)) * rng.choice([-1, 0, 1], n)).astype(np.float32)


def _far_reals(rng: np.random.Generator, m: int, n: int) -> np.ndarray:
    return _factors(rng, m, n) * 10.0 ** rng.uniform(-4, 2, n) + 10.0 ** rng.uniform(-2, 9, n)


def _last_bit(rng: np.random.Generator, m: int, n: int) -> np.ndarray:
    """Columns that are constant but for the last bit of a few entries."""
    X = np.tile(10.0 ** rng.uniform(-3, 6, n), (m, 1))
    return np.where(rng.random((m, n)) < 0.3, np.nextafter(X, np.inf), X)


def _near_duplicates(rng: np.random.Generator, m: int, n: int) -> np.ndarray:
    X = _factors(rng, m, n)
    for j in range(1, n):
        if rng.random() < 0.7:
            X[:, j] = X[:, rng.integers(j)] + 10.0 ** rng.uniform(-12, -2) * rng.standard_normal(m)
    return X


def _wild_scales(rng: np.random.Generator, m: int, n: int) -> np.ndarray:
    return _factors(rng, m, n) * 10.0 ** rng.uniform(-7, 7, n)


def _genotypes(rng: np.random.Generator, m: int, n: int) -> np.ndarray:
    X = rng.binomial(2, rng.choice([0.02, 0.3, 0.5, 0.98], n), (m, n)).astype(float)
    X[0, 0], X[1, 0] = 0.0, 2.0
    return X


def _low_rank(rng: np.random.Generator, m: int, n: int) -> np.ndarray:
    return np.outer(rng.integers(-3, 4, m), rng.integers(-3, 4, n)).astype(float) + np.eye(m, n)


def _single(make: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    return lambda rng, m, n: make(rng, m, n).astype(np.float32)


DATA: dict[str, Callable[[np.random.Generator, int, int], np.ndarray]] = {
    "far integers": _far_integers,
    "far float32": _far_single,
    "far reals": _far_reals,
    "far reals float32": _single(_far_reals),
    "last bit": _last_bit,
    "last bit float32": lambda rng, m, n: np.where(
        rng.random((m, n)) < 0.3,
        np.nextafter(np.float32(1e3), np.float32(np.inf)),
        np.full((m, n), 1e3, dtype=np.float32),
    ),
    "near duplicates": _near_duplicates,
    "near duplicates float32": _single(_near_duplicates),
    "wild scales": _wild_scales,
    "wild scales float32": _single(_wild_scales),
    "genotypes": _genotypes,
    "low rank": _low_rank,
    "tiny": lambda rng, m, n: 1e-120 * _factors(rng, m, n),
    "huge": lambda rng, m, n: 1e120 * _factors(rng, m, n),
}


def _packed(X: np.ndarray) -> Any:
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    return PackedOperator([Part(pack(X.astype(float)), np.arange(X.shape[1]))], X.shape[0], dtype=dtype)


CONTAINERS: dict[str, Callable[[np.ndarray], Any]] = {
    "dense": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "csr": scipy.sparse.csr_array,
    "streamed": lambda X: rspca.as_operator(np.ascontiguousarray(X), max_memory="1MB"),
    "five members": FiveMembers,
}
if find_spec("numba") is not None:  # packed genotypes need it
    CONTAINERS["packed"] = _packed
DEFLATIONS = ("schur", "projection", "orthogonal")


def _dependent_vectors(rng: np.random.Generator, n: int) -> tuple[np.ndarray, int]:
    """Return vectors of which some depend on others, exactly, nearly, or up to rounding, and how many of them count.

    A combination of others that is rounded is a combination of them: it removes nothing more.
    """
    count = int(rng.integers(1, 4))
    V = np.round(4.0 * rng.standard_normal((count, n)) * (rng.random((count, n)) < 0.6)) / 4.0
    V[~V.any(axis=1), 0] = 1.0
    kind = rng.integers(4)
    if kind == 0:  # the same again, or twice as long
        V = np.vstack([V, V[rng.integers(count)] * rng.choice([1.0, 2.0, -1.0])])
    elif kind == 1:  # nearly the same
        V = np.vstack([V, V[rng.integers(count)] + 2.0 ** -rng.integers(10, 40) * np.eye(n)[rng.integers(n)]])
    elif kind == 2:  # a combination, rounded
        return np.vstack([V, rng.standard_normal(count) @ V]), count
    return V[V.any(axis=1)], len(V)


WEIGHTS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "counts": lambda rng, m: rng.integers(0, 4, m).astype(float),
    "reals": lambda rng, m: rng.uniform(0.1, 3.0, m),
    "wild": lambda rng, m: 10.0 ** rng.uniform(-4, 4, m),
    "half": lambda rng, m: (rng.random(m) < 0.5).astype(float),
}


def drawn_of_samples(rng: np.random.Generator, m: int, *, center: bool) -> OfSamples:
    """Return weights, covariates (where data are centered), or both, some of them hard."""
    weights = covariates = None
    which = rng.integers(3) if center else 0
    if which != 1:
        weights = WEIGHTS[str(rng.choice(list(WEIGHTS)))](rng, m)
        weights[: min(m, 3)] = np.maximum(weights[: min(m, 3)], 1.0)  # three samples at least, of total weight above 1
    if which != 0:
        labels = (rng.integers(0, 2, m) == 0).astype(float)
        numbers = rng.standard_normal(m) * 10.0 ** rng.uniform(-3, 3) + 10.0 ** rng.uniform(-1, 4)
        close = labels + 2.0 ** -rng.integers(5, 20) * rng.standard_normal(m)
        few = [labels, numbers, close, labels][: max(1, min(int(rng.integers(1, 4)), m - 3))]
        covariates = np.column_stack(few)
    return OfSamples(weights, covariates)


def exact_case(seed: int, *, tall: bool = False, of_samples: bool = False) -> ExactCase:
    """Return the case of a seed: families in turn, everything else by chance; `tall` ones have up to 100 samples.

    With `of_samples` samples have weights, or covariates, or both.
    """
    rng = np.random.default_rng([14, seed])
    if seed % 12 == 11 and not tall and not of_samples:
        return _clipped_gram(rng)
    family = list(DATA)[seed % len(DATA)]
    n, m = int(rng.integers(2, 8)), int(rng.integers(2, 10))
    if tall:
        m = n + int(np.random.default_rng([16, seed]).integers(100 - n))
    X = np.asarray(DATA[family](rng, m, n))
    center = bool(rng.random() < 0.8)
    scale: bool | str = bool(rng.random() < 0.3)
    if family == "genotypes" and rng.random() < 0.5:
        scale = "patterson"
    varying = X[:, np.ptp(X, axis=0) > 0]
    if center and not varying.size:
        X = X.copy()
        X[0, 0] += X.dtype.type(1.0 + abs(X[0, 0]))
    container = str(rng.choice([name for name in CONTAINERS if name != "packed" or family == "genotypes"]))
    options: dict[str, Any] = {"center": center, "scale": scale}
    known = OfSamples()
    if of_samples:
        known = drawn_of_samples(np.random.default_rng([19, seed]), m, center=center)
        options |= known.options()
    A = exact_gram_of_samples(X, center, known) if of_samples else exact_gram(X, center)
    before = A if known.covariates is None else exact_gram_of_samples(X, center, known._replace(covariates=None))
    removed = "exactly"
    if rng.random() < 0.4 and scale is False and family not in ("tiny", "huge"):
        vectors, count = _dependent_vectors(rng, n)
        deflation = str(rng.choice(DEFLATIONS))
        vectors = vectors[:count] if deflation == "projection" else vectors  # which takes v off once more
        left, removed = exactly_deflated(A, vectors[:count], deflation)
        if left is not None:
            options |= {"after": vectors, "deflation": deflation}
            A = left
    matrix, whole = rounded(A), rounded(before)
    if scale is not False:
        matrix, whole = (exactly_scaled(part, X, scale, known.weights) for part in (matrix, whole))
    return ExactCase(f"{family}, {container}", CONTAINERS[container](X), options, matrix, whole, removed)


def _clipped_gram(rng: np.random.Generator) -> ExactCase:
    """Return correlations written with few digits: the smallest eigenvalue is below zero, by rounding."""
    n = int(rng.integers(3, 8))
    A = np.corrcoef(_factors(rng, 3, n), rowvar=False)
    A = np.round(A, int(rng.integers(8, 14)))
    A = (A + A.T) / 2.0
    if np.linalg.eigvalsh(A)[0] < -0.9e-8 * n:
        A = A + 1e-7 * np.eye(n)
    return ExactCase("clipped Gram matrix", rspca.GramOperator(A), {}, A)


# --- the check --------------------------------------------------------------------------------------------------------


def check_case(seed: int, seconds: float = 0.5, *, tall: bool = False, of_samples: bool = False) -> list[Checked]:
    """Certify the case of a seed for every k, some of them as if the data were large, and compare with enumeration."""
    case = exact_case(seed, tall=tall, of_samples=of_samples)
    rng = np.random.default_rng([15, seed])
    results = []
    whole = case.A if case.whole is None else case.whole
    nothing = float(np.diagonal(case.A).max()) <= 1e-12 * float(np.diagonal(whole).max())
    for k in range(1, len(case.A) + 1):
        small, steps = (int(rng.integers(1, 4)), int(rng.choice([0, 20]))) if rng.random() < 0.3 else (1500, 20)
        try:
            found = _certified(case, k, seconds, small, steps)
        except ValueError as error:
            refused = ("no variance" in str(error) and nothing) or "too small to be scaled" in str(error)
            refused = refused or (of_samples and "explain all of" in str(error))
            results.append(Checked("" if refused else f"refused: {error}", False))
            continue
        results.append(Checked(_what_is_wrong(case, k, found), found.status == "optimal"))
    return results


def check_fit(seed: int, seconds: float = 0.5, *, of_samples: bool = False) -> list[Checked]:
    """Certify each of several components of tall data as they are found, and compare with what exactly is left."""
    rng = np.random.default_rng([17, seed])
    family = list(DATA)[seed % (len(DATA) - 2)]  # neither tiny nor huge: fractions of these have hundreds of digits
    n = int(rng.integers(2, 8))
    X = np.asarray(DATA[family](rng, n + int(rng.integers(60)), n))
    if not np.ptp(X, axis=0).any():
        return []
    deflation, k, center = str(rng.choice(DEFLATIONS)), int(rng.integers(1, n + 1)), bool(rng.random() < 0.8)
    r = min(int(rng.integers(1, 4)), n)
    known = drawn_of_samples(np.random.default_rng([20, seed]), len(X), center=center) if of_samples else OfSamples()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            found = rspca.decompose(
                X,
                r,
                k=k,
                deflation=deflation,
                center=center,
                certify=True,
                certify_seconds=r * seconds,
                random_state=0,
                **known.options(),
            )
        except ValueError as error:
            return [Checked("" if _may_refuse(error) else f"refused: {error}", False)]
    results, whole = [], exact_gram_of_samples(X, center, known) if of_samples else exact_gram(X, center)
    for number, component in enumerate(found.components):
        earlier = np.array([one.dense() for one in found.components[:number]])
        A, removed = exactly_deflated(whole, earlier, deflation) if number else (whole, "exactly")
        if A is None:
            break
        case = ExactCase(family, X, {}, rounded(A), removed=removed)
        proof = component.certificate
        results.append(Checked(_what_is_wrong(case, proof.k, proof), proof.status == "optimal"))
    return results


def _may_refuse(error: ValueError) -> bool:
    return "no variance" in str(error) or "explain all of" in str(error)


def _certified(case: ExactCase, k: int, seconds: float, small: int, steps: int) -> Any:
    limits = budgets.GRAM_FEATURES, budgets.STEP_BY_STEP_MAX_K
    budgets.GRAM_FEATURES, budgets.STEP_BY_STEP_MAX_K = small, steps
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return rspca.certify(case.given, k, seconds=seconds, **case.options)
    finally:
        budgets.GRAM_FEATURES, budgets.STEP_BY_STEP_MAX_K = limits


def _what_is_wrong(case: ExactCase, k: int, found: Any) -> str:
    best = optimum(case.A, k)
    vector = np.zeros(len(case.A))
    vector[found.support] = found.loadings
    reached = float(vector @ case.A @ vector)
    if found.upper < best * (1.0 - ENUMERATION_ERROR):
        return f"k={k}: upper {found.upper!r} is below the optimum {best!r}, status {found.status}"
    if case.removed == "loosely":
        return ""
    if found.lower > best * (1.0 + ENUMERATION_ERROR):
        return f"k={k}: lower {found.lower!r} is above the optimum {best!r}"
    if found.lower > reached * (1.0 + ENUMERATION_ERROR):
        return f"k={k}: lower {found.lower!r} is above what its loadings reach, {reached!r}"
    return ""
