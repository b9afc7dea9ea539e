"""Figures, with matplotlib (extra "plot"): each function draws one and returns its Axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt

from rspca.comparison import compare

_STYLES = {"rspca": ("C0", "o"), "maxcomp": ("C1", "s")}


def plot_shares(
    X: Any, ks: Sequence[int], *, methods: Sequence[str] = ("rspca", "maxcomp"), title: str = "", ax: Any = None,
    **options: Any,
) -> Any:  # fmt: skip
    """Draw share against the number of non-zeros, one curve per method and normalization; return the Axes."""
    ax = plt.subplots(figsize=(6.4, 4.2))[1] if ax is None else ax
    curves: dict[tuple[str, str], list[float]] = {}
    for k in ks:
        for row in compare(X, k, methods=methods, **options):
            curves.setdefault((row.method, row.normalization), []).append(row.share)
    for (method, normalization), shares in sorted(curves.items(), reverse=True):
        color, marker = _STYLES.get(method, ("C2", "^"))
        dashes = "-" if normalization == "svd" else ":"
        ax.plot(ks, shares, dashes, color=color, marker=marker, ms=4, label=f"{method}, {normalization}")
    ax.set(xlabel="non-zeros k", ylabel="share of ||X||$_2^2$", title=title)
    ax.grid(alpha=0.3)
    ax.legend(frameon=False)
    return ax
