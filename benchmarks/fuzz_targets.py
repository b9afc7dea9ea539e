"""What is fuzzed: every reader of files, small right files to begin with, and what accepted data must fulfil."""

from __future__ import annotations

import csv
import functools
import gzip
import io
import json
import math
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.io
import scipy.sparse as sp
from mutations import Files, packed

import rspca
from rspca.commands.inputs import labels_of
from rspca.commands.outputs import read_scores, write_components, write_scores
from rspca.commands.partial import NAME, Partial
from rspca.commands.spreadsheets import read_csv
from rspca.datasets.download import unpacked
from rspca.datasets.registry import Remote
from rspca.formats import read_laser, read_plink, read_series_matrix, read_smart, write_plink
from rspca.formats.regions import read_regions
from rspca.operators.sources import prepare
from rspca.report import render, report_content

X = np.random.default_rng(0).standard_normal((5, 4)).round(2)
NAMES = ["alpha", "beta", "gamma", "delta"]


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


def run_laser(folder: Path) -> None:
    """Read genotypes of LASER."""
    found, populations = read_laser(folder / "g.geno", folder / "g.site")
    check_genotypes(found)
    must(len(populations) == len(found.people), "populations of another number")


def run_smart(folder: Path) -> None:
    """Read SMART documents."""
    numbers = [one.number for one in read_smart(folder / "docs.all")]
    must(numbers and numbers == sorted(set(numbers)), "documents out of order")


def run_geo(folder: Path) -> None:
    """Read a series matrix."""
    study = read_series_matrix(folder / "study.txt")
    must(study.matrix.shape == (len(study.sample_names), len(study.feature_names)), "a study of another shape")
    must(not np.isinf(study.matrix).any(), "infinite values in a study")


def run_regions(folder: Path) -> None:
    """Read regions, and names of SNPs and people to use."""
    for region in read_regions(folder / "regions.bed"):
        must(1 <= region.first <= region.last + 1, "a region that ends before it begins")
    _genotypes_into(folder)
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
    must(rspca.Certificate.from_json(json.loads(json.dumps(one.as_json(), allow_nan=False))).k == one.k, "no JSON")


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


# --- seeds ------------------------------------------------------------------------------------------------------------


def _written(write: Callable[[Path], None]) -> Files:
    """Return what a function writes into an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        return {str(one.relative_to(folder)): one.read_bytes() for one in Path(folder).rglob("*") if one.is_file()}


def _saved(save: Callable[..., None], *arguments: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    save(file, *arguments, **options)
    return file.getvalue()


def _members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _both(name: str, content: bytes) -> list[Files]:
    """Return an archive twice: as its bytes, and as its members."""
    members = _members(content)
    return [{name: members}, {name: content}, {name: packed(members, zipfile.ZIP_DEFLATED)}]


def _genotypes_into(folder: Path) -> None:
    write_plink(folder / "g.bed", [[0, 1, 2], [2, np.nan, 0], [1, 1, 0], [0, 2, 1], [2, 2, 1]])


def _tables() -> list[Files]:
    rows = [[f"s{i}", *map(str, row), "ab"[i % 2]] for i, row in enumerate(X)]
    texts = []
    for delimiter in ",\t;":
        file = io.StringIO()
        csv.writer(file, delimiter=delimiter).writerows([["id", *NAMES, "class"], *rows])
        texts.append(file.getvalue().encode())
    texts += [
        "\n".join(" ".join(map(str, row)) for row in X).encode(),
        b"\xef\xbb\xbfa;b\r\n1.5;2\r\n3;4.25\r\n",
        b'"a b" "c"\n1 2\n3 4\n',
        gzip.compress(texts[0], mtime=0),
    ]
    return [{"t.csv": text} for text in texts]


def _npz() -> list[Files]:
    dense = _saved(np.savez, X=X, feature_names=np.array(NAMES), age=np.arange(5))
    sparse = [
        _saved(sp.save_npz, kind(X * (X > 0)), compressed=False) for kind in (sp.csr_array, sp.csc_array, sp.coo_array)
    ]
    return [files for content in (dense, *sparse) for files in _both("m.npz", content)]


def _mtx() -> list[Files]:
    texts = [_saved(scipy.io.mmwrite, X), _saved(scipy.io.mmwrite, sp.coo_array(X * (X > 0)))]
    texts.append(b"%%MatrixMarket matrix coordinate pattern symmetric\n% c\n3 3 2\n1 1\n3 2\n")
    texts.append(b"%%MatrixMarket matrix array integer general\n2 2\n1\n2\n3\n4\n")
    plain: list[Files] = [{"matrix.mtx": text} for text in texts]
    features = b"".join(f"ENSG{j}\t{name}\tGene Expression\n".encode() for j, name in enumerate(NAMES))
    cells = b"".join(f"CELL{i}-1\n".encode() for i in range(5))
    turned = _saved(scipy.io.mmwrite, sp.coo_array((X * (X > 0)).T))
    return [*plain, {"matrix.mtx": turned, "features.tsv": features, "barcodes.tsv": cells}]


def _h5ad() -> list[Files]:
    import anndata
    import pandas as pd

    found = []
    for matrix in (X, sp.csr_matrix(X * (X > 0))):
        obs = pd.DataFrame({"kind": pd.Categorical(list("ababa"))}, index=[f"c{i}" for i in range(5)])
        adata = anndata.AnnData(matrix, obs=obs, var=pd.DataFrame({"hv": [True, False, True, True]}, index=NAMES))
        found.append(_written(lambda folder, adata=adata: adata.write_h5ad(folder / "cells.h5ad")))
    return found


def _parquet() -> list[Files]:
    import pandas as pd

    frame = pd.DataFrame(X, columns=NAMES).assign(kind=list("ababa"), count=np.arange(5))
    plain = _written(lambda folder: frame.to_parquet(folder / "t.parquet"))
    raw = _written(lambda folder: frame.to_parquet(folder / "t.parquet", compression=None, index=False))
    return [plain, raw]


@functools.cache
def _model(**options: Any) -> rspca.SparsePCA:
    import pandas as pd

    return rspca.SparsePCA(2, k=2, random_state=0, **options).fit(pd.DataFrame(X, columns=NAMES))


def _models() -> list[Files]:
    saved = [_written(lambda folder, o=o: _model(**o).save(folder / "m"))["m"] for o in ({}, {"certify": True})]
    with tempfile.TemporaryDirectory() as folder:
        _genotypes_into(Path(folder))
        table = rspca.read(Path(folder) / "g.bed", max_missing=0.99)
        rspca.SparsePCA(1, k=2, random_state=0).fit(table).save(Path(folder) / "m")
        saved.append((Path(folder) / "m").read_bytes())
    return [files for content in saved for files in _both("model.npz", content)]


def _certificates() -> list[Files]:
    found = [rspca.certify(X, k).as_json() for k in (1, 2)]
    return [{"proof.json": json.dumps(one, indent=indent).encode()} for one in found for indent in (None, 1)]


SETTINGS, DATA = {"k": 2, "method": "rspca"}, {"shape": [5, 4], "content": "0123"}


def _partials() -> list[Files]:
    def write(folder: Path, certify: bool) -> None:
        partial = Partial(folder, SETTINGS, DATA)
        for one in rspca.decompose(X, 2, k=2, random_state=0, certify=certify).components:
            partial.add(one)

    return [
        files for certify in (False, True) for files in _both(NAME, _written(lambda f, c=certify: write(f, c))[NAME])
    ]  # fmt: skip


def _outputs() -> list[Files]:
    def write(folder: Path) -> None:
        model, names = _model(), [f"s{i}" for i in range(5)]
        table = rspca.Table(rspca.as_operator(X), np.array(NAMES), np.array(names))
        write_components(folder / "components.csv", model, table)
        write_scores(folder / "scores.csv", model.transform(table), names, {"sample": names, "kind": list("ab=-'")})
        (folder / "labels.txt").write_text("a\nb\na\nb\nc\n")

    first = _written(write)
    return [first, first | {"labels.txt": b's0,x,"red"\ns1,y,blue\ns4\tz\tgreen\n'}]


def _archives() -> list[Files]:
    found: list[Files] = []
    for mode in ("w:gz", "w", "w:bz2", "w:xz"):
        file = io.BytesIO()
        with tarfile.open(fileobj=file, mode=mode) as tar:
            for name in ("readme", "med/med.all"):
                entry = tarfile.TarInfo(name)
                entry.size = 50
                tar.addfile(entry, io.BytesIO(b".I 1\n.W\n".ljust(50, b"x")))
        found.append({"data.tar.gz": file.getvalue()})
    return found


_GEO = b"""!Series_title\t"A study"
!Series_geo_accession\t"GSE1"

!Sample_title\t"one"\t"two"
!Sample_geo_accession\t"GSM1"\t"GSM2"
!Sample_data_row_count\t"3"\t"3"
!series_matrix_table_begin
"ID_REF"\t"GSM1"\t"GSM2"
"1007_s_at"\t5.5\t6
"1053_at"\t-1e-3\tnull
"117_at"\t\t7
!series_matrix_table_end
"""
_SMART = b".I 1\n.T\nOn wings\n.A\nA. Author\n.W\nThey lift\nin flow.\n.I 2\n.W\nNo title\n.X\n1 2\n"
_SITE = b"CHR POS ID REF ALT\n22 100 rs1 A C\n22 200 rs2 G T\n"
_REGIONS: Files = {
    "regions.bed": b"track name=x\n#chr\nchr1\t100\t2000\n2 5 9 name\n", "snps.txt": b"snp0\nsnp1\nsnp2\n",
    "people.txt": b"F0 I0\nF1 I1\nI2\nI3\n",
}  # fmt: skip
_TEXTS: list[Files] = [
    {"docs.txt": b"The wing lifts in supersonic flow\n\nA library of books\nflow past a wing\n"},
    {"docs.txt": gzip.compress("Aufl\u00f6sung der Str\u00f6mung\nlift drag\n".encode(), mtime=0)},
]
_FOLDER: Files = {"a/one.txt": b"wing lifts flow", "b/two.txt": b"library books flow", "three.txt": b"heat flow"}

TARGETS: dict[str, Target] = {
    "plink": Target(lambda: [_written(_genotypes_into)], run_plink, (b"\x6c\x1b\x01", b" 0 ", b"chr1", b"snp0", b"I1")),
    "regions": Target(lambda: [_REGIONS], run_regions, (b"chr", b"snp1\n", b"I1\n", b"track", b"\t0\t")),
    "laser": Target(
        lambda: [{"g.geno": b"Tuscan P1 0 2\nTuscan P2 1 -9\nHan P3 2 2\n", "g.site": _SITE}], run_laser,
        (b" -9", b"CHR"),
    ),
    "smart": Target(
        lambda: [{"docs.all": _SMART}, {"docs.all": gzip.compress(_SMART, mtime=0)}], run_smart, (b".I 3", b".W")
    ),
    "geo": Target(
        lambda: [{"study.txt": _GEO}, {"study.txt": gzip.compress(_GEO, mtime=0)}], run_geo,
        (b"!Sample_", b"!Series_", b"!series_matrix_table_end", b'"'),
    ),
    "csv": Target(_tables, read_table("t.csv"), (b"NA", b"class", b"1,5", b'"', b"id")),
    "npy": Target(
        lambda: [{"a.npy": _saved(np.save, one)} for one in (X, X.T, X.astype("f4"), np.arange(6).reshape(2, 3))],
        read_table("a.npy"),
        (b"'<f8'", b"'|O'", b"'<c16'", b"'<U4'", b"'>i2'", b"True", b"(5, 4)", b"(-1, 4)", b"'<M8[s]'"),
    ),
    "npz": Target(_npz, read_table("m.npz"), (b"'|O'", b"csr", b"csc", b"'<U4'", b"dia", b"bsr")),
    "mtx": Target(
        _mtx, read_table(""), (b"symmetric", b"complex", b"pattern", b"skew-symmetric", b"hermitian", b"array")
    ),
    "documents": Target(lambda: _TEXTS, read_table("docs.txt", empty="drop"), (b"flow", b"wing")),
    "folder": Target(lambda: [_FOLDER], read_table("", empty="drop"), (b"flow", b"wing")),
    "parquet": Target(_parquet, read_table("t.parquet")),
    "h5ad": Target(_h5ad, read_table("cells.h5ad")),
    "model": Target(_models, run_model, (b"null", b"NaN", b"-1", b'"schur"', b"'|O'", b"'<f4'", b"true")),
    "certificate": Target(_certificates, run_certificate, (b"null", b"NaN", b"true", b"[]", b"Infinity", b'"optimal"')),
    "partial": Target(_partials, run_partial, (b"null", b"NaN", b"true", b"[]", b"'<i4'", b"'<f4'", b"'|O'")),
    "outputs": Target(_outputs, run_outputs, (b"'", b"component1", b"nan", b'"')),
    "archive": Target(_archives, run_archive, (b"med.all", b"../", b"ustar")),
}  # fmt: skip
