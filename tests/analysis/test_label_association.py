"""What a component separates: shares between categories, tests of them, and corrections for how many there are."""

import numpy as np
import pytest
from scipy import stats

from rspca.analysis.label_association import holm, label_associations


@pytest.fixture
def scores():
    return np.random.default_rng(0).standard_normal((60, 2))


# issue 21, items 1 and 2
def test_shares_and_tests_are_those_of_an_analysis_of_variance(scores):
    label = np.repeat(["a", "b", "c"], 20)
    scores[label == "c", 1] -= 2.0
    found = label_associations(scores, {"group": label.tolist()}, {})
    for association in found:
        score = scores[:, association.component]
        parts = [score[label == one] for one in "abc"]
        assert association.p == pytest.approx(stats.f_oneway(*parts).pvalue, rel=1e-9)
        between = sum(len(part) * (part.mean() - score.mean()) ** 2 for part in parts)
        assert association.strength == pytest.approx(between / ((score - score.mean()) ** 2).sum())
    assert (found[1].extreme, found[1].above) == ("c", False)


def test_numbers_are_tested_by_their_correlation(scores):
    age = scores[:, 0] + 0.1
    age[3] = np.nan
    found = label_associations(scores, {}, {"age": -age})
    assert found[0].strength == pytest.approx(1.0)
    assert (found[0].extreme, found[0].above) == (None, False)
    known = np.isfinite(age)
    assert found[1].p == pytest.approx(stats.pearsonr(-age[known], scores[known, 1]).pvalue)


def test_missing_labels_are_left_out_and_what_cannot_be_tested_too(scores):
    label = [None] * 20 + ["a"] * 20 + ["b"] * 20
    (first, _) = label_associations(scores, {"group": label}, {})
    assert first.p == pytest.approx(stats.f_oneway(scores[20:40, 0], scores[40:, 0]).pvalue)
    names = [f"person {i}" for i in range(60)]
    constant = np.ones(60)
    assert label_associations(scores, {"one": ["a"] * 60, "names": names}, {"constant": constant}) == []
    assert label_associations(np.ones((60, 1)), {"group": label}, {"age": scores[:, 0]}) == []


def test_corrected_p_values_grow_with_the_number_of_tests():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert holm([]) == []


def test_scores_without_any_spread_inside_of_groups_are_separated_for_certain():
    (found,) = label_associations(np.repeat([[0.0], [1.0]], 5, axis=0), {"g": ["a"] * 5 + ["b"] * 5}, {})
    assert found.strength == 1.0
    assert found.p == 0.0
