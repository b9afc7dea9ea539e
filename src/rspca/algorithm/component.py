"""The algorithm for one component: relax, round, polish, normalize."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from rspca.algorithm.ascent import Tell, improve, relax, several_ends
from rspca.algorithm.feature_limits import Choice, Groups
from rspca.algorithm.loop import Found, eligible_features
from rspca.algorithm.normalize import NORMALIZATIONS
from rspca.algorithm.pool import POOL_MAX_K, pool_size
from rspca.algorithm.relax import PROJECTED_TOL, Climbed, projected
from rspca.algorithm.round import bernoulli_draws, best_bernoulli, exact_supports
from rspca.algorithm.sketch import MOST_ROWS, Sketch, Whole
from rspca.base.arguments import argument
from rspca.base.memory import check_room
from rspca.base.types import Array
from rspca.linalg.vectors import inclusion_probabilities, l1_l2_maximizer, nonzeros, spread, spread_columns, unit
from rspca.operators.base import OperatorMixin

ROUNDINGS = ("exact", "bernoulli")
LARGE = 10**6
"""Entries of X beyond which iterations run on a sketch of it."""
NEGLIGIBLE_BYTES = 2**20
"""Size of a Gram matrix that is not worth counting."""
POLISHED_DRAWS = 2
"""Draws that are polished."""


class Options(NamedTuple):
    """How method="rspca" finds one component."""

    solver: str = "linearized"
    rounding: str = "exact"
    s: float | None = None
    n_draws: int = 16
    polish: bool = True
    max_iter: int = 1000
    tol: float = 1e-7
    groups: Groups | None = None


def check_memory(op: OperatorMixin, k: int, *, sketched: bool = True) -> None:
    """Refuse work whose columns and vectors do not fit into memory, before it begins.

    Counted is what surely exists at once: k columns, as the operator keeps them, the candidates, and, for this method,
    a sketch (rows of length n, scores of length m) and the Gram matrix of a pool.
    """
    m, n = op.shape
    columns = op.restricted_bytes(k)
    vectors = 8 * (MOST_ROWS * (m + n) if sketched and m * n > LARGE else 0) + 8 * POLISHED_DRAWS * n
    pool = 8 * pool_size(m, n) ** 2
    vectors += pool if sketched and k <= POOL_MAX_K and pool > NEGLIGIBLE_BYTES else 0
    remedy = f"a smaller {argument('k')}, or fewer samples" if columns > vectors else "fewer features"
    check_room(columns + vectors, f"work on {argument('k', k)} of {n} features with {m} samples", f"Choose {remedy}.")


def rspca_component(
    op: OperatorMixin, k: int, tell: Tell, *, options: Options, normalization: str, rng: np.random.Generator
) -> Found:
    """One component by the paper's method: a stationary point, rounded at random, polished, refitted."""
    choice = Choice(eligible_features(op), options.groups)
    k = min(k, choice.most)
    s = float(options.s or k)
    if options.solver == "projected":
        data: Sketch | Whole = Whole(op, tol=PROJECTED_TOL)
        leading = data.directions()[0]
        tell_step = partial(tell, "relax")
        relaxed = projected(op, k, leading, max_iter=options.max_iter, tol=PROJECTED_TOL, on_iteration=tell_step)
    else:
        data = Sketch(op) if op.shape[0] * op.shape[1] > LARGE else Whole(op)
        directions = data.directions()
        leading = directions[0]
        relaxed = relax(data, k, directions, max_iter=options.max_iter, tol=options.tol, tell=tell)
    relaxed = relaxed._replace(x=choice.restricted(relaxed.x))
    if options.rounding == "bernoulli":
        candidates = best_bernoulli(op, bernoulli_draws(relaxed.x, s, options.n_draws, rng), k, s)[:, None]
    else:
        several = not options.polish or several_ends(data, k)
        supports = exact_supports(relaxed.x, k, s, options.n_draws if several else 0, rng)
        supports = [completed(one, relaxed, choice) for one in supports]
        if options.polish:
            supports = promising_draws(relaxed, supports)
        starts = [(entries(relaxed, one), one) for one in supports]
        if options.polish and several:
            largest = choice.largest(leading, k)  # what MaxComp takes
            starts.append((unit(leading[largest]), largest))
        candidates = spread_columns(starts, op.shape[1])
        if not options.polish:  # nothing will improve the choice, so all draws are multiplied, as one block
            candidates = candidates[:, [int(np.argmax(op.variances(candidates)))]]
    x, swap_optimal = candidates[:, 0], None
    if options.polish:
        best = improve(data, candidates, relaxed.gradient, choice, tol=options.tol, tell=tell)
        x, swap_optimal = spread(best.loadings, best.support, len(x)), best.swap_optimal
    support = nonzeros(x)
    loadings = NORMALIZATIONS[normalization](op, support, x[support])
    p = inclusion_probabilities(relaxed.x, s)
    if options.polish and not p[support].all():  # no rounding of this x has this support
        p = inclusion_probabilities(relaxed_near(op, support, loadings, choice), s)
    return Found(support, loadings, relaxed.n_iter, relaxed.converged, relaxed.variance, p, swap_optimal)


def relaxed_near(op: OperatorMixin, support: Array, loadings: Array, choice: Choice) -> Array:
    """Return the relaxed vector that the first step of stage 1 takes from these loadings.

    It maximizes x'Av over the constraints of stage 1. Stage 1 itself, continued from here, could leave the component
    for a direction of more relaxed variance, as it did when it was first run.
    """
    gradient = op.gradient(op.restrict(support), support, loadings)
    return l1_l2_maximizer(choice.restricted(gradient), len(support), expected=support)


def promising_draws(relaxed: Climbed, supports: list[Array]) -> list[Array]:
    """Return the k largest entries, which come first, and the POLISHED_DRAWS others that promise the most variance.

    By convexity v'Av >= 2 v'Ax - x'Ax, and Ax is known: comparing draws by v'Ax costs no product at all.
    """
    promised = [float(entries(relaxed, one) @ relaxed.gradient[one]) for one in supports]
    others = 1 + np.argsort(-np.array(promised[1:]), kind="stable")[:POLISHED_DRAWS]
    return [supports[i] for i in [0, *others]]


def entries(relaxed: Climbed, support: Array) -> Array:
    """Return x on the support, scaled; the gradient there, which is the next power step, where x lacks some of it."""
    return unit(relaxed.x[support] if relaxed.x[support].all() else relaxed.gradient[support])


def completed(support: Array, relaxed: Climbed, choice: Choice) -> Array:
    """Return the support with what x does not use, or groups forbid, exchanged for features of largest gradient."""
    used = support[relaxed.x[support] != 0.0]
    return choice.completed(used, relaxed.x, relaxed.gradient, len(support))
