"""From user data to blocks on the workers of a Dask cluster: Dask arrays, and packed genotypes of files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from rspca.base.types import Array
from rspca.operators.base import OperatorMixin
from rspca.operators.cluster import ClusterOperator
from rspca.operators.cluster_blocks import block_of, by_rows, open_packed
from rspca.operators.cluster_client import connected, current_client
from rspca.operators.in_memory import float_type
from rspca.operators.packed_cluster import PackedCluster
from rspca.operators.streamed import BlockOperator

BLOCKS_PER_THREAD = 2
"""Blocks for each thread of a worker: enough to finish together, few enough for cheap messages: benchmarks/scale.py."""
MAX_BLOCK_BYTES = 1 << 28
"""Bytes of the largest block; it limits what is computed again if a worker is lost."""


def dask_operator(X: Any) -> OperatorMixin:
    """Return the operator of a Dask array: on the workers of the current client, or streamed where there is none."""
    if len(X.shape) != 2 or np.isnan(np.asarray(X.shape, dtype=float)).any():
        raise ValueError(f"X is a Dask array of shape {X.shape}; a matrix of known shape is needed.")
    if np.dtype(X.dtype).kind not in "biuf":
        raise TypeError(f"X has dtype {X.dtype}; only real numbers can be used. Convert it with X.astype(float).")
    if scipy.sparse.issparse(X._meta) and X._meta.format != "csr":  # others cannot be cut into rows, or only slowly
        X = X.map_blocks(by_rows, meta=X._meta.tocsr())
    client = current_client()
    if client is None:
        return BlockOperator(X)
    from dask.delayed import delayed

    axis = int(X.shape[1] > X.shape[0])
    step = _step(client, X.shape[axis], X.nbytes)
    X = X.rechunk({axis: step, 1 - axis: -1})
    blocks = client.compute([delayed(block_of)(chunk) for chunk in X.to_delayed().ravel()])
    return ClusterOperator(client, blocks, np.cumsum(X.chunks[axis]), axis, X.shape, float_type(X.dtype))


def packed_on_cluster(
    client: Any, files: Sequence[Path], rows: Sequence[Array], n_people: int, people: Array | None, dtype: Any
) -> PackedCluster:
    """Return packed genotypes that each worker reads from its own range of the files."""
    client = connected(client)
    which = np.repeat(np.arange(len(files)), [len(chosen) for chosen in rows])
    row = np.concatenate(list(rows))
    step = _step(client, len(row), len(row) * n_people // 4)
    blocks, ends = [], []
    for start in range(0, len(row), step):
        part = slice(start, start + step)
        pieces = [(str(files[i]), row[part][which[part] == i]) for i in np.unique(which[part])]
        blocks.append(client.submit(open_packed, pieces, n_people, people, np.dtype(dtype).str, pure=False))
        ends.append(min(start + step, len(row)))
    shape = (n_people if people is None else len(people), len(row))
    return PackedCluster(client, blocks, np.array(ends), 1, shape, np.dtype(dtype))


def _step(client: Any, length: int, nbytes: int) -> int:
    """Return the length of a block along the longer axis."""
    threads = sum(client.nthreads().values())
    count = max(BLOCKS_PER_THREAD * threads, -(-int(nbytes) // MAX_BLOCK_BYTES))
    return max(1, -(-length // count))
