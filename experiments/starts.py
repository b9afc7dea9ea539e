"""The paper's first open problem as an experiment: Algorithm 1 applied to other vectors than the relaxed one.

    python experiments/starts.py

Writes results/starts.csv and docs/figures/starts.png: means of 200 draws (20 where n > 500) with s = k from the leading
eigenvector, the stationary point of the l1 relaxation, the paper's iterate, and the leading eigenvector of the
semidefinite relaxation, all refitted. "Algorithm 1" has a random number of features; "exactly k" has k, as long as the
start has so many: "features" tells.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from kept import METHODS, Row, available, data, leading_pairs, plt, prepare, save, save_figure, shares_axis, show

import rspca
from rspca.algorithm.round import exact_supports
from rspca.linalg.vectors import top_k
from rspca.methods.dspca import MOST_FEATURES, semidefinite

DRAWS, FEW_DRAWS = 200, 20
SETS: dict[str, tuple[Callable[[], Any], int]] = {
    **{
        name: (partial(data.benchmark_matrix, name), 10)
        for name in ("Eisen1", "Eisen2", "normCommunities", "song", "gas", "digits", "spambase", "buzz")
    },
    "pitprops": (partial(data.benchmark_matrix, "pitprops"), 5),
    "khan": (lambda: data.gene_expression("khan"), 23),
    "Chowdary": (data.chowdary, 222),
    "HGDP, world, chr 22": (data.hgdp_world_chr22, 76),
    "Classic-2": (data.classic2, 124),
}


def best_on(op: Any, support: np.ndarray) -> float:
    """Return ||X_S||_2^2."""
    return float(np.linalg.eigvalsh(op.gram_block(support))[-1]) if len(support) else 0.0


def main() -> None:
    rows: list[Row] = []
    absent: set[str] = set()
    for name, X in available({name: make for name, (make, _) in SETS.items()}, absent):
        k = SETS[name][1]
        square = name not in ("khan", "Chowdary", "HGDP, world, chr 22", "Classic-2")
        op = rspca.GramOperator(X) if square else prepare(X)
        pairs = leading_pairs(op, 1, tol=1e-9)
        largest = float(pairs.values[0])
        starts = {
            "v1": pairs.vectors[:, 0],
            "stage 1": rspca.relax(op, k, center=False).x,
            "the paper's iterate": rspca.relax(op, k, solver="projected", center=False).x,
        }
        if op.shape[1] <= MOST_FEATURES:
            A = op.gram_block(np.arange(op.shape[1]))
            starts["dspca"] = np.linalg.eigh(semidefinite(A, k, tol=1e-3).X)[1][:, -1]
        draws = DRAWS if op.shape[1] <= MOST_FEATURES else FEW_DRAWS
        default = METHODS["rspca"](op, 1, k, rng=np.random.default_rng(0))[0].variance / largest
        for start, x in starts.items():
            rng = np.random.default_rng(0)
            x = np.where(np.abs(x) > 1e-9 * np.abs(x).max(), x, 0.0)
            supports = [np.flatnonzero(rspca.round_vector(x, k, rng)) for _ in range(draws)]
            exact = [exact_supports(x, k, k, 1, rng)[-1] for _ in range(draws)]
            exact = [s[x[s] != 0.0] for s in exact]  # where x has fewer than k non-zeros there is nothing to draw
            drawn = [best_on(op, s) / largest for s in exact]
            rows.append({
                "data": name, "n": op.shape[1], "k": k, "start": start, "default": default,
                "largest k": best_on(op, top_k(np.abs(x), k)) / largest,
                "Algorithm 1": float(np.mean([best_on(op, s) for s in supports])) / largest,
                "non-zeros": float(np.mean([len(s) for s in supports])),
                "exactly k": float(np.mean(drawn)), "best of exactly k": max(drawn),
                "features": float(np.mean([len(s) for s in exact])),
            })  # fmt: skip
    if rows:
        show(rows)
    draw(save("starts", rows, absent))


def draw(rows: list[Row]) -> None:
    """Draw the mean of draws from each vector, over our default."""
    figure, ax = plt.subplots(figsize=(9, 4.4), layout="constrained")
    names = list(dict.fromkeys(row["data"] for row in rows))
    vectors = {
        "v1": ("s", "the dense component"), "stage 1": ("o", "the relaxed vector"),
        "the paper's iterate": ("^", "the paper's iterate"), "dspca": ("x", "the semidefinite relaxation"),
    }  # fmt: skip
    for start, (marker, label) in vectors.items():
        line = [row for row in rows if row["start"] == start]
        shares = [row["exactly k"] / row["default"] for row in line]
        ax.plot(shares, [names.index(row["data"]) for row in line], marker, mfc="none", label=label)
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set_xlabel("variance, mean over draws of exactly k features, as a share of our default")
    shares_axis(ax.xaxis)
    ax.legend(frameon=False, title="drawn from", loc="center left", bbox_to_anchor=(1.0, 0.5))
    ax.grid(alpha=0.3)
    save_figure(figure, "starts")


if __name__ == "__main__":
    main()
