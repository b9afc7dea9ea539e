"""Methods at the same number of features: at one number, and at several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self, cast

from rspca.analysis.compare import Comparison, compare
from rspca.analysis.compare_sets import SetComparison
from rspca.base.checks import check_integer
from rspca.plotting.looks import COLORS, MARKERS, SHARE, Display, check_axes, legend_below, new_axes, percent_axis

_LOADINGS = {"naive": "own loadings", "svd": "refitted"}
"""What legends call a normalization: the loadings of the method, or those that are best on its features."""
_SMALLEST_RANGE = 0.002
"""Least width of the axis of a comparison, as a share of the best value: methods that tie are drawn as tied."""
_TIED = 1e-9
"""Distance to the best, as a share of it, that is rounding."""


class ComparisonDisplay(Display):
    """Methods at the same number of features as points on one line each, best first, with the proven bound.

    The axis covers the range of the values. On the right, the distance of each method to the best one.

    Parameters
    ----------
    comparison : Comparison
        What :func:`rspca.compare` returns.

    Attributes
    ----------
    ax_, figure_ : Axes and Figure
        Where it was drawn.
    points_ : dict
        The points of "naive", loadings of the method itself, and of "svd", refitted ones.
    distances_ : dict
        What the better of the two is below the best of all, by method, as a share of the best.
    bound_ : Line2D or None
        What is proven to be out of reach at this number of features; None if that was not asked for.

    Examples
    --------
    >>> import rspca
    >>> rows = rspca.compare(rspca.GramOperator(rspca.datasets.load_pitprops()), 5, methods=["rspca", "rotation"])
    >>> display = rspca.plotting.ComparisonDisplay.from_comparison(rows)
    >>> [len(points.get_offsets()) for points in display.points_.values()]
    [2, 2]
    >>> {method: f"{100 * distance:.1f} %" for method, distance in display.distances_.items()}
    {'rspca': '0.0 %', 'rotation': '9.0 %'}
    """

    def __init__(self, *, comparison: Comparison | SetComparison) -> None:
        if isinstance(comparison, SetComparison):
            raise TypeError("The comparison is of several components; points show one: give rspca.compare(X, k).")
        if not isinstance(comparison, Comparison):
            raise TypeError(f"comparison is a {type(comparison).__name__}; what rspca.compare returned is needed.")
        if all(row.method == "pca" for row in comparison):
            raise ValueError("The comparison has no sparse method to draw; give rspca.compare some.")
        self.comparison = comparison

    @classmethod
    def from_comparison(cls, comparison: Comparison | SetComparison, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw a comparison; `kwargs` go to ``Axes.scatter``."""
        check_axes(ax)
        return cls(comparison=comparison).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on these Axes, or on new ones."""
        sparse = [row for row in self.comparison if row.method != "pca"]
        methods = list(dict.fromkeys(row.method for row in sparse))
        ax = new_axes(ax, height=1.6 + 0.28 * max(len(methods), 3))
        looks = {
            "naive": {"marker": "s", "facecolors": "none", "edgecolors": COLORS[1], "s": 60},
            "svd": {"marker": "o", "facecolors": COLORS[0], "edgecolors": COLORS[0], "s": 22},
        }
        self.points_ = {}
        for loadings, look in looks.items():
            chosen = [row for row in sparse if row.normalization == loadings]
            places = [methods.index(row.method) for row in chosen]
            style = {**look, "label": _LOADINGS[loadings], "zorder": 3}
            self.points_[loadings] = ax.scatter([row.share for row in chosen], places, **(style | kwargs))
        best = max(row.share for row in sparse)
        bound = next((row.share / row.of_bound for row in sparse if row.of_bound), None)
        self._limit(ax, min(row.share for row in sparse), best, bound)
        tops = {name: max(row.share for row in sparse if row.method == name) for name in methods}
        self.distances_ = {name: 1.0 - top / best for name, top in tops.items()}
        self._name_rows(ax, methods)
        counts = " or ".join(str(count) for count in sorted({row.nonzeros for row in sparse}))
        ax.set_xlabel(f"{SHARE}\nwith {counts} features")
        percent_axis(ax.xaxis)
        ax.grid(alpha=0.3)
        ax.set_axisbelow(True)
        legend_below(ax, *ax.get_legend_handles_labels())
        return self._drawn_on(ax)

    def _limit(self, ax: Any, low: float, high: float, bound: float | None) -> None:
        """Draw the bound, and limit the axis to the values; a bound that is far away is only named."""
        span = max(high - low, _SMALLEST_RANGE * high)
        low, self.bound_ = min(low, high - span), None
        if bound is not None:
            far = bound > high + span
            words = f"proven bound: {100.0 * bound:.4g} %" + (", right of this range" if far else "")
            self.bound_ = ax.axvline(bound, color=COLORS[2], linestyle="--", label=words)
            high = high if far else max(high, bound)
        ax.set_xlim(low - 0.06 * span, high + 0.06 * span)

    def _name_rows(self, ax: Any, methods: list[str]) -> None:
        """Write methods on the left, and on the right how far they are below the best."""
        ax.set_yticks(range(len(methods)), methods)
        ax.set_ylim(len(methods) - 0.5, -0.5)
        right = ax.secondary_yaxis("right")
        far = [self.distances_[name] for name in methods]
        right.set_yticks(range(len(methods)), ["best" if one < _TIED else f"{100.0 * one:.2g} %" for one in far])
        right.tick_params(length=0)
        right.set_ylabel("below the best")


class SharesDisplay(Display):
    """Share of the variance against the number of features, a curve for each method and kind of loadings.

    Parameters
    ----------
    ks : sequence of int
        Numbers of features, in rising order.
    curves : mapping
        A share for each of them, by method and normalization, "naive" or "svd".
    title : str
        What stands above.

    Attributes
    ----------
    ax_, figure_ : Axes and Figure
        Where it was drawn.
    lines_ : dict
        The curve of each method and normalization.

    Examples
    --------
    >>> import rspca
    >>> display = rspca.plotting.SharesDisplay.from_data(rspca.GramOperator(rspca.datasets.load_pitprops()), [2, 5, 9])
    >>> sorted(display.lines_)
    [('maxcomp', 'naive'), ('maxcomp', 'svd'), ('rspca', 'naive'), ('rspca', 'svd')]
    """

    def __init__(
        self, *, ks: Sequence[int], curves: Mapping[tuple[str, str], Sequence[float]], title: str = ""
    ) -> None:
        self.ks, self.title = list(ks), title
        self.curves = {key: [float(share) for share in shares] for key, shares in curves.items()}
        if any(len(shares) != len(self.ks) for shares in self.curves.values()):
            raise ValueError(f"curves must have a share for each of {len(self.ks)} ks.")

    @classmethod
    def from_data(
        cls,
        X: Any,
        ks: Iterable[int],
        *,
        methods: Sequence[str] = ("rspca", "maxcomp"),
        title: str = "",
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Compare methods on X at each k, and draw; `options` are those of :func:`rspca.compare`.

        Without `certify_seconds`, no bound is computed.
        """
        check_axes(ax)
        if not isinstance(ks, Iterable):
            raise TypeError(f"ks={ks!r} must be a list of whole numbers, for example ks=[5, 10, 20, 50].")
        checked = sorted(check_integer("ks", k, 1) for k in ks)
        if not checked:
            raise ValueError("ks is empty; give whole numbers, for example ks=[5, 10, 20, 50].")
        curves: dict[tuple[str, str], list[float]] = {}
        for k in checked:
            rows = cast(Comparison, compare(X, k, methods=methods, **({"certify_seconds": None} | options)))
            for row in rows:
                curves.setdefault((row.method, row.normalization), []).append(row.share)
        return cls(ks=checked, curves=curves, title=title).plot(ax)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on these Axes, or on new ones; `kwargs` go to ``Axes.plot``."""
        ax = new_axes(ax)
        methods = list(dict.fromkeys(method for method, _ in self.curves))
        self.lines_ = {}
        for (method, normalization), shares in sorted(self.curves.items(), reverse=True):
            number = methods.index(method)
            own = normalization == "naive"
            style = {
                "color": COLORS[number % len(COLORS)], "marker": MARKERS[number % len(MARKERS)], 
                "markersize": 7 if own else 3.5, "markerfacecolor": "none" if own else None,
                "linestyle": ":" if own else "-", "zorder": 2 if own else 3,
                "label": f"{method}, {_LOADINGS.get(normalization, normalization)}",
            }  # fmt: skip
            (self.lines_[method, normalization],) = ax.plot(self.ks, shares, **(style | kwargs))
        ax.set(xlabel="features k", ylabel=SHARE.replace(" of the first", "\nof the first"), title=self.title)
        percent_axis(ax.yaxis)
        ax.grid(alpha=0.3)
        legend_below(ax, *ax.get_legend_handles_labels())
        return self._drawn_on(ax)
