"""The method of the paper, and our default: relax, round, refit, polish."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rspca.algorithm.ascent import Tell
from rspca.algorithm.component import Options, rspca_component
from rspca.algorithm.loop import Found, one_after_another
from rspca.algorithm.results import Component, OnComponent
from rspca.base.checks import check_sparsity
from rspca.base.threads import small_products_in_one_thread
from rspca.base.types import OnStep
from rspca.operators.base import OperatorMixin


def rspca(
    op: OperatorMixin,
    n_components: int,
    k: Any,
    *,
    normalization: str = "svd",
    deflation: str = "schur",
    rng: np.random.Generator,
    on_step: OnStep | None = None,
    on_component: OnComponent | None = None,
    earlier: Sequence[Component] = (),
    **options: Any,
) -> list[Component]:
    """Return sparse components by randomized rounding; `options` are the fields of decomposition.Options.

    Each component has a random stream of its own, so that none depends on where the search for another ended.
    """
    ks, chosen = check_sparsity(k, n_components, op.shape[1]), Options(**options)
    streams = iter(rng.spawn(n_components)[len(earlier) :])

    def find(op: OperatorMixin, k: int, tell: Tell) -> Found:
        with small_products_in_one_thread():
            return rspca_component(op, k, tell, options=chosen, normalization=normalization, rng=next(streams))

    return one_after_another(
        find, op, ks, deflation=deflation, on_step=on_step, on_component=on_component, earlier=earlier
    )
