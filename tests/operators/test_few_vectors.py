"""Products of dense data with a few vectors, one after another for rows in cache."""

import numpy as np
import pytest

from rspca.operators import dense, in_memory
from rspca.operators.dense import DenseOperator


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("shift", [0.0, np.arange(1.0, 6.0)], ids=["centered before", "shifted scores"])
def test_a_few_vectors_have_the_products_of_all_at_once_in_one_pass(monkeypatch, count, shift):
    # issue 16, item 1
    monkeypatch.setattr(in_memory, "CACHE_BYTES", 1 << 10)
    monkeypatch.setattr(dense, "FEW_VECTORS_BYTES", 1 << 10)
    rng = np.random.default_rng(0)
    X, V = rng.standard_normal((50, 30)), rng.standard_normal((30, count))
    shift = shift if np.ndim(shift) == 0 else shift[:count]
    op = DenseOperator(X)
    products, scores = op.gram_and_scores(V, shift)
    np.testing.assert_allclose(scores, X @ V - shift, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(products, X.T @ (X @ V - shift), rtol=1e-12, atol=1e-11)
    assert op.passes == 1.0


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shift", [0.0, np.arange(1.0, 4.0)], ids=["centered before", "shifted scores"])
def test_a_few_vectors_with_few_non_zeros_read_only_their_columns_for_the_scores(monkeypatch, order, shift):
    # issue 16, item 2
    monkeypatch.setattr(dense, "GATHER_MIN_ENTRIES", 0)
    monkeypatch.setattr(in_memory, "CACHE_BYTES", 1 << 10)
    monkeypatch.setattr(dense, "FEW_VECTORS_BYTES", 1 << 12)
    rng = np.random.default_rng(0)
    X, V = np.asarray(rng.standard_normal((40, 200)), order=order), np.zeros((200, 3))
    V[[5, 80], 0], V[[80, 120], 1], V[[5, 7], 2] = 1.0, -2.0, 3.0
    op = DenseOperator(X)
    products, scores = op.gram_and_scores(V, shift)
    np.testing.assert_allclose(scores, X @ V - shift, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(products, X.T @ (X @ V - shift), rtol=1e-12, atol=1e-11)
    assert op.passes <= 1.0 + 2 * 4 / 200 + 1e-9  # copied, then multiplied
