"""Every public entry point against every kind of bad value: one line that names the argument, before work starts."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from support.good_input import TEXTS, M, N, X, adata, certificate, model
from support.refusal import calls, complaint, table

import rspca
from rspca import SparsePCA, datasets, text

ONES = np.ones(N)


def fit(**options):
    return SparsePCA(**{"k": 2} | options).fit(X)


NO_NUMBER = {
    "None": None, "text": "a", "digits": "2", "half": 2.5, "NaN": np.nan, "infinity": np.inf, "truth": True,
    "list": [], "complex": 2j, "object": object(), "array": np.array([1, 2]), "bytes": b"2", "mapping": {},
}  # fmt: skip
OUT_OF_RANGE = {"zero": 0, "negative": -1, "very negative": -(10**30)}
COUNTS = NO_NUMBER | OUT_OF_RANGE
TOO_LARGE = {"n + 1": N + 1, "huge": 10**30}


WHOLE_NUMBERS = {
    **calls("SparsePCA", fit, names="n_components max_iter n_draws max_per_group"),
    **calls("decompose", partial(rspca.decompose, k=2), X, names="n_components max_iter n_draws max_per_group"),
    **calls("relax", rspca.relax, X, 2, names="max_iter"),
    **calls("theorem1", partial(rspca.theorem1, epsilon=0.5), names="k"),
    **calls("theorem1", rspca.theorem1, 5, 0.5, names="n_draws"),
    **calls("certify", rspca.certify, X, names="k"),
    **calls("compare", rspca.compare, X, names="k"),
    **calls("make_hadamard", datasets.make_hadamard, names="m n"),
    **calls("make_genotypes", partial(datasets.make_genotypes, n=5), names="m"),
    **calls("make_genotypes", partial(datasets.make_genotypes, 5), names="n"),
    **calls("make_genotypes", datasets.make_genotypes, 5, 5, names="n_populations block"),
    **calls("make_counterexample", datasets.make_counterexample, names="n k"),
    **calls("make_planted_spikes", datasets.make_planted_spikes, names="m n k"),
    **calls("term_matrix", text.term_matrix, TEXTS, names="min_length max_length min_documents"),
    **calls("term_counts", text.term_counts, TEXTS, names="min_length max_length min_documents"),
    **calls("spca", lambda **o: rspca.spca(adata(), **{"k": 2} | o), names="n_comps"),
}  # fmt: skip


@table(COUNTS, WHOLE_NUMBERS)
def test_a_count_that_is_none_is_refused_by_its_name(call, argument, value):
    said = complaint(call, value)
    assert f"{argument}=" in said or f"{argument} has" in said


ABSURD = {"huge": 10**30, "thousands of digits": 10**5000}


@table(
    {"a billion letters": 10**9},
    {name: WHOLE_NUMBERS[name] for name in ("term_matrix.max_length", "term_counts.max_length")},
)
def test_terms_longer_than_can_be_sought_are_refused(call, argument, value):
    assert "max_length=1000000000 must be at most 1000000 letters" in complaint(call, value)


@table(ABSURD, WHOLE_NUMBERS)
def test_a_count_that_nothing_can_count_to_is_refused_by_its_name(call, argument, value):
    said = complaint(call, value)
    assert f"{argument}=" in said
    assert "must be between" in said or "power of two" in said


@table(
    {"one too many": 100_001, "a billion": 10**9},
    {name: WHOLE_NUMBERS[name] for name in ("SparsePCA.n_draws", "decompose.n_draws")},
)
def test_more_draws_than_can_be_of_use_are_refused(call, argument, value):
    assert f"n_draws={value} must be at most 100000; more find hardly anything better" in complaint(call, value)


@table({"a power of two": 2**50}, {name: WHOLE_NUMBERS[name] for name in (
    "make_genotypes.m", "make_genotypes.n", "make_genotypes.n_populations", "make_planted_spikes.m",
    "make_planted_spikes.n", "make_counterexample.n", "make_hadamard.n",
)})  # fmt: skip
def test_data_that_do_not_fit_the_memory_are_refused_before_they_are_made(call, argument, value):
    with pytest.raises(MemoryError, match=r"^Not enough memory: .* Lower "):
        call(value)


@table(TOO_LARGE, {name: WHOLE_NUMBERS[name] for name in (
    "SparsePCA.n_components", "decompose.n_components", "certify.k", "compare.k", "spca.n_comps",
)})  # fmt: skip
def test_a_count_beyond_the_data_is_refused_by_its_name(call, argument, value):
    assert f"{argument}=" in complaint(call, value)


@table(COUNTS | TOO_LARGE, {"path.k": lambda value: rspca.path(X, [2, value])})
def test_each_k_of_a_path_is_checked(call, argument, value):
    assert "k" in complaint(call, value)


@table(
    {"None": None, "number": 3, "text": "5", "empty": [], "words": ["a"], "nested": [[1], [2]], "mapping": {}},
    {"path.ks": lambda value: rspca.path(X, value)},
)
def test_a_path_needs_whole_numbers(call, argument, value):
    assert "k" in complaint(call, value)


BEYOND_FLOATS = {"thousands of digits": 10**5000}
NO_POSITIVE = {k: v for k, v in NO_NUMBER.items() if k != "half"} | OUT_OF_RANGE | BEYOND_FLOATS
POSITIVE = {
    **calls("SparsePCA", fit, names="certify_seconds"),
    **calls("decompose", partial(rspca.decompose, k=2), X, names="certify_seconds"),
    **calls("certify", rspca.certify, X, 2, names="seconds tol"),
    **calls("path", rspca.path, X, [2], names="seconds"),
    **calls("theorem1", partial(rspca.theorem1, 5), names="epsilon"),
    **calls("theorem1", rspca.theorem1, 5, 0.5, names="row_norm"),
    **calls("round_vector", lambda **o: rspca.round_vector(ONES, **o, rng=np.random.default_rng(0)), names="s"),
    **calls("make_counterexample", datasets.make_counterexample, names="margin"),
    **calls("make_genotypes", datasets.make_genotypes, 5, 5, names="fst"),
    **calls("verify", lambda **o: certificate().verify(X, **o), names="seconds"),
}  # fmt: skip


@table(NO_POSITIVE, POSITIVE)
def test_a_number_that_must_be_positive_is_refused_by_its_name(call, argument, value):
    assert f"{argument}=" in complaint(call, value)


NO_SIZE = {k: v for k, v in NO_NUMBER.items() if k != "half"} | {"negative": -1} | BEYOND_FLOATS
AT_LEAST_ZERO = {
    **calls("SparsePCA", fit, names="tol"),
    **calls("decompose", partial(rspca.decompose, k=2), X, names="tol"),
    **calls("make_hadamard", partial(datasets.make_hadamard, 8, 16), names="noise"),
    **calls("make_counterexample", datasets.make_counterexample, names="noise"),
    **calls("make_planted_spikes", datasets.make_planted_spikes, names="strength"),
}  # fmt: skip


@table(NO_SIZE, AT_LEAST_ZERO)
def test_a_number_that_must_not_be_negative_is_refused_by_its_name(call, argument, value):
    assert f"{argument}=" in complaint(call, value)


NO_SEED = {k: v for k, v in NO_NUMBER.items() if k != "None"} | {"negative": -1}
SEEDS = {
    **calls("SparsePCA", fit, names="random_state"),
    **calls("decompose", partial(rspca.decompose, k=2), X, names="random_state"),
    **calls("certify", rspca.certify, X, 2, names="random_state"),
    **calls("path", rspca.path, X, [2], names="random_state"),
    **calls("compare", rspca.compare, X, 2, names="random_state"),
    **calls("make_hadamard", datasets.make_hadamard, 8, 16, names="random_state"),
    **calls("make_genotypes", datasets.make_genotypes, 5, 5, names="random_state"),
    **calls("make_counterexample", datasets.make_counterexample, names="random_state"),
    **calls("make_planted_spikes", datasets.make_planted_spikes, names="random_state"),
    **calls("spca", lambda **o: rspca.spca(adata(), n_comps=1, k=2, **o), names="random_state"),
}  # fmt: skip


@table(NO_SEED, SEEDS)
def test_a_seed_that_is_none_is_refused_by_its_name(call, argument, value):
    assert "random_state=" in complaint(call, value)


NO_NAME = {"None": None, "unknown": "magic", "number": 3, "list": ["rspca"], "array": ONES, "truth": True, "empty": ""}
NAMES = {
    **calls("decompose", partial(rspca.decompose, k=2), X, names="method solver rounding normalization deflation side"),
    **calls("SparsePCA", fit, names="method solver rounding normalization deflation"),
    **calls("relax", rspca.relax, X, 2, names="solver"),
    **calls("normalize", rspca.normalize, X, ONES, names="how"),
    **calls("explained_variance", rspca.explained_variance, X, np.eye(N)[:1], names="definition"),
    **calls("certify", rspca.certify, X, 2, names="deflation"),
    **calls("make_counterexample", datasets.make_counterexample, names="kind"),
    **calls("fetch_hgdp", datasets.fetch_hgdp, names="subset"),
    **calls("term_matrix", text.term_matrix, TEXTS, names="empty"),
}  # fmt: skip


@table(NO_NAME, NAMES)
def test_an_unknown_name_is_refused_with_the_known_ones(call, argument, value):
    said = complaint(call, value)
    assert f"{argument}=" in said
    assert "choose one of" in said


NO_TRUTH = {"None": None, "text": "yes", "number": 2, "list": [True], "array": ONES, "NaN": np.nan}
TRUTHS = {
    **calls("decompose", partial(rspca.decompose, k=2), X, names="polish center scale certify"),
    **calls("SparsePCA", fit, names="polish center scale certify"),
    **calls("relax", rspca.relax, X, 2, names="center scale"),
    **calls("normalize", rspca.normalize, X, ONES, names="center scale"),
    **calls("explained_variance", rspca.explained_variance, X, np.eye(N)[:1], names="center scale"),
    **calls("certify", rspca.certify, X, 2, names="center scale"),
    **calls("path", rspca.path, X, [2], names="center scale certify"),
    **calls("compare", rspca.compare, X, 2, names="center scale"),
}  # fmt: skip


@table(NO_TRUTH, TRUTHS)
def test_what_is_neither_true_nor_false_is_refused_by_its_name(call, argument, value):
    assert f"{argument}=" in complaint(call, value)


NO_FUNCTION = {"number": 3, "text": "print", "list": [], "truth": True}
FUNCTIONS = {
    **calls("decompose", partial(rspca.decompose, k=2), X, names="on_step on_component"),
    **calls("relax", rspca.relax, X, 2, names="on_step"),
    **calls("certify", rspca.certify, X, 2, names="on_step"),
    **calls("path", rspca.path, X, [2], names="on_step on_rows"),
    **calls("compare", rspca.compare, X, 2, names="on_step on_rows"),
    "fit.on_step": lambda value: SparsePCA(k=2).fit(X, on_step=value),
    "fit.on_component": lambda value: SparsePCA(k=2).fit(X, on_component=value),
}  # fmt: skip


@table(NO_FUNCTION, FUNCTIONS)
def test_a_listener_that_cannot_be_called_is_refused_by_its_name(call, argument, value):
    assert f"{argument}=" in complaint(call, value)


NO_VECTOR = {
    "text": "a", "words": ["a"] * N, "short": np.ones(N - 1), "long": np.ones(N + 1), "NaN": np.full(N, np.nan),
    "infinity": np.full(N, np.inf), "zero": np.zeros(N), "complex": ONES + 1j, "number": 3.0, "object": [object()] * N,
    "empty": [], "three dimensions": np.ones((1, 1, N)), "dates": np.zeros(N, "datetime64[s]"),
    "sparse": sp.csr_array(np.ones((1, N))), "ragged": [[1.0], [1.0, 2.0]],
}  # fmt: skip
VECTORS = {
    "normalize.x": lambda value: rspca.normalize(X, value),
    "explained_variance.V": lambda value: rspca.explained_variance(X, value),
    "relax.start": lambda value: rspca.relax(X, 2, start=value),
    "certify.loadings": lambda value: rspca.certify(X, N, loadings=value),
}
AFTER = {"certify.after": lambda value: rspca.certify(X, 2, after=value)}


@table(NO_VECTOR, VECTORS)
def test_a_vector_that_is_none_is_refused_by_its_name(call, argument, value):
    assert argument in complaint(call, value)


@table({name: value for name, value in NO_VECTOR.items() if name != "empty"}, AFTER)
def test_a_vector_before_it_is_refused_too_but_there_may_be_none(call, argument, value):
    assert argument in complaint(call, value)


@table(
    {k: v for k, v in NO_VECTOR.items() if k not in ("short", "long", "number")} | {"None": None},
    {"round_vector.x": lambda value: rspca.round_vector(value, 2, np.random.default_rng(0))},
)
def test_only_a_vector_is_rounded(call, argument, value):
    assert "x" in complaint(call, value)


@table(
    {"None": None, "seed": 0, "text": "a", "old": np.random.RandomState(0)},
    {"round_vector.rng": lambda value: rspca.round_vector(ONES, 2, value)},
)
def test_rounding_needs_a_generator(call, argument, value):
    assert "rng=" in complaint(call, value)


NO_MATRIX = {
    "None": None, "text": "a", "number": 3.0, "list": [], "vector": ONES, "three dimensions": np.ones((2, 2, 2)),
    "no rows": np.ones((0, N)), "no columns": np.ones((M, 0)), "complex": X + 1j, "words": np.full((M, N), "a"),
    "objects": np.full((M, N), object()), "dates": np.zeros((M, N), "datetime64[s]"), "mapping": {"a": 1},
    "complex and sparse": sp.csr_array(X + 1j), "no rows and sparse": sp.csr_array((0, N)),
    "ragged": [[1.0], [1.0, 2.0]],
}  # fmt: skip
NOT_FINITE = {"NaN": np.where(X > 1, np.nan, X), "infinity": np.where(X > 1, np.inf, X), "too large": X * 1e200}
MATRICES = {
    "SparsePCA.X": lambda value: SparsePCA(k=2).fit(value),
    "decompose.X": lambda value: rspca.decompose(value, k=2),
    "relax.X": lambda value: rspca.relax(value, 2),
    "normalize.X": lambda value: rspca.normalize(value, ONES),
    "explained_variance.X": lambda value: rspca.explained_variance(value, np.eye(N)[:1]),
    "path.X": lambda value: rspca.path(value, [2]),
    "certify.X": lambda value: rspca.certify(value, 2),
    "compare.X": lambda value: rspca.compare(value, 2),
    "verify.X": lambda value: certificate().verify(value),
    "transform.X": lambda value: model().transform(value),
    "score.X": lambda value: model().score(value),
    "as_operator.X": rspca.as_operator,
}


@table(NO_MATRIX | NOT_FINITE, {k: v for k, v in MATRICES.items() if k != "as_operator.X"})
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_no_matrix_is_refused(call, argument, value):
    if value is NOT_FINITE["too large"] and "model" in call.__code__.co_names:
        return  # scores of large numbers are large numbers
    with pytest.raises((ValueError, TypeError)) as caught:
        call(value)
    assert len(str(caught.value).splitlines()) == 1


@table(NO_MATRIX, {"as_operator.X": rspca.as_operator, "GramOperator.A": rspca.GramOperator})
def test_what_is_no_matrix_is_refused_by_its_name(call, argument, value):
    assert argument in complaint(call, value)


@table(
    {"NaN": np.full((2, 2), np.nan), "oblong": np.ones((2, 3)), "skew": [[1.0, 2.0], [0.0, 1.0]],
     "indefinite": [[1.0, 2.0], [2.0, 1.0]], "sparse": sp.eye_array(2), "operator": rspca.as_operator(X)},
    {"GramOperator.A": rspca.GramOperator},
)  # fmt: skip
def test_a_gram_matrix_that_is_none_is_refused(call, argument, value):
    assert complaint(call, value).startswith("A ")


@table(
    {
        "zero": 0,
        "negative": -5,
        "text": "much",
        "unit": "5 parsec",
        "half": 0.5,
        "list": [],
        "truth": True,
        "two points": "1.2.3MB",
        "many digits": "9" * 400,
        "huge": 10**30,
        "thousands of digits": 10**5000,
    },
    {"as_operator.max_memory": lambda value: rspca.as_operator(X, max_memory=value)},
)
def test_a_size_of_memory_that_is_none_is_refused_by_its_name(call, argument, value):
    assert "max_memory=" in complaint(call, value)


@table(
    {"short": np.zeros(N - 1), "number": 2.5, "text": "gene", "negative": -1, "zero": 0, "truth": True,
     "two dimensions": np.ones((2, N))},
    {"decompose.groups": lambda value: rspca.decompose(X, k=2, groups=value)},
)  # fmt: skip
def test_groups_that_do_not_fit_are_refused(call, argument, value):
    assert "groups" in complaint(call, value)


@table(
    {"number": 3, "text": "a", "of others": [1], "None": None},
    {"decompose.earlier": lambda value: rspca.decompose(X, k=2, earlier=value)},
)
def test_only_components_can_be_earlier_ones(call, argument, value):
    assert "earlier" in complaint(call, value)


@table(
    {"text": "rspca", "number": 3, "unknown": ["magic"], "None inside": [None], "numbers": [1]},
    {"compare.methods": lambda value: rspca.compare(X, 2, methods=value)},
)
def test_methods_that_are_none_are_refused(call, argument, value):
    assert "method" in complaint(call, value)


@table(
    {"None": None, "text": "a", "vector": np.ones(2), "wide": np.ones((3, 5)), "NaN": [[np.nan, 1.0]], "empty": [],
     "complex": [[1j, 1.0]], "words": [["a", "b"]], "three dimensions": np.ones((1, 1, 2))},
    {"inverse_transform.T": lambda value: model().inverse_transform(value)},
)  # fmt: skip
def test_scores_that_are_none_are_refused_by_their_name(call, argument, value):
    assert "T " in complaint(call, value)
