"""What every method refuses before it starts: settings that all of them share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from rspca.algorithm.deflate import DEFLATIONS
from rspca.algorithm.normalize import NORMALIZATIONS
from rspca.algorithm.results import Component
from rspca.base.checks import as_generator, check_choice, check_integer, check_real
from rspca.operators.base import OperatorMixin

Method = Callable[..., list[Component]]


def checked(method: Method) -> Method:
    """Return the method, which then refuses unknown settings, and has a random stream of its own where none is given.

    Settings that it does not use are held to the same names, so that a slip of the pen is not passed over.
    """
    deflations = {*DEFLATIONS, inspect.signature(method).parameters["deflation"].default}

    @functools.wraps(method)
    def run(op: OperatorMixin, n_components: int, k: Any = None, **options: Any) -> list[Component]:
        check_integer("n_components", n_components, 1)
        if "normalization" in options:
            check_choice("normalization", options["normalization"], NORMALIZATIONS)
        if "deflation" in options:
            check_choice("deflation", options["deflation"], deflations)
        if "max_iter" in options:
            check_integer("max_iter", options["max_iter"], 1)
        if "tol" in options:
            check_real("tol", options["tol"], 0.0)
        return method(op, n_components, k, **{"rng": as_generator(None)} | options)

    return run
