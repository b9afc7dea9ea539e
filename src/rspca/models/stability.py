"""Stability of a fitted model: how often fits to halves of the samples choose its features."""

from __future__ import annotations

from typing import Any

import numpy as np

from rspca.algorithm.feature_limits import limits
from rspca.algorithm.joint.task import SparseVector
from rspca.analysis.halves import HalvesOptions
from rspca.analysis.stability import Stability, check_pairs, refitted_stability, stability_of
from rspca.methods.decompose import checked_settings
from rspca.models.fit import parameters
from rspca.models.fitted import Model
from rspca.models.inputs import checked_data, weighted_data
from rspca.operators.prepared import SampleArguments, check_has_samples, checked_samples, operator_of


def model_stability(
    model: Model, X: Any, given: SampleArguments, n_pairs: Any, rng: np.random.Generator, loop: HalvesOptions
) -> Stability:
    """Return the stability of a fitted model: by short climbs, or by full fits where it was found otherwise."""
    op = operator_of(checked_data(model, weighted_data(model, X), reset=False), model.missing)
    samples = checked_samples(op, given, model.center)
    check_has_samples(op, "stability")
    pairs, seed = check_pairs(n_pairs, op.shape[0]), int(rng.integers(2**62))
    rows = zip(model.supports_, model.components_.astype(np.float64), strict=True)
    found = [SparseVector(support, row[support]) for support, row in rows]
    options = parameters(model)
    together = options["joint"] or options["constraint"] is not None or options["shared_support"]
    is_default = model.method == "rspca" and options["polish"] and options["rounding"] == "exact"
    if is_default and not together and not options["nonnegative"] and model.deflation == "schur":
        labels = limits(model.groups, model.max_per_group, op.shape[1], getattr(X, "features", None))
        return stability_of(
            op,
            samples,
            found,
            center=model.center,
            scale=model.scale,
            limits=labels,
            n_pairs=pairs,
            seed=seed,
            loop=loop,
        )
    settings = checked_settings(options | {"certify": False})
    settings = settings._replace(k=[len(support) for support in model.supports_], n_components=model.n_components_)
    return refitted_stability(op, samples, found, settings, pairs, seed, loop)
