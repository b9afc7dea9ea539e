"""What figures have in common: colors, Axes, ticks, legends next to the points, names as they are, percentages."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Self

SHARE = "share of the variance of the first principal component"
COLORS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#64C8F0", "#000000", "#4B14A8", "#805A2D", "#C044FF",
    "#A9B84A", "#8C0038",
)  # fmt: skip
"""Twelve colors, each pair at least 33 apart in CIELAB (Delta E 1976).

The first seven are those of Okabe and Ito, which the color-blind can distinguish, without yellow, which is faint on
white, and with a lighter sky blue.
"""
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
"""Seven markers: no divisor of the number of colors, so that 84 classes have different looks."""
_LONGEST = 40
_NAME_OFFSETS = (8.0, -8.0, 14.0, -14.0, 20.0, -20.0, 26.0, -26.0)
"""How far above a point its name may stand, in points, if there is no room right next to it."""
_DIGIT_POINTS = 7.2
"""Width of a digit of a tick label of 10 points, with some room."""
_LEGEND_MARK_POINTS = 36.0
"""Width of the mark of an entry of a legend, with the room next to it."""
_AXES_AFTER_LAYOUT = 0.85
"""Share of the width of new Axes that is left after a layout made room for labels."""


class Display:
    """What every display has after it was drawn: its Axes and its figure."""

    ax_: Any
    figure_: Any

    def _drawn_on(self, ax: Any) -> Self:
        self.ax_, self.figure_ = ax, ax.figure
        return self


def check_axes(ax: Any) -> None:
    """Raise unless there is something to draw on."""
    if ax is not None and not hasattr(ax, "set_xticks"):
        raise TypeError(f"ax is a {type(ax).__name__}; Axes of matplotlib are needed, or None.")


def new_axes(ax: Any, width: float = 6.4, height: float = 4.2) -> Any:
    """Return the Axes given, or those of a new figure."""
    check_axes(ax)
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Figures need matplotlib: pip install 'rspca[plot]'.") from error
    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def percent_axis(axis: Any) -> None:
    """Write the shares on an axis as percentages, with as few decimals as say what they are."""
    axis.set_major_formatter(lambda share, _: f"{round(100.0 * share, 6):g} %")


def legend_beside(ax: Any, handles: Sequence[Any], names: Sequence[Any], title: str | None = None) -> Any:
    """Return a legend right of the Axes, where it covers no point, whose names stand as they are.

    matplotlib drops names that begin with _, and reads $ as mathematics.
    """
    columns = 1 + (len(names) - 1) // 20
    place = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "ncols": columns, "frameon": False, "fontsize": 8}
    legend = ax.legend(list(handles), [str(i) for i in range(len(names))], **place)
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_text(literal(name))
        text.set_parse_math(False)
    if title:
        legend.set_title(literal(title), prop={"size": 8, "weight": "bold"})
        legend.get_title().set_parse_math(False)
    return legend


def legend_below(ax: Any, handles: Sequence[Any], names: Sequence[str]) -> Any:
    """Return a legend below the label of the horizontal axis, which is set, with as many columns as have room."""
    unit, size = 72.0 / ax.figure.dpi, 9.0
    widest = _LEGEND_MARK_POINTS + 5.0 * max(len(name) for name in names)
    below = (ax.bbox.y0 - ax.xaxis.get_tightbbox().y0) * unit / size
    return ax.legend(
        list(handles), list(names), loc="upper center", bbox_to_anchor=(0.5, 0.0), borderaxespad=below + 0.3,
        ncols=min(4, max(1, int(ax.bbox.width * unit / widest))), frameon=False, fontsize=size, columnspacing=1.2,
    )  # fmt: skip


def label_values(ax: Any, values: Sequence[int], first: int) -> None:
    """Put a tick on the horizontal axis at each value, and a number where it covers no other; `first` has priority."""
    from matplotlib.ticker import NullFormatter

    values = sorted(set(values))
    ax.get_xlim()  # applies limits that are pending, which transData would not
    places = dict(zip(values, ax.transData.transform([(value, 0.0) for value in values])[:, 0], strict=True))
    points = 72.0 / ax.figure.dpi * _AXES_AFTER_LAYOUT
    labeled = list[int]()
    for value in dict.fromkeys([*(v for v in values if v == first), values[-1], *values]):
        room = (0.5 * _DIGIT_POINTS * (len(str(value)) + len(str(other)) + 1) for other in labeled)
        if all(abs(places[value] - places[o]) * points >= need for o, need in zip(labeled, room, strict=True)):
            labeled.append(value)
    ax.set_xticks(labeled, [str(value) for value in labeled])
    ax.set_xticks([value for value in values if value not in labeled], minor=True)
    ax.xaxis.set_minor_formatter(NullFormatter())


def literal(name: Any) -> str:
    """Return a name on one line, shortened if long, without invisible characters."""
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in " ".join(str(name).split()))
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[: half - 1]}\N{HORIZONTAL ELLIPSIS}{text[-half:]}"


def component_label(number: int, shares: Sequence[float] | None) -> str:
    """Return what an axis of a component is called, with its share of the variance where that is known."""
    return f"component {number + 1}" + ("" if shares is None else f" ({100.0 * shares[number]:.3g} %)")


def named(name: str, offset: tuple[float, float], ax: Any, at: tuple[float, float]) -> Any:
    """Write a name next to a point."""
    return ax.annotate(
        literal(name), at, xytext=offset, textcoords="offset points", fontsize=8, parse_math=False,
        ha="left" if offset[0] >= 0.0 else "right", va="center", annotation_clip=False,
    )  # fmt: skip


def names_beside(ax: Any, names: Sequence[str], points: Sequence[tuple[float, float]]) -> list[Any]:
    """Write names next to points, away from zero if there is room; none covers another or leaves the Axes.

    A name covers a point only where there is no other place for it.
    """
    unit = 72.0 / ax.figure.dpi
    ax.get_xlim(), ax.get_ylim()  # applies limits that are pending, which transData would not
    begin, end = ax.bbox.x0 * unit, ax.bbox.x1 * unit
    pixels = ax.transData.transform(points) * unit if len(points) else []
    marks = [(x - 4.0, x + 4.0, y) for x, y in pixels]
    written, taken = list[Any](), list[tuple[float, float, float]]()
    for name, point, (x, y) in zip(names, points, pixels, strict=True):
        wide, outward = 4.6 * len(literal(name)), 1.0 if point[0] >= 0.0 else -1.0
        ways = [(0.0, outward), *itertools.product(_NAME_OFFSETS, (outward, -outward))]
        tries = [*itertools.product(([*taken, *marks], taken), ways), (taken, (0.0, -outward))]
        for avoided, (up, side) in tries:
            left = x + 5.0 if side > 0.0 else x - 5.0 - wide
            inside = begin <= left and left + wide <= end
            if inside and all(
                left + wide < one or left > other or abs(y + up - at) > 9.0 for one, other, at in avoided
            ):
                taken.append((left, left + wide, y + up))
                written.append(named(name, (5.0 * side, up), ax, point))
                break
    return written
