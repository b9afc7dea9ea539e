"""Fitted models as files: one .npz of arrays with a JSON member; reading executes nothing in it."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import scipy.sparse
from sklearn.utils.validation import check_is_fitted

from rspca.analysis.stability import Stability
from rspca.base.atomic import written_atomically
from rspca.base.checks import check_integer, check_real, is_missing, reason, shown, spelled
from rspca.base.memory import check_room
from rspca.certificates.certificate import Certificate
from rspca.certificates.joint import JointCertificate
from rspca.certificates.stored import word
from rspca.formats.archives import checked_sparse, npz_arrays
from rspca.formats.term_weights import LONGEST_TERM, TermWeights
from rspca.operators.covariates import Covariate
from rspca.operators.prepared import TakenOff

Model = TypeVar("Model")

FORMAT = 1
_META = "model.json"
_FEATURES = "features."
_ARRAYS = ("mean_", "scale_", "explained_variance_", "explained_variance_ratio_")
_INTEGERS = ("n_components_", "n_samples_", "n_iter_", "n_features_in_")
_TEXT = "text"
_TEXT_INTEGERS = ("min_length", "max_length", "min_documents")
_MISSING = ("missing_share_", "missing_fill_")
_COVARIATES = "covariates"
_NORM = "l2"
"""How rows of documents are normalized; there is one way."""


def write_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to `path`: to a temporary file in the same folder, which is then renamed."""
    check_is_fitted(model)
    arrays = {name: getattr(model, name) for name in _ARRAYS}
    arrays |= _packed("components", scipy.sparse.csr_array(model.components_))
    if hasattr(model, "inclusion_probability_"):
        arrays |= _packed("inclusion", model.inclusion_probability_)
    if hasattr(model, "structure_"):
        arrays |= _packed("structure", model.structure_)
        arrays["associates"] = np.concatenate([np.zeros(0, dtype=np.int64), *model.associates_])
        arrays["associates.counts"] = np.array([len(others) for others in model.associates_])
        arrays["reconstruction_ratio_"] = model.reconstruction_ratio_
    if hasattr(model, "stability_"):
        arrays |= _packed("stability", model.stability_.share)
        arrays |= {"stability.cosine": model.stability_.cosine, "stability.overlap": model.stability_.overlap}
        arrays["stability.counts"] = np.array([model.stability_.n_pairs, model.stability_.n_candidates])
    if hasattr(model, "feature_names_in_"):
        arrays["feature_names_in_"] = np.asarray(model.feature_names_in_, dtype=str)
    for name, column in getattr(model, "features_", {}).items():
        arrays[f"{_FEATURES}{name}"] = column
    weights: TermWeights | None = getattr(model, "term_weights_", None)
    if weights is not None:  # the vocabulary is feature_names_in_
        arrays |= {f"{_TEXT}.idf": weights.idf, f"{_TEXT}.stop_words": np.array(weights.stop_words, dtype=str)}
    meta: dict[str, Any] = {
        "format": FORMAT,
        "params": {name: _plain(value) for name, value in model.get_params(deep=False).items()},
        "integers": {name: int(getattr(model, name)) for name in _INTEGERS},
    }
    if hasattr(model, "certificates_"):
        meta["certificates"] = [certificate.as_json() for certificate in model.certificates_]
    if hasattr(model, "joint_certificate_"):
        meta["joint_certificate"] = model.joint_certificate_.as_json()
    if hasattr(model, "joint_gain_"):
        meta["joint_gain"] = float(model.joint_gain_)
    meta["total_weight"] = float(model.total_weight_)
    meta["preparation"] = list(model.preparation_)
    for name in _MISSING:
        if hasattr(model, name):
            arrays[name] = getattr(model, name)
    known: TakenOff | None = getattr(model, "covariates_", None)
    if known is not None:
        arrays |= {f"{_COVARIATES}.means": known.means, f"{_COVARIATES}.coefficients": known.coefficients}
        meta[_COVARIATES] = [
            {"name": covariate.name, "levels": None if covariate.levels is None else list(covariate.levels)}
            for covariate in known.covariates
        ]
    if weights is not None:
        meta[_TEXT] = {name: int(getattr(weights, name)) for name in _TEXT_INTEGERS} | {"norm": _NORM}
    if hasattr(model, "linked_share_"):
        arrays["linked_share_"] = model.linked_share_
    _write(Path(path), arrays, meta)


def read_model(path: str | os.PathLike[str], kind: type[Model]) -> Model:
    """Return the model that `write_model` wrote to `path`, as an estimator of this kind."""
    path = Path(path)
    try:
        arrays = npz_arrays(path)
        with zipfile.ZipFile(path) as archive:
            meta = json.loads(archive.read(_META))
        if meta["format"] != FORMAT:
            raise OtherFormat(f"{path} has model format {shown(meta['format'])}; this version of rspca reads {FORMAT}.")
        return _restored(path, meta, arrays, kind)
    except (FileNotFoundError, PermissionError, MemoryError, OtherFormat):
        raise
    except Exception as error:  # a damaged file can fail anywhere inside of zipfile, zlib, json and NumPy
        what = "not a model that SparsePCA.save wrote, or it is damaged"
        raise ValueError(f"{path} is {what}: {reason(error)}") from error


class OtherFormat(ValueError):
    """A model file of another version of rspca."""


def _restored(path: Path, meta: dict[str, Any], arrays: dict[str, Any], kind: Any) -> Any:
    known = kind().get_params()
    model = kind(**{name: value for name, value in meta["params"].items() if name in known})
    for name in _INTEGERS:
        setattr(model, name, check_integer(name, meta["integers"][name], 0))
    for name in (*_ARRAYS, *(["linked_share_"] if "linked_share_" in arrays else [])):
        length = model.n_features_in_ if name in ("mean_", "scale_") else model.n_components_
        array = arrays[name]
        if array.shape != (length,) or array.dtype.kind != "f" or not np.isfinite(array).all():
            raise ValueError(f"{name} is not a vector of {length} finite numbers")
        setattr(model, name, array)
    model.total_weight_ = check_real("total_weight_", meta.get("total_weight", float(model.n_samples_)), 0.0)
    model.preparation_ = tuple(word(words) for words in meta.get("preparation", ()))
    for name in _MISSING:
        if name in arrays:
            setattr(model, name, _finite(name, arrays[name], (model.n_features_in_,)))
    if _COVARIATES in meta:
        model.covariates_ = _taken_off(meta[_COVARIATES], arrays, model.n_features_in_)
    if not (model.scale_ > 0).all():
        raise ValueError("scale_ has entries that are not positive")
    packed = _unpacked("components", arrays)
    if packed.shape != (model.n_components_, model.n_features_in_):
        raise ValueError(f"components of shape {packed.shape} do not fit the model's description")
    size = packed.shape[0] * packed.shape[1] * packed.dtype.itemsize
    what = f"{path}, {packed.shape[0]} components of {packed.shape[1]} features, unpacked,"
    check_room(size, what, "Fit fewer components.")
    model.components_ = packed.toarray()
    if not np.allclose(np.linalg.norm(model.components_.astype(np.float64), axis=1), 1.0, atol=1e-5):
        raise ValueError("components are not of unit length")
    with np.errstate(over="ignore", invalid="ignore"):
        weights = model.components_ / model.scale_
        if not np.isfinite(weights).all() or not np.isfinite(weights @ model.mean_).all():
            raise ValueError("scale_ or mean_ is out of all proportion: scores would not be finite")
    model.supports_ = [np.flatnonzero(row) for row in model.components_]
    if "inclusion.data" in arrays:
        chances = model.inclusion_probability_ = _unpacked("inclusion", arrays)
        if chances.shape != model.components_.shape or not ((chances.data >= 0.0) & (chances.data <= 1.0)).all():
            raise ValueError("what it has as rounding probabilities are none of its components")
    if "structure.data" in arrays:
        _restore_structure(model, arrays)
    if "stability.data" in arrays:
        _restore_stability(model, arrays)
    if "certificates" in meta:
        model.certificates_ = [Certificate.from_json(document) for document in meta["certificates"]]
        if len(model.certificates_) != model.n_components_:
            raise ValueError(f"{len(model.certificates_)} certificates do not fit {model.n_components_} components")
    if "joint_certificate" in meta:
        model.joint_certificate_ = JointCertificate.from_json(meta["joint_certificate"])
        if model.joint_certificate_.n_components != model.n_components_:
            raise ValueError("the certificate of all components is of another number of components")
    if "joint_gain" in meta:
        model.joint_gain_ = check_real("joint_gain_", meta["joint_gain"], -1.0)
    if "feature_names_in_" in arrays:
        names = arrays["feature_names_in_"]
        if names.shape != (model.n_features_in_,) or names.dtype.kind != "U":
            raise ValueError(f"feature_names_in_ is not a list of {model.n_features_in_} names")
        model.feature_names_in_ = names.astype(object)
    known = {name: column for name, column in arrays.items() if name.startswith(_FEATURES)}
    if any(column.shape != (model.n_features_in_,) or column.dtype.kind not in "biufU" for column in known.values()):
        raise ValueError(f"the properties of features do not have {model.n_features_in_} entries")
    if known:
        model.features_ = {name.removeprefix(_FEATURES): column for name, column in known.items()}
    if _TEXT in meta:  # models of documents that earlier versions saved do not have it
        model.term_weights_ = _term_weights(meta[_TEXT], arrays, getattr(model, "feature_names_in_", np.array([])))
    return model


def _finite(name: str, array: Any, shape: tuple[int, ...]) -> Any:
    """Return a stored array of finite numbers, or raise if it is something else."""
    if array.shape != shape or array.dtype.kind != "f" or not np.isfinite(array).all():
        raise ValueError(f"{name} is not an array of {shape} finite numbers")
    return array


def _taken_off(meta: list[dict[str, Any]], arrays: dict[str, Any], n_features: int) -> TakenOff:
    """Return the covariates of a model, or raise if what is stored contradicts itself."""
    covariates = []
    for entry in meta:
        name, levels = entry["name"], entry["levels"]
        texts = [name, *(levels or [])]
        if not all(isinstance(text, str) for text in texts) or (levels is not None and not levels):
            raise ValueError("the names or categories of its covariates are no texts")
        covariates.append(Covariate(name, None if levels is None else tuple(levels)))
    width = sum(covariate.width for covariate in covariates)
    means = _finite("means of covariates", arrays[f"{_COVARIATES}.means"], (width,))
    coefficients = _finite("what covariates explain", arrays[f"{_COVARIATES}.coefficients"], (width, n_features))
    return TakenOff(tuple(covariates), means, coefficients)


def _restore_structure(model: Any, arrays: dict[str, Any]) -> None:
    """Set the structure coefficients of a model, or raise if they are none of its components."""
    rows, others, counts = _unpacked("structure", arrays), arrays["associates"], arrays["associates.counts"]
    ratios = arrays["reconstruction_ratio_"]
    if rows.shape != model.components_.shape or not (np.abs(rows.data) <= 1.0).all():
        raise ValueError("what it has as structure coefficients are none of its components")
    if counts.shape != (model.n_components_,) or counts.dtype.kind not in "iu" or (counts < 0).any():
        raise ValueError("the numbers of associates do not fit its components")
    if others.shape != (int(counts.sum()),) or not ((others >= 0) & (others < model.n_features_in_)).all():
        raise ValueError("the associates are not features of the model")
    if ratios.shape != (model.n_components_,) or ratios.dtype.kind != "f" or not np.isfinite(ratios).all():
        raise ValueError("reconstruction_ratio_ does not fit its components")
    model.structure_, model.reconstruction_ratio_ = rows, ratios
    model.associates_ = np.split(others.astype(np.int64), np.cumsum(counts)[:-1])


def _restore_stability(model: Any, arrays: dict[str, Any]) -> None:
    """Set the stability of a model, or raise if it is none of its components."""
    share, counts = _unpacked("stability", arrays), arrays["stability.counts"]
    means = [arrays["stability.cosine"], arrays["stability.overlap"]]
    if share.shape != model.components_.shape or not ((share.data >= 0.0) & (share.data <= 1.0)).all():
        raise ValueError("what it has as shares of half-samples are none of its components")
    if any(values.shape != (model.n_components_,) or not np.isfinite(values).all() for values in means):
        raise ValueError("the stability does not fit its components")
    if counts.shape != (2,) or counts.dtype.kind not in "iu" or (counts < 1).any():
        raise ValueError("the numbers of half-samples and of features are none")
    model.stability_ = Stability(
        share=share,
        cosine=means[0],
        overlap=means[1],
        n_pairs=int(counts[0]),
        n_candidates=int(counts[1]),
        supports=model.supports_,
    )


def _term_weights(meta: dict[str, Any], arrays: dict[str, Any], vocabulary: Any) -> TermWeights:
    """Return how a model weights documents, or raise if what is stored contradicts itself."""
    idf, stop_words = arrays[f"{_TEXT}.idf"], arrays[f"{_TEXT}.stop_words"]
    if idf.shape != vocabulary.shape or idf.dtype != np.float64 or not (np.isfinite(idf) & (idf >= 0.0)).all():
        raise ValueError(f"the weights of words are not {len(vocabulary)} finite numbers of at least 0")
    if stop_words.ndim != 1 or stop_words.dtype.kind != "U":
        raise ValueError("the stop words are not a list of words")
    if len(set(vocabulary)) < len(vocabulary):
        raise ValueError("the vocabulary has a word twice")
    if meta["norm"] != _NORM:
        raise ValueError(f"its rows are normalized by {shown(meta['norm'])}; this version knows {_NORM}")
    low, high, least = (check_integer(name, meta[name], 1) for name in _TEXT_INTEGERS)
    if not low <= high <= LONGEST_TERM:
        raise ValueError(f"words of {low} to {high} letters are none")
    terms = tuple(str(term) for term in vocabulary)
    return TermWeights(terms, idf, tuple(stop_words.tolist()), low, high, least)


def _packed(name: str, matrix: Any) -> dict[str, Any]:
    return {
        f"{name}.data": matrix.data,
        f"{name}.indices": matrix.indices,
        f"{name}.indptr": matrix.indptr,
        f"{name}.shape": np.array(matrix.shape),
    }


def _unpacked(name: str, arrays: dict[str, Any]) -> Any:
    parts = (arrays[f"{name}.data"], arrays[f"{name}.indices"], arrays[f"{name}.indptr"])
    if parts[0].dtype not in (np.float32, np.float64):
        raise ValueError(f"{name} has dtype {parts[0].dtype}; single or double precision is needed")
    matrix = scipy.sparse.csr_array(parts, shape=tuple(int(side) for side in arrays[f"{name}.shape"]))
    return checked_sparse(matrix)


def _plain(value: Any) -> Any:
    """Return a parameter as a value of JSON; a random generator becomes None."""
    if isinstance(value, np.random.Generator | np.random.RandomState):
        return None
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Iterable):  # lists, arrays, ranges, columns of frames
        return [_plain(item) for item in value]
    if is_missing(value):
        return None
    raise TypeError(f"{spelled(value)} cannot be saved; set it to what text, numbers and lists can say.")


def _write(path: Path, arrays: dict[str, Any], meta: dict[str, Any]) -> None:
    with written_atomically(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open(_META, "w") as member:  # unlike writestr without a date: the same model is the same bytes
            member.write(json.dumps(meta).encode())
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)
