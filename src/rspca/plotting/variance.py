"""The share of the variance of each component, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from rspca.plotting.looks import COLORS, Display, new_axes, percent_axis


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
