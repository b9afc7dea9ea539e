"""Shares of the variance as columns: of components, and of methods at the same number of non-zeros."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from rspca.analysis.compare import Comparison
from rspca.plotting.looks import COLORS, Display, new_axes, percent_axis

SHARE = "share of the first principal component"


class VarianceDisplay(Display):
    """The share of the variance that each component adds, and the sum so far.

    Parameters
    ----------
    shares : sequence of float
        What each component adds, over the total variance.

    Attributes
    ----------
    ax_, figure_ : Axes and Figure
        Where it was drawn.
    bars_ : BarContainer
        One bar for each component.
    line_ : Line2D
        Their sum so far.

    Examples
    --------
    >>> import rspca
    >>> from sklearn.datasets import load_wine
    >>> model = rspca.SparsePCA(3, k=4, scale=True, random_state=0).fit(load_wine().data)
    >>> display = rspca.plotting.VarianceDisplay.from_estimator(model)
    >>> len(display.bars_)
    3
    """

    def __init__(self, *, shares: Sequence[float]) -> None:
        self.shares = [float(share) for share in shares]

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the shares of the components of a fitted SparsePCA; `kwargs` go to ``Axes.bar``."""
        return cls(shares=model.explained_variance_ratio_).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on these Axes, or on new ones."""
        ax = new_axes(ax)
        numbers = np.arange(1, len(self.shares) + 1)
        self.bars_ = ax.bar(numbers, self.shares, **({"color": COLORS[0], "label": "of the component"} | kwargs))
        look = {"color": COLORS[1], "marker": "o", "markersize": 4, "label": "so far"}
        (self.line_,) = ax.plot(numbers, np.cumsum(self.shares), **look)
        ax.set_xticks(numbers if len(numbers) <= 20 else numbers[:: -(-len(numbers) // 20)])
        ax.set(xlabel="component", ylabel="share of the variance", ylim=(0.0, None))
        percent_axis(ax.yaxis)
        ax.grid(axis="y", alpha=0.3)
        ax.set_axisbelow(True)
        ax.legend(frameon=False, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
        return self._drawn_on(ax)


class ComparisonDisplay(Display):
    """Methods at the same number of non-zeros as bars, naive next to refitted, best first, with the proven bound.

    Parameters
    ----------
    comparison : Comparison
        What :func:`rspca.compare` returns.

    Attributes
    ----------
    ax_, figure_ : Axes and Figure
        Where it was drawn.
    bars_ : dict
        The bars of "naive" and of "svd".
    bound_ : Line2D or None
        What is proven to be out of reach at this number of non-zeros; None if that was not asked for.

    Examples
    --------
    >>> import rspca
    >>> rows = rspca.compare(rspca.GramOperator(rspca.datasets.load_pitprops()), 5, methods=["rspca", "maxcomp"])
    >>> display = rspca.plotting.ComparisonDisplay.from_comparison(rows)
    >>> [len(bars) for bars in display.bars_.values()]
    [2, 2]
    """

    def __init__(self, *, comparison: Comparison) -> None:
        if any(not hasattr(row, "normalization") for row in comparison):
            raise TypeError("The comparison is of several components; bars show one: give rspca.compare(X, k).")
        if all(row.method == "pca" for row in comparison):
            raise ValueError("The comparison has no sparse method to draw; give rspca.compare some.")
        self.comparison = comparison

    @classmethod
    def from_comparison(cls, comparison: Comparison, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw a comparison; `kwargs` go to ``Axes.bar``."""
        return cls(comparison=comparison).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on these Axes, or on new ones."""
        ax = new_axes(ax)
        sparse = [row for row in self.comparison if row.method != "pca"]
        methods = list(dict.fromkeys(row.method for row in sparse))
        self.bars_ = {}
        for offset, loadings, color in ((-0.2, "naive", COLORS[4]), (0.2, "svd", COLORS[0])):
            share = {row.method: row.share for row in sparse if row.normalization == loadings}
            bars = [(place + offset, share[name]) for place, name in enumerate(methods) if name in share]
            style = {"width": 0.4, "color": color, "label": loadings}
            self.bars_[loadings] = ax.bar(*zip(*bars, strict=True), **(style | kwargs))
            shown = [f"{100.0 * value:.1f}" for _, value in bars]
            ax.bar_label(self.bars_[loadings], shown, fontsize=7, rotation=90, padding=2)
        bound = next((row.share / row.of_bound for row in sparse if row.of_bound), None)
        self.bound_ = bound and ax.axhline(bound, color=COLORS[1], linestyle="--", label="proven bound")
        ax.set_xticks(range(len(methods)), methods, rotation=30, ha="right")
        counts = sorted({row.nonzeros for row in sparse})
        ax.set(
            xlabel=f"{' or '.join(map(str, counts))} non-zeros",
            ylabel=SHARE,
            ylim=(0.0, 1.15 * max(row.share for row in sparse)),
        )
        percent_axis(ax.yaxis)
        ax.grid(axis="y", alpha=0.3)
        ax.set_axisbelow(True)
        ax.legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
        return self._drawn_on(ax)
