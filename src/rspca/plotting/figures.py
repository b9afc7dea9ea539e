"""Functions that draw one figure each and return its Axes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from rspca.analysis.compare import Comparison, compare
from rspca.analysis.k_path import Path
from rspca.analysis.permutation import PermutationTest
from rspca.base.checks import check_integer
from rspca.plotting.bars import LoadingsDisplay
from rspca.plotting.curves import PathDisplay, PermutationDisplay
from rspca.plotting.genome import GenomeDisplay
from rspca.plotting.looks import COLORS, check_axes, legend_below, new_axes, percent_axis
from rspca.plotting.scatter import ScoresDisplay
from rspca.plotting.shares import SHARE, ComparisonDisplay

_STYLES = {"rspca": (COLORS[0], "o"), "maxcomp": (COLORS[1], "s")}


def plot_loadings(model: Any, component: int = 0, n: int | None = 20, names: Any = None, ax: Any = None) -> Any:
    """Draw the n largest loadings of one component as bars; return the Axes. See :class:`LoadingsDisplay`.

    Examples
    --------
    >>> import rspca
    >>> from sklearn.datasets import load_wine
    >>> model = rspca.SparsePCA(k=4, scale=True, random_state=0).fit(load_wine(as_frame=True).data)
    >>> rspca.plotting.plot_loadings(model).get_title()
    'component 1'
    """
    return LoadingsDisplay.from_estimator(model, component=component, n=n, names=names, ax=ax).ax_


def plot_genome(model: Any, component: int = 0, ax: Any = None) -> Any:
    """Draw the loadings of one component along the genome; return the Axes. See :class:`GenomeDisplay`.

    Examples
    --------
    >>> import numpy as np, rspca, tempfile
    >>> X = np.random.default_rng(0).binomial(2, 0.3, (30, 6))
    >>> variants = {"chromosome": ["1", "1", "2", "2", "3", "3"], "position": [1, 2, 1, 2, 1, 2]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rspca.formats.write_plink(folder + "/a.bed", X, variants=variants)
    ...     model = rspca.SparsePCA(k=4, random_state=0).fit(rspca.read(folder + "/a.bed"))
    ...     rspca.plotting.plot_genome(model).get_xlabel()
    'chromosome'
    """
    return GenomeDisplay.from_estimator(model, component=component, ax=ax).ax_


def plot_scores(
    scores: Any,
    X: Any = None,
    *,
    labels: Any = None,
    components: Sequence[int] = (0, 1),
    reference: Any = None,
    ax: Any = None,
) -> Any:
    """Draw scores, or those of X under a fitted model, in two dimensions; return the Axes. See :class:`ScoresDisplay`.

    `reference` has the scores of another study, drawn in grey below: that of the fit, where X is projected on it.

    Examples
    --------
    >>> import rspca
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> model = rspca.SparsePCA(2, k=4, scale=True, random_state=0).fit(X)
    >>> axes = rspca.plotting.plot_scores(model, X, labels=y)
    >>> axes = rspca.plotting.plot_scores(model.transform(X), labels=y)  # the same points
    """
    if hasattr(scores, "components_") and X is None:
        raise ValueError("A model has no scores of its own; give the data too: plot_scores(model, X).")
    given: dict[str, Any] = {"labels": labels, "components": components, "reference": reference, "ax": ax}
    if X is None:
        return ScoresDisplay.from_scores(scores, **given).ax_
    return ScoresDisplay.from_estimator(scores, X, **given).ax_


def plot_path(path: Path, ax: Any = None) -> Any:
    """Draw share against k with the proven bound and the suggested k; return the Axes. See :class:`PathDisplay`.

    Examples
    --------
    >>> import rspca
    >>> pitprops = rspca.GramOperator(rspca.datasets.load_pitprops())
    >>> rspca.plotting.plot_path(rspca.path(pitprops, [1, 3, 5, 8, 13])).get_xlabel()
    'features k'
    """
    return PathDisplay.from_path(path, ax=ax).ax_


def plot_test(test: PermutationTest, ax: Any = None) -> Any:
    """Draw variances and the band of permuted data; return the Axes. See :class:`PermutationDisplay`.

    Examples
    --------
    >>> import rspca
    >>> X, _ = rspca.datasets.make_planted_spikes(60, 100, 8, 2, strength=20.0)
    >>> rspca.plotting.plot_test(rspca.permutation_test(X, 3, 8, n_permutations=19)).get_ylabel()
    'variance at k features'
    """
    return PermutationDisplay.from_test(test, ax=ax).ax_


def plot_comparison(comparison: Comparison, ax: Any = None) -> Any:
    """Draw the shares of a comparison as bars; return the Axes. See :class:`ComparisonDisplay`.

    Examples
    --------
    >>> import rspca
    >>> pitprops = rspca.GramOperator(rspca.datasets.load_pitprops())
    >>> axes = rspca.plotting.plot_comparison(rspca.compare(pitprops, 5, methods=["rspca", "maxcomp"]))
    >>> axes.get_xlabel()
    '5 non-zeros'
    """
    check_axes(ax)
    if not isinstance(comparison, Comparison):
        raise TypeError(f"comparison is a {type(comparison).__name__}; what rspca.compare returned is needed.")
    return ComparisonDisplay.from_comparison(comparison, ax=ax).ax_


def plot_shares(
    X: Any,
    ks: Sequence[int],
    *,
    methods: Sequence[str] = ("rspca", "maxcomp"),
    title: str = "",
    ax: Any = None,
    **options: Any,
) -> Any:
    """Draw share against the number of non-zeros, one curve per method and normalization; return the Axes.

    `options` are those of :func:`rspca.compare`, which is called for every k, without its proven bound.

    Examples
    --------
    >>> import rspca
    >>> axes = rspca.plotting.plot_shares(rspca.GramOperator(rspca.datasets.load_pitprops()), [2, 5, 9])
    >>> len(axes.get_lines())
    4
    """
    check_axes(ax)
    if not isinstance(ks, Iterable):
        raise TypeError(f"ks={ks!r} must be a list of whole numbers, for example ks=[5, 10, 20, 50].")
    ks = list(ks)
    if not ks:
        raise ValueError("ks is empty; give whole numbers, for example ks=[5, 10, 20, 50].")
    ks = sorted(check_integer("ks", k, 1) for k in ks)
    curves: dict[tuple[str, str], list[float]] = {}
    for k in ks:
        rows = cast(Comparison, compare(X, k, methods=methods, **({"certify_seconds": None} | options)))
        for row in rows:
            curves.setdefault((row.method, row.normalization), []).append(row.share)
    ax = new_axes(ax)
    for (method, normalization), shares in sorted(curves.items(), reverse=True):
        color, marker = _STYLES.get(method, (COLORS[2], "^"))
        dashes = "-" if normalization == "svd" else ":"
        ax.plot(ks, shares, dashes, color=color, marker=marker, ms=4, label=f"{method}, {normalization}")
    ax.set(xlabel="non-zeros k", ylabel=SHARE, title=title)
    percent_axis(ax.yaxis)
    ax.grid(alpha=0.3)
    legend_below(ax, *ax.get_legend_handles_labels())
    return ax
