"""Loadings of a component along the genome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from rspca.base.checks import check_integer
from rspca.plotting.looks import COLORS, Display, literal, new_axes


class GenomeDisplay(Display):
    """The loadings of one component along the genome, chromosomes side by side in two shades.

    Parameters
    ----------
    chromosomes, positions, loadings : sequences
        One entry for each SNP of the component.
    title : str
        What stands above.

    Attributes
    ----------
    ax_, figure_ : Axes and Figure
        Where it was drawn.
    points_ : list of PathCollection
        The SNPs of each chromosome.

    Examples
    --------
    >>> from rspca.plotting import GenomeDisplay
    >>> display = GenomeDisplay(chromosomes=["1", "2", "2"], positions=[5, 3, 9], loadings=[0.6, -0.6, 0.5]).plot()
    >>> [label.get_text() for label in display.ax_.get_xticklabels()]
    ['1', '2']
    """

    def __init__(
        self, *, chromosomes: Sequence[Any], positions: Sequence[int], loadings: Sequence[float], title: str = ""
    ) -> None:
        self.chromosomes, self.positions = np.asarray(chromosomes).astype(str), np.asarray(positions, dtype=float)
        self.loadings, self.title = np.asarray(loadings, dtype=float), title
        if not len(self.chromosomes) == len(self.positions) == len(self.loadings):
            raise ValueError("chromosomes, positions and loadings must have one entry for each SNP.")

    @classmethod
    def from_estimator(cls, model: Any, *, component: int = 0, ax: Any = None, **kwargs: Any) -> Self:
        """Draw a component of a SparsePCA that was fitted on genotypes; `kwargs` go to ``Axes.scatter``."""
        known, count = getattr(model, "features_", {}), model.n_components_
        if "chromosome" not in known or "position" not in known:
            raise ValueError("The model does not know where its features are: fit it on a table of genotypes.")
        number = check_integer("component", component, -count, count - 1) % count
        support = model.supports_[number]
        display = cls(
            chromosomes=known["chromosome"][support],
            positions=known["position"][support],
            loadings=model.components_[number, support],
            title=f"component {number + 1}",
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on these Axes, or on new ones."""
        ax = new_axes(ax, 8.0, 3.2)
        names = sorted(dict.fromkeys(self.chromosomes.tolist()), key=_chromosome_order)
        begin, ticks, self.points_ = 0.0, [], list[Any]()
        for number, name in enumerate(names):
            there = self.chromosomes == name
            places = begin + self.positions[there] - self.positions[there].min()
            style = {"color": COLORS[0] if number % 2 == 0 else "0.5", "s": 16, "linewidths": 0}
            self.points_.append(ax.scatter(places, self.loadings[there], **(style | kwargs)))
            ticks.append(float(places.min() + places.max()) / 2.0)
            begin = float(places.max()) + max(1.0, 0.02 * float(np.ptp(self.positions)))
        ax.axhline(0.0, color="0.3", linewidth=0.8)
        shown = _with_room(ticks, 0.022 * begin)
        ax.set_xticks([ticks[i] for i in shown], [literal(names[i]) for i in shown], parse_math=False, fontsize=8)
        ax.set(xlabel="chromosome", ylabel="loading", title=self.title)
        ax.grid(axis="y", alpha=0.3)
        return self._drawn_on(ax)


def _with_room(ticks: list[float], least: float) -> list[int]:
    """Return the ticks, of those in rising order, that are at least so far from the one before."""
    kept = list[int]()
    for number, tick in enumerate(ticks):
        if not kept or tick - ticks[kept[-1]] >= least:
            kept.append(number)
    return kept


def _chromosome_order(name: str) -> tuple[int, int, str]:
    """Return a key that puts numbers in their order, before letters and names."""
    plain = name.lower().removeprefix("chr")
    return (0, int(plain), "") if plain.isascii() and plain.isdigit() else (1, 0, plain)
