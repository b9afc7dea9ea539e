"""The appendix's rotation figure: sorted magnitudes of the first column of V and of the Hadamard matrix it comes from.

    python experiments/rotation.py

Writes results/rotation.csv and docs/figures/rotation.png.
"""

from __future__ import annotations

import numpy as np
from kept import plt, save, save_figure, say, show

import rspca

M, N, THETA = 2**7, 2**12, 0.27 * np.pi


def first_column(theta: float) -> np.ndarray:
    """Return |V_1|, sorted: the leading right singular vector of the family without noise."""
    X = rspca.datasets.make_hadamard(M, N, theta, noise=0.0)
    return np.sort(np.abs(np.linalg.svd(X, full_matrices=False)[2][0]))


def main() -> None:
    rotated, plain = first_column(THETA), first_column(0.0)
    # a pair of equal entries 1 / sqrt(n) becomes (cos - sin, cos + sin) / sqrt(n)
    expected = {
        "roughly zero": (0.25, abs(np.cos(THETA) - np.sin(THETA))), "moderate": (0.5, 1.0),
        "large": (0.25, np.cos(THETA) + np.sin(THETA)),
    }  # fmt: skip
    rows = []
    for name, (part, size) in expected.items():
        ours = float(np.mean(np.abs(rotated * np.sqrt(N) - size) < 1e-6))
        rows.append({"entries": name, "size": float(size), "paper": part, "ours": ours, "difference": ours - part})
    say(f"n = {N}, theta = 0.27 pi: parts of |V_1| by size, in units of 1 / sqrt(n)")
    show(rows)
    save("rotation", rows)
    figure, ax = plt.subplots(figsize=(6, 3.4))
    ax.plot(rotated, "r--", label="after the rotation")
    ax.plot(plain, "b-", label="before, Hadamard matrix")
    ax.set(xlabel="entries, in order of their magnitude", ylabel="magnitude of the entry")
    ax.legend(frameon=False)
    ax.grid(alpha=0.3)
    save_figure(figure, "rotation")


if __name__ == "__main__":
    main()
