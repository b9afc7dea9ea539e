"""Every method in one table: name -> callable(op, n_components, k, *, normalization, deflation, rng, **options)."""

from __future__ import annotations

from collections.abc import Callable

from rspca.components import Component
from rspca.methods.dspca import dspca
from rspca.methods.gpower import gpower_l0, gpower_l1
from rspca.methods.greedy import greedy
from rspca.methods.maxcomp import maxcomp
from rspca.methods.pca import pca
from rspca.methods.rotation import rotation
from rspca.methods.rspca import rspca
from rspca.methods.scotlass import scotlass
from rspca.methods.spannogram import spannogram
from rspca.methods.spasm import spasm
from rspca.methods.tpower import tpower

METHODS: dict[str, Callable[..., list[Component]]] = {
    "rspca": rspca,
    "maxcomp": maxcomp,
    "spasm": spasm,
    "gpower-l1": gpower_l1,
    "gpower-l0": gpower_l0,
    "tpower": tpower,
    "scotlass": scotlass,
    "rotation": rotation,
    "greedy": greedy,
    "spannogram": spannogram,
    "dspca": dspca,
    "pca": pca,
}

FOUND_TOGETHER = ("spasm", "rotation")
"""Methods whose components are not found one after another: none of them is there before all are."""

__all__ = ["FOUND_TOGETHER", "METHODS"]
