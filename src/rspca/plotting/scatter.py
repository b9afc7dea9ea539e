"""Samples in the plane of two components, with features as arrows, and features by their correlations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from rspca.analysis.circle import circle_of
from rspca.base.checks import check_integer
from rspca.plotting.looks import COLORS, MARKERS, Display, component_label, legend_beside, names_beside, new_axes

_SAMPLES = "rspca samples"
"""What marks the points of samples on Axes, so that a second study continues with other colors."""
_ARROWS_REACH = 0.8
"""How far the longest arrow goes, of the distance of the farthest sample."""
_LARGEST_MARK, _SMALLEST_MARK = 30.0, 8.0
"""Areas of a mark, in square points: of up to a thousand samples, and of very many."""
_THIN_MARKERS = {"P": 1.7, "X": 1.7, "^": 1.2, "v": 1.2}
"""How much larger the area of a marker is that fills little of it."""


class ScoresDisplay(Display):
    """Samples in the plane of two components, a color and a marker for each label.

    Drawn on Axes that have samples already, as those of another study, its labels continue with other colors and
    join the legend. The legend is right of the Axes, where it covers no point; its title is the name of the labels, if
    they are a column of a frame.

    Parameters
    ----------
    scores : array of shape (n_samples, n_components)
        What ``SparsePCA.transform`` returns.
    labels : sequence, optional
        A class for each sample.
    components : pair of int
        Which two to draw, counted from 0.
    reference : array of shape (n_other_samples, n_components), optional
        Scores of the study that the model was fitted on, drawn in grey below the others.
    shares : sequence of float, optional
        Share of the variance of each component, which the axes show: ``explained_variance_ratio_``.

    Attributes
    ----------
    ax_, figure_ : Axes and Figure
        Where it was drawn.
    points_ : dict
        The points of each label; of None without labels.
    reference_ : PathCollection or None
        The points of the reference.
    legend_ : Legend or None
        The labels.

    Examples
    --------
    >>> import rspca
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> model = rspca.SparsePCA(2, k=4, scale=True, random_state=0).fit(X)
    >>> display = rspca.plotting.ScoresDisplay.from_estimator(model, X, labels=y)
    >>> [len(points.get_offsets()) for points in display.points_.values()]
    [59, 71, 48]
    >>> display.ax_.get_xlabel()
    'component 1 (23.7 %)'
    """

    def __init__(
        self,
        *,
        scores: Any,
        labels: Any = None,
        components: Sequence[int] = (0, 1),
        reference: Any = None,
        shares: Sequence[float] | None = None,
    ) -> None:
        if hasattr(scores, "components_"):
            raise TypeError(
                "A model has no scores of its own; give the data too: ScoresDisplay.from_estimator(model, X)."
            )
        self.scores = np.asarray(scores)
        self.reference = None if reference is None else np.asarray(reference)
        if self.scores.ndim != 2 or self.scores.shape[1] < 2:
            raise ValueError(f"scores has shape {self.scores.shape}; two components or more are needed to draw them.")
        count = self.scores.shape[1]
        if self.reference is not None and (self.reference.ndim != 2 or self.reference.shape[1] != count):
            raise ValueError(
                f"reference has shape {self.reference.shape}; scores of the same {count} components needed."
            )
        if shares is not None and len(shares) != count:
            raise ValueError(f"shares has {len(shares)} entries for {count} components.")
        self.shares = shares
        self.components = _two_of(components, count)
        self.labels = None if labels is None else np.asarray(labels).astype(str)
        self.labels_name = getattr(labels, "name", None)
        if self.labels is not None and self.labels.shape != (len(self.scores),):
            raise ValueError(f"labels has shape {self.labels.shape}; give one for each of {len(self.scores)} samples.")
        if self.labels is not None:
            _check_classes(len(np.unique(self.labels)))

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        *,
        labels: Any = None,
        components: Sequence[int] = (0, 1),
        reference: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the scores of X under a fitted SparsePCA; `kwargs` go to ``Axes.scatter``."""
        given: dict[str, Any] = {"labels": labels, "components": components, "reference": reference, "ax": ax}
        return cls.from_scores(model.transform(X), shares=model.explained_variance_ratio_, **given, **kwargs)

    @classmethod
    def from_scores(
        cls,
        scores: Any,
        *,
        labels: Any = None,
        components: Sequence[int] = (0, 1),
        reference: Any = None,
        shares: Sequence[float] | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw scores; `kwargs` go to ``Axes.scatter``."""
        given: dict[str, Any] = {"labels": labels, "components": components, "reference": reference, "shares": shares}
        return cls(scores=scores, **given).plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, legend: bool = True, **kwargs: Any) -> Self:
        """Draw on these Axes, or on new ones."""
        ax = new_axes(ax, 6.4 if self.labels is None or not legend else 7.4)
        first, second = self.components
        classes = [None] if self.labels is None else list(np.unique(self.labels))
        earlier = [points for points in ax.collections if points.get_gid() == _SAMPLES]
        _check_classes(len(earlier) + len(classes))
        area = _mark_area(len(self.scores))
        self.points_ = {}
        self.reference_ = None
        if self.reference is not None:
            grey = {"color": "0.75", "s": 10, "linewidths": 0, "zorder": 0}
            self.reference_ = ax.scatter(self.reference[:, first], self.reference[:, second], **grey)
        for number, name in enumerate(classes, len(earlier)):
            rows = slice(None) if name is None else self.labels == name
            look = {"color": COLORS[number % len(COLORS)], "marker": MARKERS[number % len(MARKERS)]}
            edge = {"edgecolors": "white", "linewidths": 0.3}
            size = area * _THIN_MARKERS.get(look["marker"], 1.0)
            style = {**look, **edge, "s": size, "alpha": 0.85, "gid": _SAMPLES, "label": str(name)}
            self.points_[name] = ax.scatter(self.scores[rows, first], self.scores[rows, second], **(style | kwargs))
        named = [*earlier, *self.points_.values()]
        names = [points.get_label() for points in earlier] + [str(name) for name in classes]
        wanted = legend and self.labels is not None
        self.legend_ = legend_beside(ax, named, names, self.labels_name) if wanted else None
        ax.set(xlabel=component_label(first, self.shares), ylabel=component_label(second, self.shares))
        ax.grid(alpha=0.3)
        return self._drawn_on(ax)


class BiplotDisplay(ScoresDisplay):
    """Samples in the plane of two components, with the largest features of the two as arrows.

    Directions are loadings. Lengths have one factor along each axis, chosen so that the longest arrow goes as far as
    most samples; what is written below the axis states the two, so that arrows and scores are not compared.

    Parameters
    ----------
    scores, labels, components, reference, shares
        As for :class:`ScoresDisplay`.
    names : sequence
        Names of the features with an arrow.
    loadings : array of shape (len(names), 2)
        Their loadings in the two components.

    Attributes
    ----------
    ax_, figure_, points_, reference_, legend_
        As those of :class:`ScoresDisplay`.
    arrows_ : list of Annotation
        One for each name.
    factors_ : tuple of float
        What loadings were multiplied by, across and up.

    Examples
    --------
    >>> import rspca
    >>> from sklearn.datasets import load_wine
    >>> wine = load_wine(as_frame=True)
    >>> model = rspca.SparsePCA(2, k=4, scale=True, random_state=0).fit(wine.data)
    >>> display = rspca.plotting.BiplotDisplay.from_estimator(model, wine.data, labels=wine.target, n=3)
    >>> display.names
    ['flavanoids', 'total_phenols', 'od280/od315_of_diluted_wines', 'alcohol', 'color_intensity', 'proline']
    """

    def __init__(self, *, names: Sequence[Any] = (), loadings: Any = (), **given: Any) -> None:
        super().__init__(**given)
        self.names, self.loadings = list(names), np.asarray(loadings, dtype=float).reshape(-1, 2)
        if len(self.names) != len(self.loadings):
            raise ValueError(f"loadings has {len(self.loadings)} rows for {len(self.names)} names.")

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        *,
        labels: Any = None,
        components: Sequence[int] = (0, 1),
        reference: Any = None,
        n: int = 6,
        names: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the scores of X and the n largest features of both components; `kwargs` go to ``Axes.scatter``."""
        check_integer("n", n, 1)
        pair = _two_of(components, model.n_components_)
        every = range(model.n_features_in_)
        largest = list(dict.fromkeys(f.name for j in pair for f in model.top_features(j, n, names=every)))
        called = getattr(model, "feature_names_in_", every) if names is None else names
        display = cls(
            scores=model.transform(X), labels=labels, components=components, reference=reference,
            shares=model.explained_variance_ratio_, names=[str(called[i]) for i in largest],
            loadings=model.components_[list(pair)][:, largest].T,
        )  # fmt: skip
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, legend: bool = True, **kwargs: Any) -> Self:
        """Draw on these Axes, or on new ones."""
        super().plot(ax, legend=legend, **kwargs)
        longest = float(np.linalg.norm(self.loadings, axis=1).max(initial=0.0)) or 1.0
        farthest = np.abs(self.scores[:, list(self.components)]).max(axis=0)
        factors = _ARROWS_REACH * farthest / longest
        ends = [(float(x), float(y)) for x, y in self.loadings * factors]
        style = {"arrowstyle": "->", "color": "0.2", "linewidth": 0.9, "shrinkA": 0, "shrinkB": 0}
        self.arrows_ = [self.ax_.annotate("", end, xytext=(0.0, 0.0), arrowprops=style) for end in ends]
        names_beside(self.ax_, self.names, ends)
        self.factors_ = float(factors[0]), float(factors[1])
        across = component_label(self.components[0], self.shares)
        stated = f"arrows: loadings, times {factors[0]:.3g} across and {factors[1]:.3g} up"
        self.ax_.set_xlabel(f"{across}\n{stated}")
        return self


class CorrelationDisplay(Display):
    """Features in the unit circle, placed by their correlations with two scores; associates are hollow.

    Near the circle, the two scores say nearly everything of a feature. Associates are features that neither component
    has, and that correlate with a score as much as one that it has. Points outside the circle mean that the two scores
    are correlated with each other.

    Parameters
    ----------
    names : sequence
        Names of the features.
    correlations : array of shape (len(names), 2)
        Their correlations with the two scores.
    groups : sequence of {"first", "second", "both", "associate"}
        Which of the two components has the feature.
    components : pair of int
        The two, counted from 0.
    shares : sequence of float, optional
        Share of the variance of each component, which the axes show.

    Attributes
    ----------
    ax_, figure_ : Axes and Figure
        Where it was drawn.
    points_ : dict
        The points of each group.
    legend_ : Legend
        The groups.

    Examples
    --------
    >>> import rspca
    >>> from sklearn.datasets import load_wine
    >>> model = rspca.SparsePCA(2, k=6, scale=True, random_state=0).fit(load_wine(as_frame=True).data)
    >>> display = rspca.plotting.CorrelationDisplay.from_estimator(model)
    >>> sorted(display.points_)
    ['both', 'first', 'second']
    """

    def __init__(
        self,
        *,
        names: Sequence[Any],
        correlations: Any,
        groups: Sequence[str],
        components: Sequence[int] = (0, 1),
        shares: Sequence[float] | None = None,
    ) -> None:
        self.names, self.groups = [str(name) for name in names], list(groups)
        self.correlations = np.asarray(correlations, dtype=float).reshape(-1, 2)
        self.components, self.shares = tuple(components), shares
        if not len(self.names) == len(self.groups) == len(self.correlations):
            raise ValueError("names, correlations and groups must have one entry for each feature.")

    @classmethod
    def from_estimator(
        cls, model: Any, *, components: Sequence[int] = (0, 1), names: Any = None, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the ten leading features of two components, and associates; `kwargs` go to ``Axes.scatter``."""
        first, second = pair = _two_of(components, model.n_components_)
        found = circle_of(model)
        if found is None:
            raise ValueError("The model does not know these correlations; fit it again with this version of rspca.")
        called = getattr(model, "feature_names_in_", range(model.n_features_in_)) if names is None else names
        group = dict.fromkeys([*found.associates[first], *found.associates[second]], "associate")
        group |= dict.fromkeys(found.leading[first], "first")
        group |= {place: "both" if group.get(place) == "first" else "second" for place in found.leading[second]}
        display = cls(
            names=[called[found.features[place]] for place in group],
            correlations=found.correlations[list(pair)][:, list(group)].T,
            groups=list(group.values()),
            components=pair,
            shares=model.explained_variance_ratio_,
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on these Axes, or on new ones."""
        from matplotlib.patches import Circle

        ax = new_axes(ax, 7.2, 5.2)
        ax.set(xlim=(-1.08, 1.08), ylim=(-1.08, 1.08), aspect="equal")
        ax.add_patch(Circle((0.0, 0.0), 1.0, fill=False, color="0.5"))
        first, second = self.components
        looks = {
            "first": (COLORS[0], "o"),
            "second": (COLORS[1], "s"),
            "both": (COLORS[6], "D"),
            "associate": ("0.45", "o"),
        }
        called = {"first": f"of component {first + 1}", "second": f"of component {second + 1}", "both": "of both"}
        called["associate"] = "associates, of neither"
        self.points_ = {}
        for group, (color, marker) in looks.items():
            chosen = [place for place, one in enumerate(self.groups) if one == group]
            if chosen:
                face = "none" if group == "associate" else color
                style = {"s": 30, "marker": marker, "facecolors": face, "edgecolors": color, "zorder": 3}
                self.points_[group] = ax.scatter(*self.correlations[chosen].T, **(style | kwargs))
        own = [place for place, one in enumerate(self.groups) if one != "associate"]
        for x, y in self.correlations[own]:
            ax.plot([0.0, x], [0.0, y], color="0.8", linewidth=0.7, zorder=1)
        points = [(float(x), float(y)) for x, y in self.correlations]
        order = own + [place for place, one in enumerate(self.groups) if one == "associate"]
        names_beside(ax, [self.names[i] for i in order], [points[i] for i in order])
        self.legend_ = legend_beside(ax, list(self.points_.values()), [called[group] for group in self.points_])
        ax.set(xlabel=f"correlation with {component_label(first, self.shares)}")
        ax.set(ylabel=f"correlation with {component_label(second, self.shares)}")
        ax.grid(alpha=0.3)
        return self._drawn_on(ax)


def _two_of(components: Sequence[int], count: int) -> tuple[int, int]:
    """Return two components counted from 0, or raise."""
    if len(components) != 2:
        raise ValueError(f"components={components!r} must name two, for example (0, 1).")
    first, second = (check_integer("component", c, -count, count - 1) % count for c in components)
    return first, second


def _mark_area(count: int) -> float:
    """Return the area of the marks of so many samples: more of them are drawn smaller."""
    return float(np.clip(_LARGEST_MARK * (1000.0 / max(count, 1)) ** 0.5, _SMALLEST_MARK, _LARGEST_MARK))


def _check_classes(count: int) -> None:
    """Raise if there are more classes than colors with markers."""
    most = len(COLORS) * len(MARKERS)
    if count > most:
        raise ValueError(
            f"labels has {count} classes, and at most {most} can be distinguished; join some, or give none."
        )
