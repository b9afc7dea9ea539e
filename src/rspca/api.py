"""The public functions: check what was given, make it an operator, call the core."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.component import ROUNDINGS, Options, check_memory
from rspca.algorithm.deflate import DEFLATIONS
from rspca.algorithm.feature_limits import Choice, Groups, limits
from rspca.algorithm.loop import one_after_another
from rspca.algorithm.normalize import NORMALIZATIONS
from rspca.algorithm.relax import SOLVERS, Relaxed, best_relaxation, starting_points
from rspca.algorithm.results import Component, Decomposition, Loop, OnComponent
from rspca.base.arguments import argument
from rspca.base.checks import (
    as_generator,
    check_choice,
    check_draws,
    check_integer,
    check_listener,
    check_n_components,
    check_options,
    check_real,
    check_sparsity,
    check_vector,
    real_array,
    spelled,
)
from rspca.base.memory import keep_freed_blocks
from rspca.base.threads import threads_for
from rspca.base.types import Array, OnStep, Step
from rspca.linalg.explained_variance import DEFINITIONS, added_squares, largest_cosine, scores_of
from rspca.linalg.vectors import nonzeros, oriented
from rspca.methods import FOUND_TOGETHER, METHODS
from rspca.operators.base import OperatorMixin
from rspca.operators.convert import as_operator, balanced, prepare
from rspca.operators.standardized import Centered, Scaled
from rspca.operators.tall import FormedGram

RandomState = int | np.random.Generator | np.random.RandomState | None


def decompose(
    X: Any,
    n_components: int = 1,
    *,
    k: Any = 10,
    side: str = "features",
    k_samples: Any = None,
    method: str = "rspca",
    solver: str = "linearized",
    rounding: str = "exact",
    s: float | None = None,
    n_draws: int = 16,
    normalization: str = "svd",
    polish: bool = True,
    deflation: str = "schur",
    center: bool = True,
    scale: bool | str = False,
    groups: Any = None,
    max_per_group: int = 1,
    certify: bool = False,
    certify_seconds: float = 30.0,
    max_iter: int = 1000,
    tol: float = 1e-7,
    random_state: RandomState = None,
    on_step: OnStep | None = None,
    on_component: OnComponent | None = None,
    earlier: Sequence[Component] = (),
) -> Decomposition:
    """Return sparse principal components of X; the function behind :class:`SparsePCA`, with the same options.

    Parameters
    ----------
    X : array, sparse matrix, frame or operator
        Samples by features.
    n_components : int
        How many components.
    k : int or sequence of int
        Features per component.
    side : {"features", "both"}
        "both" also returns the sparse left vectors of Algorithm 2: components of the transpose of the centered X.
    k_samples : int or sequence of int
        Samples per left vector, with side="both".
    on_step : callable
        Called with a Step as the work proceeds; an exception in it stops the work.
    on_component : callable
        Called with each Component as it is found, before the next one is sought.
    earlier : sequence of Component
        The first components, found before in the same X with the same options and seed: the work goes on after
        them, and the result is that of one run. Not for "spasm" and "rotation", which find all together.
    **options
        As in :class:`SparsePCA`.

    Returns
    -------
    Decomposition
        Its ``components``, adjusted ``explained_variance`` and ``total_variance`` (no divisor), ``passes``, ...

    Examples
    --------
    >>> import rspca
    >>> pitprops = rspca.GramOperator(rspca.datasets.load_pitprops())
    >>> found = rspca.decompose(pitprops, 1, k=5, random_state=0)
    >>> round(found.components[0].variance, 6)
    3.406155
    """
    options: dict[str, Any] = {
        "solver": solver, "rounding": rounding, "s": s, "n_draws": n_draws, "polish": polish,
        "max_iter": max_iter, "tol": tol,
    }  # fmt: skip
    check_settings(method=method, normalization=normalization, deflation=deflation, options=options)
    check_choice("side", side, ("features", "both"))
    check_certifiable(method, deflation, certify, certify_seconds)
    check_listener("on_step", on_step)
    check_listener("on_component", on_component)
    op, rng, run = as_operator(X), as_generator(random_state), METHODS[method]
    ks = check_sparsity(k, check_n_components(n_components, op.shape), op.shape[1])
    ks_samples = _sample_sparsity(side, k_samples, n_components, op)
    _check_earlier(earlier, method, n_components, op.shape[1])
    options["groups"] = _limits(groups, max_per_group, X, op.shape[1], max(ks), method, rounding, side)
    if deflation == "hotelling" and op.has_samples:
        raise ValueError(
            f"{argument('deflation', 'hotelling')} is for a Gram matrix: give GramOperator(A), or choose 'schur'."
        )
    before = op.passes
    check_memory(op, max(ks), sketched=method == "rspca" and solver == "linearized")
    keep_freed_blocks()
    op = prepare(op, center=center, scale=scale, n_components=n_components)
    chosen: dict[str, Any] = {"normalization": normalization, "deflation": deflation, "rng": rng}
    if method == "rspca":
        chosen |= options
    loop: Loop = {"on_step": on_step}
    if method not in FOUND_TOGETHER:
        loop |= {"on_component": on_component, "earlier": earlier}
    with threads_for(op):
        if certify:
            from rspca.certificates.certify import assumed, certified

            find = certified(
                run, seconds=certify_seconds, count=n_components, assumptions=assumed(op, center, scale),
                center=center, scale=scale, earlier=len(earlier), **chosen,
            )  # fmt: skip
            components = one_after_another(find, op, ks, deflation=deflation, **loop)
        else:
            components = run(op, n_components, ks, **chosen, **loop)
        left = run(op.transposed(), n_components, ks_samples, **chosen, on_step=on_step) if ks_samples else []
        V = np.vstack([c.dense() for c in components])
        measured, unit = balanced(op)
        scores = scores_of(measured, V)
    samples = op.inner if isinstance(op, FormedGram) else op
    mean, weights = _affine(samples)
    return Decomposition(
        components=components, method=method, mean=mean, scale=weights, sample_components=left,
        explained_variance=unit**2 * added_squares(scores),
        total_variance=float(op.sq_norms.sum() - op.offset * op.shape[1]),
        orthogonality=largest_cosine(V.T), score_correlation=largest_cosine(scores),
        passes=op.passes - before, has_samples=op.has_samples, n_samples=samples.shape[0] if op.has_samples else 0,
    )  # fmt: skip


def _check_earlier(earlier: Sequence[Component], method: str, n_components: int, n: int) -> None:
    """Refuse components that cannot be the first of those asked for."""
    if not isinstance(earlier, Sequence) or not all(isinstance(one, Component) for one in earlier):
        raise TypeError(f"earlier={spelled(earlier)} must be a list of Component, as decompose returned them.")
    if not len(earlier):
        return
    if method in FOUND_TOGETHER:
        raise ValueError(
            f"{argument('method', method)} finds all components together; it cannot go on after earlier ones."
        )
    if len(earlier) > n_components or any(one.n_features != n for one in earlier):
        raise ValueError(
            f"earlier holds {len(earlier)} component(s) of {earlier[0].n_features} features; at most "
            f"{argument('n_components', n_components)} of the {n} features of X can be continued."
        )


def check_certifiable(method: str, deflation: str, certify: bool, seconds: float) -> None:
    """Refuse certificates of what cannot have them."""
    check_choice("certify", certify, (True, False))
    check_real("certify_seconds", seconds, 0.0, strict=True)
    if certify and method in ("spasm", "rotation", "pca"):
        raise ValueError(
            f"{argument('certify', True)} certifies components found one after another; {argument('method', method)} "
            "finds them together. "
            "Choose another method, or give its components to rspca.certify one by one."
        )
    if certify and deflation == "hotelling":
        raise ValueError(
            f"{argument('certify', True)} needs a deflation that leaves the data positive semidefinite: choose "
            "'schur', 'projection' or 'orthogonal' instead of 'hotelling'."
        )


def _limits(
    groups: Any, max_per_group: int, X: Any, n: int, k: int, method: str, rounding: str, side: str
) -> Groups | None:
    """Return how many features each group may give, or None; refuse what cannot keep to it."""
    found = limits(groups, max_per_group, n, getattr(X, "features", None))
    if found is None:
        return None
    if method != "rspca" or rounding != "exact" or side != "features":
        raise ValueError(
            f"{argument('groups')} needs {argument('method', 'rspca')}, rounding='exact' and side='features': others "
            "know no groups."
        )
    most = Choice(np.arange(n), found).most
    if k > most:
        raise ValueError(
            f"{argument('k', k)} features are asked for, but with {argument('max_per_group', max_per_group)} the "
            f"groups give {most} at most; lower {argument('k')}, or raise {argument('max_per_group')}."
        )
    return found


def check_settings(*, method: str, normalization: str, deflation: str, options: dict[str, Any]) -> None:
    """Refuse unknown names and values before any work starts."""
    check_choice("method", method, METHODS)
    check_choice("normalization", normalization, NORMALIZATIONS)
    check_choice("deflation", deflation, DEFLATIONS)
    check_choice("solver", options["solver"], SOLVERS)
    check_choice("rounding", options["rounding"], ROUNDINGS)
    check_choice("polish", options["polish"], (True, False))
    check_draws(options["n_draws"])
    check_integer("max_iter", options["max_iter"], 1)
    check_real("tol", options["tol"], 0.0)
    if options["s"] is not None:
        check_real("s", options["s"], 0.0, strict=True)
    if method != "rspca":
        check_options(options, Options()._asdict(), method)


def relax(
    X: Any,
    k: float,
    *,
    solver: str = "linearized",
    start: Any = None,
    max_iter: int = 1000,
    tol: float | None = None,
    center: bool = True,
    scale: bool | str = False,
    on_step: OnStep | None = None,
) -> Relaxed:
    """Return a stationary point of max x'X'Xx subject to |x|_2 <= 1, |x|_1 <= sqrt(k): stage 1 of the paper.

    Parameters
    ----------
    X : array, sparse matrix, frame or operator
        Samples by features.
    k : float
        Any real number >= 1.
    solver : {"linearized", "projected"}
        "linearized" climbs monotonically to a stationary point. "projected" is what the paper evidently ran; its
        fixed point is *not* stationary for this problem.
    start : vector, or several as rows
        Where to start; the best end point is returned. By default the leading principal component and the
        feature of largest variance; "projected" always starts from the former.
    tol : float
        Relative gain at which to stop, 1e-7 by default; for "projected" the relative change, 1e-10 by default.

    Returns
    -------
    Relaxed
        ``x``, ``variance``, ``n_iter``, ``converged``.

    Examples
    --------
    >>> import numpy as np, rspca
    >>> r = rspca.relax(rspca.GramOperator(np.diag([3.0, 2.0, 1.0])), 1)
    >>> r.x, r.variance
    (array([1., 0., 0.]), 3.0)
    """
    k = check_real("k", k, 1.0)
    check_choice("solver", solver, SOLVERS)
    max_iter = check_integer("max_iter", max_iter, 1)
    check_listener("on_step", on_step)
    default = budgets.PROJECTED_TOL if solver == "projected" else Options().tol
    tol = default if tol is None else check_real("tol", tol, 0.0)
    given = as_operator(X)
    starts = None if start is None else _rows("start", start, given.shape[1])
    op, unit = balanced(prepare(given, center=center, scale=scale))
    if not op.sq_norms.any():
        raise ValueError("X has no variance: every column is constant. There is nothing to relax.")
    began = time.perf_counter()

    def tell(iteration: int, variance: float) -> None:
        if on_step is not None:
            on_step(Step("relax", 0, iteration, unit**2 * variance, None, time.perf_counter() - began))

    best = best_relaxation(
        op, k, starts or starting_points(op, solver), solver=solver, max_iter=max_iter, tol=tol, on_iteration=tell
    )
    return best._replace(x=oriented(best.x, op.dtype), variance=unit**2 * best.variance)


def normalize(X: Any, x: Any, how: str = "svd", *, center: bool = True, scale: bool | str = False) -> Array:
    """Return x with unit length: its own direction ("naive"), or the best one on its support ("svd").

    Examples
    --------
    >>> import numpy as np, rspca
    >>> rspca.normalize(rspca.GramOperator(np.diag([1.0, 2.0, 3.0])), [3.0, 4.0, 0.0], how="naive")
    array([0.6, 0.8, 0. ])
    """
    check_choice("how", how, NORMALIZATIONS)
    given = as_operator(X)
    vector = check_vector("x", x, given.shape[1])
    op, _ = balanced(prepare(given, center=center, scale=scale))
    support = nonzeros(vector)
    out = np.zeros(op.shape[1])
    out[support] = NORMALIZATIONS[how](op, support, vector[support])
    return out


def explained_variance(
    X: Any, V: Any, definition: str = "adjusted", *, center: bool = True, scale: bool | str = False
) -> Array:
    """Return the variance of each component (a row of V) of X, in one of four definitions; no divisor.

    Parameters
    ----------
    V : array of shape (n_components, n_features)
        Components as rows, taken as they are: give unit vectors.
    definition : {"adjusted", "subspace", "sum", "pca_share"}
        "adjusted": R_jj^2 of the QR of the scores. "subspace": what each adds to the projection on the span.
        "sum": v'Av, which counts shared variance twice. "pca_share": "sum" over the r leading eigenvalues.

    Examples
    --------
    >>> import numpy as np, rspca
    >>> A = rspca.GramOperator([[2.0, 1.0], [1.0, 2.0]])
    >>> rspca.explained_variance(A, np.eye(2)), rspca.explained_variance(A, np.eye(2), "sum")
    (array([2. , 1.5]), array([2., 2.]))
    """
    check_choice("definition", definition, DEFINITIONS)
    given = as_operator(X)
    rows = np.vstack(_rows("V", V, given.shape[1]))
    op, unit = balanced(prepare(given, center=center, scale=scale))
    values = DEFINITIONS[definition](op, rows)
    return values if definition == "pca_share" else unit**2 * values


def _rows(name: str, vectors: Any, n: int) -> list[Array]:
    """Return one vector, or several given as rows, as a list of checked vectors."""
    rows = np.atleast_2d(real_array(name, vectors))
    if rows.ndim != 2 or rows.size == 0:
        raise ValueError(f"{name} has shape {np.shape(vectors)}; give a vector of length {n}, or several as rows.")
    return [check_vector(name, row, n) for row in rows]


def _sample_sparsity(side: str, k_samples: Any, n_components: int, op: OperatorMixin) -> list[int] | None:
    if side == "features":
        if k_samples is not None:
            raise ValueError("k_samples is the sparsity of the left vectors: it needs side='both'.")
        return None
    if not op.has_samples:
        raise ValueError("side='both' needs samples; a Gram matrix has none.")
    if k_samples is None:
        raise ValueError("side='both' needs k_samples, the number of samples in each left vector.")
    return check_sparsity(k_samples, n_components, op.shape[0], "k_samples", "samples")


def _affine(op: OperatorMixin) -> tuple[Array, Array]:
    """Return the mean and the scale that `prepare` put round the data."""
    n = op.shape[1]
    mean, spread = np.zeros(n), np.ones(n)
    if isinstance(op, Scaled):
        constant = op.weights == 0.0  # such columns are left out; they count as not scaled
        spread, op = 1.0 / np.where(constant, 1.0, op.weights), op.inner
    if isinstance(op, Centered):
        mean = op.mean
    return mean, spread
