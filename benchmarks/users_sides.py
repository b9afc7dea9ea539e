"""Both sides of each row of benchmarks/users.py: our fit, and the work that it is compared with."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import LinearOperator, svds
from users_rows import Row

import rspca

SOLVERS = ("auto", "covariance_eigh", "randomized")
READ_BYTES = 1 << 24
READS = 20


class NotInstalled(RuntimeError):
    """A program to compare with is not on this machine: its row says so."""


class Sides(NamedTuple):
    """Our fit with a seed, and the reference; both are called with nothing prepared but the data."""

    ours: Callable[[int], Any]
    """Returns a Decomposition, or None where `found` has to be asked for it."""
    reference: Callable[[], Any]
    note: str = ""
    times: float = 1.0
    """How often the reference counts."""
    found: Callable[[int], Any] | None = None
    """The fit in this process, where ours runs in one of its own."""


def nbytes(X: Any) -> int:
    """Return the bytes of data: of a file, an array or a sparse matrix."""
    if isinstance(X, Path):
        return X.stat().st_size
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if scipy.sparse.issparse(X) else X.nbytes


def _fit(X: Any, row: Row, n: int) -> Callable[[int], Any]:
    return lambda seed: rspca.decompose(X, row.r, k=row.features(n), scale=row.scale, random_state=seed)


@contextmanager
def _svds(X: Any, row: Row, one_thread: bool) -> Iterator[Sides]:
    """The centered matrix or operator is ready before the clock starts: our side has to find the means itself."""
    if scipy.sparse.issparse(X):
        mean, rows, columns = np.asarray(X.mean(axis=0)).ravel(), X.tocsr(), X.T.tocsr()
        centered = LinearOperator(
            X.shape,
            matvec=lambda v: rows @ v.ravel() - mean @ v.ravel(),
            rmatvec=lambda u: columns @ u.ravel() - mean * u.sum(),
            dtype=X.dtype,
        )
    else:
        centered = X - X.mean(axis=0)
    yield Sides(_fit(X, row, X.shape[1]), lambda: svds(centered, row.r))


@contextmanager
def _pca(X: Any, row: Row, one_thread: bool) -> Iterator[Sides]:
    from sklearn.decomposition import PCA

    yield Sides(_fit(X, row, X.shape[1]), lambda: PCA(row.r, random_state=0).fit(X))


@contextmanager
def _best_pca(X: Any, row: Row, one_thread: bool) -> Iterator[Sides]:
    """The solver of PCA that takes the least time on these data, tried once each."""
    from sklearn.decomposition import PCA

    def seconds(solver: str) -> float:
        started = time.perf_counter()
        PCA(row.r, svd_solver=solver, random_state=0).fit(X)
        return time.perf_counter() - started

    best = min(SOLVERS, key=seconds)
    reference = lambda: PCA(row.r, svd_solver=best, random_state=0).fit(X)  # noqa: E731
    yield Sides(_fit(X, row, X.shape[1]), reference, f"PCA(svd_solver={best!r})")


@contextmanager
def _scanpy(X: Any, row: Row, one_thread: bool) -> Iterator[Sides]:
    import anndata
    import scanpy

    cells = anndata.AnnData(X)
    yield Sides(
        lambda seed: rspca.spca(cells, row.r, k=row.features(X.shape[1]), random_state=seed),
        lambda: scanpy.pp.pca(cells, n_comps=row.r),
        "rspca.spca(adata) over sc.pp.pca(adata), scores included",
        found=_fit(X, row, X.shape[1]),
    )


def _plink(bed: Path, row: Row, one_thread: bool) -> Callable[[], Any]:
    program = shutil.which("plink2")
    if program is None:
        raise NotInstalled("plink2 not installed")
    call = [program, "--bfile", str(bed.with_suffix("")), "--pca", str(row.r), "--out", str(bed.with_suffix(""))]
    call += ["--threads", "1"] if one_thread else []
    return lambda: subprocess.run(call, check=True, stdout=subprocess.DEVNULL)


def _read_and_fit(bed: Path, row: Row) -> Callable[[int], Any]:
    return lambda seed: rspca.decompose(
        rspca.read(bed), row.r, k=int(row.k), scale=row.scale, random_state=seed
    )  # fmt: skip


@contextmanager
def _plink_running(bed: Path, row: Row, one_thread: bool) -> Iterator[Sides]:
    note = "read and fit in a running Python over the command `plink2 --pca`"
    yield Sides(_read_and_fit(bed, row), _plink(bed, row, one_thread), note)


@contextmanager
def _plink_commands(bed: Path, row: Row, one_thread: bool) -> Iterator[Sides]:
    program = (
        "import sys, numpy, rspca; bed, r, k, scale, seed = sys.argv[1:];"
        "found = rspca.decompose(rspca.read(bed), int(r), k=int(k), scale=scale, random_state=int(seed));"
        "numpy.savetxt(bed + '.loadings', found.loadings.T)"
    )
    call = [sys.executable, "-c", program, str(bed), str(row.r), str(int(row.k)), str(row.scale)]
    yield Sides(
        lambda seed: subprocess.run([*call, str(seed)], check=True),
        _plink(bed, row, one_thread),
        "a Python that starts, reads, fits and writes loadings over the command `plink2 --pca`",
        found=_read_and_fit(bed, row),
    )


@contextmanager
def _no_cluster(X: Any, row: Row, one_thread: bool) -> Iterator[Sides]:
    """The array lies on the workers, a quarter of the columns in each block, before the clock starts."""
    import dask.array
    from distributed import Client, LocalCluster, wait

    workers = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50)
    with workers, Client(workers):
        there = dask.array.from_array(X, chunks=(X.shape[0], X.shape[1] // 4)).persist()
        wait(there)
        note = "a Dask array on two worker processes over the same array in this process; memory of this process"
        here = _fit(X, row, X.shape[1])
        yield Sides(_fit(there, row, X.shape[1]), lambda: here(0), note)


def _plain_read(X: np.memmap) -> Callable[[], Any]:
    buffer = bytearray(READ_BYTES)

    def read() -> None:
        with open(os.fspath(X.filename), "rb", buffering=0) as file:  # type: ignore[arg-type]
            while file.readinto(buffer):
                pass

    return read


@contextmanager
def _reads(X: Any, row: Row, one_thread: bool) -> Iterator[Sides]:
    note = f"{X.nbytes / 1e9:g} GB; {READS} times the time of one plain read; the system's cache is left as it is"
    yield Sides(_fit(X, row, X.shape[1]), _plain_read(X), note, READS)


@contextmanager
def _reads_of_blocks(X: Any, row: Row, one_thread: bool) -> Iterator[Sides]:
    note = f"{X.nbytes / 1e9:g} GB, streamed in blocks"
    ours = lambda seed: _fit(rspca.as_operator(X, max_memory="1GB"), row, X.shape[1])(seed)  # noqa: E731
    yield Sides(ours, _plain_read(X), note, READS)


SIDES: dict[str, Callable[[Any, Row, bool], Any]] = {
    "svds": _svds,
    "PCA": _pca,
    "best PCA": _best_pca,
    "sc.pp.pca": _scanpy,
    "plink2": _plink_running,
    "plink2 --pca": _plink_commands,
    "no cluster": _no_cluster,
    "20 reads": _reads,
    "20 reads, blocks": _reads_of_blocks,
}
