"""What figures have in common: colors, Axes, legends beside the points, names as they are, shares in percent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Those of Okabe and Ito, which the color-blind can tell apart; yellow is left out, as it is faint on white."""
MARKERS = ("o", "s", "^", "D", "v", "P")
_LONGEST = 40


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
    """Write the shares on an axis as percentages, with as many decimals as tell them apart."""
    from matplotlib.ticker import PercentFormatter

    axis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))


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
    """Return a legend below the label of the horizontal axis."""
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "borderaxespad": 3.8, "ncols": 4, "frameon": False}
    return ax.legend(list(handles), list(names), fontsize=9, columnspacing=1.2, **place)


def literal(name: Any) -> str:
    """Return a name on one line, shortened if long, without invisible characters."""
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in " ".join(str(name).split()))
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[: half - 1]}\N{HORIZONTAL ELLIPSIS}{text[-half:]}"


def component_label(number: int, shares: Sequence[float] | None) -> str:
    """Return what an axis of a component is called, with its share of the variance where that is known."""
    return f"component {number + 1}" + ("" if shares is None else f" ({100.0 * shares[number]:.3g} %)")


def named(name: str, offset: tuple[float, float], ax: Any, at: tuple[float, float]) -> Any:
    """Write a name beside a point."""
    return ax.annotate(
        literal(name), at, xytext=offset, textcoords="offset points", fontsize=8, parse_math=False,
        ha="left" if offset[0] >= 0.0 else "right", va="center", annotation_clip=False,
    )  # fmt: skip


def names_beside(ax: Any, names: Sequence[str], points: Sequence[tuple[float, float]]) -> list[Any]:
    """Write names beside points, away from zero if there is room, as far as none covers another or leaves the Axes."""
    written, taken = list[Any](), list[tuple[float, float, float]]()
    unit = 72.0 / ax.figure.dpi
    begin, end = ax.bbox.x0 * unit, ax.bbox.x1 * unit
    pixels = ax.transData.transform(points) * unit if len(points) else []
    for name, point, (x, y) in zip(names, points, pixels, strict=True):
        wide, outward = 4.6 * len(literal(name)), 1.0 if point[0] >= 0.0 else -1.0
        for up, side in [(up, outward) for up in (0.0, 8.0, -8.0)] + [(up, -outward) for up in (8.0, -8.0, 0.0)]:
            left = x + 5.0 if side > 0.0 else x - 5.0 - wide
            inside = begin <= left and left + wide <= end
            if inside and all(left + wide < one or left > other or abs(y + up - at) > 9.0 for one, other, at in taken):
                taken.append((left, left + wide, y + up))
                written.append(named(name, (5.0 * side, up), ax, point))
                break
    return written
