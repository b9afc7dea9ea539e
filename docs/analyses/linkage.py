"""Linked SNPs: a component of one stretch of chromosome 22, and what groups do about it. HGDP, worldwide."""

from __future__ import annotations

import gzip
from functools import partial
from typing import Any

import numpy as np
from drawing import COLORS, Analysis, data, plt

import rspca
from rspca.datasets import fetch_hgdp

TITLE = "One stretch of a chromosome, or all of it"
QUESTION = "Does a component of SNPs describe people, or one block of linked SNPs?"
GUIDE = "genotypes.md"
K, WINDOW, COMPONENT = 20, 500_000, 1
FILES = tuple(f"hgdp_world_chr22/HGDP_238_chr22_subset.{kind}.gz" for kind in ("geno", "site"))


def fitted(X: Any, positions: Any) -> tuple[rspca.SparsePCA, rspca.SparsePCA]:
    """Return a model without a limit, and one with at most one SNP in each window."""
    plain = rspca.SparsePCA(2, k=20, scale="patterson", random_state=0).fit(X)
    windows = positions // 500_000  # or groups=500_000, where X was read from a genotype file
    limited = rspca.SparsePCA(2, k=20, scale="patterson", groups=windows, random_state=0).fit(X)
    return plain, limited


def analysis() -> Analysis:
    """Draw where the SNPs of the second component are, without and with windows."""
    X = data.fetched(partial(fetch_hgdp, subset="world"), *FILES).matrix
    with gzip.open(data.data_path(*FILES[1].split("/")), "rt") as lines:
        next(lines)
        positions = np.array([int(line.split()[1]) for line in lines])
    models = dict(zip(("without a limit", "one SNP in 500,000 base pairs"), fitted(X, positions), strict=True))
    facts: dict[str, Any] = {"people": X.shape[0], "snps": X.shape[1]}
    figure, axes = plt.subplots(2, 1, figsize=(8.6, 3.6), layout="constrained", sharex=True, sharey=True)
    for ax, color, (name, model) in zip(axes, COLORS, models.items(), strict=False):
        support = model.supports_[COMPONENT]
        loadings = model.components_[COMPONENT, support]
        ax.vlines(positions[support] / 1e6, 0, np.abs(loadings), color=color, lw=1.6)
        ax.plot(positions[support] / 1e6, np.abs(loadings), "o", color=color, ms=4)
        ax.plot(positions / 1e6, np.full(len(positions), -0.02), "|", color="0.7", ms=5, mew=0.3)
        ax.set_title(f"{name}: {K} SNPs over {np.ptp(positions[support]) / 1e6:.1f} million base pairs", loc="left")
        correlations = np.abs(np.corrcoef(X[:, support], rowvar=False)[np.triu_indices(K, 1)])
        facts[name] = {
            "megabases": float(np.ptp(positions[support]) / 1e6),
            "correlation": float(correlations.mean()),
            "variance": float(model.explained_variance_ratio_[COMPONENT]),
        }
    axes[1].set_xlabel("position on chromosome 22, million base pairs")
    figure.supylabel("size of loading", fontsize=9)
    return Analysis(figure, facts)


def caption(facts: dict[str, Any]) -> str:
    """Return what the figure shows."""
    plain, limited = facts["without a limit"], facts["one SNP in 500,000 base pairs"]
    return (
        f"The second component of {K} of {facts['snps']:,} SNPs of chromosome 22, {facts['people']} people of "
        "the whole "
        f"world (HGDP). Without a limit its SNPs lie within {plain['megabases']:.1f} million base pairs and "
        "repeat each "
        f"other: their mean correlation is {plain['correlation']:.2f}. With windows they are spread over "
        f"{limited['megabases']:.0f} million, and it is {limited['correlation']:.2f}."
    )


def findings(facts: dict[str, Any]) -> str:
    """Return what a reader can learn from it."""
    plain, limited = facts["without a limit"], facts["one SNP in 500,000 base pairs"]
    return (
        "Copies of one SNP have much variance together, so a component of most variance picks them. Windows cost "
        f"variance ({100 * limited['variance']:.2f} % of the total where {100 * plain['variance']:.2f} % is "
        "possible) and "
        'buy a component about people. `groups="r2:0.2"` uses the correlations themselves instead of distances.'
    )
