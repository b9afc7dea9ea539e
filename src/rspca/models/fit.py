"""Fit a model: check, decompose, store what was found; a failure leaves the model as it was."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rspca.algorithm.loop import LoopOptions
from rspca.base.arguments import argument, where_known
from rspca.base.user_warnings import warn_caller
from rspca.formats.table import Table
from rspca.genetics.linkage import linkage_note, linked_share
from rspca.methods.decompose import Settings, checked_settings, decompose_checked
from rspca.models.fitted import Model, store
from rspca.models.inputs import at_most_all, checked_data, checked_names


class FitArguments(NamedTuple):
    """What `fit` is given beside X: of samples, and of features."""

    sample_weight: Any = None
    covariates: Any = None
    feature_names: Any = None


NOTHING_GIVEN = FitArguments()


def fit_model(
    model: Model, X: Any, settings: Settings | None, loop: LoopOptions, given: FitArguments = NOTHING_GIVEN
) -> None:
    """Fit a model to X; `settings` are those of the model where they are checked already, None otherwise."""
    with _unchanged_on_failure(model):
        X = checked_data(model, X, reset=True)
        if given.feature_names is not None:
            model.feature_names_in_ = checked_names(given.feature_names, model)
        settings = checked_settings(parameters(model)) if settings is None else settings
        settings = settings._replace(k=at_most_all(model.k, X.shape[1]), groups=model.groups)
        found = decompose_checked(X, settings, loop, given.sample_weight, given.covariates)
        if not all(component.converged for component in found.components):
            why = (
                f"Stage 1 did not converge in {where_known('max_iter', 'max_iter=')}{model.max_iter} iterations"
                f"{where_known('max_iter', '; raise max_iter or tol')}."
                if settings.method.rounds
                else f"{argument('method', model.method)} did not converge in its own number of iterations."
            )
            warn_caller(f"{why} What it reached was used all the same.", ConvergenceWarning)
        dtype = getattr(X.operator if isinstance(X, Table) else X, "dtype", np.dtype(float))
        store(model, found, dtype if dtype in (np.float32, np.float64) else np.dtype(float))
        _report_linkage(model, X)


def _report_linkage(model: Model, X: Any) -> None:
    """Warn where a component of SNPs shows linkage more than structure, and nothing was done about it."""
    known = getattr(model, "features_", {})
    if model.groups is not None or not isinstance(X, Table) or not {"chromosome", "position"} <= set(known):
        return
    model.linked_share_ = np.array([linked_share(X.operator, support, known) for support in model.supports_])
    for number, share in enumerate(model.linked_share_):
        if note := linkage_note(share):
            warn_caller(f"Component {number}: {note}")


def parameters(model: Model) -> dict[str, Any]:
    """Return what `get_params` returns; it reads the signature each time, which takes as long as a small component."""
    kind: Any = type(model)
    return {name: getattr(model, name) for name in _parameter_names(kind)}


@functools.cache
def _parameter_names(kind: Any) -> list[str]:
    return list(kind._get_param_names())


@contextmanager
def _unchanged_on_failure(model: Model) -> Iterator[None]:
    """Leave a model as it was if the block fails: half of a new model and half of an old one would be neither."""
    before = dict(model.__dict__)
    try:
        yield
    except BaseException:
        model.__dict__.clear()
        model.__dict__.update(before)
        raise
