"""What the report says: content made from a fitted model, and a page that no name in it can break."""

import base64
import dataclasses
import hashlib
import json
import re
import subprocess
import sys

import numpy as np
import pytest
from support.reports import HOSTILE, WINE, fitted, hostile_report, large_model

import rspca
from rspca.report import render, report_content, write_report
from rspca.report.columns import names
from rspca.report.kinds import links
from rspca.report.words import times


def values(column):
    return [None if v is None else v * 10.0 ** column["exponent"] for v in column["values"]]


def test_components_are_ranked_with_their_loadings_and_shares():
    model = fitted()
    content = report_content(model, feature_names=WINE.feature_names)
    for j, card in enumerate(content["components"]):
        ranked = model.top_features(j, names=WINE.feature_names)
        assert [content["features"]["names"][place] for place in card["places"]] == [one.name for one in ranked]
        np.testing.assert_allclose(values(card["loadings"]), [one.loading for one in ranked], atol=1e-5)
        assert card["share"] == model.explained_variance_ratio_[j]
        assert card["cumulative"] == pytest.approx(model.explained_variance_ratio_[: j + 1].sum())
    json.dumps(content, allow_nan=False)


# issue 14, item 10
def test_the_rounding_probability_is_not_in_the_report():
    content = report_content(fitted(), feature_names=WINE.feature_names)
    assert "probabilities" not in content["components"][0]
    assert "robability" not in render(content)


def test_what_is_not_given_is_not_on_the_page():
    content = report_content(fitted(method="maxcomp"))
    assert content["scores"] is content["path"] is content["comparison"] is None
    assert content["components"][0]["certificate"] is None
    assert content["features"]["names"][0].startswith("x")
    page = render(content)
    for section in ("scores", "path", "comparison"):
        assert f'id="{section}"' not in page
    assert "certify=True" in page
    assert "counted from 0" in page


def test_one_component_has_no_relations():
    assert 'id="relations"' in render(report_content(fitted()))
    assert 'id="relations"' not in render(report_content(fitted(n_components=1)))


def test_overlap_and_correlation_agree_with_numpy():
    model = fitted(deflation="projection")
    scores = model.transform(WINE.data)
    content = report_content(model, scores=scores)
    np.testing.assert_allclose(content["correlation"]["values"], np.corrcoef(scores.T), atol=1e-3)
    assert content["correlation"]["of"] == "scores"
    used = model.components_ != 0
    assert content["overlap"] == (used.astype(int) @ used.T.astype(int)).tolist()
    assert report_content(model)["correlation"]["of"] == "loadings"


def test_a_proof_is_told_in_words():
    content = report_content(fitted(certify=True))
    first, second = (card["certificate"] for card in content["components"][:2])
    assert first["sentence"] == "Proven optimal: no 4 features have more variance."
    assert second["sentence"].endswith("given the components before it.")


@pytest.mark.parametrize(("gap", "weak"), [(0.191, False), (0.3127, True)])
def test_a_gap_is_told_in_words_and_rounded_up(gap, weak):
    model = fitted(certify=True)
    proven = model.certificates_[0]  # the proof is made weaker by hand: what a search reaches depends on the machine
    model.certificates_[0] = dataclasses.replace(proven, status="gap", upper=(1.0 + gap) * proven.lower)
    said = report_content(model)["components"][0]["certificate"]["sentence"]
    ratio = float(re.search(r"no 4 features have more than ([\d.]+) times this variance", said)[1])
    share = float(re.search(r"A gap of ([\d.]+)\s% means that the best possible choice has at most", said)[1]) / 100
    assert ratio == pytest.approx(1.0 + share)  # issue 18, item 7
    assert gap <= share <= gap + 0.01
    assert ("proof is weak" in said) == weak


def test_a_proof_is_of_the_component_also_with_groups_or_its_own_loadings():
    model = fitted(certify=True, normalization="naive", polish=False)
    gap = model.certificates_[0].gap
    assert gap > 0.01
    said = report_content(model)["components"][0]["certificate"]["sentence"]
    assert f"no 4 features have more than {times(gap)} times this variance" in said
    assert "Proven optimal" not in said
    model = fitted(certify=True, groups=np.arange(WINE.data.shape[1]) // 3)
    said = report_content(model)["components"][0]["certificate"]["sentence"]
    assert said == "Proven optimal: no 4 features, at most 1 of a group, have more variance."  # issue 18, item 5
    model.certificates_[0] = dataclasses.replace(model.certificates_[0], max_per_group=0)  # of version 0.2.0
    said = report_content(model)["components"][0]["certificate"]["sentence"]
    assert said.endswith("The bound is for features without the limit on groups.")


def test_a_proof_that_an_earlier_version_saved_for_other_features_claims_nothing_of_the_component():
    for options, reason in (
        ({"groups": np.arange(WINE.data.shape[1]) // 3}, "keeps to a limit on groups"),
        ({"normalization": "naive", "polish": False}, "does not have refitted loadings"),
    ):
        model = fitted(certify=True, **options)
        model.certificates_[0] = rspca.certify(WINE.data, 4, scale=True)
        said = report_content(model)["components"][0]["certificate"]["sentence"]
        assert reason in said
        assert "Proven optimal" not in said


def test_linked_snps_are_noted_also_after_saving(tmp_path):
    pytest.importorskip("numba", reason="packed genotypes need numba: pip install 'rspca[genetics]'")
    X = np.repeat(rspca.datasets.make_genotypes(100, 100, 3)[0], 6, axis=1)
    rspca.formats.write_plink(tmp_path / "x.bed", X)
    table = rspca.read(tmp_path / "x.bed")
    with pytest.warns(UserWarning, match="strongly correlated"):
        model = rspca.SparsePCA(1, k=20, scale="patterson", random_state=0).fit(table)
    model.save(tmp_path / "model.npz")
    for one in (model, rspca.load(tmp_path / "model.npz")):
        content = report_content(
            one, scores=one.transform(table), sample_names=table.sample_names, samples=table.samples
        )
        assert "shows linkage" in content["components"][0]["notes"][0]
        assert [c["name"] for c in content["features"]["columns"]][:2] == [
            "chromosome",
            "position",
        ]  # not the name again
        assert {c["color"] for c in content["scores"]["columns"]} <= {"none", "category"}


def test_path_and_comparison_are_shown_as_they_are():
    pitprops = rspca.GramOperator(rspca.datasets.load_pitprops())
    path = rspca.path(pitprops, [1, 3, 5, 8, 13], certify=True)
    compared = rspca.compare(pitprops, 5, methods=["rspca", "maxcomp", "pca"])
    model = rspca.SparsePCA(2, k=5, random_state=0).fit(pitprops)
    content = report_content(model, path_points=path, comparison=compared)
    assert content["path"]["suggested"] == path.suggested
    for point, shown in zip(path, content["path"]["points"], strict=True):
        assert shown["share"] <= shown["upper"] <= min(1.0, shown["share"] * (1 + point.gap) + 1e-12)
    assert [row["method"] for row in content["comparison"]["rows"]] == [row.method for row in compared]
    assert "13 features" in content["summary"]
    assert "samples" not in content["summary"]  # a Gram matrix has none


def test_samples_with_the_largest_scores_are_named_with_their_texts():
    model = fitted()
    scores = model.transform(WINE.data)
    texts = [f"wine\n number {i}" for i in range(len(scores))]
    top = report_content(model, scores=scores, documents=texts)["components"][1]["top"]
    best = int(np.abs(scores[:, 1]).argmax())
    assert top[0] == {
        "name": f"document {best}",
        "score": float(f"{scores[best, 1]:.4g}"),
        "text": f"wine number {best}",
    }
    assert [abs(one["score"]) for one in top] == sorted((abs(one["score"]) for one in top), reverse=True)


def test_frames_and_series_are_taken_by_position():
    pandas = pytest.importorskip("pandas")
    model = fitted()
    about = pandas.DataFrame({"cultivar": WINE.target, "name": [f"w{i}" for i in range(178)]}, index=range(178, 0, -1))
    content = report_content(
        model, scores=model.transform(WINE.data), samples=about, label="cultivar", sample_names=about["name"],
        documents=about["name"], feature_names=pandas.Index(WINE.feature_names),
    )  # fmt: skip
    assert content["scores"]["names"][:2] == ["w0", "w1"]
    assert [one["color"] for one in content["scores"]["columns"]] == ["category", "none"]


def test_of_very_many_samples_some_are_drawn_and_the_page_says_so():
    model = fitted()
    scores = np.resize(model.transform(WINE.data), (12_000, 3))
    content = report_content(model, scores=scores, samples={"row": np.arange(12_000)})
    assert len(content["scores"]["names"]) == 5000
    assert content["scores"]["columns"][0]["values"][-1] == 11_999
    assert re.search(r"5,000 of\s+12,000", render(content))


def test_of_very_many_features_the_largest_loadings_are_listed():
    X = np.random.default_rng(0).standard_normal((20, 1500))
    content = report_content(rspca.SparsePCA(1, method="pca").fit(X))
    assert len(content["components"][0]["places"]) == 1000
    assert content["components"][0]["count"] == 1500


def test_settings_that_differ_from_the_defaults_are_marked():
    content = report_content(fitted(groups=np.arange(13) // 2))
    changed = {one["name"]: one["value"] for one in content["settings"] if one["changed"]}
    assert changed == {
        "n_components": "3",
        "k": "4",
        "scale": "True",
        "random_state": "0",
        "groups": "13 labels, 7 different",
    }


def test_provenance_is_shown_line_by_line():
    given = {"input": ["a.csv", "b.csv"], "sha256": {"a.csv": "00ff"}, "seed": 0}
    given["files"] = [{"name": "a.csv", "bytes": 7}, {"name": "b.csv", "bytes": 9}]
    rows = report_content(fitted(), provenance=given)["provenance"]
    assert rows == [["input", ["a.csv", "b.csv"]], ["sha256", ["a.csv: 00ff"]], ["seed", ["0"]], ["files", [
        "a.csv, bytes: 7", "b.csv, bytes: 9"]]]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"scores": np.zeros((5, 2))}, "3 column"),
        ({"scores": np.full((5, 3), np.nan)}, "NaN"),
        ({"scores": np.zeros((5, 3)), "sample_names": ["a"]}, "sample_names has 1 entries for 5 rows"),
        ({"scores": np.zeros((5, 3)), "samples": {"a": range(4)}}, r"samples\['a'\] has 4 entries"),
        ({"scores": np.zeros((5, 3)), "samples": {"a": range(5)}, "label": "b"}, "which has a"),
        ({"samples": {"a": [1]}}, "give scores="),
        ({"documents": ["a"]}, "give scores="),
        ({"label": "a"}, "which has none"),
        ({"feature_names": ["a"]}, "1 entries for 13 features"),
    ],
    ids=["columns", "nan", "names", "samples", "label", "no scores", "documents", "no samples", "features"],
)  # fmt: skip
def test_what_does_not_fit_is_refused(given, said):
    with pytest.raises(ValueError, match=said):
        report_content(fitted(), **given)


def test_a_folder_that_is_missing_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere does not exist"):
        write_report(tmp_path / "nowhere" / "page.html", fitted())


def test_the_report_is_a_shell_that_loads_no_other_and_no_templates_before_it_must():
    code = (
        "import sys, rspca.report; print([m for m in ('jinja2', 'rspca.estimator', 'rspca.cli') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_no_name_leaves_its_place(tmp_path):
    path = hostile_report(tmp_path / "page.html")
    page = path.read_text(encoding="utf-8")
    assert page.count("<script") == page.count("</script>") == 2
    assert not re.search(r"<img|<b>|alert\(\d\)</script|\x00|\u202e|\u2028", page)
    embedded = re.search(r'<script type="application/json" id="content">(.*?)</script>', page, re.DOTALL)[1]
    assert not re.search("[<>&]", embedded)
    assert set(json.loads(embedded)["features"]["names"]) == set(names(HOSTILE, range(len(HOSTILE)), "word"))


def test_the_policy_allows_this_script_and_style_only():
    page = render(report_content(fitted()))
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1].replace("&#39;", "'")
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for kind in ("script", "style"):
        body = re.search(rf"<{kind}>(.*?)</{kind}>", page, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert not re.search(r"https?://(?!www\.w3\.org)|\sstyle=|\son\w+=|innerHTML|eval\(", page)


def test_without_scripts_the_largest_loadings_are_readable():
    page = render(report_content(fitted(), feature_names=WINE.feature_names))
    shown = "".join(re.findall(r"<noscript>(.*?)</noscript>", page, re.DOTALL))
    assert shown.count("flavanoids") >= 1
    assert "+0.540" in shown


# issue 21, what it must show
@pytest.mark.parametrize("extra", [False, True], ids=["names", "SNPs"])
def test_a_large_report_has_at_most_1_800_000_bytes(extra):
    model, scores, population = large_model(extra)
    people = [f"HG{i:05d}" for i in range(2500)]
    page = render(report_content(model, scores=scores, sample_names=people, samples={"population": population}))
    assert len(page.encode()) <= 1_800_000


# issue 21, item 1
def test_the_page_says_which_label_a_component_separates():
    model = fitted()
    cultivars = np.array(["Barolo", "Grignolino", ""])[WINE.target]
    scores = model.transform(WINE.data)
    content = report_content(model, scores=scores, samples={"cultivar": cultivars, "alcohol": WINE.data[:, 0]})
    assert content["labels"]["names"] == ["cultivar", "alcohol"]
    assert content["components"][0]["separates"] == "highest in Barolo (cultivar), eta²\N{NO-BREAK SPACE}0.31"
    shown = content["labels"]["rows"][0][0]
    known = WINE.target < 2
    assert shown["strength"] == pytest.approx(np.corrcoef(scores[known, 0], WINE.target[known])[0, 1] ** 2, rel=1e-2)
    nothing = report_content(model, scores=scores, samples={"name": [f"bottle {i}" for i in range(178)]})
    assert nothing["labels"] is None
    assert nothing["components"][0]["separates"] is None


# issue 21, item 1
@pytest.mark.parametrize(
    ("kind", "said"),
    [("genotypes", "4 SNPs each"), ("cells", "4 genes each"), ("documents", "4 words each"), (None, "4 features each")],
)
def test_features_and_samples_are_called_what_they_are(kind, said):
    content = report_content(fitted(), kind=kind)
    assert said in content["summary"]
    with pytest.raises(ValueError, match="kind='birds' is not known; choose one of table, genotypes"):
        report_content(fitted(), kind="birds")


# issue 21, item 2
@pytest.mark.parametrize(
    ("kind", "name", "address"),
    [
        ("genotypes", "rs12345", "https://www.ncbi.nlm.nih.gov/snp/"),
        ("cells", "HLA-DRA", "https://www.ncbi.nlm.nih.gov/gene/?term="),
        ("table", "P68871", "https://www.uniprot.org/uniprotkb/"),
        ("genotypes", "1:1000:A:C", None),
        ("documents", "rs12345", None),
        ("table", "alcohol", None),
    ],
)
def test_only_names_with_a_public_page_are_links(kind, name, address):
    found = links([name, "<b>"], kind)
    assert found == (None if address is None else {"base": address, "known": [True, False]})
