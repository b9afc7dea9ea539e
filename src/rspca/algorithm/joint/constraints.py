"""Constraints on several components: their names, what is provably infeasible, and how far they are violated."""

from __future__ import annotations

import numpy as np

from rspca.algorithm.feature_limits import Groups
from rspca.algorithm.joint.task import SparseVector
from rspca.algorithm.pool import exact_gram
from rspca.base.arguments import argument
from rspca.base.types import Array
from rspca.operators.base import OperatorMixin

CONSTRAINTS = ("orthogonal", "uncorrelated", "disjoint")


class Infeasible(ValueError):
    """A search under a constraint found no components that satisfy it."""


def check_feasible(
    constraint: str,
    ks: list[int],
    n: int,
    groups: Groups | None = None,
    nonnegative: bool = False,
    samples: int | None = None,
) -> None:
    """Raise ValueError where no components of `ks` features out of n can satisfy the constraint, whatever the data.

    Orthogonal loadings exist for at most n components. Disjoint supports, which orthogonal loadings without negative
    ones need as well, take sum(ks) features; with groups, t components can have at most `most` t features of each, and
    by the theorem of max-flow and min-cut these conditions suffice. Uncorrelated scores that are not zero exist for at
    most as many components as there are features or samples.
    """
    if constraint not in CONSTRAINTS:
        raise ValueError(f"{argument('constraint', constraint)} is not known; choose one of {', '.join(CONSTRAINTS)}.")
    r, wanted = len(ks), argument("constraint", constraint)
    if r > n:
        raise ValueError(
            f"{wanted} with {r} components cannot be satisfied: there are {n} features, and at most as many "
            f"components. Ask for at most {n} components."
        )
    if constraint == "uncorrelated" and samples is not None and r > samples:
        raise ValueError(
            f"{wanted} with {r} components cannot be satisfied: {samples} samples have at most as many uncorrelated "
            f"scores. Ask for at most {samples} components."
        )
    if constraint == "disjoint" or (constraint == "orthogonal" and nonnegative):
        _check_disjoint(wanted, ks, n, groups, nonnegative=constraint == "orthogonal")


def check_shared(ks: list[int]) -> None:
    """Raise ValueError unless one support can have so many features for each component."""
    if len(set(ks)) > 1 or ks[0] < len(ks):
        raise ValueError(
            f"{argument('shared_support', True)} needs one number of features, and at least as many features as "
            f"components; {argument('k', ks[0] if len(set(ks)) == 1 else ks)} was given for {len(ks)} components."
        )


def _check_disjoint(wanted: str, ks: list[int], n: int, groups: Groups | None, *, nonnegative: bool) -> None:
    means = ", which without negative loadings means that no two components share a feature," if nonnegative else ""
    if sum(ks) > n:
        raise ValueError(
            f"{wanted}{means} needs {sum(ks)} features for {len(ks)} components of {_sizes(ks)} features; there are "
            f"{n} to choose from. Lower {argument('k')} or {argument('n_components')}."
        )
    if groups is None:
        return
    sizes = np.bincount(groups.labels)
    for count, needed in enumerate(np.cumsum(sorted(ks, reverse=True)).tolist(), start=1):
        room = int(np.minimum(sizes, groups.most * count).sum())
        if needed > room:
            raise ValueError(
                f"{wanted}{means} with at most {groups.most} feature(s) of each group in a component leaves room for "
                f"{room} features in {count} component(s); {needed} are asked for. Lower {argument('k')} or "
                f"{argument('n_components')}, or raise {argument('max_per_group')}."
            )


def _sizes(ks: list[int]) -> str:
    return str(ks[0]) if len(set(ks)) == 1 else " and ".join(str(k) for k in ks)


def largest_violation(op: OperatorMixin, vectors: list[SparseVector], constraint: str) -> float:
    """Return the largest |cosine| of two loadings or scores, or the share of features that two supports have in common.

    Scores that are zero up to rounding are uncorrelated with all others.
    """
    if constraint == "disjoint":
        shared = sum(len(vector.support) for vector in vectors)
        return float(shared - len(np.unique(np.concatenate([vector.support for vector in vectors])))) / max(1, shared)
    used = np.unique(np.concatenate([vector.support for vector in vectors]))
    V = np.zeros((len(used), len(vectors)))
    for j, (support, loadings) in enumerate(vectors):
        V[np.searchsorted(used, support), j] = loadings
    M = V.T @ exact_gram(op, used) @ V if constraint == "uncorrelated" else V.T @ V
    return largest_cosine_of_products(M)


def largest_cosine_of_products(M: Array) -> float:
    """Return the largest |M_ij| / sqrt(M_ii M_jj), i != j; vectors of no length have no cosine."""
    lengths = np.sqrt(np.maximum(M.diagonal(), 0.0))
    lengths = np.where(lengths > np.finfo(float).eps ** 0.5 * lengths.max(initial=0.0), lengths, np.inf)
    cosines = np.abs(M) / lengths / lengths[:, None]
    np.fill_diagonal(cosines, 0.0)
    return float(cosines.max(initial=0.0))
