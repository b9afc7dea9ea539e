"""Covariance matrices built to mislead one simple method each, with the answer that it misses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from rspca.base.checks import as_generator, check_choice, check_integer, check_real
from rspca.base.memory import check_room
from rspca.base.types import Array


@dataclass(frozen=True, kw_only=True, eq=False)
class Counterexample:
    """A covariance matrix that misleads a method, and what that method should have found.

    Attributes
    ----------
    covariance : ndarray
        The n x n matrix A, positive semi-definite.
    components : ndarray
        The best k-sparse components as rows of unit length, in the order in which they should be found.
    variances : tuple of float
        v'Av of each component: the optimum.
    decoys : ndarray
        The components that the misled method returns instead, as rows of unit length.
    misled : str
        The method that is misled, and how.
    """

    covariance: Array
    components: Array
    variances: tuple[float, ...]
    decoys: Array
    misled: str


def make_counterexample(
    kind: str = "maxcomp",
    n: int = 60,
    k: int = 5,
    *,
    margin: float = 0.1,
    noise: float = 0.0,
    random_state: int | np.random.Generator | None = 0,
) -> Counterexample:
    """Return a covariance matrix on which a simple method fails, however many samples it has.

    Each is block diagonal up to the order of its features, plus noise^2 I, so its optimum is known in closed form.

    ``maxcomp``
        A spread factor on n - k features has variance 1 + margin, a sparse one on the other k has variance 1. The
        leading eigenvector is the spread one, so keeping its k largest entries finds (1 + margin) k / (n - k) instead
        of 1: a share that falls to zero as n grows.
    ``greedy``
        k features correlate fully and have variance 1 each: together k. k decoys have variance 1 + margin each and
        correlate by margin / k, the rest has no variance. Choosing features by their variance, or one after the other
        by the variance they add, finds (1 + margin)(1 + margin (k - 1) / k) instead of k. The leading eigenvector of
        the matrix is sparse and MaxComp finds it. This is the kind of covariance of arXiv:2603.02607, where methods
        that start from the diagonal fail once the rest of the spectrum is not flat.
    ``deflation``
        The leading eigenvector has 2k entries, the k smaller of them with half of the others' squares; its variance
        is 4 + margin. Another factor on k further features has variance 1. The first component found must be
        imperfect, as k features cannot hold 2k. Projection deflation then leaves what it missed, a variance of
        (4 + margin) / 3, and the second component is that remainder: its scores repeat the first component's. Schur
        complement deflation removes the whole factor and finds the other one.

    Parameters
    ----------
    kind : {"maxcomp", "greedy", "deflation"}
        Which method is misled.
    n, k : int
        Features, and features per component; n > (2 + margin) k for "maxcomp", n >= 2k and k >= 2 (or
        more, if margin is large) for "greedy", n >= 3k for "deflation".
    margin : float
        How clearly the wrong choice looks better, in (0, 1).
    noise : float
        Standard deviation of white noise added to every feature.
    random_state : int, Generator or None
        Seed of the order and the signs of the features.

    Examples
    --------
    >>> import rspca
    >>> case = rspca.datasets.make_counterexample("maxcomp", n=60, k=5)
    >>> op = rspca.GramOperator(case.covariance)
    >>> fooled = rspca.decompose(op, k=5, method="maxcomp")
    >>> found = rspca.decompose(op, k=5, random_state=0)
    >>> [round(float(d.components[0].variance), 2) for d in (fooled, found)]
    [0.1, 1.0]
    """
    check_choice("kind", kind, COUNTEREXAMPLES)
    check_integer("n", n, 1)
    check_integer("k", k, 1)
    if check_real("margin", margin, 0.0, strict=True) >= 1.0:
        raise ValueError(f"margin={margin} must lie in (0, 1).")
    check_real("noise", noise, 0.0)
    check_room(32.0 * n * n, f"a covariance matrix of n={n} features", "Lower n.")
    case = COUNTEREXAMPLES[kind](n, k, margin)
    rng = as_generator(random_state)
    order, sign = rng.permutation(n), rng.choice([-1.0, 1.0], n)
    return Counterexample(
        covariance=case.covariance[np.ix_(order, order)] * np.outer(sign, sign) + noise**2 * np.eye(n),
        components=case.components[:, order] * sign,
        variances=tuple(variance + noise**2 for variance in case.variances),
        decoys=case.decoys[:, order] * sign,
        misled=case.misled,
    )


def _spread_factor(n: int, k: int, margin: float) -> Counterexample:
    if (1.0 + margin) * k >= n - k:
        raise ValueError(f"n={n}, k={k}: the spread factor must beat no sparse one; raise n above k (2 + margin).")
    sparse, spread = _indicator(n, 0, k), _indicator(n, k, n)
    return Counterexample(
        covariance=np.outer(sparse, sparse) + (1.0 + margin) * np.outer(spread, spread),
        components=sparse[None],
        variances=(1.0,),
        decoys=_indicator(n, k, 2 * k)[None],  # one of many: all entries of the spread factor are equal
        misled="maxcomp: the largest entries of the leading eigenvector are not the best features",
    )


def _large_variances(n: int, k: int, margin: float) -> Counterexample:
    among = margin / k
    if n < 2 * k or (1.0 + margin) * (1.0 + (k - 1) * among) >= k:
        raise ValueError(
            f"n={n}, k={k}, margin={margin}: 'greedy' needs n of at least 2k, and decoys that are worse than what they "
            "hide; raise k or lower margin."
        )
    correlated, decoy = _indicator(n, 0, k), _indicator(n, k, 2 * k)
    A = k * np.outer(correlated, correlated)
    A[k : 2 * k, k : 2 * k] = (1.0 + margin) * ((1.0 - among) * np.eye(k) + among)
    return Counterexample(
        covariance=A,
        components=correlated[None],
        variances=(float(k),),
        decoys=decoy[None],
        misled="greedy: features chosen by their own variance, or one at a time, are not the best together",
    )


def _long_factor(n: int, k: int, margin: float) -> Counterexample:
    if n < 3 * k:
        raise ValueError(f"n={n}, k={k}: 'deflation' needs n of at least 3k.")
    head, tail, other = (_indicator(n, start * k, (start + 1) * k) for start in range(3))
    long = np.sqrt(2.0 / 3.0) * head + np.sqrt(1.0 / 3.0) * tail
    return Counterexample(
        covariance=(4.0 + margin) * np.outer(long, long) + np.outer(other, other),
        components=np.vstack([head, other]),
        variances=((4.0 + margin) * 2.0 / 3.0, 1.0),
        decoys=np.vstack([head, tail]),
        misled="projection deflation: what the first component missed hides the second factor",
    )


def _indicator(n: int, start: int, stop: int) -> Array:
    """Return the unit vector that is constant on start..stop - 1."""
    vector = np.zeros(n)
    vector[start:stop] = 1.0 / np.sqrt(stop - start)
    return vector


COUNTEREXAMPLES: Mapping[str, Callable[[int, int, float], Counterexample]] = {
    "maxcomp": _spread_factor,
    "greedy": _large_variances,
    "deflation": _long_factor,
}
