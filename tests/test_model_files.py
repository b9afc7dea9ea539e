"""Fitted models as files: what is saved comes back, here and in another process, and nothing else is believed."""

import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from sklearn.datasets import load_wine

import rspca
from rspca import SparsePCA

WINE = load_wine(as_frame=True).data


def fitted(X=WINE, **options):
    return SparsePCA(**{"n_components": 2, "k": [4, 3], "scale": True, "random_state": 7} | options).fit(X)


@pytest.fixture
def saved(tmp_path):
    """A model and the file it was saved to."""
    model, path = fitted(), tmp_path / "model.npz"
    model.save(path)
    return model, path


def members(path):
    """Names and contents of the members of an archive."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewritten(path, **changes):
    """Write the archive again with some members changed (None: left out); '__' stands for '.'."""
    contents = members(path) | {name.replace("__", "."): content for name, content in changes.items()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            if content is not None:
                archive.writestr(name, content)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"k": 3, "scale": False, "center": False},
        {"method": "maxcomp", "deflation": "projection"},
        {"solver": "projected", "rounding": "bernoulli", "s": 6.5, "n_draws": 2, "polish": False, "tol": 1e-5},
    ],
    ids=str,
)
def test_a_saved_model_comes_back_whole(tmp_path, options):
    model, path = fitted(**options), tmp_path / "model.npz"
    model.save(path)
    again = rspca.load(path)
    assert type(again) is SparsePCA
    assert again.get_params() == model.get_params()
    assert vars(again).keys() == vars(model).keys()
    for name in ("components_", "mean_", "scale_", "explained_variance_", "explained_variance_ratio_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(model, name))
        assert getattr(again, name).dtype == getattr(model, name).dtype
    for one, other in zip(again.supports_, model.supports_, strict=True):
        np.testing.assert_array_equal(one, other)
    assert again.top_features(1) == model.top_features(1)
    np.testing.assert_array_equal(again.transform(WINE), model.transform(WINE))
    assert again.score(WINE) == model.score(WINE)


def test_feature_names_are_kept_and_still_checked(saved):
    model, path = saved
    again = rspca.load(path)
    np.testing.assert_array_equal(again.feature_names_in_, model.feature_names_in_)
    with pytest.raises(ValueError, match="feature names"):
        again.transform(WINE[WINE.columns[::-1]])


def test_names_outside_ascii_are_kept(tmp_path):
    frame = WINE.rename(columns={"ash": "cendre, ‰ Ω"})
    fitted(frame).save(tmp_path / "model.npz")
    assert rspca.load(tmp_path / "model.npz").feature_names_in_.tolist() == list(frame.columns)


def test_single_precision_stays_single(tmp_path):
    X = WINE.to_numpy(dtype=np.float32)
    model = fitted(X)
    model.save(tmp_path / "model.npz")
    again = rspca.load(tmp_path / "model.npz")
    assert again.components_.dtype == np.float32
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    assert not hasattr(again, "feature_names_in_")


@pytest.mark.parametrize("k", [np.array([4, 3]), (4, 3), np.int64(4)], ids=["array", "tuple", "numpy integer"])
def test_k_of_any_kind_is_saved(tmp_path, k):
    fitted(k=k).save(tmp_path / "model.npz")
    np.testing.assert_array_equal(rspca.load(tmp_path / "model.npz").k, k)


@pytest.mark.parametrize("kind", ["series", "categorical", "nullable", "polars", "with gaps", "range"])
def test_groups_of_any_kind_are_saved(tmp_path, kind):
    pd = pytest.importorskip("pandas")
    labels = list("aabbccddeeffg")
    groups = {
        "series": lambda: pd.Series(labels, index=range(5, 18)),
        "categorical": lambda: pd.Categorical(labels),
        "nullable": lambda: pd.array([*range(12), None], dtype="Int64"),
        "polars": lambda: pytest.importorskip("polars").Series(labels),
        "with gaps": lambda: [*labels[:10], None, np.nan, "g"],
        "range": lambda: range(13),
    }[kind]()
    model = fitted(groups=groups)
    model.save(tmp_path / "model.npz")
    again = rspca.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.set_params(groups=again.groups).fit(WINE).components_, model.components_)


def test_what_an_earlier_fit_knew_is_forgotten(tmp_path):
    model = fitted(certify=True)
    model.set_params(method="tpower", n_components=1, k=3, certify=False).fit(WINE.iloc[:, :9])
    assert not hasattr(model, "certificates_")
    assert {one.inclusion_probability for one in model.top_features(0)} == {None}
    model.save(tmp_path / "model.npz")
    np.testing.assert_array_equal(rspca.load(tmp_path / "model.npz").components_, model.components_)


def test_a_generator_is_not_saved(tmp_path):
    fitted(random_state=np.random.default_rng(0)).save(tmp_path / "model.npz")
    assert rspca.load(tmp_path / "model.npz").random_state is None


def test_a_model_of_a_gram_matrix_is_saved(tmp_path):
    model = SparsePCA(2, k=4, random_state=0).fit(rspca.GramOperator(rspca.datasets.load_pitprops()))
    model.save(tmp_path / "model.npz")
    np.testing.assert_array_equal(rspca.load(tmp_path / "model.npz").components_, model.components_)


def test_another_process_gets_identical_scores(saved, tmp_path):
    model, _ = saved
    np.save(tmp_path / "wine.npy", WINE.to_numpy())
    program = (
        "import numpy as np, rspca, sys; folder = sys.argv[1]\n"
        "scores = rspca.load(folder + '/model.npz').transform(np.load(folder + '/wine.npy'))\n"
        "np.save(folder + '/scores.npy', scores)"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", program, str(tmp_path)], check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "scores.npy"), model.transform(WINE))


def test_the_file_is_plain_arrays_and_json(saved):
    _, path = saved
    meta = json.loads(members(path)["model.json"])
    assert meta["params"]["k"] == [4, 3]
    with np.load(path, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files if name != "model.json"}
    assert all(array.dtype.kind in "fiuU" for array in arrays.values())


def test_a_path_may_be_a_string_without_suffix(tmp_path):
    fitted().save(str(tmp_path / "model"))
    assert os.listdir(tmp_path) == ["model"]
    assert rspca.load(str(tmp_path / "model")).k == [4, 3]


# Files that are not models


class Trap:
    """Unpickling this leaves a file behind."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return (open, (self.path, "w"))


@pytest.mark.parametrize("member", ["mean_", "components.data", "feature_names_in_"])
def test_a_pickled_object_in_the_file_is_refused_and_never_run(saved, tmp_path, member):
    _, path = saved
    np.save(tmp_path / "trap.npy", np.array([Trap(tmp_path / "sprung")], dtype=object), allow_pickle=True)
    rewritten(path, **{f"{member}.npy": (tmp_path / "trap.npy").read_bytes()})
    with pytest.raises(ValueError, match="not a model"):
        rspca.load(path)
    assert not (tmp_path / "sprung").exists()


def test_a_pickle_is_refused_and_never_run(tmp_path):
    import pickle

    path = tmp_path / "model.npz"
    path.write_bytes(pickle.dumps(Trap(tmp_path / "sprung")))
    with pytest.raises(ValueError, match="not a model"):
        rspca.load(path)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_refused(saved, share):
    _, path = saved
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match=r"model\.npz is not a model that SparsePCA\.save wrote, or it is damaged"):
        rspca.load(path)


def test_a_flipped_byte_is_noticed(saved):
    model, path = saved
    content = path.read_bytes()
    for position in np.linspace(40, len(content) - 40, 60).astype(int):
        damaged = bytearray(content)
        damaged[position] ^= 0xFF
        path.write_bytes(damaged)
        try:
            again = rspca.load(path)
        except ValueError as error:
            assert "model.npz" in str(error)  # noqa: PT017 - either outcome is right
        else:  # a byte that carries no content, such as a time stamp
            np.testing.assert_array_equal(again.transform(WINE), model.transform(WINE))


def foreign_npz(path):
    np.savez(path, X=np.ones(3))


def foreign_npy(path):
    with path.open("wb") as file:
        np.save(file, np.ones(3))


def zip_of_text(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.json", "[1, 2]")


@pytest.mark.parametrize(
    "write",
    [
        foreign_npz,
        foreign_npy,
        zip_of_text,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(os.urandom(1000)),
        lambda path: path.write_text("sample,feature\n1,2\n"),
        lambda path: path.write_bytes(b"PK\x03\x04 not really"),
        lambda path: path.write_bytes(b"\x93NUMPY\x01\x00v\x00garbage"),
    ],
    ids=["npz", "npy", "zip", "empty", "noise", "text", "almost zip", "almost npy"],
)
def test_a_foreign_file_is_refused(tmp_path, write):
    path = tmp_path / "other.npz"
    write(path)
    with pytest.raises(ValueError, match=r"other\.npz is not a model that SparsePCA\.save wrote"):
        rspca.load(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"mean___npy": None},
        {"components.data.npy": None},
        {"model__json": b"{}"},
        {"model__json": b"not json"},
        {"model__json": b"\xff\xfe"},
        {"model__json": b"null"},
    ],
    ids=["no mean", "no loadings", "empty json", "no json", "no text", "null"],
)
def test_an_incomplete_model_is_refused(saved, changes):
    _, path = saved
    rewritten(path, **{name.replace("___npy", "_.npy"): content for name, content in changes.items()})
    with pytest.raises(ValueError, match=r"model\.npz is not a model"):
        rspca.load(path)


@pytest.mark.parametrize(
    ("member", "array"),
    [
        ("mean_", np.ones(5)),
        ("scale_", np.ones((13, 2))),
        ("explained_variance_", np.ones(7)),
        ("feature_names_in_", np.array(["a", "b"])),
        ("components.indices", np.full(7, 99, dtype=np.int32)),
        ("inclusion.shape", np.array([2, 5])),
        ("mean_", np.full(13, "a")),
        ("scale_", np.full(13, np.nan)),
    ],
    ids=["mean", "scale", "variance", "names", "indices", "probabilities", "mean of text", "scale of NaN"],
)
def test_arrays_that_do_not_fit_the_model_are_refused(saved, tmp_path, member, array):
    _, path = saved
    np.save(tmp_path / "other.npy", array)
    rewritten(path, **{f"{member}.npy": (tmp_path / "other.npy").read_bytes()})
    with pytest.raises(ValueError, match=r"model\.npz is not a model"):
        rspca.load(path)


def test_a_newer_format_is_named(saved):
    _, path = saved
    meta = json.loads(members(path)["model.json"]) | {"format": 99}
    rewritten(path, model__json=json.dumps(meta).encode())
    with pytest.raises(ValueError, match=r"format 99.*reads 1"):
        rspca.load(path)


# Atomic


def test_a_failure_while_writing_leaves_the_old_file_and_no_other(saved, monkeypatch):
    _, path = saved
    before = path.read_bytes()
    model = fitted(k=2)
    write = np.lib.format.write_array
    written = []

    def failing(file, array, **options):
        if len(written) == 3:
            raise OSError("no space left on device")
        written.append(array)
        write(file, array, **options)

    monkeypatch.setattr(np.lib.format, "write_array", failing)
    with pytest.raises(OSError, match="no space"):
        model.save(path)
    assert len(written) == 3
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_an_interrupt_before_the_move_leaves_the_old_file_and_no_other(saved, monkeypatch):
    _, path = saved
    before = path.read_bytes()

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fitted(k=2).save(path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_saving_replaces_the_old_model_and_leaves_one_file(saved):
    _, path = saved
    fitted(k=2).save(path)
    assert rspca.load(path).k == 2
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.skipif(os.name != "posix", reason="file modes are those of POSIX")
def test_a_saved_model_is_as_readable_as_any_new_file(tmp_path):
    (tmp_path / "plain").touch()
    fitted().save(tmp_path / "model.npz")
    assert (tmp_path / "model.npz").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_an_option_that_cannot_be_written_leaves_no_file(tmp_path):
    model = fitted()
    model.method = object()
    with pytest.raises((TypeError, ValueError)):
        model.save(tmp_path / "model.npz")
    assert os.listdir(tmp_path) == []


def test_a_folder_that_is_not_there_is_an_error_that_names_it(tmp_path):
    with pytest.raises(FileNotFoundError, match="absent"):
        fitted().save(tmp_path / "absent" / "model.npz")


def test_whatever_a_table_tells_of_its_features_is_saved(tmp_path):
    X = np.random.default_rng(0).standard_normal((20, 4))
    told = {
        "marked": np.array([True, None, False, None], dtype=object),
        "since": np.array(["2020-01-01"] * 4, dtype="datetime64[D]"),
        "raw": np.array([b"a", b"b", b"c", b"d"]),
    }
    table = rspca.Table(rspca.as_operator(X), np.array(list("abcd")), np.arange(20).astype(str), told, {})
    rspca.SparsePCA(1, k=2, random_state=0).fit(table).save(tmp_path / "m.npz")
    again = rspca.load(tmp_path / "m.npz").features_
    assert again["marked"].tolist() == ["True", "", "False", ""]
    assert again["since"][0] == "2020-01-01"
    assert again["raw"].tolist() == list("abcd")
