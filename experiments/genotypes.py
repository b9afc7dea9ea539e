"""The appendix's genotypes: f against sparsity on the sets at hand, HapMap3 by chromosome, HGDP, and both together.

    python experiments/genotypes.py

Writes results/genotypes.csv, results/genotypes.json and docs/figures/genotypes.png. The paper has 22 matrices of about
2,500 people and up to 40,844 SNPs, which are not public.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from joint import agreement, joint, joint_genotypes
from kept import (
    CURVES,
    FEATURES_IN_USE,
    NAMED,
    STYLES,
    Row,
    available,
    curve,
    data,
    percent_axis,
    plt,
    prepare,
    save,
    save_facts,
    save_figure,
    say,
)

from rspca.datasets import fetch_hapmap3

RATIOS = (0.01, 0.03, 0.1, 0.3)


def chromosome(number: int) -> Any:
    files = ("hapmap3_flashpca/data.bed", "hapmap3_flashpca/data.bim.gz")
    return data.fetched(partial(fetch_hapmap3, chromosome=number), *files).matrix


SETS: dict[str, Callable[[], Any]] = {
    "HapMap3 and HGDP, joint": joint,
    "HGDP, Europe": data.hgdp_euro,
    "HGDP, world, chr 22": data.hgdp_world_chr22,
    **{f"HapMap3, chr {number}": partial(chromosome, number) for number in range(1, 23)},
}


def main() -> None:
    rows: list[Row] = []
    absent: set[str] = set()
    for name, X in available(SETS, absent):
        panel = [{"data": name, "people": X.shape[0], "SNPs": X.shape[1], **row} for row in curve(prepare(X), RATIOS)]
        rows += panel
        say(f"\n{name}, {X.shape[0]} x {X.shape[1]}: f at each number of non-zeros")
        for count in dict.fromkeys(row["nonzeros"] for row in panel):
            values = [r for r in panel if r["nonzeros"] == count]
            say(f"{count:>6}  " + ", ".join(f"{r['method']} {r['normalization']} {r['f']:.4f}" for r in values))
    if not absent:
        both = joint_genotypes()
        save_facts("genotypes", fates=dict(sorted(both.fates.items())), shared=both.fates.total(),
                   shape=both.matrix.shape, agreement=agreement(both))  # fmt: skip
    draw(save("genotypes", rows, absent))


def draw(rows: list[Row]) -> None:
    """Draw differences to refitted MaxComp: a thin line for each data set, a thick one for their median."""
    maxcomp = {
        (r["data"], r["nonzeros"]): r["f"] for r in rows if (r["method"], r["normalization"]) == ("maxcomp", "svd")
    }
    lines: dict[tuple[str, str], dict[str, list[tuple[float, float]]]] = {}
    for row in rows:
        place = row["method"], row["normalization"]
        difference = 100.0 * (row["f"] / maxcomp[row["data"], row["nonzeros"]] - 1.0)
        lines.setdefault(place, {}).setdefault(row["data"], []).append((row["ratio"], difference))
    figure, ax = plt.subplots(figsize=(8, 4.6), layout="constrained")
    for (method, normalization), sets in lines.items():
        if (method, normalization) == ("maxcomp", "svd"):
            continue
        color, _ = CURVES[method]
        style = STYLES.get(normalization, "-")
        for points in sets.values():
            ax.plot(*zip(*points, strict=True), style, color=color, lw=0.5, alpha=0.35)
        middle = np.median([points for points in sets.values() if len(points) == len(RATIOS)], axis=0)
        ax.plot(*middle.T, style, color=color, lw=2.2, label=NAMED[method, normalization])
    ax.axhline(0.0, color="C1", lw=1)
    ax.set(xscale="log", xlabel=FEATURES_IN_USE, ylabel="variance, difference to refitted MaxComp in %")
    percent_axis(ax, (0.01, 0.03, 0.1, 0.2))
    ax.grid(alpha=0.3)
    ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    ax.set_title(f"{len(maxcomp) // len(RATIOS)} sets of genotypes: thin, each one; thick, their median", loc="left")
    save_figure(figure, "genotypes")


if __name__ == "__main__":
    main()
