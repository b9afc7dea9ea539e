"""Figures, with matplotlib (extra "plot"): each function draws one and returns its Axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt

from rspca.comparison import Comparison, compare

_STYLES = {"rspca": ("C0", "o"), "maxcomp": ("C1", "s")}


def plot_shares(
    X: Any, ks: Sequence[int], *, methods: Sequence[str] = ("rspca", "maxcomp"), title: str = "", ax: Any = None,
    **options: Any,
) -> Any:  # fmt: skip
    """Draw share against the number of non-zeros, one curve per method and normalization; return the Axes."""
    _check_axes(ax)
    try:
        ks = list(ks)
    except TypeError:
        raise TypeError(f"ks={ks!r} must be a list of whole numbers, for example ks=[5, 10, 20, 50].") from None
    curves: dict[tuple[str, str], list[float]] = {}
    for k in ks:
        for row in compare(X, k, methods=methods, **options):
            curves.setdefault((row.method, row.normalization), []).append(row.share)
    ax = plt.subplots(figsize=(6.4, 4.2))[1] if ax is None else ax
    for (method, normalization), shares in sorted(curves.items(), reverse=True):
        color, marker = _STYLES.get(method, ("C2", "^"))
        dashes = "-" if normalization == "svd" else ":"
        ax.plot(ks, shares, dashes, color=color, marker=marker, ms=4, label=f"{method}, {normalization}")
    ax.set(xlabel="non-zeros k", ylabel="share of ||X||$_2^2$", title=title)
    ax.grid(alpha=0.3)
    ax.legend(frameon=False)
    return ax


def plot_comparison(comparison: Comparison, ax: Any = None) -> Any:
    """Draw the shares of a comparison as bars, naive beside refitted, best method first; return the Axes."""
    _check_axes(ax)
    if not isinstance(comparison, Comparison):
        raise TypeError(f"comparison is a {type(comparison).__name__}; what rspca.compare returned is needed.")
    ax = plt.subplots(figsize=(6.4, 4.2))[1] if ax is None else ax
    methods = list(dict.fromkeys(row.method for row in comparison if row.method != "pca"))
    for offset, loadings, color in ((-0.2, "naive", "C1"), (0.2, "svd", "C0")):
        share = {row.method: row.share for row in comparison if row.normalization == loadings}
        ax.bar([i + offset for i in range(len(methods))], [share[m] for m in methods], 0.4, color=color, label=loadings)
    ax.set_xticks(range(len(methods)), methods, rotation=30, ha="right")
    counts = sorted({row.nonzeros for row in comparison if row.method != "pca"})
    ax.set(xlabel=f"{' or '.join(map(str, counts))} non-zeros", ylabel="share of ||X||$_2^2$")
    ax.grid(axis="y", alpha=0.3)
    ax.legend(frameon=False)
    return ax


def _check_axes(ax: Any) -> None:
    """Raise before any work unless there is something to draw on."""
    if ax is not None and not hasattr(ax, "set_xticks"):
        raise TypeError(f"ax is a {type(ax).__name__}; Axes of matplotlib are needed, or None.")
