"""Reports of real data that tests and tools/screens.py look at: people, cells, documents and wine."""

from __future__ import annotations

import importlib.util
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine

import rspca
from benchmarks.data import data_path
from rspca.report import write_report


def hapmap3(page):
    """HapMap3, 10 components of 50 SNPs, with the populations of the people."""
    pytest.importorskip("numba")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about SNPs that are not on autosomes
        table = rspca.read(data_path("hapmap3_flashpca", "data.bed"))
    lines = data_path("hapmap3_flashpca", "relationships_w_pops_121708.txt").read_text().splitlines()[1:]
    population = {(words := line.split())[1]: words[-1] for line in lines}
    model = rspca.SparsePCA(10, k=50, scale="patterson", random_state=0).fit(table)
    people = [str(name) for name in table.sample_names]
    return write_report(
        page, model, scores=model.transform(table), sample_names=people, kind="genotypes", label="population",
        samples={"population": [population.get(name) for name in people]}, title="People told apart by 50 SNPs",
    )  # fmt: skip


def pbmc68k_reduced(page):
    """700 cells of scanpy's pbmc68k_reduced, 8 components of 20 genes, with the types of the cells."""
    found = importlib.util.find_spec("scanpy")
    file = None if found is None else Path(found.origin).parent / "datasets" / "10x_pbmc68k_reduced.h5ad"
    if file is None or not file.exists():
        pytest.skip("pbmc68k_reduced comes with scanpy, which is not installed: pip install scanpy")
    anndata = pytest.importorskip("anndata")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the file has the layout of an early anndata
        cells = anndata.read_h5ad(file)
    X = cells.to_df()
    model = rspca.SparsePCA(8, k=20, nonnegative=True, random_state=0).fit(X)
    return write_report(
        page, model, scores=model.transform(X), sample_names=list(X.index), kind="cells", label="bulk_labels",
        samples={name: cells.obs[name] for name in ("bulk_labels", "phase", "n_genes", "percent_mito")},
        title="Gene programs of blood cells",
    )  # fmt: skip


def classic3(page):
    """The collections CISI, CRAN and MED, 10 topics of 20 words."""
    files = [data_path("classic2", name) for name in ("CISI.ALL.gz", "cran.all.1400.gz", "MED.ALL.gz")]
    table = rspca.read(files, empty="drop")
    model = rspca.SparsePCA(10, k=20, method="topics", center=False, random_state=0).fit(table)
    collection = [str(name).partition(" ")[0].partition(".")[0] for name in table.sample_names]
    return write_report(
        page, model, scores=model.transform(table), sample_names=table.sample_names, label="collection",
        samples={"collection": collection}, kind="documents", title="Ten topics of three collections",
    )  # fmt: skip


def wine(page):
    """178 wines, with every panel that has data."""
    data = load_wine(as_frame=True)
    X, options = data.data, {"scale": True, "random_state": 0}
    model = rspca.SparsePCA(4, k=4, joint=True, certify=True, certify_seconds=1.0, **options).fit(X)
    model.stability(X, 1, 0)
    cultivars = np.array(["Barolo", "Grignolino", "Barbera"])[data.target]
    return write_report(
        page, model, scores=model.transform(X), samples={"cultivar": cultivars, "alcohol": X["alcohol"]},
        label="cultivar", title="Wine", provenance={"input": "load_wine of scikit-learn", "seed": 0},
        path_points=rspca.path(X, [1, 2, 4, 8, 13], certify=True, seconds=1.0, cv=3, **options),
        test=rspca.permutation_test(X, 4, 4, n_permutations=19, **options),
        comparison=rspca.compare(X, 4, methods=["rspca", "maxcomp", "pca"], certify_seconds=1.0, **options),
    )  # fmt: skip


REPORTS = {make.__name__: make for make in (hapmap3, pbmc68k_reduced, classic3, wine)}
