"""The synthetic family at scale: time and memory of generating it up to n = 2^16, and of one component of it.

    python experiments/hadamard.py

Writes results/hadamard.csv, results/hadamard.json and docs/figures/hadamard.png.
"""

from __future__ import annotations

import tracemalloc

from kept import Row, machine, one_svds, plt, prepare, save, save_facts, save_figure, say, seconds, show

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
    figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
    curves = {
        "over svds": ("o-", "time to generate, over svds(X, 1)"),
        "component over svds": ("s-", "time of a component, over svds(X, 1)"),
        "peak over X": ("^-", "peak memory, over that of X"),
    }  # fmt: skip
    for key, (style, label) in curves.items():
        ax.loglog([row["n"] for row in rows], [row[key] for row in rows], style, label=label)
    ax.set(xlabel="number of features", ylabel="ratio")
    ax.set_xticks([1024, 4096, 16384, 65536], ["1,024", "4,096", "16,384", "65,536"])
    ax.minorticks_off()
    ax.legend(frameon=False, fontsize=8)
    ax.grid(alpha=0.3)
    save_figure(figure, "hadamard")


if __name__ == "__main__":
    main()
