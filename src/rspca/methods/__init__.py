"""Every method in one table: name -> Method, called as (op, n_components, k, *, normalization, deflation, rng, ...)."""

from __future__ import annotations

from rspca.base.imports import load
from rspca.methods.registry import Method

ROWS = (
    "rspca.methods.rspca:RSPCA",
    "rspca.methods.maxcomp:MAXCOMP",
    "rspca.methods.spasm:SPASM",
    "rspca.methods.gpower:GPOWER_L1",
    "rspca.methods.gpower:GPOWER_L0",
    "rspca.methods.tpower:TPOWER",
    "rspca.methods.scotlass:SCOTLASS",
    "rspca.methods.rotation:ROTATION",
    "rspca.methods.greedy:GREEDY",
    "rspca.methods.spannogram:SPANNOGRAM",
    "rspca.methods.dspca:DSPCA",
    "rspca.methods.pca:PCA",
)
"""Where the row of each method is: next to its finder."""
METHODS: dict[str, Method] = {method.name: method for method in map(load, ROWS)}
PARTS: dict[str, Method] = {method.name: method for method in map(load, ("rspca.methods.topics:TOPICS",))}
"""Methods for nonnegative parts of samples, not for directions of most variance, which `compare` compares."""

__all__ = ["METHODS", "PARTS", "Method"]
