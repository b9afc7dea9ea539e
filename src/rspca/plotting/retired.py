"""Functions that came before the Displays: each warns, draws the Display that took its place, and returns its Axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from rspca.base.user_warnings import warn_caller
from rspca.plotting.bars import LoadingsDisplay
from rspca.plotting.curves import PathDisplay, PermutationDisplay
from rspca.plotting.genome import GenomeDisplay
from rspca.plotting.methods import ComparisonDisplay, SharesDisplay
from rspca.plotting.scatter import ScoresDisplay

Draw = Callable[..., Any]


def retired(instead: str) -> Callable[[Draw], Draw]:
    """Return a decorator: the function draws a Display, warns what to call instead, and returns the Axes."""

    def wrap(draw: Draw) -> Draw:
        @wraps(draw)
        def with_warning(*given: Any, **options: Any) -> Any:
            warn_caller(
                f"{draw.__name__} is deprecated and will be removed in 0.4; use {instead}, whose ax_ is the Axes.",
                FutureWarning,
            )
            return draw(*given, **options).ax_

        return with_warning

    return wrap


@retired("LoadingsDisplay.from_estimator(model)")
def plot_loadings(model: Any, component: int = 0, n: int | None = 20, names: Any = None, ax: Any = None) -> Any:
    """Loadings of one component as bars."""
    return LoadingsDisplay.from_estimator(model, component=component, n=n, names=names, ax=ax)


@retired("GenomeDisplay.from_estimator(model)")
def plot_genome(model: Any, component: int = 0, ax: Any = None) -> Any:
    """Loadings of one component along the genome."""
    return GenomeDisplay.from_estimator(model, component=component, ax=ax)


@retired("ScoresDisplay.from_scores(scores) or ScoresDisplay.from_estimator(model, X)")
def plot_scores(
    scores: Any,
    X: Any = None,
    *,
    labels: Any = None,
    components: Sequence[int] = (0, 1),
    reference: Any = None,
    ax: Any = None,
) -> Any:
    """Scores in two dimensions."""
    given: dict[str, Any] = {"labels": labels, "components": components, "reference": reference, "ax": ax}
    if X is None:
        return ScoresDisplay.from_scores(scores, **given)
    return ScoresDisplay.from_estimator(scores, X, **given)


@retired("PathDisplay.from_path(path)")
def plot_path(path: Any, ax: Any = None) -> Any:
    """Share of the variance against k."""
    return PathDisplay.from_path(path, ax=ax)


@retired("PermutationDisplay.from_test(test)")
def plot_test(test: Any, ax: Any = None) -> Any:
    """Variances and the band of permuted data."""
    return PermutationDisplay.from_test(test, ax=ax)


@retired("ComparisonDisplay.from_comparison(comparison)")
def plot_comparison(comparison: Any, ax: Any = None) -> Any:
    """Shares of the variance that several methods have."""
    return ComparisonDisplay.from_comparison(comparison, ax=ax)


@retired("SharesDisplay.from_data(X, ks)")
def plot_shares(X: Any, ks: Sequence[int], **options: Any) -> Any:
    """Share of the variance against the number of features."""
    return SharesDisplay.from_data(X, ks, **options)
