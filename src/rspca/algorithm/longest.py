"""The longest columns: where features differ much in variance, a component of few is sought in their Gram matrix."""

from __future__ import annotations

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.deflate import gradient_at
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.gram_search import improved
from rspca.algorithm.loop import Found
from rspca.algorithm.normalize import svd
from rspca.algorithm.pool import Pool, no_swap_outside_gains, worth_entering
from rspca.algorithm.promising import pool_size
from rspca.algorithm.shared_work import SharedWork
from rspca.algorithm.working_set import Steps
from rspca.base.types import Array
from rspca.linalg.eigen import leading_pairs
from rspca.linalg.vectors import coarse, decreasing_order, spread, top_k
from rspca.operators.base import OperatorMixin
from rspca.operators.tall import FormedGram


def component_of_longest(op: OperatorMixin, k: int, choice: Choice, steps: Steps) -> Found | None:
    """Return a component of k features found among the longest columns; None if others may be part of a better one.

    The variance of a support is at most the sum of the squared lengths of its columns. So no support of left-out
    columns alone has as much variance as the component, because k times the longest of them is less: otherwise None is
    returned, as groups may make it. Nor does a swap of one of its features for a left-out one gain, which their
    gradients show.

    What is not guaranteed: that no support with several left-out columns beside long ones has more. The point of stage
    1 is stationary for the longest columns only. Certificates never use this choice.
    """
    features = longest_that_matter(op, k, choice, steps.work)
    if features is None or choice.among(features).most < k:
        return None
    gram = steps.work.gram_of_longest(op, features)
    part = FormedGram(op.restrict(features), gram)
    found = steps.search(part, choice.among(features), SharedWork(part))
    support = features[found.support]
    loadings = steps.normalized(support, leading_pairs(op.restrict(support)).vectors[:, 0])
    gradient = gradient_at(op, support, loadings)
    left_out = np.setdiff1d(choice.features, features, assume_unique=True)
    if k * op.sq_norms[left_out].max() >= loadings @ gradient[support]:
        return None
    pool = Pool(features, gram, complete=False, multiply=gram.__matmul__, gradient=gradient)
    if not found.swap_optimal or not no_swap_outside_gains(pool, op, support, choice):
        return None
    p = found.inclusion_probability
    p = None if p is None else spread(p, features, op.shape[1])
    return found._replace(support=support, loadings=loadings, inclusion_probability=p)


def longest_that_matter(op: OperatorMixin, k: int, choice: Choice, work: SharedWork) -> Array | None:
    """Return the features, sorted, with at least a k-th of the variance of some support; None if these are too many.

    None too where all features are searched in any case, and where a left-out feature is worth more than one of that
    support: then lengths of columns tell too little.
    """
    (m, n), eligible = op.shape, choice.features
    most = min(budgets.LONGEST_FEATURES, pool_size(m, n))
    if k > budgets.POOL_MAX_K or op.undeflated.gram_in_memory or pool_size(m, len(eligible)) == len(eligible):
        return None
    norms = coarse(op.sq_norms[eligible])
    longest = top_k(norms, most + 1)
    longest = longest[decreasing_order(norms[longest])]
    norms, longest = norms[longest], eligible[longest]
    if k * norms[-1] > budgets.LONGEST_MAX_SHARE * norms[:k].sum():
        return None
    few = np.sort(longest[: max(budgets.LONGEST_TRIED, k)])
    gram = work.gram_of_longest(op, few)
    places, variance = some_support(gram, k)
    if k * norms[-1] >= variance:
        return None
    count = max(budgets.LONGEST_LEAST, budgets.LONGEST_PER_K * k, int(np.count_nonzero(k * norms >= variance)))
    features = np.sort(longest[: min(count, most)])
    if k == 1:
        return features  # no shorter column has as much variance
    some = improved(gram, Choice(np.arange(len(few))), [places])[0]
    support = few[some.support]
    loadings = svd(op, support, some.loadings)  # those of the component, if its support is this one
    gradient = gradient_at(op, support, loadings)
    outside = Choice(np.setdiff1d(eligible, features, assume_unique=True))
    entering = worth_entering(op, gradient, support, loadings, outside, count=1, share=1.0)
    return None if len(entering) else features


def some_support(A: Array, k: int) -> tuple[Array, float]:
    """Return a support of k features of A that power steps, and truncated ones, come to, and its variance."""
    v = np.sqrt(A.diagonal())
    for _ in range(budgets.LONGEST_POWER_STEPS):
        v = A @ v
        v /= max(float(np.linalg.norm(v)), 1e-300)
    for _ in range(budgets.LONGEST_TRUNCATED_STEPS):
        places = top_k(np.abs(v), k)
        values, vectors = np.linalg.eigh(A[np.ix_(places, places)])
        v = vectors[:, -1] @ A[places]
    return places, float(values[-1])
