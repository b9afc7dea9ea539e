"""Held-out variance, stability, permutation tests and structure: whether a component is more than chance."""

import re

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_wine
from sklearn.model_selection import GroupKFold, KFold, cross_val_score

import rspca
from rspca.analysis import stability
from rspca.analysis.resampling import absolute_cosines, half_samples, matched
from rspca.datasets import make_planted_spikes

WINE = load_wine().data


def planted(m, n, k, strength=25.0):
    """Return data, and the features that belong together."""
    X, V = make_planted_spikes(m, n, k, 1, strength=strength, random_state=0)
    return X, np.flatnonzero(np.atleast_2d(V)[0])


def spikes(m=80, n=60, k=6, count=1, strength=20.0, seed=0):
    return make_planted_spikes(m, n, k, count, strength=strength, random_state=seed)[0]


# --- cross-validation ----------------------------------------


@pytest.mark.parametrize("scale", [False, True])
def test_held_out_shares_are_those_of_scikit_learn(scale):  # issue 19, item 4
    X, ks, folds = spikes() + 3.0, [6, 20], KFold(4)
    found = rspca.path(X, ks, cv=folds, scale=scale)
    for point in found:
        shares = cross_val_score(rspca.SparsePCA(1, k=point.k, scale=scale, random_state=0), X, cv=folds)
        assert point.held_out == pytest.approx(shares.mean(), rel=2e-2)
    assert found[0].held_out == pytest.approx(
        cross_val_score(rspca.SparsePCA(1, k=6, scale=scale, random_state=0), X, cv=folds).mean(), rel=1e-9
    )


def test_the_suggestion_is_the_smallest_k_within_one_standard_error_of_the_best():  # issue 19, item 4
    found = rspca.path(spikes(), [2, 4, 6, 10, 20, 60], cv=5)
    best = max(found, key=lambda point: point.held_out)
    wanted = next(point.k for point in found if point.held_out >= best.held_out - best.held_out_se)
    assert found.suggested == wanted == 6
    assert "held-out variance" in found.why
    assert "held out" in str(found)


def test_sparse_data_have_the_held_out_shares_of_the_dense_ones():  # issue 19, item 4
    X = np.where(np.random.default_rng(0).random((40, 30)) < 0.3, spikes(40, 30), 0.0)
    dense, sparse = (rspca.path(data, [3, 9], cv=4) for data in (X, scipy.sparse.csr_array(X)))
    assert [p.held_out for p in sparse] == pytest.approx([p.held_out for p in dense], rel=1e-9)


def test_groups_of_samples_are_held_out_together():  # issue 19, item 4
    X, labels = spikes(), np.arange(80) // 10
    by_label = rspca.path(X, [6], cv=4, cv_groups=labels)
    by_splitter = rspca.path(X, [6], cv=GroupKFold(4), cv_groups=labels)
    by_pairs = rspca.path(X, [6], cv=list(GroupKFold(4).split(X, groups=labels)))
    assert by_label[0].held_out == by_splitter[0].held_out == by_pairs[0].held_out


def test_later_components_are_chosen_given_those_before():  # issue 19, item 4
    found = rspca.path(spikes(count=2, strength=30.0), [3, 6, 20, 60], cv=5, n_components=2)
    assert (found.suggested, found.later[0].suggested) == (6, 6)
    assert found.later[0][1].held_out > found[1].held_out  # what all so far have
    assert "component 2" in str(found)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cv": 1}, "cv=1 must be between 2 and"),
        ({"cv_groups": [0] * 80}, "give cv too"),
        ({"cv": 5, "cv_groups": [0, 1] * 40}, "cv_groups has 2 groups"),
        ({"cv": [([0, 1], [2])]}, "at least 2 are needed"),
    ],
)
def test_folds_that_cannot_be_made_are_refused(options, message):  # issue 19, item 4
    with pytest.raises(ValueError, match=message):
        rspca.path(spikes(), [3, 6], **options)
    with pytest.raises(ValueError, match="Gram matrix has none"):
        rspca.path(rspca.GramOperator(np.eye(4)), [2], cv=3)


def test_k_may_be_a_share_of_the_features():  # issue 19, item 4
    X = spikes()
    assert len(rspca.SparsePCA(1, k=0.1, random_state=0).fit(X).supports_[0]) == 6
    assert [len(c.support) for c in rspca.decompose(X, 2, k=[0.1, 3], random_state=0).components] == [6, 3]
    assert [point.k for point in rspca.path(X, [0.05, 0.1])] == [3, 6]
    assert rspca.certify(X, 0.05).k == 3
    with pytest.raises(TypeError, match="strictly between 0 and 1"):
        rspca.SparsePCA(1, k=1.0).fit(X)


def test_groups_of_features_bind_in_path_compare_and_certify():  # issue 19, item 4
    X, groups = spikes(), np.arange(60) // 3
    for support in (
        rspca.path(X, [6], groups=groups, certify=True)[0].support,
        rspca.certify(X, 6, groups=groups).support,
        rspca.compare(X, 6, groups=groups, methods=["rspca", "maxcomp"]).certificate.support,
    ):
        assert np.bincount(groups[support]).max() == 1
    assert "knows no groups" in rspca.compare(X, 6, groups=groups, certify_seconds=None).skipped["maxcomp"]
    free, bound = rspca.certify(X, 6), rspca.certify(X, 6, groups=groups)
    assert bound.lower <= bound.upper < free.lower  # the bound is for the supports that groups allow
    with pytest.raises(ValueError, match="the groups give 20 at most"):
        rspca.certify(X, 30, groups=groups)


# --- stability ----------------------------------------


def test_half_samples_are_complementary():
    counts = half_samples(11, 3, np.random.default_rng(0))
    assert (counts.sum(axis=0) == 5).all()
    assert (counts[:, ::2] + counts[:, 1::2] <= 1).all()


def test_components_of_halves_are_matched_whatever_their_order():
    found = [
        rspca.Component(support=np.array(s), loadings=np.ones(2), variance=1.0, n_features=9) for s in ([0, 1], [5, 6])
    ]
    assert matched(absolute_cosines(found, found[::-1])).tolist() == [1, 0]


@pytest.mark.parametrize("scale", [False, True])
def test_halves_find_what_full_fits_to_them_find(scale):  # issue 19, item 5
    X = spikes(60, 40, 5, 2, strength=25.0) + 2.0
    model = rspca.SparsePCA(2, k=5, scale=scale, random_state=0).fit(X)
    stable = model.stability(X, 10, 0)
    share, counts = np.zeros((2, 40)), half_samples(60, 10, np.random.default_rng(0))
    for half in counts.T:
        fitted = rspca.decompose(X[half > 0], 2, k=5, scale=scale, random_state=0).components
        full = [rspca.Component(support=s, loadings=v[s], variance=1.0, n_features=40)
                for s, v in zip(model.supports_, model.components_, strict=True)]  # fmt: skip
        for j, other in enumerate(matched(absolute_cosines(full, fitted))):
            share[j, fitted[other].support] += 1 / 20
    assert np.abs(stable.share.toarray() - share).max() <= 0.1


def test_planted_features_are_stable_and_the_rest_is_not():  # issue 19, item 5
    X, signal = planted(100, 200, 8)
    model = rspca.SparsePCA(1, k=12, random_state=0).fit(X)
    stable = model.stability(X, 20, 0)
    shares = stable.shares(0)
    assert (shares[signal] >= 0.9).all()
    assert (
        np.count_nonzero(np.delete(shares, signal) >= 0.9)
        <= stable.error_bound(0.9)[0]
        == pytest.approx(144 / (0.8 * 200))
    )
    assert {one.feature for one in stable.runners_up(0)}.isdisjoint(model.supports_[0])
    assert model.top_features()[0].share == shares[model.top_features()[0].name]
    assert "exchangeable" in str(stable)
    assert model.stability(X, 20, 0).share.toarray().tolist() == stable.share.toarray().tolist()


@pytest.mark.parametrize(
    "options",
    [
        {"joint": True},
        {"method": "tpower"},
        {"nonnegative": True},
        {"deflation": "projection"},
        {"groups": [0, 1] * 6},
    ],
    ids=str,
)
def test_components_found_otherwise_have_a_stability_too(options):  # issue 19, item 5
    options = {"max_per_group": 2} | options if "groups" in options else options
    X = spikes(40, 12, 3, 2, strength=25.0)
    stable = rspca.SparsePCA(2, k=3, random_state=0, **options).fit(X).stability(X, 2, 0)
    assert stable.share.shape == (2, 12)
    assert (stable.cosine > 0.3).all()


def test_weights_and_covariates_reach_the_halves():  # issue 19, item 5
    rng = np.random.default_rng(0)
    X, signal = planted(60, 30, 4)
    batch, others = rng.integers(0, 2, 60), np.setdiff1d(np.arange(30), signal)[:4]
    X[:, others] += 20.0 * batch[:, None]
    model = rspca.SparsePCA(1, k=4, random_state=0)
    weights = rng.integers(0, 3, 60)
    plain = model.fit(X, sample_weight=weights).stability(X, 10, 0, sample_weight=weights)
    freed = model.fit(X, covariates={"batch": batch}).stability(X, 10, 0, covariates={"batch": batch})
    assert plain.shares(0)[others].min() == 1.0
    assert freed.shares(0)[others].max() < 0.5 < freed.shares(0)[signal].min()


@pytest.mark.parametrize("options", [{}, {"nonnegative": True}])
def test_a_stability_that_was_stopped_goes_on_to_the_same_bits(options, monkeypatch):  # issue 19, item 9
    monkeypatch.setattr(stability, "PART_BYTES", 1)  # a pair at a time
    model, kept = rspca.SparsePCA(2, k=3, random_state=0, **options).fit(WINE), []
    whole = model.stability(WINE, 4, 7, on_halves=lambda halves: kept.append(halves.arrays()))
    for part in kept:
        again = model.stability(WINE, 4, 7, earlier=part)
        assert again.share.toarray().tolist() == whole.share.toarray().tolist()
        assert [again.cosine.tolist(), again.overlap.tolist()] == [whole.cosine.tolist(), whole.overlap.tolist()]
    with pytest.raises(ValueError, match="earlier has 8 halves; n_pairs=2 has 4"):
        model.stability(WINE, 2, 7, earlier=kept[-1])


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("count", np.array(0)),
        ("count", np.array(1.5)),
        ("features", np.array([99] * 6)),
        ("lengths", np.array([1, 1])),
        ("cosines", np.array([np.nan, 1.0])),
        ("lengths", None),
    ],
)
def test_halves_that_cannot_be_of_the_components_are_refused(name, values):  # issue 19, item 9
    model, kept = rspca.SparsePCA(2, k=3, random_state=0).fit(WINE), []
    model.stability(WINE, 1, 0, on_halves=lambda halves: kept.append(halves.arrays()))
    with pytest.raises(ValueError, match=r"earlier cannot be continued: .*halves.* Give what on_halves"):
        model.stability(WINE, 1, 0, earlier=kept[0] | {name: values})


def test_a_model_keeps_its_stability(tmp_path):  # issue 19, item 5
    model = rspca.SparsePCA(2, k=4, scale=True, random_state=0).fit(WINE)
    model.stability(WINE, 5, 0)
    model.save(tmp_path / "model.npz")
    again = rspca.load(tmp_path / "model.npz")
    assert again.top_features(1, associates=2) == model.top_features(1, associates=2)
    assert str(again.stability_) == str(model.stability_)
    assert not hasattr(again.fit(WINE), "stability_")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda model: model.stability(WINE, 0), "n_pairs=0 must be at least 1"),
        (lambda model: model.stability(WINE[:3], 2), "halves of at least two need 4"),
        (lambda model: model.stability(rspca.GramOperator(np.eye(13))), "Gram matrix has none"),
        (lambda model: model.stability(WINE, 2).error_bound(0.5), "threshold"),
    ],
)
def test_halves_that_cannot_be_drawn_are_refused(call, message):  # issue 19, item 5
    with pytest.raises(ValueError, match=message):
        call(rspca.SparsePCA(1, k=4, random_state=0).fit(WINE))


# --- permutation ----------------------------------------


def test_planted_components_are_more_than_chance_and_noise_is_not():  # issue 19, item 6
    test = rspca.permutation_test(spikes(100, 100, 8, 2), 3, 8, n_permutations=39)
    assert test.suggested == 2
    assert test.p[:2].tolist() == [1 / 40, 1 / 40]
    assert "not distinguishable from chance (p = " in test.words(2)
    noise = rspca.permutation_test(np.random.default_rng(1).standard_normal((50, 40)), 2, 5, n_permutations=39)
    assert noise.suggested == 0
    low, high = noise.band()
    assert (low < high).all()


def test_the_statistic_is_the_variance_of_the_component():  # issue 19, item 6
    X = spikes(count=2)
    test, found = rspca.permutation_test(X, 2, 6, n_permutations=19), rspca.decompose(X, 2, k=6, random_state=0)
    assert test.statistic == pytest.approx([component.variance for component in found.components])
    assert test.p.tolist() == [(1 + np.sum(test.null[:, j] >= test.statistic[j])) / 20 for j in range(2)]


def test_a_test_that_was_stopped_continues_to_the_same_result():  # issue 19, item 9
    X = spikes()
    whole = rspca.permutation_test(X, 2, 6, n_permutations=25, random_state=3)
    parts = []
    first = rspca.permutation_test(X, 2, 6, n_permutations=20, random_state=3, on_rows=parts.append)
    again = rspca.permutation_test(X, 2, 6, n_permutations=25, random_state=3, earlier=first)
    assert len(parts) == 20
    np.testing.assert_array_equal(again.null, whole.null)
    with pytest.raises(ValueError, match="another seed"):
        rspca.permutation_test(X, 2, 6, n_permutations=25, random_state=4, earlier=first)


def test_threads_do_not_change_a_test():  # issue 19, item 9
    joblib = pytest.importorskip("joblib")
    X = spikes()
    alone = rspca.permutation_test(X, 1, 6, n_permutations=20)
    with joblib.parallel_config("threading", n_jobs=2):
        several = rspca.permutation_test(X, 1, 6, n_permutations=20)
    np.testing.assert_array_equal(several.null, alone.null)


def test_samples_change_places_with_samples_of_their_weight_only():  # issue 19, item 6
    X, weights = spikes(), np.arange(80) % 3
    for data in (X, scipy.sparse.csr_array(X), scipy.sparse.csc_array(X)):
        moved = rspca.as_operator(data).permuted(np.random.default_rng(0), weights).columns(np.arange(60))
        for weight in range(3):
            rows = weights == weight
            np.testing.assert_allclose(np.sort(moved[rows], axis=0), np.sort(X[rows], axis=0))
        assert not np.allclose(moved, X)


def test_a_sparse_column_moves_to_every_row_equally_often():  # issue 19, item 6
    X = scipy.sparse.csc_array(np.repeat([[1.0], [2.0], [0.0], [0.0], [0.0], [0.0], [0.0], [0.0], [0.0]], 6000, axis=1))
    moved = rspca.as_operator(X).permuted(np.random.default_rng(0)).columns(np.arange(6000))
    for value in (1.0, 2.0):
        share = np.mean(moved == value, axis=1)
        assert np.abs(share - 1 / 9).max() < 0.02  # five standard errors
    pairs = {
        (int(a), int(b)) for a, b in zip(np.argmax(moved == 1, axis=0), np.argmax(moved == 2, axis=0), strict=True)
    }
    assert len(pairs) == 72


def test_packed_genotypes_are_permuted_among_the_people_chosen():  # issue 19, item 6
    pytest.importorskip("numba")
    from rspca.operators.plink import PackedOperator, Part

    packed = np.random.default_rng(0).integers(0, 256, (7, 5), dtype=np.uint8)
    op = PackedOperator([Part(packed, np.arange(7))], 18, np.array([0, 3, 4, 9, 11, 17]))
    moved = op.permuted(np.random.default_rng(1))
    every = np.arange(7)
    np.testing.assert_allclose(np.sort(moved.columns(every), axis=0), np.sort(op.columns(every), axis=0))
    np.testing.assert_allclose(moved.column_sq_norms(), op.column_sq_norms())
    assert not np.allclose(moved.columns(every), op.columns(every))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_permutations": 10}, "make at least 19"),
        ({"alpha": 1.5}, "alpha=1.5 is a probability"),
        ({"k": 99}, "k=99 must be between 1 and 60"),
    ],
)
def test_tests_that_cannot_be_made_are_refused(options, message):  # issue 19, item 6
    with pytest.raises(ValueError, match=message):
        rspca.permutation_test(spikes(), 1, **({"k": 5} | options))


def test_data_that_cannot_be_permuted_say_so():  # issue 19, item 6
    with pytest.raises(ValueError, match="Gram matrix has none"):
        rspca.permutation_test(rspca.GramOperator(np.eye(5)), 1, 2)
    with pytest.raises(ValueError, match="streamed from a file cannot be permuted"):
        rspca.permutation_test(rspca.as_operator(spikes(), max_memory="10MB"), 1, 2)


# --- structure ----------------------------------------


def test_structure_coefficients_are_correlations_with_the_scores():  # issue 19, item 7
    model = rspca.SparsePCA(2, k=4, scale=True, random_state=0).fit(WINE)
    expected = np.corrcoef(np.column_stack([WINE, model.transform(WINE)]), rowvar=False)[13:, :13]
    np.testing.assert_allclose(model.structure(WINE), expected, atol=1e-10)
    for j in range(2):
        for feature in model.top_features(j):
            assert feature.structure == pytest.approx(expected[j, feature.name])
        inside = np.abs(expected[j, model.supports_[j]]).min()
        outside = np.setdiff1d(np.arange(13), model.supports_[j])
        assert set(model.associates_[j]) == set(outside[np.abs(expected[j, outside]) >= inside])


def test_features_that_could_stand_in_are_listed_as_associates():  # issue 19, item 7
    X, signal = planted(80, 20, 4)
    X = np.column_stack([X, X[:, signal[0]] + 1e-6 * np.random.default_rng(0).standard_normal(80)])
    groups = [str(signal[0]) if i == 20 else str(i) for i in range(21)]  # one of the two copies at most
    model = rspca.SparsePCA(1, k=4, groups=groups, random_state=0).fit(X)
    listed = model.top_features(0, associates=5)
    assert [feature.loading for feature in listed[4:]] == [0.0] * len(listed[4:])
    assert {*signal.tolist(), 20} <= {feature.name for feature in listed}


def test_the_reconstruction_share_is_what_the_scores_explain():  # issue 19, item 7
    model = rspca.SparsePCA(2, k=4, random_state=0).fit(WINE)
    X, T = WINE - WINE.mean(axis=0), model.transform(WINE)
    explained = np.sum((T @ np.linalg.pinv(T) @ X) ** 2) / np.sum(X**2)
    assert model.reconstruction_ratio_.sum() == pytest.approx(explained)
    values = rspca.explained_variance(WINE, model.components_, "reconstruction")
    assert values / np.sum(X**2) == pytest.approx(model.reconstruction_ratio_)


def test_the_columns_of_a_printed_stability_stand_apart():
    X, _ = make_planted_spikes(40, 30, 5, 2, strength=20.0)
    stability = rspca.SparsePCA(2, k=5, random_state=0).fit(X).stability(X, n_pairs=1, random_state=0)
    head, *lines, end = str(stability).splitlines()
    assert end.startswith("1 pair of halves. ")
    cells = [re.split(r"\s{2,}", line.strip()) for line in (head, *lines)]
    assert [len(row) for row in cells] == [6, 6, 6]
    assert {len(line) for line in (head, *lines)} == {len(head)}
