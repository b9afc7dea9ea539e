"""A set of components to be certified where none is given; the place where searches for sets are called."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rspca.algorithm.component import Options, rspca_component
from rspca.algorithm.deflate import schur
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.joint.task import SparseVector
from rspca.algorithm.loop import eligible_features
from rspca.base.types import Array, no_report
from rspca.linalg.eigen import leading_pairs
from rspca.linalg.vectors import top_k, unit
from rspca.operators.base import OperatorMixin


def found_set(
    op: OperatorMixin, ks: Sequence[int], constraint: str | None, rng: np.random.Generator, *, shared: bool
) -> list[SparseVector]:
    """Return components of so many features that keep the constraint: one by one, the best of what is left.

    Without a constraint each is found in what Schur deflation leaves. Orthogonal and disjoint ones are found among
    features that no other uses. Uncorrelated ones have the features of the free ones, and the best loadings there that
    are uncorrelated with those before. A shared support has the features with the longest rows of leading vectors.
    """
    if shared:
        return _on_shared_support(op, max(ks), len(ks))
    found: list[SparseVector] = []
    left, free = op, eligible_features(op)
    for number, k in enumerate(ks):
        if constraint in ("orthogonal", "disjoint"):
            among = op.restrict(free)
            later = sum(ks[number + 1 :]) if constraint == "disjoint" else len(ks) - number - 1
            found.append(_one(among, free, min(k, len(free) - later), rng))
            free = np.setdiff1d(free, found[-1].support)
        else:
            found.append(_one(left, np.arange(op.shape[1]), k, rng))
            if constraint == "uncorrelated" and number:
                found[-1] = _uncorrelated(op, found[-1].support, found[:-1])
            left = _deflated(left, found[-1])
    return found


def _one(op: OperatorMixin, features: Array, k: int, rng: np.random.Generator) -> SparseVector:
    """Return one component of op, whose columns are these features."""
    if k < 1 or not len(eligible_features(op)):
        raise ValueError("X has too few features, or too low a rank, for so many components; lower n_components or k.")
    one = rspca_component(op, k, no_report, options=Options(), normalization="svd", rng=rng)
    used = one.loadings != 0.0
    return SparseVector(features[one.support[used]], one.loadings[used])


def _deflated(op: OperatorMixin, vector: SparseVector) -> OperatorMixin:
    dense = np.zeros(op.shape[1])
    dense[vector.support] = vector.loadings
    return schur(op, dense, op.scores(vector.support, vector.loadings), [])


def _uncorrelated(op: OperatorMixin, support: Array, before: list[SparseVector]) -> SparseVector:
    """Return the loadings of most variance on a support whose scores are uncorrelated with those before."""
    if len(support) <= len(before):
        raise ValueError(
            f"{len(support)} features are too few to be uncorrelated with {len(before)} components before; give "
            "loadings that are, or a larger k."
        )
    columns = np.asarray(op.restrict(support).all_columns(), dtype=np.float64)
    scores = np.column_stack([op.scores(vector.support, vector.loadings) for vector in before])
    basis = np.linalg.svd(columns.T @ scores, full_matrices=True)[0][:, len(before) :]
    values, vectors = np.linalg.eigh(basis.T @ (columns.T @ columns) @ basis)
    return SparseVector(support, unit(basis @ vectors[:, int(np.argmax(values))]))


def _on_shared_support(op: OperatorMixin, K: int, r: int) -> list[SparseVector]:
    """Return r orthonormal components on K features: those with the longest rows of the leading vectors, repeated."""
    if r > K:
        raise ValueError(f"{K} shared features are too few for {r} components.")
    choice = Choice(eligible_features(op))
    pairs = leading_pairs(op, r)
    best: tuple[float, Array, Array] = (-1.0, np.empty(0, dtype=np.intp), np.empty((0, 0)))
    image = pairs.vectors * pairs.values
    while True:
        support = choice.features[top_k(np.linalg.norm(image[choice.features], axis=1), min(K, len(choice.features)))]
        within = leading_pairs(op.restrict(support), r)
        if float(within.values.sum()) <= (1.0 + 1e-9) * best[0]:
            break
        best = float(within.values.sum()), support, within.vectors
        spread = np.zeros((op.shape[1], r))
        spread[support] = within.vectors
        image = op.gram(spread)
    _, support, vectors = best
    return [SparseVector(support[v != 0.0], unit(v[v != 0.0])) for v in np.linalg.qr(vectors)[0].T]
