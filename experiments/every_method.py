"""Every method on the sparse Classic-2 matrix at k = 500: does it run without making the matrix dense, how well.

    python experiments/every_method.py

Writes results/every_method.csv, results/every_method.json and docs/figures/every_method.png.
"""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
from kept import (
    METHODS,
    SHARE_OF_DENSE,
    Row,
    data,
    leading_pairs,
    legend_above,
    load,
    machine,
    needed,
    one_svds,
    plt,
    prepare,
    refitted,
    save,
    save_facts,
    save_figure,
    say,
    seconds,
    shares_axis,
    show,
)

from rspca.base.checks import TooLarge

K = 500


def main() -> None:
    X = needed(data.classic2)
    op = prepare(X)
    unit = seconds(one_svds(op))
    largest = float(leading_pairs(op, 1, tol=1e-9).values[0])
    stored = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    dense = 8 * X.shape[0] * X.shape[1]
    rows: list[Row] = []
    refused = {}
    for method, run in METHODS.items():
        try:
            before = op.passes
            started = time.perf_counter()
            one = run(op, 1, K, normalization="naive", rng=np.random.default_rng(0))[0]
            spent, passes = time.perf_counter() - started, op.passes - before
            tracemalloc.start()
            run(op, 1, K, normalization="naive", rng=np.random.default_rng(0))
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        except TooLarge as reason:
            refused[method] = str(reason)
            say(f"{method}: {reason}")
            continue
        rows.append({
            "method": method, "nonzeros": len(one.support), "f naive": one.variance / largest,
            "f svd": refitted(op, one).variance / largest if method != "pca" else one.variance / largest,
            "time over svds": spent / unit, "passes": passes, "peak over dense X": peak / dense,
        })  # fmt: skip
    rows.sort(key=lambda row: -row["f svd"])
    say(f"Classic-2, {X.shape[0]} x {X.shape[1]}, sparse: {stored / 1e6:.1f} MB stored, {dense / 1e6:.0f} MB if dense")
    show(rows)
    save("every_method", rows)
    save_facts("every_method", machine=machine(), refused=refused, stored_mb=stored / 1e6, dense_mb=dense / 1e6, k=K)
    draw(load("every_method"))


def draw(rows: list[Row]) -> None:
    """Draw the share of each method, with its own loadings and refitted."""
    shown = [row for row in rows if row["method"] != "pca"]
    figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    for key, marker, color, label in (("f naive", "s", "C1", "its own loadings"), ("f svd", "o", "C0", "refitted")):
        ax.plot([row[key] for row in shown], range(len(shown)), marker, color=color, label=label, ms=7, mfc="none")
    ax.set_yticks(range(len(shown)), [row["method"] for row in shown])
    ax.invert_yaxis()
    ax.set_xlabel(SHARE_OF_DENSE)
    ax.grid(alpha=0.3)
    shares_axis(ax.xaxis)
    legend_above(ax, 2)
    save_figure(figure, "every_method")


if __name__ == "__main__":
    main()
