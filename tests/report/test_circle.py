"""What the correlation circle and the other panels of the report are given: correlations, stability, p, a reference."""

import numpy as np
import pytest
import scipy.sparse
from support.reports import WINE, fitted

import rspca
from rspca.report import render, report_content
from rspca.report.columns import decoded


# issue 21, item 2
def test_features_and_associates_have_their_correlations_with_every_score(tmp_path):
    model = fitted(k=3)
    model.save(tmp_path / "model.npz")
    correlations = model.structure(WINE.data)
    for known in (model, rspca.load(tmp_path / "model.npz")):
        circle = report_content(known, feature_names=WINE.feature_names)["circle"]
        columns = [WINE.feature_names.index(name) for name in circle["names"]]
        for j, row in enumerate(circle["correlations"]):
            np.testing.assert_allclose(decoded(row), correlations[j, columns], atol=1e-3)
        for j, leading in enumerate(circle["leading"]):
            assert {columns[place] for place in leading} == set(model.supports_[j].tolist())
            assert [columns[place] for place in circle["associates"][j]] == model.associates_[j].tolist()[:10]


# issue 21, item 2
def test_a_model_without_these_correlations_has_no_circle():
    model = fitted(k=3)
    rows = np.zeros(model.components_.shape)
    for row, known, support in zip(rows, model.structure_.toarray(), model.supports_, strict=True):
        row[support] = known[support]  # as earlier versions stored them
    model.structure_ = scipy.sparse.csr_array(rows)
    assert report_content(model)["circle"] is None
    assert report_content(fitted(n_components=1))["circle"] is None
    del model.structure_, model.associates_
    assert 'id="circle"' not in render(report_content(model))


# issue 21, item 1
def test_no_zero_on_the_page_has_a_sign():
    model = fitted(n_components=2)
    scores = model.transform(WINE.data)
    scores[:, 1] -= scores[:, 0] * (scores[:, 0] @ scores[:, 1] / (scores[:, 0] @ scores[:, 0]) + 1e-3)
    page = render(report_content(model, scores=scores))
    assert ">0.00<" in page
    assert "−0.00<" not in page


# issue 21, item 1
def test_the_overview_has_stability_and_p_where_they_are_known():
    model = fitted(k=3)
    assert "Stable" not in render(report_content(model))
    model.stability(WINE.data, 2, 0)
    test = rspca.permutation_test(WINE.data, 2, 3, scale=True, n_permutations=19)
    content = report_content(model, test=test)
    assert [one["overlap"] for one in content["components"]] == model.stability_.overlap.tolist()
    assert [one["verdict"] and one["verdict"]["p"] for one in content["components"]] == [*test.p.tolist(), None]
    page = render(content)
    overview = page[page.index("<table") : page.index("</table>")]
    assert f"{100 * model.stability_.overlap[0]:.0f}&nbsp;%" in overview
    assert '<th scope="col" class="number">p</th>' in overview


# issue 20, item 5
def test_the_reference_needs_scores_of_the_same_components():
    model = fitted()
    scores = model.transform(WINE.data)
    content = report_content(model, scores=scores[:5], reference=scores)
    assert content["scores"]["reference"]["total"] == 178
    with pytest.raises(ValueError, match="reference is drawn below scores"):
        report_content(model, reference=scores)
    with pytest.raises(ValueError, match="reference has shape"):
        report_content(model, scores=scores, reference=scores[:, :1])
