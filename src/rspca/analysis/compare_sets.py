"""Several components of every method, and in every mode, at the same number of non-zeros, by every measure."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from rspca.algorithm.joint.constraints import Infeasible
from rspca.algorithm.joint.modes import MODES
from rspca.algorithm.joint.task import SparseVector
from rspca.algorithm.results import Component
from rspca.base.checks import TooLarge
from rspca.base.types import Array, OnStep, Step
from rspca.certificates.joint import JointCertificate, certify_joint_prepared
from rspca.certificates.progress import only_compiling
from rspca.linalg.explained_variance import added_squares, gram_schmidt, largest_cosine, scores_of, subspace
from rspca.methods import METHODS
from rspca.methods.together import Restrictions, together
from rspca.operators.base import OperatorMixin
from rspca.operators.convert import balanced
from rspca.operators.prepared import Prepared

ONE_BY_ONE = "one by one"
STARTED_BY = "rspca"
"""The method whose components the modes start from."""


class ComparedSet(NamedTuple):
    """Several components of one method, found one by one or in one of the modes."""

    method: str
    mode: str
    nonzeros: int
    """Loadings that are not zero, of all components."""
    adjusted: float
    """Adjusted variance over the total variance."""
    subspace: float
    """Variance of the projection of X on the span of the loadings, over the total variance."""
    reconstruction: float
    """What the scores explain of X by least squares, over the total variance."""
    cosine: float
    """Largest |cosine| between the loadings of two components."""
    correlation: float
    """Largest |cosine| between the scores of two components; of centered data their correlation."""
    overlap: float
    """Share of its features, of all components, that the best row uses too."""
    seconds: float
    passes: float
    of_bound: float | None = None
    """Adjusted variance over its proven upper bound. None for `pca`."""


class SetComparison(tuple[ComparedSet, ...]):
    """Rows of a comparison of several components, most adjusted variance first; prints as a table."""

    skipped: dict[str, str]
    """Methods and modes that found nothing, with their reasons."""
    certificate: JointCertificate | None
    """What is proven of all sets of components of k features each."""

    def __new__(
        cls,
        rows: Iterable[ComparedSet] = (),
        skipped: dict[str, str] | None = None,
        certificate: JointCertificate | None = None,
    ) -> SetComparison:
        """Return the rows, with what was skipped, and what no set of components can exceed."""
        self = super().__new__(cls, rows)
        self.skipped, self.certificate = dict(skipped or {}), certificate
        return self

    def __str__(self) -> str:
        """Return the rows as a table, and below it what was proven and what was skipped."""
        lines = [
            f"{'method':<12}{'mode':<14}{'non-zeros':>9}{'adjusted':>10}{'subspace':>10}{'rebuilt':>10}"
            f"{'of bound':>10}{'cosine':>9}{'correl.':>9}{'overlap':>9}{'passes':>8}{'seconds':>9}"
        ]
        for row in self:
            bound = "-" if row.of_bound is None else f"{row.of_bound:.4f}"
            lines.append(
                f"{row.method:<12}{row.mode:<14}{row.nonzeros:>9}{row.adjusted:>10.4f}{row.subspace:>10.4f}"
                f"{row.reconstruction:>10.4f}{bound:>10}{row.cosine:>9.1e}{row.correlation:>9.1e}{row.overlap:>9.2f}"
                f"{row.passes:>8.1f}{row.seconds:>9.3f}"
            )
        proven = [f"proven: {self.certificate}"] if self.certificate is not None else []
        return "\n".join([*lines, *proven, *(f"{name}: skipped. {reason}" for name, reason in self.skipped.items())])


class _Found(NamedTuple):
    method: str
    mode: str
    components: list[Component]
    seconds: float
    passes: float


def compare_sets(
    data: Prepared,
    ks: list[int],
    methods: list[str],
    modes: list[str],
    *,
    certify_seconds: float | None,
    seed: Callable[[], np.random.Generator],
    on_step: OnStep | None,
    on_rows: Callable[[SetComparison], None] | None,
) -> SetComparison:
    """Return several components of every method, and of the default method in every mode, with every measure."""
    op, began = data.operator, time.perf_counter()
    rows, skipped, start = list[ComparedSet](), dict[str, str](), list[Component]()
    measured = _Measures(op)

    def keep(found: _Found) -> None:
        rows.append(measured.row(found))
        if on_rows is not None:
            on_rows(SetComparison(measured.ordered(rows), skipped))
        if on_step is not None:
            seconds, variance = time.perf_counter() - began, rows[-1].adjusted * measured.total
            on_step(Step(f"{found.method} {found.mode}", 0, len(rows), variance, None, seconds))

    for name in methods:
        started, before = time.perf_counter(), op.passes
        try:
            components = METHODS[name](op, len(ks), ks, rng=seed())
        except TooLarge as reason:
            skipped[name] = str(reason)
            continue
        start = components if name == STARTED_BY else start
        keep(_Found(name, ONE_BY_ONE, components, time.perf_counter() - started, op.passes - before))
    for name in modes if start else ():
        started, before = time.perf_counter(), op.passes
        try:
            joined = together(op, start, ks, MODES[name], Restrictions(), seed(), None)
        except Infeasible as reason:
            skipped[f"{STARTED_BY} {name}"] = str(reason)
            continue
        keep(_Found(STARTED_BY, name, joined.components, time.perf_counter() - started, op.passes - before))
    proof = None
    if certify_seconds is not None and measured.best is not None:
        proof = certify_joint_prepared(
            data,
            ks[: len(measured.best)],
            [SparseVector(c.support, c.loadings) for c in measured.best],
            constraint=None,
            shared=False,
            nonnegative=False,
            limits=None,
            deadline=time.perf_counter() + certify_seconds,
            tol=1e-6,
            rng=np.random.default_rng(0),
            on_step=only_compiling(on_step),
        )
    return SetComparison(measured.ordered(rows, proof, sum(ks)), skipped, proof)


class _Measures:
    """Measures sets of components of one matrix, and remembers the features of the best set."""

    def __init__(self, op: OperatorMixin) -> None:
        self.op, self.unit = balanced(op)
        self.total = float(op.sq_norms.sum())
        self.best: list[Component] | None = None
        self.most = -np.inf
        self.features: dict[tuple[str, str], Array] = {}

    def row(self, found: _Found) -> ComparedSet:
        """Return the measures of a set; the overlap is filled in when the best is known."""
        V = np.vstack([component.dense() for component in found.components])
        scores = scores_of(self.op, V)
        directions = gram_schmidt(scores)[0]
        rebuilt = np.square(np.asarray(self.op.rmatmat(directions), dtype=np.float64)).sum()
        adjusted, total = float(added_squares(scores).sum()), self.total / self.unit**2
        used = np.unique(np.concatenate([component.support for component in found.components]))
        self.features[found.method, found.mode] = used
        if not METHODS[found.method].dense and adjusted > self.most:
            self.best, self.most = found.components, adjusted
        return ComparedSet(
            method=found.method,
            mode=found.mode,
            nonzeros=sum(len(component.support) for component in found.components),
            adjusted=adjusted / total,
            subspace=float(subspace(self.op, V).sum()) / total,
            reconstruction=float(rebuilt) / total,
            cosine=largest_cosine(V.T),
            correlation=largest_cosine(scores),
            overlap=1.0,
            seconds=found.seconds,
            passes=found.passes,
        )

    def ordered(
        self, rows: list[ComparedSet], proof: JointCertificate | None = None, nonzeros: int = 0
    ) -> list[ComparedSet]:
        """Return the rows, most adjusted variance first, compared with the best of them and with what is proven."""
        best = (
            np.empty(0, dtype=int)
            if self.best is None
            else np.unique(np.concatenate([component.support for component in self.best]))
        )
        compared = []
        for row in sorted(rows, key=lambda row: -row.adjusted):
            used = self.features[row.method, row.mode]
            overlap = len(np.intersect1d(used, best)) / len(used) if len(best) else 1.0
            bounded = proof is not None and row.nonzeros <= nonzeros
            of_bound = float(row.adjusted * self.total / proof.upper) if proof is not None and bounded else None
            compared.append(row._replace(overlap=overlap, of_bound=of_bound))
        return compared
