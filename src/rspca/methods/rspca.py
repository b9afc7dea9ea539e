"""The method of the paper, and our default: relax, round, refit, polish."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from rspca.checks import check_sparsity
from rspca.components import Component, OnStep
from rspca.decomposition import Options, rspca_component
from rspca.operators.protocol import OperatorMixin
from rspca.sequence import one_after_another


def rspca(
    op: OperatorMixin,
    n_components: int,
    k: Any,
    *,
    normalization: str = "svd",
    deflation: str = "schur",
    rng: np.random.Generator,
    on_step: OnStep | None = None,
    **options: Any,
) -> list[Component]:
    """Return sparse components by randomized rounding; `options` are the fields of decomposition.Options."""
    find = partial(rspca_component, options=Options(**options), normalization=normalization, rng=rng)
    return one_after_another(
        find, op, check_sparsity(k, n_components, op.shape[1]), deflation=deflation, on_step=on_step
    )
