"""The public functions: check arguments, make the data an operator, call what is below."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.component import Options
from rspca.algorithm.loop import LoopOptions
from rspca.algorithm.normalize import NORMALIZATIONS
from rspca.algorithm.relax import SOLVERS, Relaxed, best_relaxation, starting_points
from rspca.algorithm.results import Component, Decomposition, OnComponent
from rspca.base.arguments import argument
from rspca.base.checks import (
    check_choice,
    check_integer,
    check_listener,
    check_real,
    check_vector,
    real_array,
)
from rspca.base.types import Array, OnStep, Step
from rspca.certificates.certificate import Certificate
from rspca.certificates.certify import certify as certify_one
from rspca.certificates.joint import certify_joint
from rspca.certificates.joint_certificate import JointCertificate
from rspca.linalg.explained_variance import DEFINITIONS
from rspca.linalg.vectors import nonzeros, oriented
from rspca.methods.combinations import check_nothing_earlier
from rspca.methods.decompose import checked_settings, decompose_checked
from rspca.operators.convert import as_operator, balanced, standardize
from rspca.operators.prepared import SampleArguments

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
    joint: bool = False,
    constraint: str | None = None,
    shared_support: bool = False,
    nonnegative: bool = False,
    missing: str = "error",
    certify: bool = False,
    certify_seconds: float = 30.0,
    max_iter: int = 1000,
    tol: float = 1e-7,
    random_state: RandomState = None,
    sample_weight: Any = None,
    covariates: Any = None,
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
    k : int, float or sequence of these
        Features per component, or a share of all features between 0 and 1.
    side : {"features", "both"}
        "both" also returns the sparse left vectors of Algorithm 2: components of the transpose of the centered X.
    k_samples : int or sequence of int
        Samples per left vector, with side="both".
    sample_weight : array of n_samples, optional
        How often each sample counts: a weight of 2 is a sample given twice, 0 one left out.
    covariates : array, frame or mapping, optional
        What is known of the samples and is projected out, with an intercept; texts are categories.
    on_step : callable
        Called with a Step as the work proceeds; an exception in it stops the work.
    on_component : callable
        Called with each Component as it is found, before the next one is sought.
    earlier : sequence of Component
        The first components, found before in the same X with the same options and seed: the work continues after
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
    given = dict(locals())
    check_nothing_earlier(given, earlier)
    settings = checked_settings(given)
    return decompose_checked(X, settings, LoopOptions(on_step, on_component, earlier), sample_weight, covariates)


@overload
def certify(
    X: Any,
    k: Any,
    *,
    n_components: Literal[1] = 1,
    loadings: Any = None,
    after: Any = None,
    deflation: str = "schur",
    constraint: None = None,
    shared_support: Literal[False] = False,
    seconds: float = 30.0,
    tol: float = 1e-6,
    center: bool = True,
    scale: bool | str = False,
    groups: Any = None,
    max_per_group: int = 1,
    sample_weight: Any = None,
    covariates: Any = None,
    missing: str = "error",
    random_state: Any = 0,
    on_step: OnStep | None = None,
) -> Certificate: ...


@overload
def certify(
    X: Any,
    k: Any,
    *,
    n_components: int,
    loadings: Any = None,
    after: Any = None,
    deflation: str = "schur",
    constraint: str | None = None,
    shared_support: bool = False,
    seconds: float = 30.0,
    tol: float = 1e-6,
    center: bool = True,
    scale: bool | str = False,
    groups: Any = None,
    max_per_group: int = 1,
    sample_weight: Any = None,
    covariates: Any = None,
    missing: str = "error",
    random_state: Any = 0,
    on_step: OnStep | None = None,
) -> JointCertificate: ...


def certify(
    X: Any,
    k: Any,
    *,
    n_components: int = 1,
    loadings: Any = None,
    after: Any = None,
    deflation: str = "schur",
    constraint: str | None = None,
    shared_support: bool = False,
    seconds: float = 30.0,
    tol: float = 1e-6,
    center: bool = True,
    scale: bool | str = False,
    groups: Any = None,
    max_per_group: int = 1,
    sample_weight: Any = None,
    covariates: Any = None,
    missing: str = "error",
    random_state: Any = 0,
    on_step: OnStep | None = None,
) -> Certificate | JointCertificate:
    """Return a proven interval for the largest variance of unit vectors with k features, one or several.

    Of one component it is v'X'Xv. Of several it is their adjusted variance, the sum of v'X'Xv under a constraint that
    makes it one, or the sum on a support that all share.

    Parameters
    ----------
    X : array, sparse matrix, frame, operator
        Samples by features; ``GramOperator(A)`` for a covariance matrix.
    k : int, or a sequence of int with several components
        Features of a component; with `shared_support`, of all together.
    n_components : int
        How many components are certified as a set; with one, a better component is sought too.
    loadings : array of n_features, or (n_components, n_features), optional
        Components to be certified, with at most k non-zeros each. Without them, components are found first.
    after : array of n_features, or several as rows, optional
        Components found before: what is certified is the next one, in the data as they leave them.
    deflation : {"schur", "projection", "orthogonal"}
        How those were removed, with `after`.
    constraint : {"orthogonal", "uncorrelated", "disjoint"}, optional
        What holds between several components: orthogonal loadings, uncorrelated scores, or no common features.
    shared_support : bool
        Whether several components use the same k features.
    seconds : float
        Time for the proof. What is proven when it ends, or when the user interrupts, is returned.
    tol : float
        Relative gap that counts as optimal.
    groups : array of labels, or int, optional
        With one component: a group for each feature, or, for a table of genotypes, the width of windows in base
        pairs. Only vectors with at most `max_per_group` features of each group are compared: what is found keeps to
        that, and so does the bound.
    max_per_group : int
        Features of one group, with `groups`.
    sample_weight, covariates, missing
        As in :func:`decompose`: what is certified are the data that they leave.

    Returns
    -------
    Certificate or JointCertificate
        The second with several components.

    Examples
    --------
    >>> import rspca
    >>> pitprops = rspca.GramOperator(rspca.datasets.load_pitprops())
    >>> found = rspca.certify(pitprops, 5)
    >>> found.status, round(found.lower, 6)
    ('optimal', 3.406155)
    >>> rspca.certify(pitprops, 5, n_components=3, constraint="orthogonal").gap < 0.2
    True
    """
    settings: dict[str, Any] = {
        "loadings": loadings,
        "seconds": seconds,
        "tol": tol,
        "center": center,
        "scale": scale,
        "of_samples": SampleArguments(sample_weight, covariates, missing),
        "random_state": random_state,
        "on_step": on_step,
    }
    if check_integer("n_components", n_components, 1) > 1:
        if groups is not None:
            raise ValueError(
                f"{argument('groups')} are certified for one component; with "
                f"{argument('n_components', n_components)} leave them out: the bound holds with them too."
            )
        if after is not None:
            raise ValueError(
                f"{argument('after')} goes before one component; with {argument('n_components', n_components)} all are "
                "certified as a set. Leave one of them out."
            )
        return certify_joint(X, k, n_components, constraint=constraint, shared_support=shared_support, **settings)
    if constraint is not None or shared_support:
        name = "constraint" if constraint is not None else "shared_support"
        raise ValueError(f"{argument(name)} is about several components: give {argument('n_components')}.")
    limits = {"groups": groups, "max_per_group": max_per_group}
    return certify_one(X, k, after=after, deflation=deflation, **limits, **settings)


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
    op, unit = balanced(standardize(given, center=center, scale=scale))
    if not op.sq_norms.any():
        raise ValueError("X has no variance: every column is constant. There is nothing to relax.")
    began = time.perf_counter()

    def report(iteration: int, variance: float) -> None:
        if on_step is not None:
            on_step(Step("relax", 0, iteration, unit**2 * variance, None, time.perf_counter() - began))

    best = best_relaxation(
        op, k, starts or starting_points(op, solver), solver=solver, max_iter=max_iter, tol=tol, on_iteration=report
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
    op, _ = balanced(standardize(given, center=center, scale=scale))
    support = nonzeros(vector)
    out = np.zeros(op.shape[1])
    out[support] = NORMALIZATIONS[how](op, support, vector[support])
    return out


def explained_variance(
    X: Any, V: Any, definition: str = "adjusted", *, center: bool = True, scale: bool | str = False
) -> Array:
    """Return the variance of each component (a row of V) of X, in one of five definitions; no divisor.

    Parameters
    ----------
    V : array of shape (n_components, n_features)
        Components as rows, taken as they are: give unit vectors.
    definition : {"adjusted", "subspace", "reconstruction", "sum", "pca_share"}
        "adjusted": R_jj^2 of the QR of the scores. "subspace": what each adds to the projection on the span.
        "reconstruction": what each adds to what the scores explain of X by least squares.
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
    op, unit = balanced(standardize(given, center=center, scale=scale))
    values = DEFINITIONS[definition](op, rows)
    return values if definition == "pca_share" else unit**2 * values


def _rows(name: str, vectors: Any, n: int) -> list[Array]:
    """Return one vector, or several given as rows, as a list of checked vectors."""
    rows = np.atleast_2d(real_array(name, vectors))
    if rows.ndim != 2 or rows.size == 0:
        raise ValueError(f"{name} has shape {np.shape(vectors)}; give a vector of length {n}, or several as rows.")
    return [check_vector(name, row, n) for row in rows]
