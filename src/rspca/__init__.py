"""Principal components of exactly k features each, from any matrix you can multiply by."""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "SparsePCA": "rspca.estimator",
    "decompose": "rspca.api",
    "relax": "rspca.api",
    "normalize": "rspca.api",
    "explained_variance": "rspca.api",
    "round_vector": "rspca.rounding",
    "theorem1": "rspca.rounding",
    "as_operator": "rspca.operators",
    "GramOperator": "rspca.operators",
    "OperatorMixin": "rspca.operators",
    "METHODS": "rspca.methods",
    "compare": "rspca.comparison",
    "certify": "rspca.certificates.certify",
    "Certificate": "rspca.certificates.certificate",
    "path": "rspca.paths",
    "load": "rspca.models",
    "read": "rspca.tables",
    "spca": "rspca.singlecell",
    "Table": "rspca.tables",
    "Component": "rspca.components",
    "Decomposition": "rspca.components",
    "Step": "rspca.components",
}
_MODULES = ("datasets", "formats", "plotting", "report", "text")

__version__ = "0.1.0"
__all__ = ["__version__", *_HOMES, *_MODULES]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used (PEP 562), so that importing rspca costs nothing."""
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    elif name in _MODULES:
        value = importlib.import_module(f"rspca.{name}")
    else:
        raise AttributeError(f"module 'rspca' has no attribute {name!r}; it has {', '.join(sorted(__all__))}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
