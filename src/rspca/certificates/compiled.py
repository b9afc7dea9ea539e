"""numba where it is installed (extra `fast`), plain NumPy where not: the same source, the same results."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from rspca.machine_code import kept_if_possible

Function = TypeVar("Function", bound=Callable[..., object])

try:
    import numba

    ENGINE = "numba"
except ImportError:
    ENGINE = "numpy"


def compiled(function: Function) -> Function:
    """Compile a function of arrays and numbers, if that is possible here; keep what was compiled for the next run.

    Other threads go on meanwhile: one of them answers an interrupt of the command line.
    """
    if ENGINE == "numpy":
        return function
    try:
        made: Function = kept_if_possible(numba.njit(function, cache=True, nogil=True))
    except RuntimeError:  # nowhere to keep it
        made = numba.njit(function, nogil=True)
    return made
