"""Figure 1: f against sparsity, six curves and our default, on synthetic data, genotypes and gene expression.

    python experiments/figure1.py

Writes results/figure1.csv, docs/figures/figure1.png and, as the curves are close, docs/figures/figure1_relative.png
with f over that of refitted MaxComp. The paper's genotypes and its GSE10072 are not at hand: the
joint HapMap3 and HGDP matrix, HapMap3, Chowdary (the same chip as GSE10072) and Gordon (lung, too) stand in for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from joint import joint
from kept import (
    FEATURES_IN_USE,
    SHARE_OF_DENSE,
    Row,
    available,
    curve,
    data,
    draw_curves,
    plt,
    prepare,
    save,
    save_figure,
    say,
    shares_axis,
    show,
)

import rspca

RATIOS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
PANELS: dict[str, Callable[[], Any]] = {
    "synthetic, as printed": rspca.datasets.make_hadamard,
    "synthetic, centered": rspca.datasets.make_hadamard,
    "HapMap3 and HGDP, joint": joint,
    "HapMap3": data.hapmap3,
    "Chowdary": data.chowdary,
    "Gordon": lambda: data.gene_expression("gordon"),
}


def main() -> None:
    rows: list[Row] = []
    absent: set[str] = set()
    for name, X in available(PANELS, absent):
        panel = [{"data": name, **row} for row in curve(prepare(X, center="printed" not in name), RATIOS)]
        say(f"\n{name}, {X.shape[0]} x {X.shape[1]}; the paper shows curves without numbers")
        show(panel, ("k", "nonzeros", "method", "normalization", "f"))
        maxcomp = {r["nonzeros"]: r["f"] for r in panel if (r["method"], r["normalization"]) == ("maxcomp", "svd")}
        rows += [{**row, "over maxcomp": row["f"] / maxcomp[row["nonzeros"]]} for row in panel]
    draw(save("figure1", rows, absent))


def draw(rows: list[Row]) -> None:
    """Draw shares, and shares over those of refitted MaxComp."""
    for value, label, file in (
        ("f", SHARE_OF_DENSE, "figure1"),
        ("over maxcomp", "variance over that of refitted MaxComp", "figure1_relative"),
    ):
        figure, axes = plt.subplots(2, 3, figsize=(12, 7), layout="constrained")
        for ax, name in zip(axes.flat, PANELS, strict=True):
            draw_curves(ax, [row for row in rows if row["data"] == name], name, value)
            shares_axis(ax.yaxis)
        figure.supxlabel(FEATURES_IN_USE)
        figure.supylabel(label)
        figure.legend(*axes[0, 0].get_legend_handles_labels(), frameon=False, ncols=4, loc="outside upper center")
        save_figure(figure, file)


if __name__ == "__main__":
    main()
