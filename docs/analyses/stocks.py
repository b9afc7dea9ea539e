"""Sectors of the stock market, from correlations alone: 423 companies, 2010 to 2019."""

from __future__ import annotations

import csv
import lzma
from typing import Any

import numpy as np
from drawing import COLORS, Analysis, data, plt

import rspca

TITLE = "Sectors of the stock market"
QUESTION = "Which companies move together, once the market as a whole is taken away?"
GUIDE = "statistics.md"
COMPONENTS, K = 8, 10
SECTORS = {
    "ED": "electric power", "AVB": "real estate", "DVN": "oil and gas", "GIS": "packaged food", "FITB": "banks",
    "KEY": "banks", "HUM": "health insurance and care", "LRCX": "semiconductors", "ROST": "retail",
}  # fmt: skip
"""What the company of largest loading does: words of the author of this page, not of the fit."""


def correlations() -> tuple[Any, list[str]]:
    """Return correlations of daily returns without the leading factor, and the names of companies."""
    with lzma.open(data.data_path("sp500_correlations", "snp500_corr.csv.xz"), "rt") as lines:
        head, *rows = csv.reader(lines)
    return np.array([row[1:] for row in rows], dtype=float), head[1:]


def fitted(A: Any) -> tuple[rspca.Decomposition, Any]:
    """Return the components, and the proof of the first."""
    market = rspca.GramOperator(A)  # correlations are enough: no return of any day is needed
    found = rspca.decompose(market, 8, k=10, random_state=0)
    proof = rspca.certify(market, 10)
    return found, proof


def analysis() -> Analysis:
    """Draw the companies of each component, the size of their loadings as length."""
    A, names = correlations()
    found, proof = fitted(A)
    figure, ax = plt.subplots(figsize=(9, 3.9), layout="constrained")
    components = []
    for row, component in enumerate(found.components):
        order = np.argsort(-np.abs(component.loadings))
        tickers = [names[component.support[place]] for place in order]
        components.append({"companies": tickers, "sector": SECTORS.get(tickers[0], "")})
        left = 0.0
        for ticker, size in zip(tickers, np.abs(component.loadings[order]), strict=True):
            ax.barh(row, size, left=left, height=0.82, color=COLORS[row], alpha=0.35, edgecolor="white", lw=1.5)
            ax.text(left + size / 2, row, ticker, ha="center", va="center", fontsize=8)
            left += size
    labels = [f"{number}  {component['sector']}" for number, component in enumerate(components, 1)]
    ax.set_yticks(range(len(components)), labels)
    ax.invert_yaxis()
    ax.set_xticks([])
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.tick_params(length=0)
    ax.set_xlabel("companies by size of their loading (width)")
    variances = [component.variance for component in found.components]
    facts = {
        "companies": len(names), "components": components, "share": float(sum(variances) / np.trace(A)),
        "status": proof.status, "gap": float(proof.gap),
    }  # fmt: skip
    return Analysis(figure, facts)


def caption(facts: dict[str, Any]) -> str:
    """Return what the figure shows."""
    proven = (
        "proven optimal" if facts["status"] == "optimal" else f"within {100 * facts['gap']:.1f} % of a proven bound"
    )
    return (
        f"{COMPONENTS} components of {K} of {facts['companies']} companies, from the correlations of their "
        "daily returns "
        f"after the common factor is removed. The names of sectors are ours. The first component is {proven}."
    )


def findings(facts: dict[str, Any]) -> str:
    """Return what a reader can learn from it."""
    used = len({name for component in facts["components"] for name in component["companies"]})
    return (
        f"A correlation matrix is enough: `rspca.GramOperator(A)`. Nothing names a sector in the data, and "
        f"{used} different companies are in the {COMPONENTS} components, which together have "
        f"{100 * facts['share']:.1f} % of the trace. The data are those that the authors of msPCA publish with their "
        "package."
    )
