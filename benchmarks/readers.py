"""Formats that are packed or streamed: agreement with the dense matrix, time and peak memory, in one run.

    python benchmarks/readers.py                   everything; results/readers.txt
    python benchmarks/readers.py hapmap zarr3 h5   some parts; see PARTS

Each fit runs in a process of its own. Its memory is the peak of the resident set less what the process has after it
read a small file of the same format, so that imports do not count. `max_memory` is a tenth of the data. The last row
has 100,000 features: a search for at most 64 of them takes up to 3 kB a feature, of any format. plink2 makes the .pgen
of HapMap3 where it is installed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tools")]

LIMIT = 20 * 10**6
"""Bytes of max_memory; the data take ten times as many."""
ALLOWED = 100 * 10**6
"""Bytes beyond max_memory."""


def blocks(m: int, n: int, density: float) -> sp.csr_matrix:
    """Return sparse counts with a group of features that vary together."""
    rng = np.random.default_rng(0)
    X = sp.random(m, n, density, format="csr", dtype=np.float32, random_state=0)
    X.data[:] = rng.integers(1, 5, X.nnz)
    signal = sp.csr_matrix(np.outer(rng.poisson(2.0, m), np.arange(n) < 12).astype(np.float32))
    return (X + signal).tocsr()


def write_zarr(path: Path, X: Any, version: int, chunks: tuple[int, int] | None = None) -> None:
    """Write AnnData in Zarr."""
    import anndata

    anndata.settings.zarr_write_format = version
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        anndata.AnnData(X).write_zarr(path, chunks=chunks)


def write_tenx(path: Path, X: sp.csr_matrix) -> None:
    """Write counts as Cell Ranger does."""
    import h5py

    with h5py.File(path, "w") as file:
        group = file.create_group("matrix")
        group.create_dataset("data", data=X.data.astype(np.int32), chunks=(min(1 << 16, X.nnz),))
        group.create_dataset("indices", data=X.indices.astype(np.int32), chunks=(min(1 << 16, X.nnz),))
        group["indptr"], group["shape"] = X.indptr.astype(np.int64), np.array(X.shape[::-1], dtype=np.int32)
        group["barcodes"] = np.array([f"C{i}" for i in range(X.shape[0])], dtype="S")
        for name in ("id", "name"):
            group[f"features/{name}"] = np.array([f"g{j}" for j in range(X.shape[1])], dtype="S")


def write_dosages(path: Path, X: Any) -> None:
    """Write dosages, or calls if they are whole numbers, as PLINK 2 files."""
    import pgenlib

    m, n = X.shape
    with pgenlib.PgenWriter(str(path).encode(), m, variant_ct=n, nonref_flags=False, dosage_present=True) as writer:
        for column in X.T:
            writer.append_dosages(np.ascontiguousarray(column, dtype=np.float32))
    rows = "".join(f"1\t{j + 1}\trs{j}\tG\tA\n" for j in range(n))
    path.with_suffix(".pvar").write_text("#CHROM\tPOS\tID\tREF\tALT\n" + rows)
    path.with_suffix(".psam").write_text("#IID\n" + "".join(f"I{i}\n" for i in range(m)))


def dosages(m: int, n: int) -> np.ndarray:
    """Return dosages as the format stores them."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 2.0, (m, n)).astype(np.float32)
    X[:, :12] = np.clip(X[:, :12] * 0.3 + rng.uniform(0.0, 1.4, (m, 1)), 0.0, 2.0)
    return np.round(X * 2**14) / 2**14


def write_calls(path: Path, m: int, n: int) -> None:
    """Write calls as a VCF Zarr store, block by block."""
    from fuzz_seeds import vcf_store

    rng = np.random.default_rng(0)
    alleles = (rng.random((n, m, 2), dtype=np.float32) < rng.uniform(0.1, 0.9, (n, 1, 1))).astype(np.int8)
    alleles[:12] = rng.integers(0, 2, (1, m, 2)) if n >= 12 else alleles[:12]
    vcf_store(path, alleles, chunks=(min(n, 2000), min(m, 500)))


def dense_of(alleles_path: Path) -> np.ndarray:
    """Return the calls of a VCF Zarr store, dense."""
    import zarr

    return zarr.open_group(str(alleles_path), mode="r")["call_genotype"][...].sum(axis=2).T.astype(np.float64)


def cells(big: bool) -> sp.csr_matrix:
    """Return counts of cells by genes, small or about ten times max_memory."""
    return blocks(12_000, 10_000, 0.2) if big else blocks(300, 80, 0.2)


def values(big: bool) -> np.ndarray:
    """Return numbers of samples by features, small or about ten times max_memory."""
    return dosages(5000, 10_000) if big else dosages(300, 80)


def write_dense(path: Path, big: bool, version: int) -> None:
    """Write a dense matrix as AnnData in Zarr."""
    write_zarr(path, values(big), version, (500, 1000) if big else None)


PARTS: dict[str, tuple[str, Callable[[Path, bool], Any], dict[str, Any]]] = {
    "zarr2": ("x.zarr", lambda path, big: write_zarr(path, cells(big), 2), {}),
    "zarr3": ("x.zarr", lambda path, big: write_zarr(path, cells(big), 3), {}),
    "zarr2 dense": ("x.zarr", lambda path, big: write_dense(path, big, 2), {}),
    "zarr3 dense": ("x.zarr", lambda path, big: write_dense(path, big, 3), {}),
    "h5": ("x.h5", lambda path, big: write_tenx(path, cells(big)), {}),
    "dosages": (
        "x.pgen",
        lambda path, big: write_dosages(path, values(big)),
        {"dosages": True},
    ),
    "vcf zarr": ("x.vcz", lambda path, big: write_calls(path, *((10_000, 10_000) if big else (300, 80))), {}),
    "vcf zarr, wide": ("x.vcz", lambda path, big: write_calls(path, *((1000, 100_000) if big else (300, 80))), {}),
}
"""Name of the file, what writes it, small or ten times max_memory, and options of the reader."""


def measured(small: Path, path: Path, options: dict[str, Any], k: int, n_components: int) -> dict[str, Any]:
    """Return supports, loadings, CPU seconds of the fit after reading, and peak memory of reading and fitting."""
    code = f"measure({str(small)!r}, {str(path)!r}, {options!r}, {k}, {n_components})"
    script = f"import sys; sys.path.insert(0, {str(HERE)!r}); import readers; readers.{code}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def measure(small: str, path: str, options: dict[str, Any], k: int, n_components: int) -> None:
    """Fit in this process and print what was measured."""
    import rspca

    warnings.simplefilter("ignore")
    rspca.SparsePCA(1, k=3, random_state=0).fit(rspca.read(small, **options))  # imports, kernels
    before = _resident("VmRSS")
    table = rspca.read(path, **options)
    seconds = []
    for _ in range(3 if "max_memory" not in options else 1):
        start = time.process_time()
        model = rspca.SparsePCA(n_components, k=k, random_state=0).fit(table)
        seconds.append(time.process_time() - start)
    peak = _resident("VmHWM") - before
    found = {"supports": [s.tolist() for s in model.supports_], "seconds": min(seconds), "bytes": peak}
    found["loadings"] = [row[s].tolist() for row, s in zip(model.components_, model.supports_, strict=True)]
    print(json.dumps(found))


def _resident(kind: str) -> int:
    """Return bytes of this process in memory, now or at most; ru_maxrss would begin with those of its parent."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(kind))


def large(name: str, folder: Path, say: Callable[[str], None]) -> None:
    """Measure a format on data ten times max_memory, and compare a part of it with the dense matrix."""
    import rspca

    file, write, options = PARTS[name]
    for size in ("small", "large"):
        (folder / size).mkdir()
        write(folder / size / file, size == "large")
    found = measured(folder / "small" / file, folder / "large" / file, options | {"max_memory": LIMIT}, 20, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = rspca.read(folder / "large" / file, **options | {"max_memory": 4 * 10**9})
        model = rspca.SparsePCA(1, k=20, random_state=0).fit(_dense(table, folder / "large" / file))
    same = model.supports_[0].tolist() == found["supports"][0]
    apart = np.abs(model.components_[0][model.supports_[0]] - found["loadings"][0]).max() if same else np.nan
    beyond = found["bytes"] - LIMIT
    say(
        f"{name:14s} {'same' if same else 'OTHER':7s} {apart:10.1e} {found['bytes'] / 1e6:12.0f} {beyond / 1e6:12.0f} "
        f"{'within' if beyond <= ALLOWED else 'ABOVE'} {ALLOWED / 1e6:.0f}"
    )


def _dense(table: Any, path: Path) -> Any:
    """Return the data dense in memory, or sparse where they are."""
    if path.suffix == ".vcz":
        return dense_of(path)
    if hasattr(table.operator, "X"):
        return table.operator.X.toarray() if sp.issparse(table.operator.X) else table.operator.X
    return table.operator.all_columns()


def hapmap(folder: Path, say: Callable[[str], None]) -> None:
    """Compare HapMap3 as .pgen with the .bed: supports, loadings, time after packing, memory."""
    from rspca.base.files import read_bytes

    source = Path(os.environ.get("RSPCA_DATA", "none"), "hapmap3_flashpca")
    if not (source / "data.bed").exists() or shutil.which("plink2") is None:
        say("HapMap3: not measured, RSPCA_DATA or plink2 is missing")
        return
    for suffix in ("bed", "fam"):
        shutil.copy(source / f"data.{suffix}", folder / f"h.{suffix}")
    (folder / "h.bim").write_bytes(read_bytes(source / "data.bim.gz"))
    subprocess.run(["plink2", "--bfile", "h", "--make-pgen", "--out", "h"], cwd=folder, capture_output=True, check=True)
    write_dosages(folder / "small.pgen", np.random.default_rng(0).integers(0, 3, (60, 40)).astype(np.float32))
    from rspca.formats import write_plink

    write_plink(folder / "small.bed", np.random.default_rng(0).integers(0, 3, (60, 40)))
    bed, pgen = (measured(folder / f"small.{s}", folder / f"h.{s}", {}, 100, 3) for s in ("bed", "pgen"))
    same = bed["supports"] == pgen["supports"]
    apart = max(np.abs(np.subtract(a, b)).max() for a, b in zip(bed["loadings"], pgen["loadings"], strict=True))
    say(
        f"HapMap3 .pgen against .bed, k = 100, 3 components: supports {'same' if same else 'OTHER'}, loadings differ "
        f"by {apart:.1e}, time {pgen['seconds'] / bed['seconds']:.2f} x, memory {bed['bytes'] / 1e6:.0f} MB + "
        f"{(pgen['bytes'] - bed['bytes']) / 1e6:.0f} MB"
    )


def main() -> None:
    """Measure the parts that are named, or all."""
    from common import Report

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], "hapmap", *PARTS], help="only these")
    parser.add_argument("--folder", help="where data are written; the system's by default")
    parts = parser.parse_args()
    say = Report("readers.txt")
    say(f"max_memory {LIMIT / 1e6:.0f} MB, data of about {10 * LIMIT / 1e6:.0f} MB; memory in MB")
    say(f"{'format':14s} {'support':7s} {'loadings':>10s} {'peak':>12s} {'beyond limit':>12s}")
    for name in parts.parts or ["hapmap", *PARTS]:
        with tempfile.TemporaryDirectory(dir=parts.folder) as folder:
            hapmap(Path(folder), say) if name == "hapmap" else large(name, Path(folder), say)


if __name__ == "__main__":
    main()
