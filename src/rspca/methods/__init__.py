"""Every method in one table: name -> callable(op, n_components, k, *, normalization, deflation, rng, **options)."""

from __future__ import annotations

from rspca.methods.dspca import dspca
from rspca.methods.gpower import gpower_l0, gpower_l1
from rspca.methods.greedy import greedy
from rspca.methods.maxcomp import maxcomp
from rspca.methods.pca import pca
from rspca.methods.rotation import rotation
from rspca.methods.rspca import rspca
from rspca.methods.scotlass import scotlass
from rspca.methods.settings import Method, checked
from rspca.methods.spannogram import spannogram
from rspca.methods.spasm import spasm
from rspca.methods.tpower import tpower

METHODS: dict[str, Method] = {
    "rspca": checked(rspca),
    "maxcomp": checked(maxcomp),
    "spasm": checked(spasm),
    "gpower-l1": checked(gpower_l1),
    "gpower-l0": checked(gpower_l0),
    "tpower": checked(tpower),
    "scotlass": checked(scotlass),
    "rotation": checked(rotation),
    "greedy": checked(greedy),
    "spannogram": checked(spannogram),
    "dspca": checked(dspca),
    "pca": checked(pca),
}

FOUND_TOGETHER = ("spasm", "rotation")
"""Methods whose components are not found one after another: none of them is there before all are."""

__all__ = ["FOUND_TOGETHER", "METHODS"]
