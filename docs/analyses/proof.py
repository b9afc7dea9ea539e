"""All sets of five of the 13 pit props, and the one that a proof says is best: nothing was left to luck."""

from __future__ import annotations

from itertools import combinations
from math import comb, log10
from typing import Any

import numpy as np
from drawing import COLORS, Analysis, plt

import rspca
from rspca.plotting.looks import percent_axis

TITLE = "What a proof means"
QUESTION = "There are many ways to choose five of 13 features. How do I know that these are the best five?"
GUIDE = "certificates.md"
K = 5


def fitted(A: Any) -> tuple[rspca.Certificate, Any]:
    """Return the certificate of five features, and the path over k."""
    pitprops = rspca.GramOperator(A)
    proof = rspca.certify(pitprops, 5)
    path = rspca.path(pitprops, range(1, 14), certify=True)
    return proof, path


def analysis() -> Analysis:
    """Draw the variance of every set of five features, and the path over k with its bounds."""
    A = rspca.datasets.load_pitprops()
    proof, path = fitted(A)
    sets = [list(support) for support in combinations(range(len(A)), K)]
    variances = np.array([np.linalg.eigvalsh(A[np.ix_(support, support)])[-1] for support in sets])
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.3), layout="constrained")
    axes[0].hist(variances, bins=50, color="0.75")
    axes[0].axvline(proof.lower, color=COLORS[0], lw=2, label=f"found: {proof.lower:.3f}")
    axes[0].axvline(proof.upper, color=COLORS[1], lw=2, ls=":", label="proven: none has more")
    axes[0].set(xlabel=f"variance of the best component of {K} given features", ylabel=f"sets of {K} features")
    axes[0].set_ylim(top=95)
    axes[0].legend(frameon=False, loc="upper left", ncols=2)
    axes[0].set_title(f"All {len(sets):,} sets of {K} of {len(A)} features", loc="left")
    largest = float(np.linalg.eigvalsh(A)[-1])
    ks = [point.k for point in path]
    axes[1].plot(ks, [point.variance / largest for point in path], "o-", color=COLORS[0], label="found")
    axes[1].plot(ks, [point.upper / largest for point in path], ":", color=COLORS[1], lw=2, label="proven bound")
    axes[1].set(xlabel="k, number of features", ylabel="share of the variance\nof the dense component", ylim=(0, 1.03))
    axes[1].set_xticks(range(1, 14, 2))
    percent_axis(axes[1].yaxis)
    axes[1].legend(frameon=False, loc="lower right")
    axes[1].set_title("Every k from 1 to 13", loc="left")
    facts = {
        "sets": len(sets), "best": float(variances.max()), "found": float(proof.lower), "nodes": int(proof.nodes),
        "all": bool(all(point.gap <= 1e-6 for point in path)),
    }  # fmt: skip
    return Analysis(figure, facts)


def caption(facts: dict[str, Any]) -> str:
    """Return what the figure shows."""
    every = "; the same is proven for every k from 1 to 13" if facts["all"] else ""
    return (
        "Pit props, the classic example of sparse PCA: correlations of 13 measurements of timber. Left: the "
        "variance of "
        f"each of the {facts['sets']:,} sets of five, computed one by one, and the set that rspca finds. Its "
        "certificate "
        f"proves without this list that none has more{every}. Right: variance found and bound."
    )


def findings(facts: dict[str, Any]) -> str:
    """Return what a reader can learn from it."""
    return (
        f"The best of all sets has variance {facts['best']:.4f}, the component {facts['found']:.4f}. The proof visits "
        f"{facts['nodes']} nodes of a search tree, each of which stands for many sets. A list is no way out "
        "for more features: "
        f"there are 10 to the power {log10(comb(2000, 20)):.0f} sets of 20 of 2,000 genes."
    )
