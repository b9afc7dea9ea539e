"""Gene programs of 700 blood cells, each of ten genes, next to the cell types that nobody gave to the fit."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
from drawing import Analysis, data, plt

import rspca

TITLE = "Gene programs of blood cells"
QUESTION = "Which genes act together in these cells, and in which cells?"
GUIDE = "singlecell.md"
PROGRAMS, GENES, NAMED = 8, 10, 5


def cells() -> Any:
    """Return pbmc68k_reduced, which comes with scanpy: 700 cells, 765 genes, log-normalized."""
    import anndata

    found = importlib.util.find_spec("scanpy")
    if found is None or found.origin is None:
        raise data.DataAbsent("scanpy is not installed, which brings pbmc68k_reduced: pip install scanpy")
    path = Path(found.origin).parent / "datasets" / "10x_pbmc68k_reduced.h5ad"
    return anndata.read_h5ad(path).raw.to_adata()


def fitted(adata: Any) -> Any:
    """Return the programs as a table; adata gets the scores."""
    rspca.spca(adata, n_comps=8, k=10, constraint="disjoint", nonnegative=True)
    programs = rspca.singlecell.programs(adata)  # program, rank, gene, loading, mean, variance_ratio
    return programs


def analysis() -> Analysis:
    """Draw the mean score of each program in each cell type."""
    adata = cells()
    programs = fitted(adata)
    scores = adata.obsm["X_spca"] / adata.obsm["X_spca"].std(axis=0)
    types = adata.obs["bulk_labels"].astype(str).to_numpy()
    names = np.unique(types)
    means = np.array([scores[types == name].mean(axis=0) for name in names]).T
    order = column_order(means)
    means, names = means[:, order], names[order]
    genes = [adata.var_names[np.argsort(-column)[:GENES]].tolist() for column in adata.varm["sPCs"].T]
    figure = draw(means, names, genes)
    best = [names[row.argmax()] for row in means]
    facts = {
        "cells": adata.n_obs, "genes": adata.n_vars, "used": len(set(programs["gene"])), "types": len(names),
        "programs": [{"genes": g, "type": str(b)} for g, b in zip(genes, best, strict=True)],
    }  # fmt: skip
    return Analysis(figure, facts)


def column_order(means: Any) -> Any:
    """Return cell types ordered by the program in which they are highest."""
    return np.lexsort((-means.max(axis=0), means.argmax(axis=0)))


def draw(means: Any, names: Any, genes: list[list[str]]) -> Any:
    """Draw programs by cell types as colored cells, with the genes of each program to its left."""
    figure, ax = plt.subplots(figsize=(8.6, 4.3), layout="constrained")
    limit = np.abs(means).max()
    image = ax.imshow(means, cmap=plt.get_cmap("RdBu_r", 15), vmin=-limit, vmax=limit, aspect="auto")
    ax.set_yticks(range(len(genes)), [", ".join(row[:NAMED]) + " …" for row in genes], fontsize=8.5)
    ax.set_xticks(range(len(names)), names, rotation=35, ha="right", rotation_mode="anchor", fontsize=8.5)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    for line in np.arange(0.5, len(genes) - 1):
        ax.axhline(line, color="white", lw=1.5)
    for line in np.arange(0.5, len(names) - 1):
        ax.axvline(line, color="white", lw=1.5)
    figure.colorbar(image, ax=ax, shrink=0.8, label="mean score, in standard deviations")
    ax.set_title(f"{len(genes)} programs of {GENES} genes, and where they are active", loc="left")
    return figure


def caption(facts: dict[str, Any]) -> str:
    """Return what the figure shows."""
    return (
        f"{facts['cells']} blood cells of {facts['types']} types. The fit has seen {facts['genes']} genes and no "
        f"cell type. It returns {PROGRAMS} programs of {GENES} genes, {facts['used']} genes in all; colors show where "
        f"each is active."
    )


def findings(facts: dict[str, Any]) -> str:
    """Return what a reader can learn from it."""
    rows = "\n".join(
        f"| {number} | {', '.join(program['genes'][:6])} | {program['type']} |"
        for number, program in enumerate(facts["programs"], 1)
    )
    return (
        f'`constraint="disjoint"` gives every gene to one program, and `nonnegative=True` lets a program only go up: '
        "a list of genes, not a contrast.\n\n| program | genes of largest loading | highest in "
        f"|\n|---|---|---|\n{rows}"
    )
