"""Tables as colors: features and components, components and labels of samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from rspca.analysis.label_association import Association, label_associations
from rspca.base.checks import check_integer, check_length
from rspca.base.types import Array
from rspca.plotting.looks import COLORS, Display, literal, new_axes

_FEW = 12
"""Different whole numbers up to which they count as categories."""
_LEVEL = 0.05
"""Corrected p-value from which an association is drawn in grey: not more than chance."""


class _Matrix(Display):
    """A cell for each row and column, colored by its value."""

    image_: Any

    def _matrix(
        self, ax: Any, values: Array, rows: Sequence[Any], columns: Sequence[Any], kwargs: dict[str, Any]
    ) -> Any:
        """Draw the cells with a scale beside them, and return the Axes."""
        ax = new_axes(ax, 1.8 + max(0.5 * len(columns), 3.0), 1.0 + 0.24 * max(len(rows), 4))
        self.image_ = ax.imshow(values, **({"aspect": "auto", "interpolation": "nearest"} | kwargs))
        ax.set_xticks(range(len(columns)), [literal(name) for name in columns], parse_math=False)
        ax.set_yticks(range(len(rows)), [literal(name) for name in rows], parse_math=False, fontsize=8)
        ax.tick_params(length=0)
        return ax


class HeatmapDisplay(_Matrix):
    """The largest features of all components as rows, with their loadings in every component as columns.

    Parameters
    ----------
    names : sequence
        Names of the features.
    loadings : array of shape (len(names), n_components)
        Their loadings.

    Attributes
    ----------
    ax_, figure_ : Axes and Figure
        Where it was drawn.
    image_ : AxesImage
        The cells.

    Examples
    --------
    >>> import rspca
    >>> from sklearn.datasets import load_wine
    >>> model = rspca.SparsePCA(3, k=4, scale=True, random_state=0).fit(load_wine(as_frame=True).data)
    >>> display = rspca.plotting.HeatmapDisplay.from_estimator(model, n=3)
    >>> display.loadings.shape
    (9, 3)
    """

    def __init__(self, *, names: Sequence[Any], loadings: Any) -> None:
        self.names, self.loadings = list(names), np.asarray(loadings, dtype=float)
        if self.loadings.ndim != 2 or len(self.loadings) != len(self.names):
            raise ValueError(f"loadings has shape {self.loadings.shape}; a row for each of {len(self.names)} names.")

    @classmethod
    def from_estimator(cls, model: Any, *, n: int = 8, names: Any = None, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the n largest features of each component of a fitted SparsePCA; `kwargs` go to ``Axes.imshow``."""
        check_integer("n", n, 1)
        every = range(model.n_features_in_)
        ranked = [model.top_features(j, n, names=every) for j in range(model.n_components_)]
        chosen = list(dict.fromkeys(feature.name for features in ranked for feature in features))
        called = getattr(model, "feature_names_in_", every) if names is None else names
        return cls(names=[called[i] for i in chosen], loadings=model.components_[:, chosen].T).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on these Axes, or on new ones."""
        from matplotlib.colors import LinearSegmentedColormap

        largest = float(np.abs(self.loadings).max(initial=0.0)) or 1.0
        colors = LinearSegmentedColormap.from_list("loadings", [COLORS[1], "white", COLORS[0]])
        numbers = [str(j + 1) for j in range(self.loadings.shape[1])]
        ax = self._matrix(
            ax, self.loadings, self.names, numbers, {"cmap": colors, "vmin": -largest, "vmax": largest} | kwargs
        )
        ax.set_xlabel("component")
        ax.figure.colorbar(self.image_, ax=ax, label="loading", shrink=0.8)
        return self._drawn_on(ax)


class LabelsDisplay(_Matrix):
    """How each component goes with labels of the samples: eta squared, and the p-value after Holm's correction.

    Eta squared is the share of the variance of the scores that lies between the categories of a label; for numbers it
    is the squared correlation. In grey: not more than chance at level 0.05.

    Parameters
    ----------
    associations : sequence of Association
        One for each component and label, as :meth:`from_estimator` computes them.

    Attributes
    ----------
    ax_, figure_ : Axes and Figure
        Where it was drawn.
    image_ : AxesImage
        The cells.
    texts_ : list of Text
        What is written in them.

    Examples
    --------
    >>> import rspca
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> model = rspca.SparsePCA(2, k=4, scale=True, random_state=0).fit(X)
    >>> display = rspca.plotting.LabelsDisplay.from_estimator(model, X, labels={"cultivar": y})
    >>> [round(one.strength, 2) for one in display.associations]
    [0.69, 0.7]
    """

    def __init__(self, *, associations: Sequence[Association]) -> None:
        self.associations = list(associations)
        if not self.associations:
            raise ValueError("No label can be tested: give categories with several samples each, or numbers.")

    @classmethod
    def from_estimator(cls, model: Any, X: Any, *, labels: Mapping[str, Any], ax: Any = None, **kwargs: Any) -> Self:
        """Draw how the scores of X go with labels, a mapping of names to values; `kwargs` go to ``Axes.imshow``."""
        if not hasattr(labels, "items"):
            raise TypeError(f"labels is a {type(labels).__name__}; a mapping of names to values is needed.")
        scores = np.asarray(model.transform(X))
        categories, numbers = {}, {}
        for name, values in labels.items():
            check_length(f"labels[{name!r}]", values, len(scores), "rows of X")
            array = np.asarray(values)
            if array.dtype.kind in "iuf" and _is_measured(array):
                numbers[str(name)] = array.astype(np.float64)
            else:
                categories[str(name)] = [None if _is_missing(value) else str(value) for value in array.tolist()]
        return cls(associations=label_associations(scores, categories, numbers)).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on these Axes, or on new ones."""
        names = list(dict.fromkeys(one.label for one in self.associations))
        count = 1 + max(one.component for one in self.associations)
        values = np.full((count, len(names)), np.nan)
        for one in self.associations:
            values[one.component, names.index(one.label)] = one.strength
        ax = new_axes(ax, 2.4 + 1.5 * len(names), 1.2 + 0.4 * max(count, 3))
        numbers = [str(j + 1) for j in range(count)]
        ax = self._matrix(ax, values, numbers, names, {"cmap": "Blues", "vmin": 0.0, "vmax": 1.0} | kwargs)
        self.texts_ = [self._written(ax, one, names.index(one.label)) for one in self.associations]
        ax.set_ylabel("component")
        ax.figure.colorbar(self.image_, ax=ax, label="eta squared", shrink=0.8)
        return self._drawn_on(ax)

    def _written(self, ax: Any, one: Association, column: int) -> Any:
        """Write a cell: its strength, the category that stands out, and p."""
        real = one.adjusted_p < _LEVEL
        mark = "" if one.extreme is None or not real else f" {'↑' if one.above else '↓'} {literal(one.extreme)}"
        color = "0.55" if not real else "white" if one.strength > 0.6 else "black"
        text = f"{one.strength:.2f}{mark}\np {one.adjusted_p:.2g}"
        return ax.text(column, one.component, text, ha="center", va="center", fontsize=7, color=color, parse_math=False)


def _is_measured(array: Array) -> bool:
    """Return whether numbers are a measurement, not a few whole numbers that stand for categories."""
    known = array[np.isfinite(array)]
    return bool(len(np.unique(known)) > _FEW or np.mod(known, 1.0).any())


def _is_missing(value: object) -> bool:
    return value is None or str(value) in ("", "nan", "NaT", "<NA>")
