"""Four kinds of tumor in 63 samples: which components and genes are more than chance? Khan 2001."""

from __future__ import annotations

from typing import Any

import numpy as np
from drawing import COLORS, MARKERS, Analysis, data, plt

import rspca
from rspca.plotting.looks import component_label, legend_below, percent_axis

TITLE = "Is it real? Genes of four tumors"
QUESTION = "63 samples, 2,308 genes: which components and which genes would another sample show too?"
GUIDE = "statistics.md"
KINDS = {"EWS": "Ewing sarcoma", "RMS": "rhabdomyosarcoma", "NB": "neuroblastoma", "BL": "Burkitt lymphoma"}
SHOWN = 20
STABLE = 0.9


def fitted(X: Any) -> tuple[rspca.SparsePCA, Any, Any, Any]:
    """Return the model, how stable its genes are, the permutation test, and the path over k."""
    model = rspca.SparsePCA(4, k=20, random_state=0).fit(X)
    stable = model.stability(X, n_pairs=50, random_state=0)  # halves of the samples
    test = rspca.permutation_test(X, 8, 20, n_permutations=99)  # columns permuted
    path = rspca.path(X, [5, 20, 80, 320, 1280], cv=5)  # held-out variance
    return model, stable, test, path


def analysis() -> Analysis:
    """Draw the permutation test, the held-out variance, stability of genes, and the samples."""
    with np.load(data.data_path("gene_expression", "khan.npz")) as stored:
        X, kinds = stored["X"].astype(float), stored["y"]
    model, stable, test, path = fitted(X)
    figure, axes = plt.subplots(1, 3, figsize=(10.4, 4.2), layout="constrained", width_ratios=(1.1, 0.8, 1))
    rspca.plotting.PermutationDisplay.from_test(test, ax=axes[0])
    axes[0].set_title("How many components?", loc="left")
    shares = stable.shares(0)[model.supports_[0]]
    order = np.argsort(-shares, kind="stable")
    genes = [f"{gene + 1:,}" for gene in model.supports_[0][order]]
    axes[1].barh(range(SHOWN), shares[order], color=np.where(shares[order] >= STABLE, COLORS[0], "0.75"))
    axes[1].axvline(STABLE, color="0.4", lw=0.8, ls="--")
    axes[1].set_yticks(range(SHOWN), genes, fontsize=7)
    axes[1].set(
        xlabel="half-samples that choose the gene", xlim=(0, 1.02), ylim=(SHOWN - 0.4, -0.6),
        ylabel="gene of component 1, by its number:\nthe data have no names of genes",
    )  # fmt: skip
    percent_axis(axes[1].xaxis)
    axes[1].set_title("Which genes?", loc="left")
    scores = model.transform(X)
    for number, (kind, name) in enumerate(KINDS.items()):
        chosen = kinds == kind
        axes[2].scatter(*scores[chosen][:, [0, 2]].T, c=COLORS[number], marker=MARKERS[number], s=22, label=name)
    for axis, number in (("xlabel", 0), ("ylabel", 2)):
        axes[2].set(**{axis: component_label(number, model.explained_variance_ratio_)})
    legend_below(axes[2], *axes[2].get_legend_handles_labels())
    axes[2].set_title("What do they show?", loc="left")
    facts = {
        "components": int(test.suggested), "tested": 8, "k": int(path.suggested),
        "stable": int(np.sum(shares >= STABLE)), "cosine": [float(value) for value in stable.cosine],
        "samples": X.shape[0], "genes": X.shape[1],
    }  # fmt: skip
    return Analysis(figure, facts)


def caption(facts: dict[str, Any]) -> str:
    """Return what the figure shows."""
    return (
        f"{facts['samples']} tumors, {facts['genes']:,} genes, components of {SHOWN} genes. {facts['components']} of "
        f"{facts['tested']} components have more variance than permuted data (99 permutations, level 0.05). "
        f"{facts['stable']} genes of the first one are chosen in at least 90 % of half-samples. Components 1 "
        "and 3 separate "
        "the kinds, which the fit has not seen."
    )


def held_out(k: int) -> str:
    """Return what held-out variance says about k."""
    return f"Held-out variance suggests k = {k:,}: many genes carry the signal, and 20 is a choice for reading."


def findings(facts: dict[str, Any]) -> str:
    """Return what a reader can learn from it."""
    least = min(facts["cosine"])
    return (
        "More than chance is not the same as reproducible: two halves of the samples agree on the first four "
        "components "
        f"with cosines from {least:.2f} to {max(facts['cosine']):.2f}. {held_out(facts['k'])} "
        "Component 2 separates no kind of tumor: variance need not be what you look for."
    )
