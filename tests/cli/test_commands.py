"""Each command on small real files: what it prints, what it writes, and its JSON."""

import csv
import json
import os
import pty
import select
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_wine
from support.commandline import START, call, source_folder, write_table
from typer.testing import CliRunner

import rspca
from benchmarks.data import data_path
from rspca.cli.app import app
from rspca.cli.support.inputs import labels_of
from rspca.cli.support.outputs import read_scores
from rspca.cli.support.spreadsheets import read_csv, write_csv

COMMANDS = ["fit", "path", "test", "compare", "certify", "transform", "report", "datasets", "demo"]


def run(*arguments, status=0):
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    assert result.exit_code == status, (result.output, result.exception)
    return result


def document(*arguments):
    """Run with --json and return the one document on stdout."""
    return json.loads(run(*arguments, "--json").stdout)


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path / "table.csv")


@pytest.fixture
def fitted(table, tmp_path):
    run("fit", table, "-k", 3, "-n", 2, "-o", tmp_path / "out", "--no-report")
    return tmp_path / "out"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example_on_a_line_of_its_own(command):
    lines = [line.strip() for line in run(command, "--help").stdout.splitlines()]
    assert any(line.startswith(f"rspca {command}") for line in lines)


# --- fit --------------------------------------------------------------------------------------------------------------


def test_fit_in_json_has_every_number_in_full(table, tmp_path):
    found = document("fit", table, "-k", "3,2", "-o", tmp_path / "out", "--certify", "--scale", "yes")
    model = rspca.load(tmp_path / "out" / "model.npz")
    assert [len(one["features"]) for one in found["components"]] == [3, 2]
    for j, one in enumerate(found["components"]):
        assert one["explained_variance"] == model.explained_variance_[j]
        loadings = {feature["name"]: feature["loading"] for feature in one["features"]}
        assert loadings == {f"gene{i}": model.components_[j, i] for i in model.supports_[j]}
        assert one["certificate"]["status"] == "optimal"
    origin = found["provenance"]
    assert origin["inputs"][0]["name"] == "table.csv"
    assert len(origin["inputs"][0]["sha256"]) == 64
    assert (origin["rspca"], origin["seed"]) == (rspca.__version__, 0)
    assert set(found["files"]) == {"components.csv", "scores.csv", "model.npz", "report.html"}
    assert model.scale is True


def test_the_checksum_is_that_of_the_file(table, tmp_path):
    import hashlib

    found = document("fit", table, "-k", 3, "-o", tmp_path / "out")
    assert found["provenance"]["inputs"][0]["sha256"] == hashlib.sha256(table.read_bytes()).hexdigest()


def test_a_large_file_is_known_by_its_size_date_and_ends(table, monkeypatch):
    from rspca.cli.support import provenance

    monkeypatch.setattr(provenance, "LARGE", 100)
    monkeypatch.setattr(provenance, "_BLOCK", 50)
    (before,) = provenance.described([table])
    assert before["sha256"] is None
    assert before["bytes"] == table.stat().st_size
    text = table.read_bytes()
    table.write_bytes(text[:-2] + b"7\n")
    os.utime(table, ns=(0, before["stamp"][0]))
    (after,) = provenance.described([table])
    assert after["stamp"][0] == before["stamp"][0]
    assert after["stamp"][1] != before["stamp"][1]


def test_fit_passes_method_deflation_seed_and_centering_on(table, tmp_path):
    run(
        "fit", table, "-k", 3, "-n", 2, "-o", tmp_path, "--method", "tpower", "--deflation", "projection", "--seed", 7,
        "--no-center", "--no-report",
    )  # fmt: skip
    model = rspca.load(tmp_path / "model.npz")
    assert (model.method, model.deflation, model.random_state, model.center) == ("tpower", "projection", 7, False)
    wanted = rspca.SparsePCA(2, k=3, method="tpower", deflation="projection", center=False).fit(rspca.read(table))
    np.testing.assert_array_equal(model.components_, wanted.components_)


def test_groups_are_kept_to_when_named_by_a_file(table, tmp_path):
    (tmp_path / "groups.txt").write_text("\n".join("aaabbbcccddd") + "\n")
    run("fit", table, "-k", 4, "-o", tmp_path / "out", "--groups", tmp_path / "groups.txt", "--no-report")
    support = rspca.load(tmp_path / "out" / "model.npz").supports_[0]
    assert sorted(int(i) // 3 for i in support) == [0, 1, 2, 3]
    run(
        "fit", table, "-k", 4, "-o", tmp_path / "two", "--groups", tmp_path / "groups.txt", "--max-per-group", 2,
        "--no-report",
    )  # fmt: skip
    assert max(np.bincount(rspca.load(tmp_path / "two" / "model.npz").supports_[0] // 3)) == 2


def test_the_report_shows_the_features_and_the_label(table, tmp_path):
    (tmp_path / "tissue.txt").write_text("\n".join(f"s{i}\t{'liver' if i % 2 else 'lung'}" for i in range(40)))
    run("fit", table, "-k", 3, "-o", tmp_path / "out", "--label", tmp_path / "tissue.txt")
    page = (tmp_path / "out" / "report.html").read_text()
    assert "gene0" in page
    assert "liver" in page
    assert "tissue" in page
    run("fit", table, "-k", 3, "-o", tmp_path / "bare", "--no-report")
    assert not (tmp_path / "bare" / "report.html").exists()


def test_quiet_says_nothing_and_verbose_tells_stages_on_stderr(table, tmp_path):
    quiet = run("fit", table, "-k", 3, "-o", tmp_path / "out", "--quiet", "--no-report")
    assert quiet.output == ""
    spoken = run("fit", table, "-k", 3, "-n", 2, "-o", tmp_path / "out", "-v", "--no-report", "--certify")
    assert "component 2 of 2, relax, variance" in spoken.stderr
    assert "gap" in spoken.stderr
    assert "relax" not in spoken.stdout


def test_genotypes_are_selected_and_grouped_by_windows(tmp_path):
    pytest.importorskip("numba")
    X, _ = rspca.datasets.make_genotypes(60, 50)
    rspca.formats.write_plink(tmp_path / "toy.bed", X)
    (tmp_path / "people.txt").write_text("\n".join(rspca.read(tmp_path / "toy.bed").sample_names[:30]) + "\n")
    found = document(
        "fit", tmp_path / "toy.bed", "-k", 4, "-o", tmp_path / "out", "--scale", "patterson", "--min-frequency", 0.1,
        "--samples", tmp_path / "people.txt", "--chromosomes", "1,2", "--no-report",
    )  # fmt: skip
    assert found["n_samples"] == 30
    assert found["n_features"] < 50
    assert all(min(f["frequency"], 1 - f["frequency"]) >= 0.1 for f in found["components"][0]["features"])
    assert [one["name"] for one in found["provenance"]["inputs"]] == ["toy.bed", "toy.bim", "toy.fam"]


# --- path, compare, certify -------------------------------------------------------------------------------------------


def test_path_suggests_a_number_of_features_and_says_why(table, tmp_path):
    text = run("path", table, "--ks", "2,3,5", "--certify", "-o", tmp_path / "path.csv").stdout
    assert "k = 3: the curve of share against log k bends most here" in text
    head, rows = read_csv(tmp_path / "path.csv")
    assert head == ["k", "variance", "share", "upper", "gap", "features"]
    assert rows[1][5] == "gene0;gene1;gene2"
    found = document("path", table, "--ks", "5,3,2")
    assert found["suggested"] == 3
    assert [point["k"] for point in found["points"]] == [2, 3, 5]
    assert found["points"][1]["variance"] == pytest.approx(float(rows[1][1]), rel=1e-12)
    assert found["points"][0]["upper"] is None


def test_compare_gives_rows_in_json_and_in_a_file(table, tmp_path):
    found = document("compare", table, "-k", 3, "--methods", "rspca,tpower,pca", "-o", tmp_path / "compare.csv")
    assert {one["method"] for one in found["methods"]} == {"rspca", "tpower", "pca"}
    assert found["certificate"]["status"] == "optimal"
    assert found["certificate"]["features"] == ["gene0", "gene1", "gene2"]
    head, rows = read_csv(tmp_path / "compare.csv")
    assert len(rows) == 5
    assert [float(row[head.index("variance")]) for row in rows] == [one["variance"] for one in found["methods"]]


def test_certify_proves_and_saves_what_it_proved(table, tmp_path):
    found = document("certify", table, "-k", 3, "-o", tmp_path / "proof.json")
    assert (found["status"], found["features"]) == ("optimal", ["gene0", "gene1", "gene2"])
    saved = rspca.Certificate.load(tmp_path / "proof.json")
    assert saved.upper == found["upper"]
    assert saved.verify(rspca.read(table))
    assert "proven optimal" in run("certify", table, "-k", 3).stdout


def test_certify_compares_supports_that_groups_allow(table, tmp_path):  # issue 18, item 5
    (tmp_path / "groups.txt").write_text("\n".join("aaabbbcccddd") + "\n")
    found = document("certify", table, "-k", 4, "--groups", tmp_path / "groups.txt")
    assert found["status"] == "optimal"
    assert found["max_per_group"] == 1
    assert sorted(i // 3 for i in found["support"]) == [0, 1, 2, 3]
    two = document("certify", table, "-k", 4, "--groups", tmp_path / "groups.txt", "--max-per-group", 2)
    assert two["lower"] > found["upper"]
    run("fit", table, "-k", 4, "-o", tmp_path / "out", "--groups", tmp_path / "groups.txt", "--no-report")
    for given in (table, turned(table, tmp_path / "turned.csv")):  # labels are found by name
        again = document("certify", given, "--model", tmp_path / "out")
        assert again["upper"] == pytest.approx(found["upper"], rel=1e-6)
        assert again["assumptions"][-1] == "at most 1 feature of each of 4 group(s)"
    said = str(run("certify", table, "--model", tmp_path / "out", "--groups", "5", status=1).exception)
    assert "leave --groups out" in said


def test_certify_takes_a_component_of_a_model_as_its_fit_left_the_data(table, tmp_path, fitted):
    found = document("certify", table, "--model", fitted, "--component", 2)
    assert "given the 1 component(s) before it, as deflation left the data" in found["assumptions"]
    model = rspca.load(fitted / "model.npz")
    assert found["k"] == 3
    assert found["lower"] == pytest.approx(39 * model.explained_variance_[1], rel=1e-6)


def turned(table, path, names=None):
    """The same table with its columns in another order, under other names if these are given."""
    rows = [line.split(",") for line in table.read_text().splitlines()]
    rows = [[row[0], *row[:0:-1]] for row in rows]
    rows[0] = rows[0] if names is None else [rows[0][0], *names]
    path.write_text("".join(",".join(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("component", [1, 2])
def test_certify_finds_the_features_of_a_model_by_name(table, tmp_path, fitted, component):
    wanted = document("certify", table, "--model", fitted, "--component", component)
    found = document("certify", turned(table, tmp_path / "turned.csv"), "--model", fitted, "--component", component)
    assert sorted(found["features"]) == sorted(wanted["features"])
    for name in ("lower", "upper", "model_variance"):
        assert found[name] == pytest.approx(wanted[name], rel=1e-6)


def test_certify_refuses_a_model_of_other_features(table, tmp_path, fitted):
    others = turned(table, tmp_path / "others.csv", [f"other{j}" for j in range(12)])
    said = str(run("certify", others, "--model", fitted, status=1).exception)
    assert "do not have the same features: 24 are in only one of them, such as gene0" in said
    np.save(tmp_path / "less.npy", np.random.default_rng(0).standard_normal((20, 11)))
    said = str(run("certify", tmp_path / "less.npy", "--model", fitted, status=1).exception)
    assert "The table has 11 features, the model 12" in said


def test_certify_says_if_other_features_are_better_than_those_of_the_model(tmp_path):
    X = np.random.default_rng(0).standard_normal((40, 15))
    np.save(tmp_path / "x.npy", X)
    run("fit", tmp_path / "x.npy", "-k", 4, "--method", "maxcomp", "-o", tmp_path / "out", "--no-report")
    model = rspca.load(tmp_path / "out" / "model.npz")
    found = document("certify", tmp_path / "x.npy", "--model", tmp_path / "out")
    assert found["model_variance"] == pytest.approx(39 * model.explained_variance_[0])
    assert found["model_variance"] < found["lower"]
    said = run("certify", tmp_path / "x.npy", "--model", tmp_path / "out").stdout
    assert f"not the model's component, which has variance {found['model_variance']:.6g}" in said
    assert f"less: {', '.join(found['features'])}" in said
    run("fit", tmp_path / "x.npy", "-k", 4, "-o", tmp_path / "best", "--no-report")
    assert "not the model's" not in run("certify", tmp_path / "x.npy", "--model", tmp_path / "best").stdout


# --- labels -----------------------------------------------------------------------------------------------------------


PEOPLE = {"fid": ["1", "2", "3"], "iid": ["1", "1", "2"]}


@pytest.mark.parametrize(
    ("content", "samples", "labels"),
    [
        ("1 1 CEU\n2 1 YRI\n3 2 CHB\n", PEOPLE, ["CEU", "YRI", "CHB"]),
        ("3 2 CHB\n2 1 YRI\n9 9 JPT\n", PEOPLE, ["", "YRI", "CHB"]),
        ("a,x,red\nb,y,blue\nc,a,green\n", {}, ["red", "blue", "green"]),  # a stands in two columns
        ("c blue\na red\n", {}, ["red", "", "blue"]),
        ("one\ntwo\nthree\n", {}, ["one", "two", "three"]),
        ("class 0\nnormal tissue\nx,y\n", {}, ["class 0", "normal tissue", "x,y"]),
    ],
    ids=["FID IID", "some of them", "a word in two columns", "names", "one a line", "several words a line"],
)
def test_labels_are_those_of_the_samples(tmp_path, content, samples, labels):
    (tmp_path / "labels.txt").write_text(content)
    names = samples.get("iid", ["a", "b", "c"])
    name, known = labels_of(str(tmp_path / "labels.txt"), names, samples)
    assert name == "labels"
    assert known["labels"] == labels


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1 CEU\n2 YRI\n", "which several have; give FID, IID"),
        ("1 1 CEU\n1 1 YRI\n", "two labels for 1 1: CEU and YRI"),
    ],
)
def test_labels_that_could_be_of_several_are_refused(tmp_path, content, message):
    (tmp_path / "labels.txt").write_text(content)
    with pytest.raises(ValueError, match=message):
        labels_of(str(tmp_path / "labels.txt"), PEOPLE["iid"], PEOPLE)


def test_whether_the_first_line_has_names_can_be_said(tmp_path):
    X = np.random.default_rng(0).standard_normal((30, 4)).round(3)
    rows = [[2001, 2002, 2003, 2004], *X.tolist()]
    (tmp_path / "x.csv").write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    common = ("fit", tmp_path / "x.csv", "-k", 2, "--no-report", "-o")
    assert "could name the columns or be a sample" in str(run(*common, tmp_path / "a", status=1).exception)
    assert document(*common, tmp_path / "b", "--no-header")["n_samples"] == 31
    found = document(*common, tmp_path / "c", "--header")
    assert found["n_samples"] == 30
    assert found["components"][0]["features"][0]["name"].startswith("200")


# --- transform and report ---------------------------------------------------------------------------------------------


def test_transform_writes_scores_to_a_pipe_or_a_file(table, tmp_path, fitted):
    text = run("transform", fitted / "model.npz", table).stdout
    assert text == (fitted / "scores.csv").read_text()
    run("transform", fitted, table, "-o", tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text() == text
    found = document("transform", fitted, table)
    assert found["samples"]["sample"][1] == "s1"
    np.testing.assert_array_equal(found["scores"], rspca.load(fitted / "model.npz").transform(rspca.read(table)))


def test_transform_of_another_study_reports_its_matches_on_stderr(tmp_path):
    pytest.importorskip("numba")
    X, _ = rspca.datasets.make_genotypes(60, 50)
    rspca.formats.write_plink(tmp_path / "one.bed", X)
    rspca.formats.write_plink(tmp_path / "two.bed", X[:, :40])
    run("fit", tmp_path / "one.bed", "-k", 20, "-o", tmp_path / "out", "--no-report")
    support = rspca.load(tmp_path / "out" / "model.npz").supports_[0]
    result = call("transform", tmp_path / "out", tmp_path / "two.bed")
    assert result.returncode == 0, result.stderr
    there = int(np.sum(support < 40))
    assert f"rspca: {there} of the 20 SNPs of the model are used" in result.stderr
    if there < 20:
        assert f"rspca: warning: {20 - there} of the 20 SNPs of the model are not used" in result.stderr
    assert result.stdout.startswith("fid,iid,component1\n")


# issue 20, item 5 and issue 21, item 1
def test_transform_draws_new_samples_over_those_of_the_fit(table, tmp_path, fitted):
    page = tmp_path / "page.html"
    run("transform", fitted, table, "-o", tmp_path / "s.csv", "--report", page, "--title", "Second study")
    text = page.read_text()
    assert "<h1><bdi>Second study</bdi></h1>" in text
    assert f"the {len((fitted / 'scores.csv').read_text().splitlines()) - 1}" in text.split("In grey, below them: ")[1]
    (fitted / "scores.csv").unlink()
    result = call("transform", fitted, table, "-o", tmp_path / "s.csv", "--report", page)
    assert "so the page has no samples of the fit" in result.stderr
    assert "In grey, below them" not in page.read_text()
    assert "give --report too" in str(run("transform", fitted, table, "--title", "x", status=1).exception)


def test_report_reads_the_scores_beside_the_model(table, tmp_path, fitted):
    (tmp_path / "tissue.txt").write_text("\n".join(["liver", "lung"] * 20))
    run("report", fitted, "--label", tmp_path / "tissue.txt")
    assert "liver" in (fitted / "report.html").read_text()
    (fitted / "scores.csv").unlink()
    run("report", fitted, "-o", tmp_path / "bare.html")
    assert "liver" not in (tmp_path / "bare.html").read_text()
    run("report", fitted, "--label", tmp_path / "tissue.txt", status=1)


def test_report_adds_a_path_and_a_comparison(table, tmp_path, fitted):
    short, long = tmp_path / "short.html", tmp_path / "long.html"
    run("report", fitted, "-o", short)
    run("report", fitted, "--data", table, "--path", "2,3,5", "--compare", "-o", long)
    assert "gpower-l0" in long.read_text()
    assert "gpower-l0" not in short.read_text()


def test_scores_are_read_back_as_they_were_written(tmp_path, fitted):
    scores, names, samples = read_scores(fitted / "scores.csv", 2)
    np.testing.assert_array_equal(
        scores, rspca.load(fitted / "model.npz").transform(rspca.read(fitted.parent / "table.csv"))
    )
    assert names[:2] == ["s0", "s1"]
    assert samples == {}
    with pytest.raises(ValueError, match=r"does not hold the scores of 3 component"):
        read_scores(fitted / "scores.csv", 3)


# --- datasets ---------------------------------------------------------------------------------------------------------


def test_datasets_are_listed_with_their_sizes_and_homes(tmp_path, monkeypatch):
    monkeypatch.setenv("RSPCA_CACHE", str(tmp_path))
    monkeypatch.delenv("RSPCA_DATA", raising=False)
    found = {one["name"]: one for one in document("datasets")["datasets"]}
    assert found["hapmap3"]["shape"] == [957, 14389]
    assert found["gse10072"]["from"] == ["ftp.ncbi.nlm.nih.gov"]
    assert not any(one["present"] for one in found.values())
    (tmp_path / "gse10072").mkdir()
    (tmp_path / "gse10072" / "GSE10072_series_matrix.txt.gz").write_bytes(b"")
    lines = run("datasets").stdout.splitlines()
    assert [line.split()[0] for line in lines if " here " in line] == ["gse10072"]


def test_a_dataset_is_fetched_by_its_name(monkeypatch):
    monkeypatch.setenv("RSPCA_DATA", str(data_path("hgdp_world_chr22").parent))
    found = document("datasets", "hgdp-world")
    assert found["shape"] == [238, 7652]
    assert all(os.path.exists(path) for path in found["files"])


# --- CSV --------------------------------------------------------------------------------------------------------------

NASTY = ["=cmd()", "+1", "-2", "@x", "\tx", "\rx", "'q", 'a"b', "a,b", "a;=b", "two\nlines", "plain", "", "\u202eabc"]


def test_names_that_a_spreadsheet_would_run_are_defused_and_come_back(tmp_path):
    write_csv(tmp_path / "a.csv", ["name", "-value"], [[name, -1.5] for name in NASTY])
    with open(tmp_path / "a.csv", newline="") as file:
        raw = list(csv.reader(file))
    assert raw[0] == ["name", "'-value"]
    for name, row in zip(NASTY, raw[1:], strict=True):
        assert not row[0].startswith(("=", "+", "-", "@", "\t", "\r"))
        assert row[0] in (name, "'" + name)
        assert row[1] == "-1.5"  # a number stays a number
    assert '"a;=b"' in (tmp_path / "a.csv").read_text()
    head, rows = read_csv(tmp_path / "a.csv")
    assert head == ["name", "-value"]
    assert [row[0] for row in rows] == NASTY


def test_nasty_names_survive_a_fit_and_a_report(tmp_path):
    rng = np.random.default_rng(0)
    names = ["=HYPERLINK(0)", "<script>alert(1)</script>", "a,b", "-1+2", "plain"]
    with open(tmp_path / "t.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", *names])
        writer.writerows([f"@s{i}", *row] for i, row in enumerate(rng.standard_normal((20, 5)).tolist()))
    run("fit", tmp_path / "t.csv", "-k", 5, "-o", tmp_path / "out")
    _, rows = read_csv(tmp_path / "out" / "components.csv")
    assert {row[1] for row in rows} == set(names)
    assert "'=HYPERLINK(0)" in (tmp_path / "out" / "components.csv").read_text()
    _, found, _ = read_scores(tmp_path / "out" / "scores.csv", 1)
    assert found[0] == "@s0"
    assert "<script>alert(1)" not in (tmp_path / "out" / "report.html").read_text()


# --- the terminal -----------------------------------------------------------------------------------------------------


def on_a_terminal(*arguments, cwd):
    """Return the status, stdout, and what a terminal showed of stderr."""
    master, slave = pty.openpty()
    environment = os.environ | {"PYTHONPATH": source_folder(), "TERM": "xterm", "COLUMNS": "150"}
    process = subprocess.Popen(
        [*START, *map(str, arguments)], cwd=cwd, stdout=subprocess.PIPE, stderr=slave, env=environment
    )
    os.close(slave)
    shown = b""
    while select.select([master], [], [], 60)[0]:
        try:
            block = os.read(master, 65536)
        except OSError:  # the other side is closed
            break
        if not block:
            break
        shown += block
    os.close(master)
    return process.wait(60), process.stdout.read().decode(), shown.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="terminals of Unix")
def test_a_terminal_sees_a_bar_with_component_and_variance_and_a_file_sees_nothing(tmp_path):
    write_table(tmp_path / "table.csv", 60, 80)
    arguments = ("fit", "table.csv", "-k", 5, "-n", 3, "--no-report")
    status, stdout, shown = on_a_terminal(*arguments, cwd=tmp_path)
    assert status == 0, shown
    assert "component 3 of 3, found, variance" in shown
    assert "left" in shown
    assert stdout.startswith("component   variance  features")
    assert "\x1b" not in stdout
    assert call(*arguments, cwd=tmp_path).stderr == ""


# --- what readers can do ----------------------------------------------------------------------------------------------


def test_options_reach_the_reader_only_if_they_were_given():
    from rspca.cli.support.inputs import Reading

    assert Reading().given() == {}
    given = Reading(max_missing=0.0, chromosomes="1, X", delimiter="tab", labels="a,b", transpose=True, layer="raw")
    assert given.given() == {
        "max_missing": 0.0, "chromosomes": ["1", "X"], "delimiter": "\t", "labels": ["a", "b"], "transpose": True,
        "layer": "raw",
    }  # fmt: skip
    assert Reading(chromosomes="all").given() == {"chromosomes": "all"}


def test_a_label_column_is_no_feature_and_is_shown(table, tmp_path):
    lines = table.read_text().splitlines()
    marked = [f"{line},{'tissue' if i == 0 else i % 2}" for i, line in enumerate(lines)]
    (tmp_path / "marked.csv").write_text("\n".join(marked) + "\n")
    found = document("fit", tmp_path / "marked.csv", "-k", 3, "-o", tmp_path / "out", "--label", "tissue")
    assert found["n_features"] == 12
    assert (tmp_path / "out" / "scores.csv").read_text().startswith("sample,tissue,component1\n")
    assert "tissue" in (tmp_path / "out" / "report.html").read_text()
    again = run("transform", tmp_path / "out", tmp_path / "marked.csv", "--labels", "tissue").stdout
    assert again == (tmp_path / "out" / "scores.csv").read_text()
    run("report", tmp_path / "out", "--label", "tissue")


def test_layers_and_masks_of_anndata_are_chosen(tmp_path):
    anndata = pytest.importorskip("anndata")
    X = np.random.default_rng(0).standard_normal((30, 10))
    adata = anndata.AnnData(X, layers={"other": 2.0 * X})
    adata.var["chosen"] = np.arange(10) < 6
    adata.write_h5ad(tmp_path / "cells.h5ad")
    found = document(
        "fit", tmp_path / "cells.h5ad", "-k", 3, "-o", tmp_path / "out", "--layer", "other", "--mask", "chosen",
        "--no-report",
    )  # fmt: skip
    assert found["n_features"] == 6
    wanted = rspca.SparsePCA(1, k=3, random_state=0).fit(2.0 * X[:, :6])
    assert found["components"][0]["explained_variance"] == pytest.approx(wanted.explained_variance_[0], rel=1e-9)


def write_wine(path):
    """Write the wine data of scikit-learn, in which the variance of one column is 99.8 % of all."""
    wine = load_wine()
    write_csv(path, wine.feature_names, wine.data)
    return path


# issue 21, item 7
def test_a_fit_ends_with_a_table_of_its_components(tmp_path):
    path = write_wine(tmp_path / "wine.csv")
    lines = run("fit", path, "-k", 3, "-n", 2, "--scale", "yes", "-o", tmp_path / "out").stdout.splitlines()
    model = rspca.load(tmp_path / "out" / "model.npz")
    assert [line.split()[0] for line in lines[:3]] == ["component", "1", "2"]
    for number, line in enumerate(lines[1:3]):
        assert f"{100 * model.explained_variance_ratio_[number]:.3g} %" in line
        assert all(feature.name in line for feature in model.top_features(number))
    assert not any(line.startswith("hint:") for line in lines)


# issue 21, item 7
def test_columns_of_very_different_variance_get_a_hint(tmp_path):
    path = write_wine(tmp_path / "wine.csv")
    shown = run("fit", path, "-k", 3, "-o", tmp_path / "out").stdout
    assert "hint: proline alone makes up 99." in shown
    assert "--scale yes" in shown
    assert "hint" not in run("fit", path, "-k", 3, "-o", tmp_path / "out", "--quiet").stdout
    assert "hint" not in run("fit", path, "-k", 1, "-o", tmp_path / "out").stdout, "one feature is what was asked for"


@pytest.fixture
def documents(tmp_path):
    """Twenty documents about wings and twenty about libraries, in two folders."""
    rng = np.random.default_rng(0)
    for folder, words in {"air": "wing lift flow drag shock", "books": "library index query search users"}.items():
        (tmp_path / "docs" / folder).mkdir(parents=True)
        for i in range(20):
            text = " ".join(rng.choice(words.split(), 12))
            (tmp_path / "docs" / folder / f"{i}.txt").write_text(f"{text} plane number{i}\n")
    return tmp_path / "docs"


def test_documents_give_topics_in_words_and_the_documents_that_score_highest(documents, tmp_path):
    lines = run("fit", documents, "-k", 8, "-n", 2, "-o", tmp_path / "out", "--label", "folder").stdout.splitlines()
    assert lines[0].startswith("topic 1: ")
    sides = [set(line.split("; ")[1].split(", ")) for line in (lines[0], lines[2])]
    air, books = set(["wing", "lift", "flow", "drag", "shock"]), set(["library", "index", "query", "search", "users"])
    assert sorted([bool(side & air), bool(side & books)] for side in sides) == [[False, True], [True, False]]
    assert lines[1].startswith("    highest: ")
    scores = read_csv(tmp_path / "out" / "scores.csv")[1]
    best = max(scores, key=lambda row: float(row[2]))[0]
    assert f"highest: {best} (" in lines[1]
    shown = (documents / best).read_text().strip()
    assert shown in (tmp_path / "out" / "report.html").read_text()
    assert document("fit", documents, "-k", 3, "-o", tmp_path / "out")["provenance"]["inputs"][0]["name"] == "docs"


def test_lines_of_a_file_are_documents_too(documents, tmp_path):
    texts = [path.read_text() for path in sorted(documents.rglob("*.txt"))]
    (tmp_path / "all.txt").write_text("\n".join(texts) + "\n\nthe of\n")  # blank lines, and one without a term
    assert call("fit", tmp_path / "all.txt", "-k", 4, "-o", tmp_path / "out").returncode == 2
    run("fit", tmp_path / "all.txt", "-k", 4, "-o", tmp_path / "out", "--empty", "drop")
    scores = read_csv(tmp_path / "out" / "scores.csv")[1]
    best = max(scores, key=lambda row: float(row[1]))[0]
    shown = (tmp_path / "all.txt").read_text().splitlines()[int(best.split()[1]) - 1]
    assert shown in (tmp_path / "out" / "report.html").read_text()


def test_names_do_nothing_to_the_terminal(tmp_path):
    rows = np.random.default_rng(0).standard_normal((20, 3)).tolist()
    lines = ["id,\x1b]0;owned\x07,b\u202e,c", *(",".join([f"s{i}", *map(repr, row)]) for i, row in enumerate(rows))]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    result = call("fit", tmp_path / "t.csv", "-k", 3, "-o", tmp_path / "out", "--no-report")
    assert result.returncode == 0, result.stderr
    assert "\\u001b]0;owned\\u0007" in result.stdout
    assert "b\\u202e" in result.stdout
    assert "\x1b" not in result.stdout


def test_scores_go_into_a_pipe(fitted, table, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    run("transform", fitted, table, "-o", pipe)
    assert os.read(reader, 20).startswith(b"sample,component1")
    os.close(reader)


def test_labels_with_semicolons_are_found_by_name(tmp_path):
    (tmp_path / "groups.txt").write_text("s4;B b\ns3;A\ns2;B b\ns1;A\n")
    assert labels_of(str(tmp_path / "groups.txt"), ["s1", "s2", "s3", "s4"], {})[1]["groups"] == [
        "A",
        "B b",
        "A",
        "B b",
    ]
    with pytest.warns(UserWarning, match="has no label for 1 of the 5 samples"):
        labels_of(str(tmp_path / "groups.txt"), ["s1", "s2", "s3", "s4", "s5"], {})


def test_options_for_reading_need_data_to_read(fitted):
    result = CliRunner().invoke(app, ["report", str(fitted), "--layer", "zz", "--transpose"])
    assert "--layer, --transpose say how data are read" in str(result.exception) or "--transpose, --layer" in str(
        result.exception
    )


def test_a_report_of_an_earlier_fit_is_named(table, tmp_path):
    run("fit", table, "-k", 3, "-o", tmp_path / "out")
    again = run("fit", table, "-k", 2, "-o", tmp_path / "out", "--no-report")
    assert "report.html is not of this fit" in again.stderr


def test_a_label_that_is_called_like_scores_is_told_apart(tmp_path):
    write_csv(tmp_path / "a.csv", ["component1", "x", "y"], [["a", 1, 2], ["b", 4, 1], ["c", 0, 9]])
    run("fit", tmp_path / "a.csv", "-k", 1, "--labels", "component1", "-o", tmp_path / "out", "--no-report")
    head = (tmp_path / "out" / "scores.csv").read_text().splitlines()[0].split(",")
    assert len(set(head)) == len(head)


def test_advice_is_given_in_the_words_of_the_command_line(tmp_path):
    (tmp_path / "a.csv").write_bytes("n,x\n\xe9,1\n".encode("latin-1"))
    done = call("fit", tmp_path / "a.csv", "-k", "1", "-o", tmp_path / "out")
    assert done.returncode == 2
    assert "--encoding latin-1" in done.stderr
