"""One component by method="rspca": the default algorithm, which polishes, and the paper's, which only rounds."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.ascent import improve
from rspca.algorithm.deflate import gradient_at
from rspca.algorithm.feature_limits import Choice, Groups
from rspca.algorithm.full_data import FullData
from rspca.algorithm.longest import component_of_longest
from rspca.algorithm.loop import Found, eligible_features
from rspca.algorithm.nonnegative import NonnegativeTask, nonnegative_component
from rspca.algorithm.normalize import NORMALIZATIONS
from rspca.algorithm.promising import pool_size
from rspca.algorithm.relax import StationaryPoint, projected
from rspca.algorithm.round import bernoulli_draws, best_bernoulli, exact_supports
from rspca.algorithm.route import Route
from rspca.algorithm.shared_work import FitWork, SharedWork
from rspca.algorithm.sketch import first_count, has_few_samples, most_rows
from rspca.algorithm.sketched_data import SketchedData, near_features, stage1_effort
from rspca.algorithm.small_search import is_small
from rspca.algorithm.working_set import Steps, component_of_working_set, working_set_size
from rspca.base.arguments import argument
from rspca.base.memory import check_room
from rspca.base.types import Array, Report
from rspca.linalg.vectors import inclusion_probabilities, l1_l2_maximizer, nonzeros, spread_columns, unit
from rspca.operators.base import OperatorMixin
from rspca.operators.tall import gram_is_cheaper

ROUNDINGS = ("exact", "bernoulli")


class Options(NamedTuple):
    """How method="rspca" finds one component."""

    solver: str = "linearized"
    rounding: str = "exact"
    s: float | None = None
    n_draws: int = budgets.DRAWS
    polish: bool = True
    max_iter: int = budgets.MAX_ITER
    tol: float = budgets.TOL
    groups: Groups | None = None
    nonnegative: bool = False


def check_memory(op: OperatorMixin, k: int, *, sketched: bool = True, n_components: int = 1) -> None:
    """Raise MemoryError before work begins whose columns and vectors do not fit into memory.

    Counted is what exists at once: k columns, as the operator stores them, the candidates, and, for this method, a
    sketch (rows of length n, scores of length m) and the Gram matrix of a pool. Of very many features only a working
    set is sketched. Tall data become a Gram matrix, from which another of a search and a factor are made.
    """
    m, n = op.shape
    if op.has_samples and gram_is_cheaper((m, n), n_components):
        check_room(3 * 8 * n**2, f"the Gram matrix of {n} features", "Choose fewer features.")
        return
    columns = op.restricted_bytes(max(k, near_features(op, k) if n_components > 1 else 0))
    vectors = 8 * (budgets.POLISHED_DRAWS + n_components) * n
    if sketched and m * n > budgets.SKETCH_MIN_ENTRIES:
        size = working_set_size(op, k)
        columns += 0 if size is None else op.restricted_bytes(size)
        width = n if size is None else size
        rows = most_rows(width) + (first_count(width, n_components) if n_components > 1 else op.first_block)
        vectors += 8 * rows * (m + width)
    pool = 8 * pool_size(m, n) ** 2
    if sketched and k <= budgets.POOL_MAX_K and pool > budgets.POOL_COUNTED_BYTES:
        vectors += pool
    remedy = f"a smaller {argument('k')}, or fewer samples" if columns > vectors else "fewer features"
    check_room(columns + vectors, f"work on {argument('k', k)} of {n} features with {m} samples", f"Choose {remedy}.")


def rspca_component(
    op: OperatorMixin,
    k: int,
    report: Report,
    *,
    options: Options,
    normalization: str,
    rng: np.random.Generator,
    work: FitWork | None = None,
) -> Found:
    """Return one component: of the default algorithm, or of the paper's if nothing is polished."""
    choice = Choice(eligible_features(op), options.groups)
    work = FitWork() if work is None else work
    task = Task(op, min(k, choice.most), choice, options, normalization, rng, report, work.of(op))
    if options.nonnegative:
        return nonnegative_component(task.without_signs())
    if not options.polish:
        return rounded_component(task)
    if options.solver != "linearized":
        return polished_component(task)
    steps = Steps(task.work, task.search, task.moved, task.normalized)
    for component_of_some in (component_of_working_set, component_of_longest):
        found = component_of_some(op, task.k, choice, steps)
        if found is not None:
            return found
    return polished_component(task)


class Task(NamedTuple):
    """What one component is computed from; k is at most the number of features that may be chosen together."""

    op: OperatorMixin
    k: int
    choice: Choice
    options: Options
    normalization: str
    rng: np.random.Generator
    report: Report
    work: SharedWork

    @property
    def s(self) -> float:
        """Expected number of non-zeros of Algorithm 1; k unless it is given."""
        return float(self.options.s or self.k)

    def without_signs(self) -> NonnegativeTask:
        """Return the same task for loadings that are not negative."""
        options, refit = self.options, self.normalization == "svd"
        draws, polish, max_iter, tol = options.n_draws, options.polish, options.max_iter, options.tol
        return NonnegativeTask(
            self.op, self.k, self.choice, self.s, draws, polish, refit, max_iter, tol, self.rng, self.report
        )

    def search(self, op: OperatorMixin, choice: Choice, work: SharedWork) -> Found:
        """Return a component of some of the features."""
        return polished_component(self._replace(op=op, choice=choice, work=work))

    def normalized(self, support: Array, loadings: Array) -> Array:
        """Return loadings normalized as the options say."""
        return NORMALIZATIONS[self.normalization](self.op, support, loadings)

    def moved(self, found: Found, support: Array, loadings: Array) -> Found:
        """Return a component with another support, normalized."""
        loadings = self.normalized(support, loadings)
        p = inclusion_probabilities(relaxed_near(self.op, support, loadings, self.choice), self.s)
        return found._replace(support=support, loadings=loadings, inclusion_probability=p, swap_optimal=None)


def polished_component(task: Task) -> Found:
    """Return a component of the default algorithm: relax, round, polish the most promising draws, refit."""
    op, k, choice, options = task.op, task.k, task.choice, task.options
    stage1 = relaxation(task)
    route, relaxed = stage1.route, stage1.point
    if options.rounding == "bernoulli":
        candidates = bernoulli_vector(task, relaxed)[:, None]
    else:
        several = route.ends_may_differ(k)
        n_draws = options.n_draws if several and not is_small(k, choice) else 0  # every feature is a start there
        supports = promising_draws(relaxed, drawn_supports(task, relaxed, n_draws))
        starts = [(entries(relaxed, support), support) for support in supports]
        if several:
            largest = choice.largest(stage1.leading, k)  # the support of MaxComp
            starts.append((unit(stage1.leading[largest]), largest))
        candidates = spread_columns(starts, op.shape[1])
    best = improve(route, candidates, relaxed.gradient, choice, task.work, tol=options.tol, report=task.report)
    used = best.loadings != 0.0
    support = best.support[used]
    loadings = task.normalized(support, best.loadings[used])
    p = inclusion_probabilities(relaxed.x, task.s)
    if not p[support].all():  # no rounding of the relaxed vector has this support
        p = inclusion_probabilities(relaxed_near(op, support, loadings, choice), task.s)
    return Found(support, loadings, relaxed.n_iter, relaxed.converged, relaxed.variance, p, best.swap_optimal)


def rounded_component(task: Task) -> Found:
    """Return a component of the paper's algorithm: relax, round, take the draw of largest variance, normalize."""
    op, relaxed = task.op, relaxation(task).point
    if task.options.rounding == "bernoulli":
        x = bernoulli_vector(task, relaxed)
    else:
        supports = drawn_supports(task, relaxed, task.options.n_draws)
        draws = spread_columns([(entries(relaxed, support), support) for support in supports], op.shape[1])
        x = draws[:, int(np.argmax(op.variances(draws)))]
    support = nonzeros(x)
    loadings = task.normalized(support, x[support])
    p = inclusion_probabilities(relaxed.x, task.s)
    return Found(support, loadings, relaxed.n_iter, relaxed.converged, relaxed.variance, p)


class Relaxation(NamedTuple):
    """Stage 1: its stationary point, the leading direction of X, and the route on which it was computed."""

    route: Route
    leading: Array
    point: StationaryPoint


def relaxation(task: Task) -> Relaxation:
    """Run stage 1 with the solver of the options."""
    stage1 = STAGE1[task.options.solver](task)
    return stage1._replace(point=stage1.point._replace(x=task.choice.restricted(stage1.point.x)))


def linearized_relaxation(task: Task) -> Relaxation:
    """Run stage 1 by linearized steps, on the route that suits the data."""
    options, route = task.options, route_of(task)
    starts = route.directions(task.k)
    point = route.relaxed(task.k, starts, max_iter=options.max_iter, tol=options.tol, report=task.report)
    return Relaxation(route, starts[0], point)


def route_of(task: Task) -> Route:
    """Return a sketch of large data, or the data themselves, and those whose Gram matrix is in memory."""
    op, k, options = task.op, task.k, task.options
    if op.shape[0] * op.shape[1] <= budgets.SKETCH_MIN_ENTRIES or op.undeflated.gram_in_memory:
        return FullData(op, pairs=task.work.leading_pairs(op))
    effort = stage1_effort(op, k, options.tol, polished=options.polish)
    if has_few_samples(op, k):
        return SketchedData.of_few_samples(op, task.work.samples_gram(op), effort)
    return SketchedData.learned(op, task.work.rows(k), effort)


def projected_relaxation(task: Task) -> Relaxation:
    """Run stage 1 as the paper does, from the leading direction of X."""
    tol, on_iteration = budgets.PROJECTED_TOL, partial(task.report, "relax")
    route = FullData(task.op, tol=tol)
    leading = route.directions(task.k)[0]
    point = projected(task.op, task.k, leading, max_iter=task.options.max_iter, tol=tol, on_iteration=on_iteration)
    return Relaxation(route, leading, point)


STAGE1 = {"linearized": linearized_relaxation, "projected": projected_relaxation}
"""How stage 1 is run, by the name of the solver."""


def bernoulli_vector(task: Task, relaxed: StationaryPoint) -> Array:
    """Return the best draw of Algorithm 1 of the paper."""
    draws = bernoulli_draws(relaxed.x, task.s, task.options.n_draws, task.rng)
    return best_bernoulli(task.op, draws, task.k, task.s)


def drawn_supports(task: Task, relaxed: StationaryPoint, n_draws: int) -> list[Array]:
    """Return the k largest entries and random supports of k features, completed to what may be chosen."""
    supports = exact_supports(relaxed.x, task.k, task.s, n_draws, task.rng)
    return [completed(support, relaxed, task.choice) for support in supports]


def relaxed_near(op: OperatorMixin, support: Array, loadings: Array, choice: Choice) -> Array:
    """Return the relaxed vector after one step of stage 1 from these loadings.

    It maximizes x'Av over the constraints of stage 1. More steps could leave the component for a direction of larger
    relaxed variance, as stage 1 did before.
    """
    gradient = gradient_at(op, support, loadings)
    return l1_l2_maximizer(choice.restricted(gradient), len(support), expected=support)


def promising_draws(relaxed: StationaryPoint, supports: list[Array]) -> list[Array]:
    """Return the first support, that of the k largest entries, and those draws that promise the most variance.

    By convexity v'Av >= 2 v'Ax - x'Ax, and Ax is known: comparing draws by v'Ax costs no product at all.
    """
    promised = [float(entries(relaxed, support) @ relaxed.gradient[support]) for support in supports]
    others = 1 + np.argsort(-np.array(promised[1:]), kind="stable")[: budgets.POLISHED_DRAWS]
    return [supports[i] for i in [0, *others]]


def entries(relaxed: StationaryPoint, support: Array) -> Array:
    """Return unit loadings: x on the support, or the gradient (the next power step) if x has zeros there."""
    return unit(relaxed.x[support] if relaxed.x[support].all() else relaxed.gradient[support])


def completed(support: Array, relaxed: StationaryPoint, choice: Choice) -> Array:
    """Return the support; features that x does not use, or groups forbid, are replaced by those of largest gradient."""
    used = support[relaxed.x[support] != 0.0]
    return choice.completed(used, relaxed.x, relaxed.gradient, len(support))
