"""Every method in one table: name -> callable(op, n_components, k, *, normalization, deflation, rng, **options)."""

from __future__ import annotations

from collections.abc import Callable

from rspca.components import Component
from rspca.methods.maxcomp import maxcomp
from rspca.methods.pca import pca
from rspca.methods.rspca import rspca

METHODS: dict[str, Callable[..., list[Component]]] = {"rspca": rspca, "maxcomp": maxcomp, "pca": pca}

__all__ = ["METHODS"]
