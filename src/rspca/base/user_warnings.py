"""Warnings that name the line of the user's code, however many functions of the package lie between."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

_PACKAGE = str(Path(__file__).resolve().parent.parent)


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the first line outside of this package and of scikit-learn, which wraps methods of estimators."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and _is_inside(frame.f_code.co_filename, frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _is_inside(filename: str, module: str) -> bool:
    return filename.startswith(_PACKAGE) or module.split(".")[0] in ("sklearn", "contextlib", "functools")
