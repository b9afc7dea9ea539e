"""Words of the page: SNPs and people where they are, one unit of variance, the label that separates most."""

import re

import numpy as np
import pytest
from support.reports import WINE, fitted

import rspca
from rspca.report import render, report_content
from rspca.report.kinds import KINDS, in_words_of
from rspca.report.labels import separated
from rspca.report.words import halves_words, variance_unit


@pytest.fixture(scope="module")
def everything():
    """Return a model, and what else a report shows of it."""
    options = {"scale": True, "random_state": 0}
    model = rspca.SparsePCA(2, k=4, constraint="disjoint", certify=True, certify_seconds=1.0, **options).fit(WINE.data)
    model.stability(WINE.data, 2, 0)
    return model, {
        "scores": model.transform(WINE.data),
        "path_points": rspca.path(WINE.data, [2, 4, 8], cv=3, **options),
        "test": rspca.permutation_test(WINE.data, 2, 4, n_permutations=19, **options),
        "comparison": rspca.compare(WINE.data, 4, methods=["rspca", "maxcomp"], **options),
        "set_comparison": rspca.compare(WINE.data, 4, n_components=2, methods=["maxcomp"], **options),
    }


def read(page):
    """Return the text of a page without scripts, styles and the names of settings."""
    page = re.sub(r"<(script|style|template)\b.*?</\1>", " ", page, flags=re.DOTALL)
    page = re.sub(r'<section id="settings".*?</section>', " ", page, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


@pytest.mark.parametrize("kind", ["genotypes", "cells", "documents"])
def test_no_sentence_says_features_or_samples_where_they_have_another_name(everything, kind):
    model, shown = everything
    text = read(render(report_content(model, kind=kind, **shown)))
    assert not re.findall(r".{40}\b(?:[Ff]eatures?|[Ss]amples?)\b.{20}", text)
    words = KINDS[kind]
    assert f"No {words.feature} is in two components." in text
    assert f"fits to half of the {words.samples}" in text


def test_only_whole_words_are_replaced():
    said = in_words_of(KINDS["cells"], "a feature of half-samples, n_features, samples")
    assert said == "a gene of half-samples, n_features, cells"


def test_one_pair_is_one_pair():
    model = fitted()
    said = [halves_words(model.stability(WINE.data, pairs, 0), KINDS["table"]) for pairs in (1, 2)]
    assert "(1 complementary pair of halves)" in said[0]
    assert "(2 complementary pairs of halves)" in said[1]


def test_associates_of_data_that_are_not_centered_have_cosines():
    model = rspca.SparsePCA(2, k=3, center=False, random_state=0).fit(WINE.data)
    page = render(report_content(model, kind="documents"))
    assert "have as large a cosine with the score as a word" in page
    assert "correlate" not in read(page)


def test_one_page_has_one_unit_of_variance(everything):
    model, shown = fitted(n_components=2, certify=True), everything[1]
    content = report_content(model, **shown)
    first = content["components"][0]["variance"]
    assert content["test"]["rows"][0]["variance"] == pytest.approx(first, rel=1e-4)
    assert content["path"]["points"][1]["variance"] == pytest.approx(first, rel=1e-4)
    facts = dict(content["components"][0]["certificate"]["facts"])
    assert float(facts["variance reached"]) == pytest.approx(first, rel=1e-4)
    if content["comparison"]["proof"]:
        assert float(re.search(r"variance ([\d.]+):", content["comparison"]["proof"])[1]) == pytest.approx(
            first, rel=1e-4
        )
    assert content["unit"] == "Variances are sums of squares divided by 177, the number of samples less one."


def test_the_unit_is_that_of_the_model():
    weights = np.linspace(0.5, 2.0, len(WINE.data))
    model = rspca.SparsePCA(1, k=4, scale=True, certify=True, random_state=0).fit(WINE.data, sample_weight=weights)
    reached = model.certificates_[0].lower / variance_unit(model)
    assert reached == pytest.approx(model.explained_variance_[0])
    assert "the total weight of samples less one" in report_content(model)["unit"]
    gram = rspca.SparsePCA(1, k=3).fit(rspca.GramOperator(rspca.datasets.load_pitprops()))
    assert variance_unit(gram) == 1.0
    assert report_content(gram)["unit"] is None


def cell(strength, extreme="x", above=True):
    return {"strength": strength, "p": 0.0, "real": True, "extreme": extreme, "above": above}


@pytest.mark.parametrize(
    ("kind", "phase", "said"),
    [
        (cell(0.13, "NK"), cell(0.33, "G2M"), "highest in G2M (phase), eta² 0.33"),
        (cell(0.30, "NK"), cell(0.33, "G2M"), "highest in NK, eta² 0.30"),
        (cell(0.70, "NK", above=False), None, "lowest in NK, eta² 0.70"),
        (cell(0.13, "NK"), cell(0.33, None, above=False), "falls with phase, r² 0.33"),
        (cell(0.05, "NK"), cell(0.07, "G2M"), None),
    ],
)
def test_the_overview_names_the_strongest_label_or_the_chosen_one_if_it_is_close(kind, phase, said):
    found = separated({"names": ["kind", "phase"], "rows": [[kind, phase]]}, 0, "kind")
    assert found == (said and said.replace("² ", "²\N{NO-BREAK SPACE}"))
