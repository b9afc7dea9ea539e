"""Several components together from the command line: options, what they print and write, stopping and going on."""

import csv
import json
from unittest import mock

import numpy as np
import pytest
from support.commandline import call, one_line, write_table
from support.joint import little_search

import rspca
from rspca.methods import decompose

FIT = ("fit", "table.csv", "-k", "4", "-n", "3", "--seed", "3")


@pytest.fixture(autouse=True)
def _few_starts():
    """Search little: what is tested are the words and files of what is found."""
    with little_search():
        yield


@pytest.fixture
def folder(tmp_path):
    write_table(tmp_path / "table.csv", 60, 14)
    return tmp_path


def done(folder, *arguments):
    result = call(*arguments, cwd=folder)
    assert result.returncode == 0, result.stderr
    return result


# issue 17, item 1
def test_a_joint_fit_says_what_it_gained_and_proved_in_lines_json_and_on_the_page(folder):
    said = done(folder, *FIT, "-o", "out", "--joint", "--certify", "--seconds", "3").stdout
    assert "more adjusted variance than found one by one" in said
    assert "all components: 3 components, adjusted variance" in said
    page = (folder / "out" / "report.html").read_text()
    assert "Found together: " in page
    assert "Certificate of all components in numbers" in page
    model = rspca.load(folder / "out" / "model.npz")
    found = json.loads(done(folder, *FIT, "-o", "again", "--joint", "--certify", "--seconds", "3", "--json").stdout)
    assert found["joint_gain"] == model.joint_gain_
    assert found["joint_certificate"]["lower"] == pytest.approx(model.joint_certificate_.lower)
    assert len(found["joint_certificate"]["features"]) == 3


# issue 17, items 2 to 4
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--constraint", "orthogonal"), "The loadings of every two components are orthogonal, exactly."),
        (("--constraint", "uncorrelated"), "The scores of every two components are uncorrelated, exactly."),
        (("--constraint", "disjoint"), "No feature is in two components."),
        (("--shared-support",), "All components use the same features."),
        (("--nonnegative",), "No loading is negative."),
    ],
    ids=" ".join,
)
def test_every_mode_is_an_option_and_a_sentence_on_the_page(folder, options, sentence):
    done(folder, *FIT, "-o", "out", *options)
    assert sentence in (folder / "out" / "report.html").read_text()
    V = rspca.load(folder / "out" / "model.npz").components_
    if "disjoint" in options:
        assert (np.count_nonzero(V, axis=0) <= 1).all()
    if "orthogonal" in options:
        assert np.abs(V @ V.T - np.eye(3)).max() <= 1e-10
    if "--shared-support" in options:
        assert len(np.flatnonzero(V.any(axis=0))) == 4
    if "--nonnegative" in options:
        assert (V >= 0.0).all()


# issue 17, item 6
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--joint", "--deflation", "projection"), "--joint does not go with --deflation projection"),
        (("--constraint", "parallel"), "--constraint parallel is not known"),
        (("--shared-support", "--joint"), "--shared-support does not go with --joint"),
        (("--shared-support", "-k", "2"), "at least as many features as components"),
        (("--constraint", "disjoint", "-k", "9"), "--constraint disjoint needs 27 features"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, tuple) else "",
)
def test_what_does_not_go_together_is_one_line_and_nothing_is_written(folder, options, message):
    result = call(*FIT, "-o", "out", *options, cwd=folder)
    assert result.returncode == 2
    assert message in one_line(result.stderr)
    assert not (folder / "out").exists()


# issue 17, item 1
def test_a_run_stopped_in_its_joint_part_goes_on_with_what_was_found_one_by_one(folder):
    arguments = (*FIT, "--joint", "--no-report")

    def stop(*given):
        raise KeyboardInterrupt

    with mock.patch.object(decompose, "together", stop):
        first = call(*arguments, "-o", "out", cwd=folder)
    assert first.returncode == 130
    assert "3 of 3 component(s) are kept in out/partial.npz" in one_line(first.stderr)
    second = done(folder, *arguments, "-o", "out", "--resume")
    assert "continuing after 3 component(s)" in second.stderr
    done(folder, *arguments, "-o", "whole")
    for name in ("components.csv", "scores.csv"):
        assert (folder / "out" / name).read_bytes() == (folder / "whole" / name).read_bytes()


# issue 17, item 7
def test_sets_are_compared_by_every_measure_in_a_table_json_and_csv(folder):
    arguments = ("compare", "table.csv", "-k", "3", "-n", "2", "--methods", "rspca,tpower,pca", "--seconds", "2")
    found = json.loads(done(folder, *arguments, "--json", "-o", "sets.csv").stdout)
    modes = {"one by one", "joint", "orthogonal", "uncorrelated", "disjoint", "shared"}
    assert {row["mode"] for row in found["methods"] if row["method"] == "rspca"} == modes
    assert found["certificate"]["upper"] >= found["certificate"]["lower"]
    with (folder / "sets.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["mode"] for row in rows] == [row["mode"] for row in found["methods"]]
    measures = ("adjusted", "subspace", "reconstruction", "cosine", "correlation", "overlap", "of_bound")
    assert set(measures) <= set(rows[0])
    for row in found["methods"]:
        assert row["adjusted"] <= row["reconstruction"] * (1.0 + 1e-9) <= 1.0 + 1e-9
    few = done(folder, *arguments, "--modes", "joint,shared").stdout
    assert "disjoint" not in few
    wrong = call(*arguments, "--modes", "sideways", cwd=folder)
    assert wrong.returncode == 2
    assert "--modes sideways is not known" in one_line(wrong.stderr)


# issue 17, item 7
def test_the_page_of_several_components_compares_sets(folder):
    done(folder, *FIT, "-o", "out")
    done(folder, "report", "out", "--data", "table.csv", "--compare", "--seconds", "2", "-o", "page.html")
    page = (folder / "page.html").read_text()
    assert "Sets of components compared" in page
    assert "<td>uncorrelated</td>" in page


# issue 17, item 5
def test_a_set_is_certified_from_the_command_line(folder):
    arguments = ("certify", "table.csv", "-k", "3", "-n", "2", "--seconds", "2")
    found = json.loads(done(folder, *arguments, "--constraint", "orthogonal", "--json", "-o", "proof.json").stdout)
    assert found["lower"] <= found["upper"]
    assert len(found["features"]) == 2
    assert rspca.JointCertificate.load(folder / "proof.json").verify(rspca.read(folder / "table.csv"))
    assert "2 components" in done(folder, *arguments).stdout
