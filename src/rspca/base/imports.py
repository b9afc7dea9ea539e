"""Functions named by their place, "package.module:function", and imported when they are first called."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


def load(place: str) -> Any:
    """Return the object at "package.module:name"."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


def lazy(place: str) -> Callable[..., Any]:
    """Return a function that imports the one at "package.module:name" when it is called."""

    def call(*arguments: Any, **options: Any) -> Any:
        return load(place)(*arguments, **options)

    return call
