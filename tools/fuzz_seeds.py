"""Small right files of every format, from which the fuzzer begins."""

from __future__ import annotations

import csv
import functools
import gzip
import io
import json
import tarfile
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp
from damage import Files, packed

import rspca
from rspca.cli.support.checkpoint import NAME, Partial
from rspca.cli.support.outputs import write_components, write_scores
from rspca.formats import write_plink

X = np.random.default_rng(0).standard_normal((5, 4)).round(2)
NAMES = ["alpha", "beta", "gamma", "delta"]


def written(write: Callable[[Path], None]) -> Files:
    """Return what a function writes into an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        return {str(one.relative_to(folder)): one.read_bytes() for one in Path(folder).rglob("*") if one.is_file()}


def saved(save: Callable[..., None], *arguments: Any, **options: Any) -> bytes:
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


def genotypes_into(folder: Path) -> None:
    write_plink(folder / "g.bed", [[0, 1, 2], [2, np.nan, 0], [1, 1, 0], [0, 2, 1], [2, 2, 1]])


def pgen() -> list[Files]:
    import pgenlib
    import zstandard

    people = b"#FID\tIID\n" + b"".join(f"F{i}\tI{i}\n".encode() for i in range(9))
    variants = b"".join(f"1\t{10 * j}\trs{j}\tA\tC\n".encode() for j in range(1, 7))
    variants = b"##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\n" + variants
    rng = np.random.default_rng(0)

    def write(folder: Path, dosages: bool, phased: bool) -> None:
        place = str(folder / "g.pgen").encode()
        options = {"dosage_present": dosages, "hardcall_phase_present": phased}
        with pgenlib.PgenWriter(place, 9, variant_ct=6, nonref_flags=False, **options) as writer:
            for j in range(6):
                if dosages:
                    writer.append_dosages(rng.uniform(0, 2, 9).astype(np.float32))
                elif phased:
                    writer.append_alleles(rng.integers(0, 2, 18).astype(np.int32), all_phased=True)
                else:
                    writer.append_biallelic(
                        rng.choice([0, 1, 2, -9], 9, p=[0.7, 0.2, 0.05, 0.05] if j else None).astype(np.int8)
                    )
        (folder / "g.psam").write_bytes(people)
        (folder / ("g.pvar.zst" if phased else "g.pvar")).write_bytes(
            zstandard.compress(variants) if phased else variants
        )

    kinds = ((False, False), (True, False), (False, True))
    return [written(lambda folder, kind=kind: write(folder, *kind)) for kind in kinds]


def tables() -> list[Files]:
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


def npz() -> list[Files]:
    dense = saved(np.savez, X=X, feature_names=np.array(NAMES), age=np.arange(5))
    sparse = [
        saved(sp.save_npz, kind(X * (X > 0)), compressed=False) for kind in (sp.csr_array, sp.csc_array, sp.coo_array)
    ]
    return [files for content in (dense, *sparse) for files in _both("m.npz", content)]


def mtx() -> list[Files]:
    texts = [saved(scipy.io.mmwrite, X), saved(scipy.io.mmwrite, sp.coo_array(X * (X > 0)))]
    texts.append(b"%%MatrixMarket matrix coordinate pattern symmetric\n% c\n3 3 2\n1 1\n3 2\n")
    texts.append(b"%%MatrixMarket matrix array integer general\n2 2\n1\n2\n3\n4\n")
    plain: list[Files] = [{"matrix.mtx": text} for text in texts]
    features = b"".join(f"ENSG{j}\t{name}\tGene Expression\n".encode() for j, name in enumerate(NAMES))
    cells = b"".join(f"CELL{i}-1\n".encode() for i in range(5))
    turned = saved(scipy.io.mmwrite, sp.coo_array((X * (X > 0)).T))
    return [*plain, {"matrix.mtx": turned, "features.tsv": features, "barcodes.tsv": cells}]


def h5ad() -> list[Files]:
    import anndata
    import pandas as pd

    found = []
    for matrix in (X, sp.csr_matrix(X * (X > 0))):
        obs = pd.DataFrame({"kind": pd.Categorical(list("ababa"))}, index=[f"c{i}" for i in range(5)])
        adata = anndata.AnnData(matrix, obs=obs, var=pd.DataFrame({"hv": [True, False, True, True]}, index=NAMES))
        found.append(written(lambda folder, adata=adata: adata.write_h5ad(folder / "cells.h5ad")))
    return found


def zarr_cells() -> list[Files]:
    import anndata
    import pandas as pd

    found = []
    before = anndata.settings.zarr_write_format
    for version, matrix in ((2, sp.csr_matrix(X * (X > 0))), (3, sp.csr_matrix(X * (X > 0))), (2, X), (3, X)):
        var = pd.DataFrame({"hv": [True, False, True, True]}, index=NAMES)
        adata = anndata.AnnData(matrix, obs=pd.DataFrame(index=[f"c{i}" for i in range(5)]), var=var)
        anndata.settings.zarr_write_format = version
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(written(lambda folder, adata=adata: adata.write_zarr(folder / "cells.zarr")))
    anndata.settings.zarr_write_format = before
    return found


def vcf_store(
    path: Path, calls: Any, version: int = 3, mask: Any = None, chunks: tuple[int, int] | None = None, **more: Any
) -> None:
    """Write calls (variants, samples, 2) as a VCF Zarr store, with arrays that vcf2zarr writes; `more` replace them."""
    import zarr

    n, m = calls.shape[:2]
    arrays = {
        "call_genotype": calls.astype(np.int8), "contig_id": np.array(["1", "2"]),
        "sample_id": np.array([f"I{i}" for i in range(m)]), "variant_allele": np.array([["G", "A"]] * n),
        "variant_contig": (np.arange(n) >= n // 2).astype(np.int8),
        "variant_position": np.arange(1, n + 1, dtype=np.int32) * 1000,
        "variant_id": np.array([f"rs{j}" for j in range(n)]),
    } | ({} if mask is None else {"call_genotype_mask": mask}) | more  # fmt: skip
    root = zarr.create_group(store=str(path), zarr_format=version)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, values in arrays.items():
            tile = (*(chunks or (max(1, n // 2), max(1, m // 2))), 2) if name.startswith("call") else values.shape
            kind = str if values.dtype.kind == "U" else values.dtype
            stored = root.create_array(
                name, shape=values.shape, dtype=kind, chunks=tile, config={"write_empty_chunks": True}
            )
            stored[...] = values


def vcf_zarr() -> list[Files]:
    rng = np.random.default_rng(0)
    calls = rng.choice([0, 1, -1], (6, 5, 2), p=[0.6, 0.35, 0.05])
    return [written(lambda folder, v=v: vcf_store(folder / "g.vcz", calls, v, mask=calls < 0)) for v in (2, 3)]


def tenx_h5() -> list[Files]:
    import h5py

    def write(folder: Path) -> None:
        columns = sp.csc_array((np.abs(X.T) * 3).astype(np.int32))
        with h5py.File(folder / "counts.h5", "w") as file:
            for name in ("data", "indices", "indptr"):
                file[f"matrix/{name}"] = getattr(columns, name)
            file["matrix/shape"] = np.array(columns.shape, dtype=np.int32)
            file["matrix/barcodes"] = np.array([f"CELL{i}-1" for i in range(5)], dtype="S")
            for name, values in (("id", [f"E{j}" for j in range(4)]), ("name", NAMES), ("feature_type", ["Gene"] * 4)):
                file[f"matrix/features/{name}"] = np.array(values, dtype="S")

    return [written(write)]


def parquet() -> list[Files]:
    import pandas as pd

    frame = pd.DataFrame(X, columns=NAMES).assign(kind=list("ababa"), count=np.arange(5))
    plain = written(lambda folder: frame.to_parquet(folder / "t.parquet"))
    raw = written(lambda folder: frame.to_parquet(folder / "t.parquet", compression=None, index=False))
    return [plain, raw]


@functools.cache
def _model(**options: Any) -> rspca.SparsePCA:
    import pandas as pd

    return rspca.SparsePCA(2, k=2, random_state=0, **options).fit(pd.DataFrame(X, columns=NAMES))


def models() -> list[Files]:
    saved = [written(lambda folder, o=o: _model(**o).save(folder / "m"))["m"] for o in ({}, {"certify": True})]
    with tempfile.TemporaryDirectory() as folder:
        genotypes_into(Path(folder))
        table = rspca.read(Path(folder) / "g.bed", max_missing=0.99)
        rspca.SparsePCA(1, k=2, random_state=0).fit(table).save(Path(folder) / "m")
        saved.append((Path(folder) / "m").read_bytes())
    return [files for content in saved for files in _both("model.npz", content)]


def certificates() -> list[Files]:
    found = [rspca.certify(X, k).as_json() for k in (1, 2)]
    return [{"proof.json": json.dumps(one, indent=indent).encode()} for one in found for indent in (None, 1)]


SETTINGS, DATA = {"k": 2, "method": "rspca"}, {"shape": [5, 4], "content": "0123"}


def partials() -> list[Files]:
    def write(folder: Path, certify: bool) -> None:
        partial = Partial(folder, SETTINGS, DATA)
        for one in rspca.decompose(X, 2, k=2, random_state=0, certify=certify).components:
            partial.add(one)

    return [
        files for certify in (False, True) for files in _both(NAME, written(lambda f, c=certify: write(f, c))[NAME])
    ]  # fmt: skip


def outputs() -> list[Files]:
    def write(folder: Path) -> None:
        model, names = _model(), [f"s{i}" for i in range(5)]
        table = rspca.Table(rspca.as_operator(X), np.array(NAMES), np.array(names))
        write_components(folder / "components.csv", model, table)
        write_scores(folder / "scores.csv", model.transform(table), names, {"sample": names, "kind": list("ab=-'")})
        (folder / "labels.txt").write_text("a\nb\na\nb\nc\n")

    first = written(write)
    return [first, first | {"labels.txt": b's0,x,"red"\ns1,y,blue\ns4\tz\tgreen\n'}]


def archives() -> list[Files]:
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


GEO = b"""!Series_title\t"A study"
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
SMART = b".I 1\n.T\nOn wings\n.A\nA. Author\n.W\nThey lift\nin flow.\n.I 2\n.W\nNo title\n.X\n1 2\n"
SITE = b"CHR POS ID REF ALT\n22 100 rs1 A C\n22 200 rs2 G T\n"
REGIONS: Files = {
    "regions.bed": b"track name=x\n#chr\nchr1\t100\t2000\n2 5 9 name\n", "snps.txt": b"snp0\nsnp1\nsnp2\n",
    "people.txt": b"F0 I0\nF1 I1\nI2\nI3\n",
}  # fmt: skip
TEXTS: list[Files] = [
    {"docs.txt": b"The wing lifts in supersonic flow\n\nA library of books\nflow past a wing\n"},
    {"docs.txt": gzip.compress("Aufl\u00f6sung der Str\u00f6mung\nlift drag\n".encode(), mtime=0)},
]
DOCWORD: Files = {"docword.a.txt": b"3\n3\n4\n1 1 2\n1 2 1\n2 3 1\n3 2 5\n", "vocab.a.txt": b"wing\nflow\nlift\n"}
FOLDER: Files = {"a/one.txt": b"wing lifts flow", "b/two.txt": b"library books flow", "three.txt": b"heat flow"}
