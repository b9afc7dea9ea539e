"""The appendix's genotypes: f against sparsity on the sets at hand, HapMap3 by chromosome, HGDP, and both together.

    python experiments/genotypes.py

Writes results/genotypes.csv, results/genotypes.json and docs/figures/genotypes.png. The paper has 22 matrices of about
2,500 people and up to 40,844 SNPs, which are not public.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from joint import agreement, joint, joint_genotypes
from kept import Row, available, curve, data, draw_curves, plt, prepare, save, save_facts, save_figure, say

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
    rows = save("genotypes", rows, absent)
    figure, axes = plt.subplots(5, 5, figsize=(14, 13), layout="constrained")
    for ax, name in zip(axes.flat, SETS, strict=True):
        panel = [row for row in rows if row["data"] == name]
        if panel:
            draw_curves(ax, panel, f"{name}, n = {panel[0]['SNPs']:,}")
    figure.supxlabel("non-zeros / n")
    figure.supylabel("f")
    axes[0, 0].legend(frameon=False, fontsize=6)
    save_figure(figure, "genotypes")


if __name__ == "__main__":
    main()
