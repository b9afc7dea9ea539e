"""Several components as one problem: every mode from the public functions, and what combines with what."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from support.joint import little_search

import rspca
from rspca.algorithm.joint.modes import MODES
from rspca.methods.combinations import MODE_ARGUMENTS, REFUSALS, TOGETHER

PITPROPS = rspca.GramOperator(rspca.datasets.load_pitprops())
WINE = load_wine(as_frame=True).data
ASKED = {"joint": True, "constraint": "orthogonal", "shared_support": True, "nonnegative": True}
ARGUMENTS = {
    "joint": {"joint": True},
    "orthogonal": {"constraint": "orthogonal"},
    "uncorrelated": {"constraint": "uncorrelated"},
    "disjoint": {"constraint": "disjoint"},
    "shared": {"shared_support": True},
}
"""The arguments that ask for each mode."""
REFUSED = {
    'method="pca"': {"method": "pca"},
    'methods other than "rspca"': {"method": "maxcomp"},
    'deflation other than "schur"': {"deflation": "projection"},
    'normalization="naive"': {"normalization": "naive"},
    'side="both"': {"side": "both", "k_samples": 5},
    "a list of several k": {"k": [3, 4]},
    "joint=True": {"joint": True},
    "constraint": {"constraint": "disjoint"},
}
"""A value for each row of the table of refusals."""


@pytest.fixture
def few_starts():
    """Search little: for tests of what is found, not of how good it is."""
    with little_search():
        yield


def adjusted(found):
    return found.explained_variance.sum()


def data(seed=0, shape=(40, 12)):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape) @ rng.standard_normal((shape[1], shape[1]))


def test_every_mode_has_arguments_that_ask_for_it():
    assert set(ARGUMENTS) == set(MODES)


# issue 17, item 6
@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: refusal.words)
def test_each_pair_of_the_table_is_refused_before_any_work_and_nothing_else(refusal):
    class Untouched(rspca.OperatorMixin):
        shape, dtype = (30, 8), np.dtype(float)

        def matmat(self, V):
            raise AssertionError("work has begun")

        rmatmat = columns = matmat

    for name in MODE_ARGUMENTS:
        given = {"k": 3, **REFUSED[refusal.words]} | {name: ASKED[name]}
        if name in refusal.modes:
            with pytest.raises(ValueError, match="does not go with"):
                rspca.decompose(Untouched(), 2, **given)


# issue 17, item 6
def test_the_table_of_the_manual_is_the_table_of_the_code():
    page = (Path(__file__).parents[2] / "docs" / "several.md").read_text()
    for refusal in REFUSALS:
        words = refusal.words if f"| {refusal.words} |" in page else f"`{refusal.words}`"
        cells = ["no" if name in refusal.modes else "yes" for name in MODE_ARGUMENTS]
        assert f"| {words} | {' | '.join(cells)} |" in page


# issue 17, item 6
@pytest.mark.parametrize("mode", ARGUMENTS)
@pytest.mark.usefixtures("few_starts")
def test_what_the_table_does_not_refuse_is_done(mode):
    for method in ("tpower", "spasm"):  # found one by one, and together
        found = rspca.decompose(data(), 2, k=4, method=method, random_state=0, **ARGUMENTS[mode])
        assert len(found) == 2, (mode, method)
    groups = np.arange(12) // 2
    found = rspca.decompose(data(), 2, k=4, groups=groups, random_state=0, **ARGUMENTS[mode])
    for component in found.components:
        assert np.bincount(groups[component.support]).max() == 1
    if mode != "shared":
        found = rspca.decompose(data(), 2, k=[5, 3], random_state=0, **ARGUMENTS[mode])
        assert sorted(len(c.support) for c in found.components) == [3, 5]


# issue 17, item 6
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"constraint": "parallel"}, "constraint='parallel' is not known; choose one of 'disjoint', 'orthogonal'"),
        ({"joint": "yes"}, "joint='yes' is not known"),
        ({"shared_support": 1.5}, "shared_support=1.5 is not known"),
        ({"nonnegative": None}, "nonnegative=None is not known"),
        ({"constraint": "disjoint", "k": 7}, "disjoint"),
        ({"shared_support": True, "k": 1}, "at least as many features as components"),
        ({"joint": True, "k": [3, 4, 5]}, "k"),
    ],
    ids=str,
)
def test_bad_requests_get_one_clear_error(given, message):
    with pytest.raises(ValueError, match=message) as error:
        rspca.decompose(data(), 2, **{"k": 3} | given)
    assert "\n" not in str(error.value)


# issue 17, item 6
@pytest.mark.parametrize("name", TOGETHER)
def test_earlier_components_are_for_a_search_one_by_one(name):
    first = rspca.decompose(data(), 1, k=3, random_state=0).components
    with pytest.raises(ValueError, match="earlier continues a search"):
        rspca.decompose(data(), 2, k=3, earlier=first, **{name: ASKED[name]})
    with pytest.raises(ValueError, match="earlier continues a search"):
        rspca.SparsePCA(2, k=3, **{name: ASKED[name]}).fit(data(), earlier=first)


# issue 17, item 1
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.usefixtures("few_starts")
def test_joint_components_have_no_less_adjusted_variance_and_say_how_much_more(seed):
    X = data(seed)
    alone, joint = (rspca.decompose(X, 3, k=3, joint=j, random_state=seed) for j in (False, True))
    assert adjusted(joint) >= (1.0 - 1e-12) * adjusted(alone)
    assert joint.joint_gain == pytest.approx(adjusted(joint) / adjusted(alone) - 1.0, abs=1e-9)
    assert alone.joint_gain is None
    variances = [component.variance for component in joint.components]
    np.testing.assert_allclose(variances, joint.explained_variance, rtol=1e-9)
    assert [len(c.support) for c in joint.components] == [3, 3, 3]


# issue 17, item 1
def test_pitprops_reach_what_is_known_of_six_components():
    found = rspca.decompose(PITPROPS, 6, k=5, joint=True, random_state=0)
    assert adjusted(found) >= 10.2190


# issue 17, item 2
@pytest.mark.parametrize("constraint", ["orthogonal", "uncorrelated", "disjoint"])
@pytest.mark.usefixtures("few_starts")
def test_constraints_hold_exactly_in_what_a_model_stores(constraint):
    model = rspca.SparsePCA(3, k=4, scale=True, constraint=constraint, random_state=0).fit(WINE)
    V = model.components_
    assert (np.count_nonzero(V, axis=1) == 4).all()
    if constraint == "disjoint":
        assert (np.count_nonzero(V, axis=0) <= 1).all()
    elif constraint == "orthogonal":
        assert np.abs(V @ V.T - np.eye(3)).max() <= 1e-10
    else:
        scores = model.transform(WINE)
        correlations = np.corrcoef(scores.T)
        assert np.abs(correlations - np.eye(3)).max() <= 1e-9
    assert not hasattr(model, "joint_gain_")


# issue 17, item 3
def test_a_shared_support_is_one_set_of_features_that_all_components_use():
    model = rspca.SparsePCA(3, k=6, scale=True, shared_support=True, random_state=0).fit(WINE)
    assert all(np.array_equal(support, model.supports_[0]) for support in model.supports_)
    assert len(model.supports_[0]) == 6
    Z = ((WINE - WINE.mean()) / WINE.std(ddof=0)).to_numpy()
    best = max(np.linalg.eigvalsh(Z[:, S].T @ Z[:, S])[-3:].sum() for S in itertools.combinations(range(Z.shape[1]), 6))
    assert model.explained_variance_.sum() * (len(Z) - 1) == pytest.approx(best, rel=1e-9)


# issue 17, item 4
@pytest.mark.parametrize("mode", [None, *ARGUMENTS])
@pytest.mark.usefixtures("few_starts")
def test_nonnegative_loadings_are_so_in_every_mode(mode):
    given = {} if mode is None else ARGUMENTS[mode]
    found = rspca.decompose(data(), 2, k=4, nonnegative=True, random_state=0, **given)
    assert all((component.loadings >= 0.0).all() for component in found.components)


# issue 17, item 4
@pytest.mark.usefixtures("few_starts")
def test_scores_that_cannot_be_uncorrelated_without_a_minus_sign_are_reported():
    X = np.abs(np.random.default_rng(0).standard_normal((30, 6))) + 1.0
    with pytest.raises(ValueError, match="uncorrelated"):
        rspca.decompose(X, 2, k=3, nonnegative=True, constraint="uncorrelated", center=False, random_state=0)


# issue 17, item 5
@pytest.mark.parametrize("mode", ARGUMENTS)
@pytest.mark.usefixtures("few_starts")
def test_the_set_carries_one_certificate_that_is_saved_and_verified(mode, tmp_path):
    model = rspca.SparsePCA(2, k=4, scale=True, certify=True, certify_seconds=3, random_state=0, **ARGUMENTS[mode]).fit(
        WINE
    )
    proof = model.joint_certificate_
    assert not hasattr(model, "certificates_")
    assert proof.lower <= proof.upper
    model.save(tmp_path / "model.npz")
    again = rspca.load(tmp_path / "model.npz")
    assert again.joint_certificate_ == proof
    assert again.joint_certificate_.verify(WINE)
    assert getattr(again, "joint_gain_", None) == getattr(model, "joint_gain_", None)


def test_a_refitted_model_forgets_what_was_joint():
    model = rspca.SparsePCA(2, k=3, joint=True, certify=True, certify_seconds=1, random_state=0).fit(data())
    model.set_params(joint=False, certify=False).fit(data())
    assert not hasattr(model, "joint_certificate_")
    assert not hasattr(model, "joint_gain_")
    assert clone(model).joint is False


# issue 17, item 1
def test_progress_of_the_joint_part_is_told_and_stops_it():
    steps = []
    rspca.decompose(data(), 2, k=3, joint=True, random_state=0, on_step=steps.append)
    assert steps[-1].stage == "together"
    assert steps[-1].component == 2

    def stop(step):
        if step.stage == "together":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rspca.decompose(data(), 2, k=3, joint=True, random_state=0, on_step=stop)
