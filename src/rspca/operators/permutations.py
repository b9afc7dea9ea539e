"""Columns permuted independently of each other: dense, sparse and packed data, none of them made dense."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rspca.base.types import Array
from rspca.operators.blocks import chunks

REDRAW_SHARE = 0.25
"""Share of the rows of a sparse column up to which its new rows are drawn one by one and repeated ones again; of fuller
columns all rows are permuted. Drawing again takes longer the more rows are taken: tools/is_it_real.py."""


TRANSPOSED_BYTES = 1 << 20
"""Bytes of the columns that are transposed at a time; they stay in cache: tools/is_it_real.py."""


def strata_of(labels: Array | None, m: int) -> list[Array]:
    """Return the rows that may change places with each other: those of equal label; all of them without labels."""
    if labels is None:
        return [np.arange(m)]
    _, codes = np.unique(labels, return_inverse=True)
    order = np.argsort(codes.reshape(-1), kind="stable")
    return np.split(order, np.cumsum(np.bincount(codes.reshape(-1)))[:-1])


def permuted_array(X: Array, rng: np.random.Generator, strata: list[Array]) -> Array:
    """Return an array, by columns, whose columns are permuted, each by itself, within the strata of rows."""
    out = np.empty(X.shape[::-1], dtype=X.dtype)
    for part in chunks(X.shape[1], X.shape[0] * X.dtype.itemsize, TRANSPOSED_BYTES):
        out[part] = X[:, part].T  # shuffling contiguous numbers takes a third of the time
        if len(strata) == 1:
            rng.permuted(out[part], axis=1, out=out[part])
        else:
            out[part] = permuted_rows(out[part], rng, strata)
    return out.T


def permuted_rows(values: Array, rng: np.random.Generator, strata: list[Array]) -> Array:
    """Return rows whose entries are permuted, each row by itself, within strata of positions."""
    if len(strata) == 1:
        return rng.permuted(values, axis=1)
    out = np.empty_like(values)
    for places in strata:
        out[:, places] = rng.permuted(values[:, places], axis=1)
    return out


def permuted_sparse(X: Any, rng: np.random.Generator, strata: list[Array]) -> Any:
    """Return a CSR or CSC matrix, in the same format, whose columns are permuted: stored entries get other rows.

    Every way to put the entries of a column into different rows is equally likely: rows are drawn one by one, and
    those that are taken are drawn again, which treats all rows alike.
    """
    columns = X.tocsc()
    m, n = X.shape
    stratum, place = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    for number, rows in enumerate(strata):
        stratum[rows], place[rows] = number, np.arange(len(rows))
    sizes, by_stratum = np.array([len(rows) for rows in strata]), np.concatenate(strata)
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    # the entries of one column in one stratum are a group, which gets different places among so many
    column = np.repeat(np.arange(n), np.diff(columns.indptr))
    own = stratum[columns.indices]
    group = column * len(strata) + own
    counts = np.bincount(group, minlength=n * len(strata))
    room = np.tile(sizes, n)
    full = (counts > REDRAW_SHARE * room)[group]
    drawn = np.empty(len(group), dtype=np.int64)
    drawn[~full] = _different_places(group[~full], sizes[own[~full]], m, rng)
    for entries in _groups(np.flatnonzero(full), group):
        drawn[entries] = rng.permutation(room[group[entries[0]]])[: len(entries)]
    rows = by_stratum[first[own] + drawn]
    moved = type(columns)((columns.data.copy(), rows.astype(columns.indices.dtype), columns.indptr), shape=X.shape)
    moved.has_sorted_indices = False
    moved.sort_indices()
    return moved if X.format == "csc" else moved.tocsr()


def _different_places(group: Array, sizes: Array, m: int, rng: np.random.Generator) -> Array:
    """Return a place below its size for each entry, different ones within each group."""
    places = rng.integers(0, sizes)
    while True:
        keys = group * m + places
        order = np.argsort(keys, kind="stable")  # of equal keys the first entry keeps its place
        taken = order[1:][keys[order[1:]] == keys[order[:-1]]]
        if not len(taken):
            return places
        places[taken] = rng.integers(0, sizes[taken])


def _groups(entries: Array, group: Array) -> Iterator[Array]:
    """Yield the entries of each group; groups need not be contiguous."""
    order = entries[np.argsort(group[entries], kind="stable")]
    ends = np.flatnonzero(np.diff(group[order])) + 1
    return iter(np.split(order, ends) if len(order) else [])


def permuted_calls(packed: Array, people: Array, rng: np.random.Generator, strata: list[Array]) -> Array:
    """Return packed genotypes of these people only, two bits each, with the calls of each SNP permuted among them."""
    width = -(-len(people) // 4)
    out = np.empty((len(packed), width), dtype=np.uint8)
    shifts = np.array([0, 2, 4, 6], dtype=np.uint8)
    for part in chunks(len(packed), 4 * packed.shape[1]):
        codes = ((packed[part][:, :, None] >> shifts) & 3).reshape(part.stop - part.start, -1)[:, people]
        padded = np.zeros((len(codes), 4 * width), dtype=np.uint8)
        padded[:, : len(people)] = permuted_rows(codes, rng, strata)
        quads = padded.reshape(len(codes), width, 4) << shifts
        out[part] = quads[:, :, 0] | quads[:, :, 1] | quads[:, :, 2] | quads[:, :, 3]
    return out
