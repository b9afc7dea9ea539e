"""certify_joint: how far r components are, as a set, from the best r components, proven, within the time given."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from rspca.algorithm.component import check_memory
from rspca.algorithm.feature_limits import Groups
from rspca.algorithm.joint.constraints import CONSTRAINTS, check_feasible, check_shared
from rspca.algorithm.joint.task import SparseVector
from rspca.algorithm.loop import eligible_features
from rspca.base.arguments import argument
from rspca.base.checks import (
    as_generator,
    check_choice,
    check_integer,
    check_listener,
    check_n_components,
    check_real,
    check_sparsity,
    check_vector,
    real_array,
)
from rspca.base.types import OnStep
from rspca.certificates import budgets
from rspca.certificates.bounds.gram import top_sum
from rspca.certificates.certificate import status_of
from rspca.certificates.certify import certify_prepared, columns_fit, hidden_by_forming
from rspca.certificates.joint_certificate import MEASURED_BY, JointCertificate
from rspca.certificates.joint_found import found_set
from rspca.certificates.joint_strategy import OneComponent, Reached, SetKind, prove_set, set_margin
from rspca.certificates.joint_values import attained_by_set, union_of, violation
from rspca.certificates.precision import sq_norms
from rspca.certificates.progress import Progress
from rspca.certificates.proof_state import ProofState
from rspca.linalg.vectors import oriented, unit
from rspca.operators.base import OperatorMixin
from rspca.operators.convert import balanced
from rspca.operators.prepared import (
    NOTHING_GIVEN,
    Prepared,
    SampleArguments,
    checked_samples,
    operator_of,
    prepared,
)


def certify_joint(
    X: Any,
    k: Any,
    n_components: int,
    *,
    loadings: Any = None,
    constraint: str | None = None,
    shared_support: bool = False,
    seconds: float = 30.0,
    tol: float = 1e-6,
    center: bool = True,
    scale: bool | str = False,
    of_samples: SampleArguments = NOTHING_GIVEN,
    random_state: Any = 0,
    on_step: OnStep | None = None,
) -> JointCertificate:
    """Return a proven interval for what n_components components of k features can have together.

    `loadings` are the components as rows; without them a set is found first. The other arguments are those of
    :func:`rspca.certify`.
    """
    deadline = time.perf_counter() + check_real("seconds", seconds, 0.0, strict=True)
    check_real("tol", tol, 0.0, strict=True)
    check_listener("on_step", on_step)
    check_choice("constraint", constraint, (None, *CONSTRAINTS))
    check_choice("shared_support", shared_support, (True, False))
    check_integer("n_components", n_components, 2)
    given = operator_of(X, of_samples.missing)
    n = given.shape[1]
    ks = check_sparsity(k, check_n_components(n_components, given.shape), n)
    _check_feasible(ks, n, constraint, shared=shared_support)
    check_memory(given, max(ks), n_components=n_components)
    vectors = None if loadings is None else given_vectors(loadings, ks, n)
    rng = as_generator(random_state)
    samples = checked_samples(given, of_samples, center)
    data = prepared(given, center=center, scale=scale, n_components=n_components, **samples._asdict())
    if vectors is None:
        vectors = found_set(data.operator, ks, constraint, rng, shared=shared_support)
    _check_kept(data.operator.to_float64(), vectors, ks, constraint, shared=shared_support)
    return certify_joint_prepared(
        data,
        ks,
        vectors,
        constraint=constraint,
        shared=shared_support,
        nonnegative=False,
        limits=None,
        deadline=deadline,
        tol=tol,
        rng=rng,
        on_step=on_step,
    )


def certify_joint_prepared(
    data: Prepared,
    ks: Sequence[int],
    vectors: Sequence[SparseVector],
    *,
    constraint: str | None,
    shared: bool,
    nonnegative: bool,
    limits: Groups | None,
    deadline: float,
    tol: float,
    rng: np.random.Generator,
    on_step: OnStep | None = None,
) -> JointCertificate:
    """Certify a set of components of data that are prepared and not deflated.

    The components are taken as they are: nothing is sought that is better, because groups, signs and the constraint
    might forbid it. Groups and signs are no part of the bounds, which therefore hold with them.
    """
    if data.operator.offset:
        raise ValueError("Hotelling deflation leaves a matrix that is not semidefinite: it cannot be certified.")
    began = time.perf_counter()
    measure = "shared" if shared else MEASURED_BY[constraint]
    kind = SetKind(tuple(min(k, data.operator.shape[1]) for k in ks), constraint, shared)
    data = _not_hidden(data, kind, vectors, measure)
    given, size = balanced(data.operator)
    known = ProofState(given)
    op, eligible = known.op, eligible_features(given.to_float64())
    lower, off = attained_by_set(op, vectors, measure), violation(op, vectors, constraint, shared=shared)
    if not lower > 0.0:
        raise ValueError("The components have no variance beyond rounding: there is nothing to certify.")
    run = Progress(union_of(vectors), lower, tol=tol, deadline=deadline, on_step=on_step)
    stopped_by = "nothing left to try"
    try:
        prove_set(run, known, kind, eligible, _reached(op, vectors), _one_component(data, known, size, tol, rng))
        if run.out_of_time():
            stopped_by = "time"
    except KeyboardInterrupt:
        stopped_by = "interrupt"
    run.on_step = None
    if not np.isfinite(run.upper):
        run.proven("trace", float(top_sum(sq_norms(op), kind.sparsity(op.shape[1]).union)), 0.0)
    margin = set_margin(known, kind, eligible)
    margin += (len(ks) - 1) * off * (run.upper + margin)  # V'V <= 1 + (r - 1) violation, and every bound grows by that
    if run.upper + margin < (1.0 - budgets.CONTRADICTION) * lower:
        raise RuntimeError(f"The bound {run.upper} is below the variance {lower} of a set: please report this.")
    upper = max(float(run.upper) + margin, lower)
    status = status_of(lower, upper, tol)
    proof = JointCertificate(
        ks=kind.ks,
        lower=lower,
        upper=upper,
        status=status,
        stopped_by="proof" if status == "optimal" else stopped_by,
        measure=measure,
        constraint=constraint,
        supports=tuple(np.asarray(vector.support, dtype=np.intp) for vector in vectors),
        loadings=tuple(np.asarray(vector.loadings, dtype=np.float64) for vector in vectors),
        violation=off,
        bounds=tuple(run.bounds),
        assumptions=(*data.description, *_words(kind, off, nonnegative=nonnegative, limits=limits)),
        margin=margin,
        seconds=time.perf_counter() - began,
        n_features=op.shape[1],
        center=data.center,
        scale=data.scale,
        tol=float(tol),
    )
    return proof.in_units(size**2)


def _not_hidden(data: Prepared, kind: SetKind, vectors: Sequence[SparseVector], measure: str) -> Prepared:
    """Return the data as X itself, where a Gram matrix formed of them has too few digits for a proof."""
    formed, _ = balanced(data.operator)
    union = kind.sparsity(formed.shape[1]).union
    has_digits = not hidden_by_forming(formed, union, attained_by_set(formed.to_float64(), vectors, measure))
    if has_digits or not columns_fit(data.operator.unformed):
        return data
    return data.with_operator(data.operator.unformed)


def value_given(
    X: Any,
    vectors: Sequence[SparseVector],
    constraint: str | None,
    *,
    shared: bool,
    center: bool,
    scale: bool | str,
    of_samples: SampleArguments = NOTHING_GIVEN,
) -> tuple[float, float]:
    """Return what a set of components has in the data, and its violation of the constraint."""
    given_data = operator_of(X, of_samples.missing)
    samples = checked_samples(given_data, of_samples, center)
    data = prepared(given_data, center=center, scale=scale, n_components=len(vectors), **samples._asdict())
    given, size = balanced(data.operator)
    op = given.to_float64()
    measure = "shared" if shared else MEASURED_BY[constraint]
    return size**2 * attained_by_set(op, vectors, measure), violation(op, vectors, constraint, shared=shared)


def given_vectors(loadings: Any, ks: Sequence[int], n: int) -> list[SparseVector]:
    """Return loadings given as rows as unit vectors, or raise if they are not of so many features."""
    rows = real_array("loadings", loadings)
    if rows.shape != (len(ks), n):
        raise ValueError(f"loadings has shape {rows.shape}; ({len(ks)}, {n}) is needed, a row for each component.")
    vectors = []
    for number, (row, k) in enumerate(zip(rows, ks, strict=True)):
        vector = check_vector(f"loadings[{number}]", row, n)
        support = np.flatnonzero(vector)
        if len(support) > k:
            raise ValueError(f"loadings[{number}] has {len(support)} non-zeros; at most {argument('k', k)} may be.")
        vectors.append(SparseVector(support, oriented(unit(vector[support]))))
    return vectors


def _check_feasible(ks: list[int], n: int, constraint: str | None, *, shared: bool) -> None:
    """Refuse what no components can satisfy."""
    if shared and constraint is not None:
        raise ValueError(
            f"{argument('shared_support', True)} and {argument('constraint', constraint)} exclude each other: "
            "components on one support are orthogonal. Leave one of them out."
        )
    if shared:
        check_shared(ks)
    if constraint is not None:
        check_feasible(constraint, ks, n)


def _check_kept(
    op: OperatorMixin, vectors: list[SparseVector], ks: list[int], constraint: str | None, *, shared: bool
) -> None:
    """Refuse given components that do not keep the constraint."""
    if shared and len(union_of(vectors)) > ks[0]:
        raise ValueError(
            f"loadings use {len(union_of(vectors))} features together; {argument('k', ks[0])} may be shared."
        )
    off = violation(op, vectors, constraint, shared=shared)
    if off > budgets.SET_VIOLATION:
        wanted = "orthogonal" if shared else constraint
        raise ValueError(f"loadings are not {wanted}: the largest |cosine| is {off:.2g}.")


def _reached(op: OperatorMixin, vectors: Sequence[SparseVector]) -> Reached:
    """Return what the components have, one by one, and one component on the features of all."""
    variances = np.array([op.attained(vector.support, vector.loadings) for vector in vectors])
    union = union_of(vectors)
    largest = float(variances.max())
    if len(union) <= budgets.GRAM_FEATURES:
        largest = max(largest, float(np.linalg.eigvalsh(op.gram_block(union))[-1]))
    return Reached(variances, largest)


def _one_component(
    data: Prepared, known: ProofState, size: float, tol: float, rng: np.random.Generator
) -> OneComponent:
    """Return the function that bounds one component of k features, in the units of `known`."""

    def upper(k: int, seconds: float) -> float:
        deadline = time.perf_counter() + seconds
        proof = certify_prepared(data, k, None, deadline=deadline, tol=tol, rng=rng, known=known)
        if proof.stopped_by == "interrupt":
            raise KeyboardInterrupt
        return proof.upper / size**2

    return upper


def _words(kind: SetKind, off: float, *, nonnegative: bool, limits: Groups | None) -> tuple[str, ...]:
    """Return in words which sets the bound is for."""
    r = len(kind.ks)
    if kind.shared:
        said = [f"{r} components on one support of {kind.ks[0]} features"]
    else:
        said = [f"{r} components of {_listed(kind.ks)} features"]
    measured = {
        None: "measured by adjusted variance",
        "orthogonal": f"loadings are orthogonal, their largest |cosine| being {off:.1e}",
        "uncorrelated": f"scores are uncorrelated, their largest |cosine| being {off:.1e}",
        "disjoint": "no feature is in two components; measured by adjusted variance",
    }
    if not kind.shared:
        said.append(measured[kind.constraint])
    if limits is not None:
        said.append("the bound is for supports without a limit on groups, so it holds with one")
    if nonnegative:
        said.append("the bound is for loadings of any sign, so it holds where none is negative")
    return tuple(said)


def _listed(ks: tuple[int, ...]) -> str:
    """Return the numbers of features, as few as say all."""
    if len(set(ks)) == 1:
        return str(ks[0])
    return f"{min(ks)} to {max(ks)}"


__all__ = ["JointCertificate", "certify_joint", "certify_joint_prepared", "given_vectors", "value_given"]
