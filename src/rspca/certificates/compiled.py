"""Compiled copies of the functions of a module that call each other."""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType
from typing import Any

from rspca.base.machine_code import compiled


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
