"""Stage 2: round the relaxed vector to sparse vectors by random sampling; the guarantee of Theorem 1."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rspca.algorithm import budgets
from rspca.base.checks import check_integer, check_real, check_rng, check_vector, real_array
from rspca.base.types import Array
from rspca.linalg.vectors import decreasing_order, inclusion_probabilities, nonzeros, scaled_to_sum, top_k
from rspca.operators.base import OperatorMixin


def round_vector(x: Array, s: float, rng: np.random.Generator) -> Array:
    """Return one draw of Algorithm 1: x_i / p_i with probability p_i = min(s |x_i| / |x|_1, 1), else 0.

    The draw is unbiased, E|draw - x|^2 <= |x|_1^2 / s, and it has at most s non-zeros in expectation.

    Examples
    --------
    >>> import numpy as np, rspca
    >>> rspca.round_vector(np.array([0.8, 0.6, 0.0]), 3, np.random.default_rng(0))
    array([0.8, 0.6, 0. ])
    """
    x = real_array("x", x)
    check_vector("x", x, x.size)
    p = inclusion_probabilities(x, check_real("s", s, 0.0, strict=True))
    drawn = check_rng(rng).random(len(x)) < p
    return np.divide(x, p, out=np.zeros_like(x), where=drawn)


def bernoulli_draws(x: Array, s: float, n_draws: int, rng: np.random.Generator) -> Array:
    """Return n_draws non-empty draws of Algorithm 1 as columns; an empty draw is drawn again."""
    draws = np.zeros((len(x), n_draws))
    for column in range(n_draws):
        for _ in range(budgets.EMPTY_DRAWS_MAX):
            draws[:, column] = round_vector(x, s, rng)
            if draws[:, column].any():
                break
        else:
            raise ValueError(f"{budgets.EMPTY_DRAWS_MAX} draws with s={s:g} were all empty; raise s.")
    return draws


def best_bernoulli(op: OperatorMixin, draws: Array, k: float, s: float) -> Array:
    """Return the draw with the largest x'Ax among those with |x|_2 <= 1 + 2 sqrt(k/s), as the paper chooses.

    If no draw satisfies the norm bound, the shortest one is returned.
    """
    lengths = np.linalg.norm(draws, axis=0)
    allowed = np.flatnonzero(lengths <= 1.0 + 2.0 * np.sqrt(k / s))
    if not len(allowed):
        return draws[:, int(np.argmin(lengths))]
    return draws[:, allowed[int(np.argmax(op.variances(draws[:, allowed])))]]


def exact_supports(x: Array, k: int, s: float, n_draws: int, rng: np.random.Generator) -> list[Array]:
    """Return up to n_draws different random supports of exactly k features, the k largest of |x| first.

    Systematic sampling in random order (Madow 1949): feature i is in each draw with exactly the probability p_i of
    Algorithm 1, scaled so that they sum to k; draws are independent. Where x has fewer than k non-zeros all of them
    are in every support.
    """
    used = nonzeros(x)
    if len(used) < k:
        return [top_k(np.abs(x), k)]
    size = np.abs(x[used])
    if n_draws == 0:
        return [used[top_k(size, k)]]
    by_size = decreasing_order(size)  # drawn in this order, so that the order of the features does not matter
    largest = np.sort(used[by_size[:k]])
    supports = {largest.tobytes(): largest}
    p = scaled_to_sum(inclusion_probabilities(x[used], s), k)
    sure = p >= 1.0
    pool = by_size[~sure[by_size]]
    wanted = k - (len(used) - len(pool))
    if len(pool) > wanted > 0:
        # Each draw has its own order, because a common one allows few supports. Fewer draws are a prefix of more draws.
        p_pool = p[pool]
        for _ in range(n_draws):
            order, offset = rng.permutation(len(pool)), rng.random()
            ends = np.cumsum(p_pool[order])
            # a feature is drawn if one of u, 1 + u, 2 + u, ... lies between the ends before it and at it
            marks = np.floor(ends * (wanted / ends[-1]) - offset)
            drawn = np.empty(len(pool), dtype=bool)
            drawn[0], drawn[1:] = marks[0] > np.floor(-offset), marks[1:] > marks[:-1]
            chosen = sure.copy()
            chosen[pool[order[drawn]]] = True
            support = used[chosen]
            supports.setdefault(support.tobytes(), support)
    return list(supports.values())


class Theorem1(NamedTuple):
    """The guarantee of Theorem 1 of the paper for one choice of k and epsilon."""

    s: int
    norm_bound: float
    additive_error: float
    probability: float
    assumptions: tuple[str, ...]


def theorem1(k: int, epsilon: float, *, n_draws: int = 1, row_norm: float = 1.0) -> Theorem1:
    """Return the s that Theorem 1 requires, and its guarantee for the best of n_draws roundings.

    Parameters
    ----------
    k : int
        Sparsity of the optimum that is compared with.
    epsilon : float
        Accuracy, in (0, 1].
    n_draws : int
        Independent roundings, of which the best within the norm bound is taken; the guarantee then holds with
        probability 1 - 2^-n_draws.
    row_norm : float
        Largest Euclidean norm of a row of A = X'X. The theorem is stated for 1, with a footnote that larger norms
        need a larger s: the errors in its proof are proportional to the norm, so s grows with the square of it.

    Examples
    --------
    >>> import rspca
    >>> bound = rspca.theorem1(10, 0.5, n_draws=10)
    >>> bound.s, bound.probability
    (8000, 0.9990234375)
    """
    k = check_integer("k", k, 1)
    epsilon = check_real("epsilon", epsilon, 0.0, strict=True)
    if epsilon > 1.0:
        raise ValueError(f"epsilon={epsilon:g} must lie in (0, 1]; the theorem does not cover larger values.")
    n_draws = check_integer("n_draws", n_draws, 1)
    row_norm = max(1.0, check_real("row_norm", row_norm, 0.0, strict=True))
    s = int(np.ceil(200.0 * k * (row_norm / epsilon) ** 2 * (1.0 - 1e-12)))
    assumptions = (
        "x~ is a global optimum of the l1-relaxed problem; a stationary point, which is what solvers find, is not "
        "enough",
        f"every row of A = X'X has Euclidean norm at most {row_norm:g}",
        f"the rounding is Algorithm 1 with s = {s}, and the value compared is that of the rounded vector before it "
        "is normalized",
        f"E nnz <= {s}: the price of the accuracy is a support larger than k = {k}",
    )
    probability = 0.75 if n_draws == 1 else 1.0 - 2.0**-n_draws
    return Theorem1(s, 1.0 + 0.15 * epsilon, epsilon, probability, assumptions)
