"""Blocks of rows: their products, and how dense data in memory are cut into them."""

import numpy as np
import pytest
import scipy.sparse

from rspca.operators import in_memory
from rspca.operators.blocks import rows_times
from rspca.operators.dense import READ_TWICE_SHARE, DenseOperator

RNG = np.random.default_rng(0)
X = RNG.standard_normal((37, 200))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(200,), (200, 1), (200, 3)], ids=["vector", "column", "columns"])
def test_rows_have_the_same_product_by_dot_as_by_matmul(dtype, shape):
    # issue 16: same bits for any number of lanes
    V = RNG.standard_normal(shape).astype(dtype)
    data = X.astype(dtype)
    for rows in (data, data[:, ::2].repeat(2, axis=1)[:, :200], np.asfortranarray(data), data[::3]):
        np.testing.assert_array_equal(rows_times(rows, V), rows @ V)
    sparse = scipy.sparse.csr_array(data * (np.abs(data) > 1.0))
    np.testing.assert_array_equal(rows_times(sparse, V), sparse @ V)


@pytest.mark.parametrize("n_rows", [1, 7, 36, 37, 100, 1001])
@pytest.mark.parametrize("cache", [1 << 10, 1 << 12, 1 << 16])
def test_blocks_that_are_read_twice_fit_the_cache_and_have_equal_lengths(monkeypatch, n_rows, cache):
    monkeypatch.setattr(in_memory, "CACHE_BYTES", cache)
    op = DenseOperator(np.ones((n_rows, 20)))
    lengths = [part.stop - part.start for part in op._blocks()]
    assert sum(lengths) == n_rows
    assert max(lengths) == 1 or 8 * 20 * max(lengths) <= READ_TWICE_SHARE * cache + 8 * 20
    assert max(lengths) - min(lengths[:-1], default=max(lengths)) == 0
    assert len(lengths) <= 1 or lengths[-1] <= lengths[0]
