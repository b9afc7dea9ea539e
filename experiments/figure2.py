"""Figure 2: running time against sparsity, in units of one svds(X, 1), and the iterations of stage 1.

    python experiments/figure2.py

Writes results/figure2.csv, results/figure2.json and docs/figures/figure2.png. The best of
three runs, the yardstick measured anew at every k; one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from joint import joint
from kept import (
    FEATURES_IN_USE,
    METHODS,
    PAPER,
    Row,
    available,
    data,
    draw_curves,
    machine,
    one_svds,
    plain_axis,
    plt,
    prepare,
    save,
    save_facts,
    save_figure,
    say,
    seconds,
    show,
)

RATIOS = (0.005, 0.02, 0.1, 0.4)
SETS: dict[str, Callable[[], Any]] = {
    "HapMap3 and HGDP, joint": joint,
    "HapMap3": data.hapmap3,
    "HGDP, world, chr 22": data.hgdp_world_chr22,
    "HGDP, Europe": data.hgdp_euro,
    "Chowdary": data.chowdary,
    "Classic-2, sparse": data.classic2,
}
OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "rspca": ("rspca", {"normalization": "naive", **PAPER}),
    "stage 1": ("rspca", {"normalization": "naive", **PAPER, "solver": "linearized"}),
    "default": ("rspca", {}),
    "spasm": ("spasm", {"normalization": "naive"}),
    "maxcomp": ("maxcomp", {"normalization": "naive"}),
}
"""rspca is the paper's; "stage 1" the same with our solver of the relaxed problem; default has polishing and refit."""


def main() -> None:
    rows: list[Row] = []
    absent: set[str] = set()
    for name, X in available(SETS, absent):
        op = prepare(X)
        n = op.shape[1]
        for k in (max(2, round(ratio * n)) for ratio in RATIOS):
            unit = seconds(one_svds(op))
            for label, (method, options) in OPTIONS.items():
                found: list[Any] = []

                def work(method=method, k=k, options=options, found=found, op=op):
                    found[:] = METHODS[method](op, 1, k, rng=np.random.default_rng(0), **options)

                spent = seconds(work)
                rows.append({
                    "data": name, "k": k, "ratio": k / n, "method": label, "normalization": "", "time": spent / unit,
                    "iterations": found[0].n_iter, "passes": found[0].passes,
                })  # fmt: skip
        say(f"\n{name}, {op.shape[0]} x {n}; time in units of svds(X, 1); the paper shows curves without numbers")
        show([row for row in rows if row["data"] == name], ("k", "method", "time", "iterations", "passes"))
    rows = save("figure2", rows, absent)
    if not absent:
        save_facts("figure2", machine=machine())
    draw(rows)


def draw(rows: list[Row]) -> None:
    """Draw times against sparsity, a panel for each data set."""
    figure, axes = plt.subplots(2, 3, figsize=(12, 7), layout="constrained")
    for ax, name in zip(axes.flat, SETS, strict=True):
        panel = [row for row in rows if row["data"] == name]
        if panel:
            draw_curves(ax, panel, name, "time")
            ax.set_yscale("log")
            plain_axis(ax.yaxis)
    figure.supxlabel(FEATURES_IN_USE)
    figure.supylabel("time, in units of one dense component (svds)")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), frameon=False, ncols=5, loc="outside upper center")
    save_figure(figure, "figure2")


if __name__ == "__main__":
    main()
