"""Display classes, as in scikit-learn: they store what a figure shows and can draw it again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from rspca.analysis.compare import Comparison
from rspca.analysis.k_path import Path
from rspca.analysis.permutation import PermutationTest
from rspca.base.checks import check_integer

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Those of Okabe and Ito, which the color-blind can tell apart; yellow is left out, as it is faint on white."""
MARKERS = ("o", "s", "^", "D", "v", "P")
SHARE = "share of ||X||$_2^2$"
_LONGEST = 40


class LoadingsDisplay:
    """The features of one component as horizontal bars, the largest on top.

    Parameters
    ----------
    names : sequence
        Names of the features, by decreasing magnitude of their loadings.
    loadings : sequence of float
        Their loadings.
    title : str
        What stands above.

    Attributes
    ----------
    ax_, figure_ : Axes and Figure
        Where it was drawn.
    bars_ : BarContainer
        One bar for each feature.

    Examples
    --------
    >>> import rspca
    >>> from sklearn.datasets import load_wine
    >>> model = rspca.SparsePCA(2, k=4, scale=True, random_state=0).fit(load_wine(as_frame=True).data)
    >>> display = rspca.plotting.LoadingsDisplay.from_estimator(model, component=1)
    >>> len(display.bars_)
    4
    """

    def __init__(self, *, names: Sequence[Any], loadings: Sequence[float], title: str = "") -> None:
        self.names, self.loadings, self.title = list(names), list(loadings), title

    @classmethod
    def from_estimator(
        cls, model: Any, *, component: int = 0, n: int | None = 20, names: Any = None, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the n largest loadings of a component of a fitted SparsePCA; `kwargs` go to ``Axes.barh``."""
        features = model.top_features(component, n, names)
        number = component % model.n_components_ + 1
        left_out = len(model.supports_[component]) - len(features)
        more = f", {len(features)} largest of {len(features) + left_out} loadings" if left_out else ""
        display = cls(
            names=[f.name for f in features], loadings=[f.loading for f in features], title=f"component {number}{more}"
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on these Axes, or on new ones."""
        ax = new_axes(ax, height=0.8 + 0.24 * max(len(self.names), 3))
        places = range(len(self.names))
        colors = [COLORS[0] if value >= 0.0 else COLORS[1] for value in self.loadings]
        self.bars_ = ax.barh(places, self.loadings, **({"color": colors} | kwargs))
        ax.set_yticks(places, [_literal(name) for name in self.names], parse_math=False)
        ax.invert_yaxis()
        ax.axvline(0.0, color="0.3", linewidth=0.8)
        ax.set(xlabel="loading", title=self.title)
        ax.grid(axis="x", alpha=0.3)
        ax.set_axisbelow(True)
        self.ax_, self.figure_ = ax, ax.figure
        return self


class ScoresDisplay:
    """Samples in the plane of two components, a color and a marker for each label.

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
    """

    def __init__(
        self, *, scores: Any, labels: Any = None, components: Sequence[int] = (0, 1), reference: Any = None
    ) -> None:
        self.scores = np.asarray(scores)
        self.reference = None if reference is None else np.asarray(reference)
        if self.scores.ndim != 2 or self.scores.shape[1] < 2:
            raise ValueError(f"scores has shape {self.scores.shape}; two components or more are needed to draw them.")
        if len(components) != 2:
            raise ValueError(f"components={components!r} must name two, for example (0, 1).")
        count = self.scores.shape[1]
        if self.reference is not None and (self.reference.ndim != 2 or self.reference.shape[1] != count):
            raise ValueError(
                f"reference has shape {self.reference.shape}; scores of the same {count} components needed."
            )
        self.components = tuple(check_integer("component", c, -count, count - 1) % count for c in components)
        self.labels = None if labels is None else np.asarray(labels).astype(str)
        if self.labels is not None and self.labels.shape != (len(self.scores),):
            raise ValueError(f"labels has shape {self.labels.shape}; give one for each of {len(self.scores)} samples.")
        if self.labels is not None and len(np.unique(self.labels)) > len(COLORS) * len(MARKERS):
            most = len(COLORS) * len(MARKERS)
            raise ValueError(
                f"labels has {len(np.unique(self.labels))} classes, and at most {most} can be distinguished; "
                "join some, or give none."
            )

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
        scores = model.transform(X)
        return cls.from_scores(scores, labels=labels, components=components, reference=reference, ax=ax, **kwargs)

    @classmethod
    def from_scores(
        cls,
        scores: Any,
        *,
        labels: Any = None,
        components: Sequence[int] = (0, 1),
        reference: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw scores; `kwargs` go to ``Axes.scatter``."""
        return cls(scores=scores, labels=labels, components=components, reference=reference).plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, legend: bool = True, **kwargs: Any) -> Self:
        """Draw on these Axes, or on new ones."""
        ax = new_axes(ax)
        first, second = self.components
        classes = [None] if self.labels is None else list(np.unique(self.labels))
        self.points_ = {}
        self.reference_ = None
        if self.reference is not None:
            grey = {"color": "0.75", "s": 10, "linewidths": 0, "zorder": 0}
            self.reference_ = ax.scatter(self.reference[:, first], self.reference[:, second], **grey)
        for number, name in enumerate(classes):
            rows = slice(None) if name is None else self.labels == name
            look = {"color": COLORS[number % len(COLORS)], "marker": MARKERS[number % len(MARKERS)]}
            style = {**look, "s": 14, "alpha": 0.8, "linewidths": 0}
            self.points_[name] = ax.scatter(self.scores[rows, first], self.scores[rows, second], **(style | kwargs))
        self.legend_ = _legend(ax, list(self.points_.values()), classes) if legend and self.labels is not None else None
        ax.set(xlabel=f"component {first + 1}", ylabel=f"component {second + 1}")
        ax.grid(alpha=0.3)
        self.ax_, self.figure_ = ax, ax.figure
        return self


class GenomeDisplay:
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
        ax = new_axes(ax)
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
        ax.set_xticks(ticks, [_literal(name) for name in names], parse_math=False, fontsize=8)
        ax.set(xlabel="chromosome", ylabel="loading", title=self.title)
        ax.grid(axis="y", alpha=0.3)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _chromosome_order(name: str) -> tuple[int, int, str]:
    """Return a key that puts numbers in their order, before letters and names."""
    plain = name.lower().removeprefix("chr")
    return (0, int(plain), "") if plain.isascii() and plain.isdigit() else (1, 0, plain)


class PathDisplay:
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
        ax.xaxis.set_major_formatter("{x:g}")
        ax.set(xlabel="features k", ylabel="share of the first principal component", ylim=(0.0, 1.05))
        ax.grid(alpha=0.3)
        self.held_out_ = self._held_out(ax) if all(p.held_out is not None for p in self.path) else None
        handles, labels = ax.get_legend_handles_labels()
        if self.held_out_ is not None:
            handles, labels = [*handles, self.held_out_], [*labels, "held out, right axis"]
        ax.legend(handles, labels, frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _held_out(self, ax: Any) -> Any:
        """Draw the held-out variance, with one standard error, on an axis of its own."""
        right = ax.twinx()
        ks, means = [p.k for p in self.path], [p.held_out for p in self.path]
        errors = [p.held_out_se for p in self.path]
        drawn = right.errorbar(ks, means, errors, color=COLORS[2], marker="s", markersize=4, capsize=3, linestyle="-.")
        right.set_ylabel("share of the held-out variance")
        right.set_ylim(bottom=0.0)
        return drawn


class PermutationDisplay:
    """Variance of each component, with the band of permuted data.

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
    'component'
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
        for number, value, p in zip(numbers, self.test.statistic, self.test.p, strict=True):
            ax.annotate(f"p = {p:.2g}", (number, value), xytext=(4, 4), textcoords="offset points", fontsize=8)
        ax.set_xticks(numbers)
        ax.set(xlabel="component", ylabel="variance at k features", ylim=(0.0, None))
        ax.grid(axis="y", alpha=0.3)
        ax.legend(frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self


class ComparisonDisplay:
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
        bound = next((row.share / row.of_bound for row in sparse if row.of_bound), None)
        self.bound_ = bound and ax.axhline(bound, color=COLORS[1], linestyle="--", label="proven bound")
        ax.set_xticks(range(len(methods)), methods, rotation=30, ha="right")
        counts = sorted({row.nonzeros for row in sparse})
        ax.set(xlabel=f"{' or '.join(map(str, counts))} non-zeros", ylabel=SHARE)
        ax.grid(axis="y", alpha=0.3)
        ax.set_axisbelow(True)
        ax.legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
        self.ax_, self.figure_ = ax, ax.figure
        return self


def check_axes(ax: Any) -> None:
    """Raise unless there is something to draw on."""
    if ax is not None and not hasattr(ax, "set_xticks"):
        raise TypeError(f"ax is a {type(ax).__name__}; Axes of matplotlib are needed, or None.")


def new_axes(ax: Any, height: float = 4.2) -> Any:
    """Return the Axes given, or those of a new figure."""
    check_axes(ax)
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Figures need matplotlib: pip install 'rspca[plot]'.") from error
    return plt.subplots(figsize=(6.4, height), layout="constrained")[1]


def _legend(ax: Any, handles: list[Any], names: list[Any]) -> Any:
    """Return a legend whose names stand as they are: matplotlib drops those that begin with _, and reads $ as math."""
    columns = 1 + (len(names) - 1) // 12
    legend = ax.legend(handles, [str(i) for i in range(len(names))], frameon=False, fontsize=8, ncols=columns)
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_text(_literal(name))
        text.set_parse_math(False)
    return legend


def _literal(name: Any) -> str:
    """Return a name on one line, shortened if long, without invisible characters."""
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in " ".join(str(name).split()))
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[: half - 1]}\N{HORIZONTAL ELLIPSIS}{text[-half:]}"
