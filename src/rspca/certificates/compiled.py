"""Functions of arrays and numbers for numba (extra `fast`) to compile; numba is imported when one is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, TypeVar

from rspca.base.machine_code import kept_if_possible

Function = TypeVar("Function", bound=Callable[..., object])


def can_compile() -> bool:
    """Tell whether numba is installed and not told to leave functions as they are (NUMBA_DISABLE_JIT)."""
    try:
        import numba
    except ImportError:
        return False
    return not getattr(numba.config, "DISABLE_JIT", False)


def compiled(function: Function) -> Function:
    """Return the function as numba compiles it on its first call; keep the machine code for the next run.

    Other threads go on meanwhile: one of them answers an interrupt of the command line.
    """
    import numba

    try:
        made: Function = kept_if_possible(numba.njit(function, cache=True, nogil=True))
    except RuntimeError:  # nowhere to keep it
        made = numba.njit(function, nogil=True)
    return made


def compiled_copies(source: Mapping[str, Any], names: tuple[str, ...], **replaced: str) -> dict[str, Any]:
    """Return compiled copies of functions of a module that call each other, by name; the module keeps its own.

    `replaced` says which name stands for another function in the copies.
    """
    copies = dict(source)
    for name in names:
        function = source[name]
        copies[name] = compiled(FunctionType(function.__code__, copies, name, function.__defaults__))
    copies.update({name: copies[other] for name, other in replaced.items()})
    return copies
