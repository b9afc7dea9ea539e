"""Near misses: what is said where the mistake is known, in the words of the one who made it."""

import inspect
import shlex
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from support.commandline import call, one_line, write_table

import rspca
from rspca.base.arguments import argument, arguments_written_by
from rspca.cli.certify import certify
from rspca.cli.compare import compare
from rspca.cli.fit import fit
from rspca.cli.path import path
from rspca.cli.support.spelling import option_writer
from rspca.formats import write_plink
from rspca.formats.registry import READERS

pytest.importorskip("numba", reason="packed genotypes need numba: pip install 'rspca[genetics]'")


@pytest.fixture
def folder(tmp_path):
    """A folder with genotypes, one SNP of them without a call, and with a table."""
    X = np.random.default_rng(0).binomial(2, 0.4, (30, 12)).astype(float)
    write_plink(tmp_path / "hapmap.bed", X)
    X[:, 3] = np.nan
    write_plink(tmp_path / "gaps.r2.bed", X)
    write_table(tmp_path / "table.csv")
    (tmp_path / "words.csv").write_text("a,b\n1,2\n3,x\n")
    (tmp_path / "latin.csv").write_bytes(b"caf\xe9,b\n1,2\n3,4\n")
    (tmp_path / "no").mkdir()
    (tmp_path / "short.txt").write_text("a b\nc d\n")
    (tmp_path / "same.txt").write_text("heat flow\n" * 3)
    (tmp_path / "one.csv").write_text("a,b\n1,2\n")
    return tmp_path


# issue 14, item 20
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["fit", "gaps.r2.bed", "-k", "3"], "leave them out with --max-missing 0.99."),
        (["path", "gaps.r2.bed", "--ks", "3"], "leave them out with --max-missing 0.99."),
        (["fit", "hapmap.bed", "-k", "3", "--max-missing", "2"], "--max-missing 2.0 must lie between 0 and 1."),
        (["fit", "hapmap.bed", "-k", "3", "--min-frequency", "nan"], "--min-frequency nan must be finite"),
        (
            ["fit", "hapmap.bed", "-k", "3", "--min-frequency", "0.5"],
            "no SNP has --min-frequency 0.5 and --max",
        ),
        (["fit", "hapmap.bed", "-k", "3", "--exclude", "x"], "--exclude x is neither one of"),
        (["fit", "words.csv", "-k", "1"], "keep the column, text and numbers, with --labels b."),
        (["fit", "latin.csv", "-k", "1"], "give the encoding of the file, for example --encoding latin-1."),
        (["fit", "no", "-k", "1"], "no has no documents named *.txt; --pattern '*' reads all files of a folder."),
        (["fit", "short.txt", "-k", "1"], "Lower --min-documents, or change --stop-words."),
        (["fit", "same.txt", "-k", "1"], "whose weight is log2(1) = 0; leave them out."),
        (["fit", "same.txt", "-k", "1", "--stop-words", "x"], "--stop-words x is not a file; give one with"),
        (["fit", "one.csv", "-k", "1"], "Give more samples or --no-center."),
        (["fit", "table.csv", "-k", "2", "--scale", "patterson"], "--scale patterson is for genotypes"),
        (["fit", "table.csv", "-k", "2", "--groups", "100"], "--groups 100 is a window of base pairs"),
        (["fit", "table.csv", "-k", "2", "--max-memory", "1kB"], "--max-memory is no option for .csv"),
        (["compare", "table.csv", "-k", "99"], "-k 99 must be between 1 and 12"),
        (["path", "table.csv", "--ks", "99"], "--ks 99 must be between 1 and 12"),
        (["fit", "table.csv", "-k", "3", "--method", "pca", "--certify"], "--certify certifies components"),
        (["fit", "table.csv", "-k", "3", "--deflation", "hotelling"], "--deflation hotelling is for a Gram matrix"),
    ],
)
def test_errors_of_commands_name_options_and_not_arguments(folder, arguments, said):
    result = call(*arguments, cwd=folder)
    assert result.returncode == 2
    assert said in one_line(result.stderr)  # which refuses name=value and names with underscores


# issue 14, item 20
def test_warnings_of_commands_name_options_and_functions_name_arguments(folder):
    (folder / "labels.csv").write_text("id,kind,a,b\n" + "".join(f"s{i},t,{i},{i * i % 7}\n" for i in range(9)))
    result = call("path", "labels.csv", "--ks", "1", cwd=folder)
    assert "Name them with --labels kind to say so." in one_line(result.stderr)
    with pytest.warns(UserWarning, match=r"Name them with labels=\['kind'\] to say so"):
        rspca.read(folder / "labels.csv")
    with pytest.raises(ValueError, match=r"leave them out with max_missing=0.99"):
        rspca.read(folder / "gaps.r2.bed")
    with pytest.raises(ValueError, match=r"Give more samples or center=False"):
        rspca.SparsePCA(k=1).fit(rspca.read(folder / "one.csv"))


def test_the_options_that_messages_name_are_those_of_the_command():
    for command in (fit, path, compare, certify):
        parameters = list(inspect.signature(command).parameters.values())
        with arguments_written_by(option_writer(parameters)):
            help_text = call(command.__name__, "--help").stdout
            for reader in READERS:
                for name in reader.options:
                    written = argument(name)
                    assert written == name or written in help_text
            assert argument("random_state", 3) == "--seed 3"
            assert argument("center", False) == "--no-center"
            assert argument("scale", True) == "--scale yes"
            assert argument("labels", ["a b", "c"]) == "--labels 'a b,c'"
            assert argument("solver", "x") == "solver='x'"  # no command has it
    assert argument("random_state", 3) == "random_state=3"


MISTAKEN = {
    "path": ("x.npy", r"is a path, 'x.npy', not data; read it first: rspca.read\('x.npy'\)"),
    "Path": (Path("a") / "x.bed", r"read it first: rspca.read\('a/x.bed'\)"),
    "paths": (["1.bed", "2.bed"], r"read it first: rspca.read\(\['1.bed', '2.bed'\]\)"),
    "AnnData": (
        anndata.AnnData(np.eye(4)),
        r"is an AnnData; give its matrix, adata.X, or use rspca.spca\(adata",
    ),
    "Bunch": (load_wine(), "give its .data"),
    "Terms": (rspca.text.term_matrix(["heat flow", "flow wing", "wing heat"]), "give its .matrix"),
}


# issue 14, item 20
@pytest.mark.parametrize("kind", MISTAKEN)
@pytest.mark.parametrize("call", [
    lambda X: rspca.SparsePCA().fit(X), lambda X: rspca.SparsePCA(k=2).fit(np.eye(4)).transform(X), rspca.as_operator,
    rspca.decompose, lambda X: rspca.certify(X, 2), lambda X: rspca.path(X, [1]), lambda X: rspca.compare(X, 1),
    rspca.GramOperator,
], ids=["fit", "transform", "as_operator", "decompose", "certify", "path", "compare", "GramOperator"])  # fmt: skip
def test_what_is_not_data_gets_a_hint(kind, call):
    X, said = MISTAKEN[kind]
    with pytest.raises(TypeError, match=said):
        call(X)


def test_other_mistaken_data_get_a_hint_and_a_frame_may_have_any_columns():
    with pytest.raises(TypeError, match=r"spca takes .h5ad, .zarr and 10x .h5; .x.h5ad. is none that exists"):
        rspca.spca("x.h5ad")
    with pytest.raises(TypeError, match=r"read takes the name of a file. Data need no reading"):
        rspca.read(np.eye(3))
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((9, 3)), columns=["X", "obs", "var"])
    assert rspca.certify(frame, 1).k == rspca.SparsePCA(k=1).fit(frame).n_components_ == 1


# issue 14, item 20
def test_a_plink_prefix_is_found_by_functions_and_commands(folder):
    assert rspca.read(folder / "hapmap").shape == (30, 12)
    assert rspca.read(folder / "gaps.r2", max_missing=0.5).shape == (30, 11)
    result = call("fit", "hapmap", "-k", "3", "-o", "out", cwd=folder)
    assert (result.returncode, result.stderr) == (0, "")
    assert "hapmap.bed" in (folder / "out" / "report.html").read_text()
    assert call("transform", "out", "hapmap", cwd=folder).stdout.count("\n") == 31
    assert call("report", "out", "--data", "hapmap", cwd=folder).returncode == 0
    assert call("certify", "hapmap", "-k", "2", cwd=folder).returncode == 0
    (folder / "hapmap").mkdir()  # a folder of this name is meant first
    assert "hapmap" in one_line(call("fit", "hapmap", "-k", "3", cwd=folder).stderr)


NAMED = "--set-missing-var-ids '@:#:$r:$a'"
COMMANDS = {
    "x.vcf": f"plink2 --vcf x.vcf {NAMED} --make-pgen --out x",
    "a b.vcf.gz": f"plink2 --vcf 'a b.vcf.gz' {NAMED} --make-pgen --out 'a b'",
    "x.bcf": f"plink2 --bcf x.bcf {NAMED} --make-pgen --out x",
    "x.bgen": f"plink2 --bgen x.bgen ref-first --sample x.sample {NAMED} --make-pgen --out x",
    "x.ped": "plink2 --pedmap x --make-bed --out x",
}


# issue 14, item 20
@pytest.mark.parametrize("name", COMMANDS)
def test_genotypes_in_other_files_are_named_with_the_command_that_converts_them(folder, name):
    (folder / name).write_bytes(b"x")
    said = one_line(call("fit", name, "-k", "2", cwd=folder).stderr)
    assert f"does not read .{name.split('.')[1]} yet. Convert it with: {COMMANDS[name]}; then give" in said
    assert shlex.split(COMMANDS[name])[0] == "plink2"
    if "vcf" in name or "bcf" in name:
        assert f"vcf2zarr convert {shlex.quote(name)} {shlex.quote(name.split('.')[0] + '.vcz')}; then give" in said
        assert "bgzip, then bcftools index" in said
    with pytest.raises(ValueError, match="does not read"):
        rspca.read(folder / name)


def test_companions_of_a_bed_and_files_that_are_absent_are_named(folder):
    assert "give hapmap.bed" in one_line(call("fit", "hapmap.bim", "-k", "2", cwd=folder).stderr)
    for suffix in (suffix for reader in READERS for suffix in reader.relatives):
        assert "does not exist" in one_line(call("fit", f"none{suffix}", "-k", "2", cwd=folder).stderr)
