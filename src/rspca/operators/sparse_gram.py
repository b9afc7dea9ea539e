"""Gram matrix of sparse rows: a loop that numba compiles, a sparse product, or products of dense blocks of rows."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from rspca.base.machine_code import can_compile, compiled
from rspca.base.threads import in_lanes, lane_count
from rspca.base.types import Array
from rspca.operators.base import BLOCK_BYTES, chunks
from rspca.operators.summed_moments import GramSum

LOOP_SHARE, SPARSE_PRODUCT_SHARE = 0.04, 0.005
"""Shares of the multiplications of a dense product up to which the compiled loop, and without it the sparse product of
SciPy, are faster: benchmarks/speed.py."""
COMPILE_PRODUCTS = 2 * 10**8
"""Multiplications of one matrix from which compiling the loop pays: half a second without it: benchmarks/speed.py."""
SCATTERED_SHARE = 16
"""Entries of a Gram matrix for each one of a sparse product, above which adding these one by one is faster than adding
the product as a dense matrix: benchmarks/users.py."""
GRAM_ENTRIES = 2**20
"""Entries of the rows whose products are added to a Gram matrix at a time, 16 MB: benchmarks/users.py."""
GRAM_CSC_BLOCKS = 16
"""The same for X by columns: parts of all entries, at least, because each part reads all of X: benchmarks/users.py."""
LOOP_BYTES = 1 << 22
"""Bytes of the entries of a block of rows in the compiled loop; they stay in the second-level cache."""


def gram_of_rows(X: Any, factors: Array | None = None) -> Array:
    """X'X in float64, dense, of a SciPy CSR or CSC matrix without duplicate entries, some rows at a time.

    With `factors` each row is multiplied by its own before.
    """
    m, n = X.shape
    by_rows = X.format == "csr"
    counts = np.diff(X.indptr) if by_rows else np.bincount(X.indices, minlength=m)
    products, dense_products = float(np.sum(counts.astype(np.float64) ** 2)), float(m) * n**2
    add = _add_dense
    if products <= LOOP_SHARE * dense_products and _loop_pays(products):
        add = _add_by_loop
    elif products <= SPARSE_PRODUCT_SHARE * dense_products:
        add = _add_sparse_product
    gram = GramSum(n)
    most = GRAM_ENTRIES if by_rows else max(GRAM_ENTRIES, X.nnz // GRAM_CSC_BLOCKS)  # each part of CSC reads all of X
    for part in chunks(m, max(1, X.nnz // max(1, m)), most):
        rows = X[part].tocsr().astype(np.float64, copy=False)
        add(gram, rows if factors is None else rows_times(factors[part], rows))
    return gram.matrix()


def rows_times(factors: Array, rows: Any) -> Any:
    """Return CSR rows, each multiplied by its factor; the indices are shared."""
    entries = rows.data * np.repeat(factors, np.diff(rows.indptr))
    return type(rows)((entries, rows.indices, rows.indptr), shape=rows.shape)


def _add_sparse_product(gram: GramSum, rows: Any) -> None:
    product = rows.T.tocsr() @ rows
    if SCATTERED_SHARE * product.nnz >= gram.triangle.size:
        gram.triangle += product.toarray().T
        return
    product = product.tocoo()
    gram.triangle[product.row, product.col] += product.data


def _add_dense(gram: GramSum, rows: Any) -> None:
    m, n = rows.shape
    for part in chunks(m, n * 8, min(BLOCK_BYTES, m * n)):  # an eighth of the rows at most
        gram.add(rows[part].toarray(order="C"))


def _loop_pays(products: float) -> bool:
    """Return whether this matrix is worth compiling the loop; earlier ones must not decide, or bits would differ."""
    return products >= COMPILE_PRODUCTS and can_compile()


@cache
def _compiled_loop() -> Any:
    return compiled(add_products)


def _add_by_loop(gram: GramSum, rows: Any) -> None:
    """Add the products of rows, block by block, so that each block is in cache for all of its columns.

    Lanes share the columns, each of which one lane adds up: the number of lanes changes no bit.
    """
    m, n = rows.shape
    rows.sort_indices()
    shared = shares_of_triangle(n, lane_count())
    for part in chunks(m, max(1, 12 * rows.nnz // max(1, m)), LOOP_BYTES):
        block = rows[part]
        by_column = block.tocsc()
        columns, indptr = block.indices.astype(np.uint32), block.indptr.astype(np.int64)
        by_columns = by_column.data, by_column.indices.astype(np.uint32), by_column.indptr.astype(np.int64)
        by_rows = block.data, columns, indptr

        def add(some: slice, by_columns: Any = by_columns, by_rows: Any = by_rows) -> None:
            _compiled_loop()(*by_columns, *by_rows, some.start, some.stop, gram.triangle.T)

        in_lanes(add, shared)


def shares_of_triangle(n: int, count: int) -> list[slice]:
    """Return slices of the rows of an upper triangle with about as many entries each."""
    ends = np.round(n * (1.0 - np.sqrt(1.0 - np.arange(count + 1) / count))).astype(int)
    return [slice(int(start), int(stop)) for start, stop in pairwise(ends)]


def add_products(
    entries: Array,
    rows: Array,
    column_starts: Array,
    values: Array,
    columns: Array,
    row_starts: Array,
    begin: int,
    end: int,
    out: Array,
) -> None:
    """Add some rows of the upper triangle of X'X to `out`: each entry by columns, times what follows it in its row."""
    first = row_starts[:-1].copy()  # of each row what is before the current column is skipped
    for row in range(len(first)):
        while first[row] < row_starts[row + 1] and columns[first[row]] < begin:
            first[row] += 1
    for j in range(begin, end):
        sums = out[j]
        for place in range(column_starts[j], column_starts[j + 1]):
            row, x = rows[place], entries[place]
            start = first[row]
            first[row] = start + 1
            rest, at = values[start : row_starts[row + 1]], columns[start : row_starts[row + 1]]
            for i in range(len(rest)):
                sums[at[i]] += x * rest[i]
