"""Every method in one table: name -> Method, called as (op, n_components, k, *, normalization, deflation, rng, ...)."""

from __future__ import annotations

from rspca.algorithm.component import Options
from rspca.algorithm.deflate import projection
from rspca.methods.dspca import check_dspca, dspca
from rspca.methods.gpower import check_gpower, gpower_l0, gpower_l1, masked
from rspca.methods.greedy import check_greedy, greedy
from rspca.methods.maxcomp import maxcomp
from rspca.methods.pca import pca
from rspca.methods.registry import Method
from rspca.methods.rotation import check_rotation, rotation
from rspca.methods.rspca import check_rspca, rspca
from rspca.methods.scotlass import check_scotlass, scotlass
from rspca.methods.spannogram import check_spannogram, spannogram
from rspca.methods.spasm import spasm
from rspca.methods.tpower import check_tpower, tpower

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("rspca", rspca, rounds=True, defaults=Options()._asdict(), check_values=check_rspca),
        Method("maxcomp", maxcomp),
        Method("spasm", spasm, joint=True),
        Method("gpower-l1", gpower_l1, check_gpower, own_deflation=projection),
        Method("gpower-l0", gpower_l0, check_gpower, own_deflation=masked),
        Method("tpower", tpower, check_tpower),
        Method("scotlass", scotlass, check_scotlass),
        Method("rotation", rotation, check_rotation, joint=True),
        Method("greedy", greedy, check_greedy),
        Method("spannogram", spannogram, check_spannogram),
        Method("dspca", dspca, check_dspca),
        Method("pca", pca, dense=True),
    )
}

__all__ = ["METHODS", "Method"]
