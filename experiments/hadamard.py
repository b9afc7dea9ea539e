"""The synthetic family at scale: time and memory of generating it up to n = 2^16, and of one component of it.

    python experiments/hadamard.py

Writes results/hadamard.csv, results/hadamard.json and docs/figures/hadamard.png.
"""

from __future__ import annotations

import tracemalloc

from kept import (
    Row,
    legend_above,
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

import rspca

M = 2**7


def main() -> None:
    rows: list[Row] = []
    for power in range(10, 17):
        n = 2**power
        spent = seconds(lambda n=n: rspca.datasets.make_hadamard(M, n))
        tracemalloc.start()
        X = rspca.datasets.make_hadamard(M, n)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        unit = seconds(one_svds(prepare(X)))
        found = seconds(lambda X=X, n=n: rspca.decompose(X, 1, k=n // 100, random_state=0))
        rows.append({
            "n": n, "MB of X": X.nbytes / 1e6, "peak over X": peak / X.nbytes, "seconds": spent,
            "over svds": spent / unit, "component over svds": found / unit,
        })  # fmt: skip
    say(f"m = {M}; the paper has n = 2^12")
    show(rows)
    save("hadamard", rows)
    save_facts("hadamard", machine=machine())
    draw(rows)


def draw(rows: list[Row]) -> None:
    """Draw time and memory against the number of features."""
    figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.4), layout="constrained")
    sizes = [row["n"] for row in rows]
    axes[0].plot(sizes, [row["over svds"] for row in rows], "o-", label="to generate the data")
    axes[0].plot(sizes, [row["component over svds"] for row in rows], "s-", label="to find one sparse component")
    axes[0].set(yscale="log", ylabel="time, in units of\none dense component (svds)")
    legend_above(axes[0], 2)
    axes[1].plot(sizes, [row["peak over X"] for row in rows], "^-", color="C2", label="to generate the data")
    axes[1].set(ylabel="peak memory, in units\nof the size of the data", ylim=(0.0, None))
    legend_above(axes[1], 1)
    for ax in axes:
        ax.set(xscale="log", xlabel="number of features")
        ax.set_xticks([1024, 4096, 16384, 65536], ["1,024", "4,096", "16,384", "65,536"])
        ax.minorticks_off()
        ax.grid(alpha=0.3)
    plain_axis(axes[0].yaxis)
    save_figure(figure, "hadamard")


if __name__ == "__main__":
    main()
