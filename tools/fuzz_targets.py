"""What is fuzzed: every reader of files, small right files to begin with, and what accepted data must fulfil."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from damage import Files
from fuzz_seeds import (
    DATA,
    DOCWORD,
    FOLDER,
    GEO,
    REGIONS,
    SETTINGS,
    SITE,
    SMART,
    TEXTS,
    X,
    archives,
    certificates,
    genotypes_into,
    h5ad,
    models,
    mtx,
    npz,
    outputs,
    parquet,
    partials,
    pgen,
    saved,
    tables,
    tenx_h5,
    vcf_zarr,
    written,
    zarr_cells,
)

import rspca
from rspca.cli.support.checkpoint import Partial
from rspca.cli.support.inputs import labels_of
from rspca.cli.support.outputs import read_scores
from rspca.cli.support.spreadsheets import read_csv
from rspca.datasets.download import unpacked
from rspca.datasets.registry import Remote
from rspca.formats import read_laser, read_plink, read_series_matrix, read_smart
from rspca.genetics.regions import read_regions
from rspca.operators.convert import prepare
from rspca.report import render, report_content


class Broken(Exception):
    """Accepted data that do not hold together."""


class Target(NamedTuple):
    """A reader: files that are right, what reads a folder of them, and words of the format."""

    seeds: Callable[[], list[Files]]
    run: Callable[[Path], None]
    words: tuple[bytes, ...] = ()


def must(condition: Any, message: str) -> None:
    """Raise if accepted data break a promise."""
    if not condition:
        raise Broken(message)


# --- promises ---------------------------------------------------------------------------------------------------------


def check_table(table: rspca.Table, where: Path) -> None:
    """Check names and lengths, then that the data can be worked on or are refused for NaN, infinity or their size."""
    m, n = table.shape
    must(m > 0 and n > 0, "an empty table")
    must(len(table.feature_names) == n and len(table.sample_names) == m, "names of another number")
    for side, columns in ((n, table.features), (m, table.samples)):
        for name, column in columns.items():
            must(isinstance(name, str) and len(column) == side, "a column of another length")
            must(np.asarray(column).dtype.kind in "biufU", "a column of objects")
    must(np.dtype(table.operator.dtype).kind == "f", "values that are no numbers")
    if m * n > 10**6:
        return
    try:
        op = prepare(table.operator, center=m > 1)
    except ValueError as error:
        if "NaN or infinite" in str(error) or "norm above" in str(error):
            return
        raise
    must(np.isfinite(op.sq_norms).all(), "norms that are not finite")
    must(np.isfinite(op.columns(np.arange(min(n, 3)))).all(), "values that are not finite")


def read_table(name: str, **options: Any) -> Callable[[Path], None]:
    """Return what reads one file or folder with ``rspca.read``."""

    def run(folder: Path) -> None:
        check_table(rspca.read(folder / name if name else folder, **options), folder)

    return run


def check_genotypes(found: Any) -> None:
    """Check the plain reading of genotypes."""
    must(found.matrix.shape == (len(found.people), len(found.variants)), "genotypes of another shape")
    must(len(found.chromosomes) == len(found.variants), "chromosomes of another number")
    must(((found.matrix >= 0) & (found.matrix <= 2)).all(), "genotypes outside of 0 to 2")


def run_plink(folder: Path) -> None:
    """Read genotypes plainly and packed."""
    check_genotypes(read_plink(folder / "g.bed"))
    table = rspca.read(folder / "g.bed", chromosomes="all", max_missing=0.99)
    check_table(table, folder)


def run_pgen(folder: Path) -> None:
    """Read hard calls and dosages."""
    for dosages in (False, True):
        check_table(rspca.read(folder / "g.pgen", chromosomes="all", max_missing=0.99, dosages=dosages), folder)


def run_laser(folder: Path) -> None:
    """Read genotypes of LASER."""
    found, populations = read_laser(folder / "g.geno", folder / "g.site")
    check_genotypes(found)
    must(len(populations) == len(found.people), "populations of another number")


def run_smart(folder: Path) -> None:
    """Read SMART documents."""
    numbers = [one.number for one in read_smart(folder / "docs.all")]
    must(numbers and numbers == sorted(set(numbers)), "documents out of order")
    check_table(rspca.read(folder / "docs.all", empty="drop"), folder)


def run_geo(folder: Path) -> None:
    """Read a series matrix."""
    study = read_series_matrix(folder / "study.txt")
    must(study.matrix.shape == (len(study.sample_names), len(study.feature_names)), "a study of another shape")
    must(not np.isinf(study.matrix).any(), "infinite values in a study")


def run_regions(folder: Path) -> None:
    """Read regions, and names of SNPs and people to use."""
    for region in read_regions(folder / "regions.bed"):
        must(1 <= region.first <= region.last + 1, "a region that ends before it begins")
    genotypes_into(folder)
    options = {"snps": folder / "snps.txt", "samples": folder / "people.txt", "exclude": folder / "regions.bed"}
    try:
        check_table(rspca.read(folder / "g.bed", chromosomes="all", max_missing=0.99, **options), folder)
    except ValueError as error:
        if not any(said in str(error) for said in ("No SNP is left", "None of the", "No SNP has", "no call at all")):
            raise


def run_model(folder: Path) -> None:
    """Load a model and use it."""
    model = rspca.load(folder / "model.npz")
    n = model.n_features_in_
    must(model.components_.shape == (model.n_components_, n), "components of another shape")
    must(np.isfinite(model.components_).all(), "components that are not finite")
    must(np.allclose(np.linalg.norm(model.components_, axis=1), 1.0, atol=1e-5), "components without unit length")
    if n <= 10**4:
        must(model.transform(np.zeros((2, n))).shape == (2, model.n_components_), "scores of another shape")
        must(np.isfinite(model.explained_variance_ratio_).all(), "variances that are not finite")
        model.save(folder / "again.npz")
        rspca.load(folder / "again.npz")
        render(report_content(model))
    for certificate in getattr(model, "certificates_", []):
        check_certificate(certificate)


def run_certificate(folder: Path) -> None:
    """Load a certificate and show it."""
    check_certificate(rspca.Certificate.load(folder / "proof.json"))


def check_certificate(one: rspca.Certificate) -> None:
    """Check the numbers of a certificate against each other."""
    must(0.0 < one.lower <= one.upper < math.inf and one.gap >= 0.0, "bounds out of order")
    must(one.support.shape == one.loadings.shape and 1 <= len(one.support) <= one.k <= one.n_features, "another k")
    must(one.support.min() >= 0 and one.support.max() < one.n_features, "features that are not there")
    must((np.diff(one.support) > 0).all(), "a support out of order")
    must(np.isfinite(one.loadings).all() and abs(np.linalg.norm(one.loadings) - 1.0) < 1e-6, "loadings")
    must(isinstance(str(one), str), "no words")
    must(rspca.Certificate.from_json(json.loads(json.dumps(one.as_json()))).k == one.k, "no JSON")


def run_partial(folder: Path) -> None:
    """Go on after what an interrupted fit kept."""
    for one in Partial(folder, SETTINGS, DATA).resume():
        must(
            one.n_features == 4 and one.support.dtype.kind == "i" and len(one.support) == len(one.loadings) > 0, "size"
        )
        must((np.diff(one.support) > 0).all() and one.support[0] >= 0 and one.support[-1] < 4, "a support out of order")
        must(np.isfinite(one.loadings).all() and abs(np.linalg.norm(one.loadings) - 1.0) < 1e-6, "loadings")
        must(math.isfinite(one.variance) and one.variance >= 0.0, "a variance that is none")
        p = one.inclusion_probability
        must(p is None or (p.shape == (4,) and (p >= 0).all() and (p <= 1).all()), "probabilities that are none")
        must(isinstance(one.n_iter, int) and isinstance(one.converged, bool), "numbers of another type")
        rspca.decompose(X, 2, k=2, earlier=[one], random_state=0)


def run_outputs(folder: Path) -> None:
    """Read components.csv and scores.csv back, and a file of labels."""
    head, rows = read_csv(folder / "components.csv")
    must(all(len(row) == len(head) for row in rows), "rows of another length")
    scores, names, samples = read_scores(folder / "scores.csv", 2)
    must(scores.shape == (len(names), 2) and np.isfinite(scores).all() and len(names) > 0, "scores that are none")
    must(all(len(one) == len(names) for one in samples.values()), "labels of another number")
    labels_of(str(folder / "labels.txt"), [f"s{i}" for i in range(5)], {})


def run_archive(folder: Path) -> None:
    """Take a member out of an archive, as downloads do."""
    raw = (folder / "data.tar.gz").read_bytes()
    try:
        content = unpacked(raw, Remote("https://example.org/data.tar.gz", "0", member="med.all"))
    except ValueError as error:
        raise ValueError(f"{folder}: {error}") from error  # the caller adds where it is from
    must(len(content) < 10**6, "more than the archive can hold")


TARGETS: dict[str, Target] = {
    "plink": Target(lambda: [written(genotypes_into)], run_plink, (b"\x6c\x1b\x01", b" 0 ", b"chr1", b"snp0", b"I1")),
    "pgen": Target(pgen, run_pgen, (b"\x6c\x1b\x10", b"#CHROM", b"#IID", b"\tA,C\t", b"\x28\xb5\x2f\xfd", b"rs1")),
    "regions": Target(lambda: [REGIONS], run_regions, (b"chr", b"snp1\n", b"I1\n", b"track", b"\t0\t")),
    "laser": Target(
        lambda: [{"g.geno": b"Tuscan P1 0 2\nTuscan P2 1 -9\nHan P3 2 2\n", "g.site": SITE}], run_laser,
        (b" -9", b"CHR"),
    ),
    "smart": Target(
        lambda: [{"docs.all": SMART}, {"docs.all": gzip.compress(SMART, mtime=0)}], run_smart, (b".I 3", b".W")
    ),
    "geo": Target(
        lambda: [{"study.txt": GEO}, {"study.txt": gzip.compress(GEO, mtime=0)}], run_geo,
        (b"!Sample_", b"!Series_", b"!series_matrix_table_end", b'"'),
    ),
    "csv": Target(tables, read_table("t.csv"), (b"NA", b"class", b"1,5", b'"', b"id")),
    "npy": Target(
        lambda: [{"a.npy": saved(np.save, one)} for one in (X, X.T, X.astype("f4"), np.arange(6).reshape(2, 3))],
        read_table("a.npy"),
        (b"'<f8'", b"'|O'", b"'<c16'", b"'<U4'", b"'>i2'", b"True", b"(5, 4)", b"(-1, 4)", b"'<M8[s]'"),
    ),
    "npz": Target(npz, read_table("m.npz"), (b"'|O'", b"csr", b"csc", b"'<U4'", b"dia", b"bsr")),
    "mtx": Target(
        mtx, read_table(""), (b"symmetric", b"complex", b"pattern", b"skew-symmetric", b"hermitian", b"array")
    ),
    "documents": Target(lambda: TEXTS, read_table("docs.txt", empty="drop"), (b"flow", b"wing")),
    "docword": Target(
        lambda: [DOCWORD, DOCWORD | {"docword.a.txt": gzip.compress(DOCWORD["docword.a.txt"], mtime=0)}],
        read_table("docword.a.txt", empty="drop"), (b"1 1 1\n", b"3\n", b"flow"),
    ),
    "folder": Target(lambda: [FOLDER], read_table("", empty="drop"), (b"flow", b"wing")),
    "parquet": Target(parquet, read_table("t.parquet")),
    "h5ad": Target(h5ad, read_table("cells.h5ad")),
    "zarr": Target(
        zarr_cells, read_table("cells.zarr"), (b'"zarr_format": 3', b'"|O"', b'"pickle"', b'"blosc"', b"null", b"[5]")
    ),
    "vcz": Target(
        vcf_zarr, read_table("g.vcz", chromosomes="all", max_missing=0.99), (b'"zarr_format": 2', b'"|O"', b"[6, 5, 2]")
    ),
    "h5": Target(tenx_h5, read_table("counts.h5")),
    "model": Target(models, run_model, (b"null", b"NaN", b"-1", b'"schur"', b"'|O'", b"'<f4'", b"true")),
    "certificate": Target(certificates, run_certificate, (b"null", b"NaN", b"true", b"[]", b"Infinity", b'"optimal"')),
    "partial": Target(partials, run_partial, (b"null", b"NaN", b"true", b"[]", b"'<i4'", b"'<f4'", b"'|O'")),
    "outputs": Target(outputs, run_outputs, (b"'", b"component1", b"nan", b'"')),
    "archive": Target(archives, run_archive, (b"med.all", b"../", b"ustar")),
}  # fmt: skip
