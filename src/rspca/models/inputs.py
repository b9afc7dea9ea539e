"""Data for a model: checked, weighted and filled as in its fit."""

from __future__ import annotations

import collections
import numbers
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from rspca.base.arguments import argument
from rspca.base.checks import check_is_data, check_length, in_one_line, without_mask
from rspca.base.dataframes import with_plain_columns
from rspca.base.types import Array
from rspca.base.user_warnings import warn_caller
from rspca.formats.labeled import table_of_labeled
from rspca.formats.matching import weighted_as_in_fit
from rspca.formats.named import plain
from rspca.formats.table import Table
from rspca.models.fitted import Model, forget_earlier_fit, names_agree, used_features
from rspca.operators.base import OperatorMixin
from rspca.operators.convert import as_operator, check_center, is_beyond_arrays
from rspca.operators.labeled import is_labeled
from rspca.operators.missing import with_missing_as, with_nan


def checked_data(model: Model, X: Any, *, reset: bool) -> Any:
    """Return X as the core takes it, after the checks of scikit-learn for what scikit-learn knows.

    With `reset` the model takes over what X knows of its features; without, X must have the features of the model.
    """
    X = table_of_labeled(X) if is_labeled(X) else X
    if is_beyond_arrays(X):
        op = X if isinstance(X, Table) else as_operator(X)
        if reset:
            model.n_features_in_ = op.shape[1]
            _describe_features(model, X)
        else:
            _check_features(model, X, op.shape[1])
        return op
    check_is_data("X", X)
    if reset:
        forget_earlier_fit(model)
    X = with_plain_columns(with_nan(X) if model.missing == "mean" else without_mask(X))
    try:
        return validate_data(
            model,
            X,
            reset=reset,
            accept_sparse=("csr", "csc"),
            dtype="numeric",
            ensure_all_finite=False,
            ensure_min_samples=2 if reset and check_center(model.center) else 1,
        )
    except (ValueError, TypeError) as error:  # messages of scikit-learn run over several lines
        raise in_one_line(error) from error


def _describe_features(model: Model, X: Any) -> None:
    """Keep what a table knows of its features, in place of what an earlier fit knew."""
    forget_earlier_fit(model)
    if isinstance(X, Table):
        if X.has_feature_names:
            model.feature_names_in_ = np.asarray(X.feature_names, dtype=object)
        model.features_ = {name: plain(np.asarray(column)) for name, column in X.features.items()}
        if X.terms is not None:
            model.term_weights_ = X.terms.weights


def _check_features(model: Model, X: Any, n_features: int) -> None:
    """Raise if X does not have the features of the model; warn if that cannot be known."""
    if n_features != model.n_features_in_:
        raise ValueError(
            f"X has {n_features} features, but SparsePCA is expecting {model.n_features_in_} features as input."
        )
    if isinstance(X, Table) and not names_agree(model, X):
        raise ValueError("The table does not have the features of fit in their order; give them by the same names.")
    if isinstance(X, Table) and not X.has_feature_names and hasattr(model, "feature_names_in_"):
        warn_caller("The table has no names of features, so they are taken in the order of fit.")


def weighted_data(model: Model, X: Any) -> Any:
    """Return X; a DataArray as a table, a table of documents with the weights that words have in this model."""
    X = table_of_labeled(X) if is_labeled(X) else X
    if not isinstance(X, Table) or X.terms is None:
        return X
    weights = getattr(model, "term_weights_", None)
    if weights is not None:
        return weighted_as_in_fit(X, weights)
    known = getattr(model, "feature_names_in_", None)
    if known is not None and set(known[used_features(model)]) <= set(X.feature_names):
        warn_caller(
            "The model does not store the weights of its words, so those of these documents are used, which may "
            "differ. Fit it again on its documents."
        )
    return X


def filled_data(model: Model, op: OperatorMixin) -> OperatorMixin:
    """Return data with missing values counted as the means of fit, where the model does so."""
    fill = getattr(model, "missing_fill_", None)
    return op if fill is None else with_missing_as(op, fill)


def checked_names(names: Any, model: Model) -> Array:
    """Return names of features, one for each, or raise; X must have none of its own."""
    if hasattr(model, "feature_names_in_"):
        raise ValueError(f"{argument('feature_names')} are given, and X has names of features of its own. Drop one.")
    check_length("feature_names", names, model.n_features_in_, "features")
    each = [str(name) for name in names]
    if len(set(each)) < len(each):
        twice = next(name for name, count in collections.Counter(each).items() if count > 1)
        raise ValueError(f"{argument('feature_names')} has {twice!r} twice; give each feature its own name.")
    return np.array(each, dtype=object)


def at_most_all(k: Any, n_features: int) -> Any:
    """Return k, with entries above the number of features lowered to it and a warning."""
    each: list[Any] = np.asarray(k, dtype=object).reshape(-1).tolist() if np.ndim(k) < 2 else []
    if not all(isinstance(entry, numbers.Integral) for entry in each) or all(entry <= n_features for entry in each):
        return k
    warn_caller(f"{argument('k', k)} is more than the {n_features} features of X; using {n_features}.")
    return min(k, n_features) if np.ndim(k) == 0 else [min(entry, n_features) for entry in k]
