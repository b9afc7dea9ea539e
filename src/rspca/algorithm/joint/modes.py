"""The modes in which several components are found together: what each maximizes, and the function that finds it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from rspca.algorithm.joint.constrained import CONSTRAINTS, constrained
from rspca.algorithm.joint.free import free
from rspca.algorithm.joint.shared import shared
from rspca.algorithm.joint.task import JointTask, SparseVector, Together


class Mode(NamedTuple):
    """One way to find several components together."""

    name: str
    measure: str
    """What it maximizes: "adjusted" variance, the "sum" of v'Av, or the r largest eigenvalues on a "shared" support."""
    find: Callable[[JointTask, list[SparseVector]], Together]
    """(task, components found one by one) -> components found together."""
    constraint: str | None = None
    is_shared: bool = False

    def measured_by(self, *, nonnegative: bool) -> str:
        """Return what the set is measured by.

        Without negative loadings, components on one support are not orthogonal, and their adjusted variance counts.
        """
        return "adjusted" if self.is_shared and nonnegative else self.measure


def _shared(task: JointTask, start: list[SparseVector]) -> Together:
    return shared(task, len(start), task.ks[0], start)


MODES = {
    "joint": Mode("joint", "adjusted", free),
    "shared": Mode("shared", "shared", _shared, is_shared=True),
    **{
        name: Mode(name, "adjusted" if name == "disjoint" else "sum", partial(constrained, constraint=name), name)
        for name in CONSTRAINTS
    },
}


def mode_of(constraint: str | None, *, shared_support: bool) -> Mode:
    """Return the mode of components that are found together."""
    return MODES["shared" if shared_support else constraint or "joint"]


def chosen_mode(*, joint: bool, constraint: str | None, shared_support: bool) -> Mode | None:
    """Return the mode that arguments ask for; None where components are found one by one."""
    together = joint or shared_support or constraint is not None
    return mode_of(constraint, shared_support=shared_support) if together else None
