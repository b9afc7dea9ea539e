"""Every method on the same data at the same number of non-zeros, both normalizations: the paper's protocol."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from rspca.checks import as_generator, check_choice, check_sparsity
from rspca.components import OnStep, Step
from rspca.methods import METHODS
from rspca.normalization import NORMALIZATIONS
from rspca.operators.sources import as_operator, prepare
from rspca.spectral import leading_pairs


class Compared(NamedTuple):
    """One method with one normalization, first component."""

    method: str
    normalization: str
    nonzeros: int
    variance: float
    share: float
    """variance / ||X||_2^2"""
    seconds: float
    passes: float
    overlap: float
    """Share of its support that is also in the support of the best row."""


class Comparison(tuple[Compared, ...]):
    """Rows of a comparison, best first; prints as a table."""

    def __str__(self) -> str:
        """Return the rows as a table."""
        head = f"{'method':<12}{'loadings':<10}{'non-zeros':>9}{'share':>10}{'overlap':>9}{'passes':>8}{'seconds':>9}"
        lines = [
            f"{r.method:<12}{r.normalization:<10}{r.nonzeros:>9}{r.share:>10.4f}{r.overlap:>9.2f}{r.passes:>8.1f}"
            f"{r.seconds:>9.3f}"
            for r in self
        ]
        return "\n".join([head, *lines])


def compare(
    X: Any,
    k: int,
    *,
    methods: Iterable[str] | None = None,
    center: bool = True,
    scale: bool | str = False,
    random_state: Any = 0,
    on_step: OnStep | None = None,
) -> Comparison:
    """Return the first component of every method at exactly k non-zeros, naive and refitted, best first.

    `pca` is listed once, dense, as the yardstick: its share is 1.

    Examples
    --------
    >>> import rspca
    >>> rows = rspca.compare(rspca.GramOperator(rspca.datasets.load_pitprops()), 5)
    >>> [(r.method, r.normalization, round(r.share, 3)) for r in rows if r.method != "pca"][0]
    ('rspca', 'svd', 0.807)
    """
    if isinstance(methods, str):
        raise TypeError(f"methods={methods!r} must be a list of names, for example ['rspca', {methods!r}].")
    names = list(METHODS) if methods is None else list(methods)
    for name in names:
        check_choice("method", name, METHODS)
    given = as_operator(X)
    check_sparsity(k, 1, given.shape[1])
    as_generator(random_state)
    op = prepare(given, center=center, scale=scale)
    largest = float(leading_pairs(op, 1, tol=1e-9).values[0])
    found = []
    started = time.perf_counter()
    for name in names:
        for normalization in NORMALIZATIONS if name != "pca" else ("svd",):
            before, began = op.passes, time.perf_counter()
            one = METHODS[name](op, 1, k, normalization=normalization, rng=as_generator(random_state))[0]
            row = (op.passes - before, time.perf_counter() - began)
            found.append((name, normalization, one, *row))
            if on_step is not None:
                on_step(Step(f"{name} {normalization}", 0, len(found), one.variance, None, began - started))
    found.sort(key=lambda row: -row[2].variance)
    best = next((row[2].support for row in found if row[0] != "pca"), np.arange(op.shape[1]))
    return Comparison(
        Compared(
            name, normalization if name != "pca" else "dense", len(one.support), one.variance,
            one.variance / largest, seconds, passes, len(np.intersect1d(one.support, best)) / len(one.support),
        )
        for name, normalization, one, passes, seconds in found
    )  # fmt: skip
