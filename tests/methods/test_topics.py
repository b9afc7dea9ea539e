"""Topics: nonnegative parts of k words whose scores rebuild the documents."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.decomposition import NMF

import rspca
from rspca.algorithm.parts import nonnegative_parts
from rspca.algorithm.rebuilt import rebuilding_supports
from rspca.base.types import no_report


def documents(seed=0, n_documents=90):
    """Counts of three subjects with four words each, and a little of all words."""
    rng = np.random.default_rng(seed)
    subject = np.repeat(np.arange(3), n_documents // 3)
    chances = np.full((n_documents, 3 * 4), 0.05)
    for document, own in enumerate(subject):
        chances[document, 4 * own : 4 * own + 4] = 2.0
    return rng.poisson(chances).astype(float), subject


def rebuilt(X, V):
    basis = np.linalg.qr(X @ V)[0]
    return float(np.sum((basis.T @ X) ** 2))


def fit(X, **options):
    return rspca.SparsePCA(3, k=4, method="topics", center=False, **options).fit(X)


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array])
def test_each_subject_is_a_topic_of_its_words(kind):  # issue 20, item 7
    X, subject = documents()
    model = fit(kind(X))
    assert {tuple(support) for support in model.supports_} == {(0, 1, 2, 3), (4, 5, 6, 7), (8, 9, 10, 11)}
    assert (model.components_ >= 0.0).all()
    np.testing.assert_allclose(np.linalg.norm(model.components_, axis=1), 1.0)
    leading = rspca.text.shares(model, X).argmax(axis=1)
    assert all(len(np.unique(leading[subject == own])) == 1 for own in range(3))


def test_neither_seed_nor_unit_nor_normalization_matter():
    X, _ = documents()
    expected = fit(X, random_state=0)
    for other in (fit(X, random_state=5), fit(1024.0 * X), fit(X, normalization="naive")):
        np.testing.assert_allclose(other.components_, expected.components_, atol=1e-10)


def test_parts_are_those_of_nonnegative_matrix_factorization():
    X, _ = documents()
    parts = nonnegative_parts(rspca.as_operator(X), 3, np.random.default_rng(0), no_report)
    other = NMF(3, init="nndsvd", tol=1e-8, max_iter=2000).fit(X).components_
    cosines = parts.weights @ (other / np.linalg.norm(other, axis=1, keepdims=True)).T
    assert parts.converged
    assert np.sort(cosines.max(axis=0))[0] > 0.999


@pytest.mark.parametrize("seed", range(5))
def test_the_chosen_words_rebuild_at_least_what_the_largest_weights_do(seed):
    X = np.random.default_rng(seed).gamma(0.3, size=(40, 15))
    op, k = rspca.as_operator(X), 4
    weights = nonnegative_parts(op, 3, np.random.default_rng(0), no_report).weights
    largest = np.where(weights >= np.sort(weights, axis=1)[:, [-k]], weights, 0.0).T
    seen = []
    supports = rebuilding_supports(op, weights, [k] * 3, lambda stage, step, value: seen.append(value))
    assert all(len(support) <= k for support in supports)
    assert [rebuilt(X, largest), *seen] == sorted([rebuilt(X, largest), *seen])


def test_no_more_topics_than_the_rank_of_the_documents():
    X = np.outer(np.arange(1.0, 9.0), [3.0, 2.0, 1.0, 0.0])
    with pytest.warns(UserWarning, match="only 1 of the 2"):
        model = rspca.SparsePCA(2, k=2, method="topics", center=False).fit(X)
    assert model.supports_[0].tolist() == [0, 1]


def test_a_gram_matrix_has_no_topics_and_topics_have_no_certificates():
    with pytest.raises(ValueError, match="method='topics' factorizes the samples"):
        rspca.decompose(rspca.GramOperator(np.eye(3)), 1, k=1, method="topics")
    with pytest.raises(ValueError, match="method='topics' finds them together"):
        fit(documents()[0], certify=True)
    with pytest.raises(ValueError, match="Shares are of topics without negative loadings"):
        rspca.text.shares(rspca.SparsePCA(1, k=2).fit(documents()[0]), documents()[0])
