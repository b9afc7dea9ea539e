"""A remark of the paper as an experiment: stage 1 against the convex relaxation, value and time, all n <= 130.

    python experiments/convex.py

Writes results/convex.csv, results/convex.json and docs/figures/convex.png. Both vectors are cut to their k largest
entries and refitted; "upper" is the bound of the semidefinite relaxation, which no k-sparse vector exceeds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from kept import (
    METHODS,
    Row,
    available,
    data,
    leading_pairs,
    legend_above,
    machine,
    plain_axis,
    plt,
    save,
    save_facts,
    save_figure,
    seconds,
    shares_axis,
    show,
)

import rspca
from rspca.linalg.vectors import top_k
from rspca.methods.dspca import semidefinite

LARGEST = 130
NAMES = (
    "pitprops", "wine", "keggdirected", "pol", "wdbc", "dermatology", "miniBooNE", "normMiniBooNE", "spambase",
    "digits", "buzz", "Eisen1", "song", "communities", "normCommunities", "Eisen2", "gas",
)  # fmt: skip
KS = (5, 10)
MATRICES: dict[str, Callable[[], Any]] = {name: partial(data.benchmark_matrix, name) for name in NAMES}


def refit(A: np.ndarray, x: np.ndarray, k: int) -> float:
    """Return the most variance on the k largest entries of x."""
    kept = top_k(np.abs(x), k)
    return float(np.linalg.eigvalsh(A[np.ix_(kept, kept)])[-1])


def main() -> None:
    rows: list[Row] = []
    absent: set[str] = set()
    for name, A in available(MATRICES, absent):
        assert len(A) <= LARGEST
        op = rspca.GramOperator(A)
        largest = float(leading_pairs(op, 1, tol=1e-9).values[0])
        for k in KS:
            started = time.perf_counter()
            relaxed = semidefinite(A, k, tol=1e-3)
            convex_time = time.perf_counter() - started
            stationary = rspca.relax(op, k)
            stationary_time = seconds(lambda op=op, k=k: rspca.relax(op, k))
            paper = rspca.relax(op, k, solver="projected").x
            convex = refit(A, np.linalg.eigh(relaxed.X)[1][:, -1], k)
            default = METHODS["rspca"](op, 1, k, rng=np.random.default_rng(0))[0].variance
            rows.append({
                "data": name, "n": len(A), "k": k, "x'Ax": stationary.variance / largest,
                "tr AX": float(np.sum(A * relaxed.X)) / largest, "stage 1": refit(A, stationary.x, k) / largest,
                "the paper's iterate": refit(A, paper, k) / largest, "convex": convex / largest,
                "default": default / largest, "upper": relaxed.upper / largest,
                "converged": int(relaxed.converged), "time ratio": convex_time / stationary_time,
            })  # fmt: skip
    if rows:
        show(rows)
    rows = save("convex", rows, absent)
    if not absent:
        save_facts("convex", machine=machine())
    draw(rows)


def draw(rows: list[Row]) -> None:
    """Draw what each way reaches of the upper bound, and how much longer the convex one takes."""
    figure, axes = plt.subplots(1, 2, figsize=(11, 6), layout="constrained", width_ratios=(1.2, 1))
    ways = {"stage 1": "stage 1", "convex": "semidefinite relaxation", "default": "our default"}
    for key, marker in (("stage 1", "o"), ("convex", "x"), ("default", "*")):
        reached = [row[key] / row["upper"] for row in rows]
        axes[0].plot(reached, range(len(rows)), marker, label=ways[key], ms=6, mfc="none")
    axes[0].axvline(1.0, color="k", lw=1)
    axes[0].set_yticks(range(len(rows)), [f"{row['data']}, k = {row['k']}" for row in rows], fontsize=7)
    axes[0].invert_yaxis()
    axes[0].set_xlabel("variance after refit, as a share of the upper bound")
    shares_axis(axes[0].xaxis)
    legend_above(axes[0], 3)
    axes[1].loglog([row["n"] for row in rows], [row["time ratio"] for row in rows], "o")
    axes[1].set(xlabel="number of features", ylabel="time of the semidefinite relaxation, in units of stage 1")
    axes[1].set_xticks([15, 30, 60, 120], ["15", "30", "60", "120"])
    axes[1].minorticks_off()
    plain_axis(axes[1].yaxis)
    for ax in axes:
        ax.grid(alpha=0.3)
    save_figure(figure, "convex")


if __name__ == "__main__":
    main()
