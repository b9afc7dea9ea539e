"""The method of the paper, and our default: relax, round, refit, polish."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rspca.algorithm.component import ROUNDINGS, Options, rspca_component
from rspca.algorithm.loop import Found
from rspca.algorithm.relax import SOLVERS
from rspca.algorithm.shared_work import FitWork
from rspca.base.arguments import argument
from rspca.base.checks import check_choice, check_draws, check_real
from rspca.base.threads import small_products_in_one_thread
from rspca.base.types import Report
from rspca.methods.registry import Method
from rspca.operators.base import OperatorMixin


def rspca(
    op: OperatorMixin,
    k: int,
    report: Report,
    *,
    normalization: str,
    rng: np.random.Generator,
    work: FitWork | None = None,
    **options: Any,
) -> Found:
    """Return a component by randomized rounding; `options` are the fields of :class:`Options`."""
    with small_products_in_one_thread():
        chosen = Options(**options)
        return rspca_component(op, k, report, options=chosen, normalization=normalization, rng=rng, work=work)


def check_rspca(options: Mapping[str, Any]) -> None:
    """Refuse unknown names and values, as far as that is possible without the data."""
    options = Options(**options)._asdict()
    check_choice("solver", options["solver"], SOLVERS)
    check_choice("rounding", options["rounding"], ROUNDINGS)
    check_choice("polish", options["polish"], (True, False))
    check_draws(options["n_draws"])
    check_choice("nonnegative", options["nonnegative"], (True, False))
    if options["nonnegative"] and (options["solver"], options["rounding"]) != ("linearized", "exact"):
        raise ValueError(
            f"{argument('nonnegative', True)} needs {argument('solver', 'linearized')} and "
            f"{argument('rounding', 'exact')}: the paper's steps know no signs."
        )
    if options["s"] is not None:
        check_real("s", options["s"], 0.0, strict=True)


RSPCA = Method("rspca", rspca, rounds=True, defaults=Options()._asdict(), check_values=check_rspca)
