"""Compilation of functions by numba (extra `fast`), which is imported only when a function is compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, TypeVar

from rspca.base.machine_code import kept_if_possible

Function = TypeVar("Function", bound=Callable[..., object])


def can_compile() -> bool:
    """Return whether numba is installed and compilation is not disabled (NUMBA_DISABLE_JIT)."""
    try:
        import numba
    except ImportError:
        return False
    return not getattr(numba.config, "DISABLE_JIT", False)


def compiled(function: Function) -> Function:
    """Return the function, compiled by numba on its first call; the machine code is cached for the next run.

    It releases the GIL, so that the thread that handles an interrupt of the command line can run.
    """
    import numba

    try:
        made: Function = kept_if_possible(numba.njit(function, cache=True, nogil=True))
    except RuntimeError:  # no folder for the cache
        made = numba.njit(function, nogil=True)
    return made


def compiled_copies(source: Mapping[str, Any], names: tuple[str, ...], **replaced: str) -> dict[str, Any]:
    """Return compiled copies of functions of a module that call each other, by name; the module is not changed.

    In the copies, each name in `replaced` means the function that it is mapped to.
    """
    copies = dict(source)
    for name in names:
        function = source[name]
        copies[name] = compiled(FunctionType(function.__code__, copies, name, function.__defaults__))
    copies.update({name: copies[other] for name, other in replaced.items()})
    return copies
