"""A set of components to be certified where none is given: found one by one, then together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from rspca.algorithm.component import Options, rspca_component
from rspca.algorithm.deflate import schur
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.joint.modes import mode_of
from rspca.algorithm.joint.task import JointTask, SparseVector
from rspca.algorithm.loop import LoopOptions, eligible_features, one_by_one
from rspca.algorithm.shared_work import FitWork
from rspca.operators.base import OperatorMixin
from rspca.operators.convert import balanced


def found_set(
    op: OperatorMixin, ks: Sequence[int], constraint: str | None, rng: np.random.Generator, *, shared: bool
) -> list[SparseVector]:
    """Return components of so many features that keep the constraint, as the default method and the mode find them."""
    find = partial(rspca_component, options=Options(), normalization="svd", work=FitWork(len(ks)))
    finders = [(k, partial(find, rng=stream)) for k, stream in zip(ks, rng.spawn(len(ks)), strict=True)]
    start = one_by_one(finders, op, deflate=schur, normalization=None, loop=LoopOptions())
    if len(start) < len(ks):
        raise ValueError(f"X has rank {len(start)}: there are no {len(ks)} components to certify.")
    op = balanced(op)[0]
    mode = mode_of(constraint, shared_support=shared)
    task = JointTask(op, list(ks), Choice(eligible_features(op)), rng.spawn(1)[0])
    return mode.find(task, [SparseVector(c.support, c.loadings) for c in start]).vectors
