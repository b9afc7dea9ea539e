"""Curves: variance against the number of features, and components against permuted data."""

from __future__ import annotations

from typing import Any, Self

from rspca.analysis.k_path import Path
from rspca.analysis.permutation import PermutationTest
from rspca.plotting.looks import COLORS, SHARE, Display, label_values, legend_below, new_axes, percent_axis

_P_VALUE_POINTS = 24.0
"""Width of a p-value of two digits, with the space that a layout takes from the Axes."""
_LINE_POINTS = 13.0
"""Height of a line of a tick label, with the same space."""


class PathDisplay(Display):
    """Share of the variance against k, the proven bound where there is one, and the suggested k.

    Parameters
    ----------
    path : Path
        What :func:`rspca.path` returns.

    Attributes
    ----------
    ax_, figure_ : Axes and Figure
        Where it was drawn.
    line_ : Line2D
        The shares.
    bound_ : Line2D or None
        What is proven to be out of reach for any k features; None without certificates.
    suggestion_ : Line2D
        At the suggested k.
    held_out_ : ErrorbarContainer or None
        Held-out variance with one standard error, on the right axis; None without cross-validation.

    Examples
    --------
    >>> import rspca
    >>> pitprops = rspca.GramOperator(rspca.datasets.load_pitprops())
    >>> display = rspca.plotting.PathDisplay.from_path(rspca.path(pitprops, range(1, 14), certify=True))
    >>> display.line_.get_xdata().tolist() == list(range(1, 14))
    True
    """

    def __init__(self, *, path: Path) -> None:
        if not len(path):
            raise ValueError("The path is empty; give rspca.path some values of k.")
        self.path = path

    @classmethod
    def from_path(cls, path: Path, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw a path; `kwargs` go to ``Axes.plot`` for the shares."""
        return cls(path=path).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on these Axes, or on new ones."""
        ax = new_axes(ax)
        ks, shares = [p.k for p in self.path], [p.share for p in self.path]
        style = {"color": COLORS[0], "marker": "o", "markersize": 4, "label": "found"}
        (self.line_,) = ax.plot(ks, shares, **(style | kwargs))
        bounds = [(p.k, p.share * (1.0 + p.gap)) for p in self.path if p.gap is not None]
        self.bound_ = None
        if bounds:  # dashes on top, so that both are seen where they meet
            (self.bound_,) = ax.plot(*zip(*bounds, strict=True), "--", color=COLORS[1], label="proven bound")
        suggested = f"suggested k = {self.path.suggested}"
        self.suggestion_ = ax.axvline(self.path.suggested, color="0.4", linestyle=":", label=suggested)
        ax.set_xscale("log")
        label_values(ax, ks, self.path.suggested)
        ax.set(xlabel="features k", ylabel=SHARE.replace(" of the first", "\nof the first"), ylim=(0.0, 1.05))
        percent_axis(ax.yaxis)
        ax.grid(alpha=0.3)
        self.held_out_ = self._held_out(ax) if all(p.held_out is not None for p in self.path) else None
        handles, labels = ax.get_legend_handles_labels()
        if self.held_out_ is not None:
            handles, labels = [*handles, self.held_out_], [*labels, "held out, right axis"]
        legend_below(ax, handles, labels)
        return self._drawn_on(ax)

    def _held_out(self, ax: Any) -> Any:
        """Draw the held-out variance, with one standard error, on an axis of its own."""
        right = ax.twinx()
        ks, means = [p.k for p in self.path], [p.held_out for p in self.path]
        errors = [p.held_out_se for p in self.path]
        drawn = right.errorbar(ks, means, errors, color=COLORS[2], marker="s", markersize=4, capsize=3, linestyle="-.")
        right.set_ylabel("share of the held-out variance")
        right.set_ylim(bottom=min(0.0, right.get_ylim()[0]))
        percent_axis(right.yaxis)
        return drawn


class PermutationDisplay(Display):
    """Variance of each component, with its p-value and the band of permuted data.

    Parameters
    ----------
    test : PermutationTest
        What :func:`rspca.permutation_test` returns.

    Attributes
    ----------
    ax_, figure_ : Axes and Figure
        Where it was drawn.
    line_ : Line2D
        Variances of the data.
    band_ : PolyCollection
        Where 95 % of the variances of permuted data lie.

    Examples
    --------
    >>> import rspca
    >>> X, _ = rspca.datasets.make_planted_spikes(60, 100, 8, 2, strength=20.0)
    >>> test = rspca.permutation_test(X, 3, 8, n_permutations=19)
    >>> rspca.plotting.PermutationDisplay.from_test(test).ax_.get_xlabel()
    'component, and its p-value'
    """

    def __init__(self, *, test: PermutationTest) -> None:
        if not hasattr(test, "null"):
            raise TypeError(f"test is a {type(test).__name__}; what rspca.permutation_test returned is needed.")
        self.test = test

    @classmethod
    def from_test(cls, test: PermutationTest, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw a test; `kwargs` go to ``Axes.plot``."""
        return cls(test=test).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on these Axes, or on new ones."""
        ax = new_axes(ax)
        numbers, (low, high) = [1 + j for j in range(len(self.test.statistic))], self.test.band()
        self.band_ = ax.fill_between(numbers, low, high, color=COLORS[1], alpha=0.3, label="permuted, 95 %")
        style = {"color": COLORS[0], "marker": "o", "label": "data"}
        self.line_ = ax.plot(numbers, self.test.statistic, **(style | kwargs))[0]
        self._label_components(ax, numbers)
        ax.set(ylabel="variance at k features", ylim=(0.0, 1.1 * max(*self.test.statistic, *high)))
        ax.grid(axis="y", alpha=0.3)
        legend_below(ax, *ax.get_legend_handles_labels())
        return self._drawn_on(ax)

    def _label_components(self, ax: Any, numbers: list[int]) -> None:
        """Write the p-value of each component below its number, upright where there is no room next to each other."""
        room = ax.bbox.width * 72.0 / ax.figure.dpi / len(numbers)
        upright = room < _P_VALUE_POINTS
        shown = numbers[:: 1 + int(_LINE_POINTS / room)]
        between = "   " if upright else "\n"
        names = [f"{number}{between}{self.test.p[number - 1]:.2g}" for number in shown]
        ax.set_xticks(shown, names, rotation=90 if upright else 0, fontsize=8)
        ax.set_xlabel("component, and its p-value")
