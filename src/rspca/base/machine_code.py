"""Compilation by numba (extra `fast`), imported only for that, and the cache of compiled functions on disk."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

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


def kept_if_possible(dispatcher: Any) -> Any:
    """Return a compiled function whose machine code is cached on disk where that is possible.

    numba saves what it has compiled in the middle of a call, and a disk that is full would end that call. A function
    that numba does not compile (NUMBA_DISABLE_JIT) has no machine code.
    """
    cache = getattr(dispatcher, "_cache", None)
    if cache is None:
        return dispatcher
    save = cache.save_overload

    def save_if_possible(*arguments: Any) -> None:
        try:
            save(*arguments)
        except OSError as error:
            warnings.warn(
                f"numba could not store a compiled kernel ({(error.strerror or str(error)).lower()}), so every new "
                "process compiles it again. Set NUMBA_CACHE_DIR to a folder that can be written.",
                UserWarning,
                stacklevel=2,
            )

    cache.save_overload = save_if_possible
    return dispatcher


def is_kept(dispatcher: Any, dtype: str = "") -> bool:
    """Return whether the cache has machine code of this function for arrays of this type.

    numba has no public way to ask. Where its index cannot be read in this way, nothing counts as cached.
    """
    try:
        signatures = [key[0] for key in dispatcher._cache._cache_file._load_index()]
    except Exception:  # another version of numba, or a damaged file, which numba replaces
        return False
    return any(dtype in str(signature) for signature in signatures)
