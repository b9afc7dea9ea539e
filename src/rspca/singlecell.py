"""The AnnData shell: sparse components of cells by genes, stored where scanpy's pca stores its own. No mathematics."""

from __future__ import annotations

import inspect
import json
import os
import warnings
from typing import Any

import numpy as np

from rspca.base.checks import check_integer, shown
from rspca.estimator import SparsePCA
from rspca.formats.annotated import chosen_variables, is_on_disk, load_or_stream
from rspca.formats.annotated_files import annotated_path, annotation_of, matrix_of, stored_rows_of
from rspca.formats.hdf5 import check_self_contained, check_sparse_group
from rspca.formats.matching import scores_about
from rspca.operators.convert import as_operator
from rspca.operators.streamed import memory_size

CELLS_LOOKED_AT = 500
"""Cells whose values decide whether data are raw counts."""


class _Default:
    def __repr__(self) -> str:
        return "'highly_variable' if present"


DEFAULT_MASK = _Default()
__all__ = ["model_of", "programs", "project"]


def spca(
    adata: Any,
    n_comps: int = 10,
    *,
    k: Any = 50,
    layer: str | None = None,
    mask_var: Any = DEFAULT_MASK,
    key_added: str | None = None,
    copy: bool = False,
    dtype: Any = "float32",
    random_state: Any = 0,
    certify: bool = False,
    covariates: Any = None,
    sample_weight: Any = None,
    max_memory: int | str | None = None,
    return_model: bool = False,
    **options: Any,
) -> Any:
    """Find components of exactly k genes each, and store them in an AnnData object as ``scanpy.pp.pca`` does.

    Sparse data stay sparse. The matrix of a backed file stays on disk if it is larger than `max_memory`; what is found
    is set in memory, and in the file only when you write it. A backed file that leads to other files is refused.

    Parameters
    ----------
    adata : AnnData, or path
        Cells by genes, normalized and logarithmized; whole numbers, as of raw counts, draw a warning. Of a path (.h5ad,
        a .zarr store, or a 10x .h5 file) only what is needed is read, in blocks where it is larger than `max_memory`.
    n_comps : int
        Number of components.
    k : int, float or sequence of these
        Genes in each component, or a share of all genes between 0 and 1.
    layer : str
        Layer to use instead of X.
    mask_var : str, array of truth values, or None
        Genes to choose from: a column of var, or one truth value per gene; None: all. By default
        ``var["highly_variable"]`` where it is present.
    key_added : str
        Key in obsm, varm and uns, instead of ``X_spca``, ``sPCs`` and ``spca``.
    copy : bool
        Leave `adata` as it is and return a copy with the results.
    dtype : data-type
        Of the scores.
    random_state : int, RandomState, Generator or None
        Seed of the rounding.
    certify : bool
        Prove for each component how far it is from the best.
    covariates : list of str, frame, array or mapping
        What is projected out of the data, with an intercept: columns of obs, such as ``["batch"]``, or values for each
        cell; texts and categories are one-hot encoded.
    sample_weight : str or array
        How often each cell counts: a column of obs, or a number for each cell.
    max_memory : int or str
        For a backed file, such as "500MB": what the matrix may take, or its blocks if it takes more; None: 1 GiB.
    return_model : bool
        Return the fitted :class:`SparsePCA`, with the names of the genes; with `copy`, the copy and the model.
    **options
        Of :class:`SparsePCA`: ``scale``, ``center``, ``method``, ``deflation``, ``certify_seconds``, ... `groups` may
        be a column of var, or have an entry for each gene.

    Returns
    -------
    AnnData, SparsePCA or None
        None, or the copy, the model, or both; of a path, a new object with obs, var and the results, without X, with
        the model if that is asked for. Set are

        ``obsm["X_spca"]``
            Scores, cells by components.
        ``varm["sPCs"]``
            Loadings, genes by components: k of each column are not zero, none outside of the mask.
        ``uns["spca"]``
            ``params``, ``genes``, ``mean`` and ``scale`` (the genes in the mask, what was subtracted from them and what
            they were divided by: :func:`rspca.singlecell.project` scores new cells with them), ``variance``,
            ``variance_ratio`` (adjusted, as ``explained_variance_`` of :class:`SparsePCA`),
            and with `certify` ``certificates``: ``lower``, ``upper``, ``gap``, ``status``, and ``json`` for
            ``rspca.Certificate.from_json``. Lower and upper are sums of squares, without a divisor. With `joint`,
            `constraint` or `shared_support` there is one ``joint_certificate`` instead.

    Examples
    --------
    >>> import anndata, numpy as np, rspca
    >>> rng = np.random.default_rng(0)
    >>> X = np.log1p(rng.poisson(0.5, (100, 30)))
    >>> X[:, [4, 8, 15]] += np.abs(rng.normal(size=(100, 1)))  # three genes of one program
    >>> adata = anndata.AnnData(X)
    >>> rspca.spca(adata, n_comps=2, k=3)
    >>> adata.var_names[adata.varm["sPCs"][:, 0] != 0].tolist(), adata.obsm["X_spca"].shape
    (['4', '8', '15'], (100, 2))
    """
    path = annotated_path(adata)
    if path is not None:
        adata, copy = annotation_of(path, layer, max_memory), False
    _check_slots(adata, layer, key_added, copy, from_file=path is not None)
    _check_options(options)
    dtype, memory = _float_type(dtype), memory_size(max_memory)
    if isinstance(mask_var, _Default):
        mask_var = "highly_variable" if "highly_variable" in adata.var else None
    genes = chosen_variables(adata.var, mask_var, "mask_var")
    width = adata.n_vars if genes is None else len(genes)
    check_integer("n_comps", n_comps, 1, min(adata.n_obs, width), f" (of {adata.n_obs} cells and {width} genes)")
    if "groups" in options:
        options["groups"] = _groups(adata.var, options["groups"], genes)
    if path is not None:
        op = matrix_of(path, layer, genes, adata.n_vars, max_memory)
        X: Any = stored_rows_of(op)
    else:
        X = adata.X if layer is None else adata.layers[layer]
        X = X.copy() if adata.is_view else X
    if _are_counts(X[0 : min(CELLS_LOOKED_AT, adata.n_obs)]):
        which = "X" if layer is None else f"Layer {layer!r}"
        warnings.warn(
            f"{which} holds whole numbers, like raw counts: components then follow the depth of cells and the most "
            "abundant genes. Normalize first, for example with sc.pp.normalize_total(adata) and sc.pp.log1p(adata), or "
            "choose another layer.",
            UserWarning,
            stacklevel=2,
        )
    if path is None and (is_on_disk(X) or (adata.isbacked and layer is None)):
        op = as_operator(load_or_stream(X, genes, memory, str(adata.filename or "adata")))
    elif path is None:
        op = as_operator(X if genes is None else X[:, genes])
    known, weights = _of_cells(adata.obs, covariates), _weights(adata.obs, sample_weight)
    model = SparsePCA(n_comps, k=k, certify=certify, random_state=random_state, **options)
    model.fit(op, sample_weight=weights, covariates=known)
    adata = adata.copy() if copy else adata
    scores = model.transform(op, covariates=known).astype(dtype)
    _store(adata, model, scores, genes, key_added, _params(model, mask_var, layer, sample_weight))
    model.feature_names_in_ = np.asarray(adata.var_names if genes is None else adata.var_names[genes], dtype=object)
    is_new = copy or path is not None
    if return_model:
        return (adata, model) if is_new else model
    return adata if is_new else None


def project(adata: Any, reference: Any, *, layer: str | None = None, key: str = "spca", copy: bool = False) -> Any:
    """Score new cells with the components of another AnnData object, and store the scores in ``obsm``.

    Genes are found by name, in any order; those that no component uses may be absent. They are centered and scaled with
    the means and divisors of the reference.

    Parameters
    ----------
    adata : AnnData
        New cells, normalized as those of the reference.
    reference : AnnData or SparsePCA
        An object that :func:`rspca.spca` was run on, or the model that it returned.
    layer : str
        Layer to use instead of X.
    key : str
        Key of the reference in uns, and of the scores in obsm, where it is not that of the default.
    copy : bool
        Leave `adata` as it is and return a copy with the scores.

    Examples
    --------
    >>> import anndata, numpy as np, rspca
    >>> X = np.log1p(np.random.default_rng(0).poisson(0.5, (100, 30)))
    >>> old, new = anndata.AnnData(X[:80]), anndata.AnnData(X[80:, ::-1])
    >>> new.var_names = old.var_names[::-1]
    >>> model = rspca.spca(old, n_comps=2, k=3, return_model=True)
    >>> rspca.singlecell.project(new, old)
    >>> bool(np.allclose(new.obsm["X_spca"], model.transform(X[80:]), atol=1e-6))
    True
    """
    model = reference if isinstance(reference, SparsePCA) else model_of(reference, key)
    if not hasattr(model, "feature_names_in_"):
        raise ValueError("The model does not know its genes by name; give the one that rspca.spca returned.")
    _check_slots(adata, layer, None, copy, from_file=False)
    if not adata.var_names.is_unique:
        raise ValueError("adata has two genes of one name; call adata.var_names_make_unique() first.")
    X = adata.X if layer is None else adata.layers[layer]
    used = np.flatnonzero(np.any(model.components_ != 0.0, axis=0))
    places = adata.var_names.get_indexer(model.feature_names_in_[used])
    if (places < 0).any():
        absent = model.feature_names_in_[used][places < 0]
        raise ValueError(
            f"adata does not have {len(absent)} of the {len(used)} genes that the components use, such as "
            f"{shown(absent[0], 80)}; give data with them, or fit again without them."
        )
    order = np.argsort(places)
    used, places = used[order], places[order]
    if adata.isbacked and layer is None:
        op = as_operator(load_or_stream(X, places, memory_size(None), str(adata.filename)))
    else:
        op = as_operator(X[:, places])
    weights = model.components_[:, used] / model.scale_[used]
    scores = scores_about(op, weights, model.mean_[used], np.sqrt(np.maximum(model.explained_variance_, 0.0)))
    adata = adata.copy() if copy else adata
    adata.obsm["X_spca" if key == "spca" else key] = scores.astype(np.float32)
    return adata if copy else None


def programs(adata: Any, *, key: str = "spca", n: int | None = None) -> Any:
    """Return the genes of each component as a pandas frame, the largest loadings first.

    Columns: `program` (counted from 1), `rank`, `gene`, `loading`, `mean` (expression in the fit) and `variance_ratio`
    of the program. `n` limits the genes of each.

    Examples
    --------
    >>> import anndata, numpy as np, rspca
    >>> adata = anndata.AnnData(np.log1p(np.random.default_rng(0).poisson(0.5, (100, 30))))
    >>> rspca.spca(adata, n_comps=2, k=3)
    >>> rspca.singlecell.programs(adata).columns.tolist()
    ['program', 'rank', 'gene', 'loading', 'mean', 'variance_ratio']
    """
    import pandas

    model = adata if isinstance(adata, SparsePCA) else model_of(adata, key)
    if n is not None:
        check_integer("n", n, 1)
    rows = []
    for number, loadings in enumerate(model.components_):
        support = model.supports_[number]
        for rank, gene in enumerate(support[np.argsort(-np.abs(loadings[support]), kind="stable")][:n], 1):
            values = (model.feature_names_in_[gene], float(loadings[gene]), float(model.mean_[gene]))
            rows.append((number + 1, rank, *values, float(model.explained_variance_ratio_[number])))
    return pandas.DataFrame(rows, columns=["program", "rank", "gene", "loading", "mean", "variance_ratio"])


def model_of(adata: Any, key: str = "spca") -> SparsePCA:
    """Return the model that :func:`rspca.spca` stored in an AnnData object, also in one that was read from a file.

    Examples
    --------
    >>> import anndata, numpy as np, rspca
    >>> adata = anndata.AnnData(np.log1p(np.random.default_rng(0).poisson(0.5, (100, 30))))
    >>> rspca.spca(adata, n_comps=2, k=3)
    >>> rspca.singlecell.model_of(adata).n_components_
    2
    """
    if key not in adata.uns:
        raise ValueError(f"adata.uns has no {key!r}; run rspca.spca first, or give the key that it was stored under.")
    found = adata.uns[key]
    if not {"mean", "total_weight", "preparation"} <= set(found):
        raise ValueError(f"adata.uns[{key!r}] was stored by an earlier version, without means; run rspca.spca again.")
    params = found["params"]
    genes = adata.var_names.get_indexer(np.asarray(found["genes"], dtype=object))
    if (genes < 0).any():
        raise ValueError(f"adata.uns[{key!r}] names genes that adata no longer has; give the object of the fit.")
    loadings = np.asarray(adata.varm["sPCs" if key == "spca" else key])[genes]
    names = ("method", "deflation", "scale", "joint", "shared_support", "nonnegative")
    model = SparsePCA(int(params["n_comps"]), k=np.asarray(params["k"]).tolist(), center=bool(params["zero_center"]))
    model.set_params(**{name: _plain_value(params[name]) for name in names}, constraint=params.get("constraint"))
    model.components_ = np.ascontiguousarray(loadings.T)
    model.supports_ = [np.flatnonzero(row) for row in model.components_]
    model.n_components_, model.n_features_in_ = model.components_.shape
    model.n_samples_, model.n_iter_ = int(found["n_samples"]), 1
    model.total_weight_ = float(found["total_weight"])
    model.preparation_ = tuple(str(words) for words in np.atleast_1d(found["preparation"]))
    model.mean_, model.scale_ = np.asarray(found["mean"]), np.asarray(found["scale"])
    model.explained_variance_ = np.asarray(found["variance"])
    model.explained_variance_ratio_ = np.asarray(found["variance_ratio"])
    model.feature_names_in_ = np.asarray(found["genes"], dtype=object)
    return model


def _plain_value(value: Any) -> Any:
    """Return a value of a file as Python has it."""
    return value.item() if isinstance(value, np.generic) else value


def _store(
    adata: Any, model: SparsePCA, scores: Any, genes: Any, key_added: str | None, params: dict[str, Any]
) -> None:
    in_obsm, in_varm, in_uns = ("X_spca", "sPCs", "spca") if key_added is None else [key_added] * 3
    loadings = np.zeros((adata.n_vars, model.n_components_), dtype=model.components_.dtype)
    loadings[slice(None) if genes is None else genes] = model.components_.T
    found: dict[str, Any] = {
        "params": params,
        "genes": np.asarray(adata.var_names if genes is None else adata.var_names[genes], dtype=str),
        "mean": np.asarray(model.mean_),
        "scale": np.asarray(model.scale_),
        "n_samples": model.n_samples_,
        "total_weight": model.total_weight_,
        "preparation": np.asarray(model.preparation_, dtype=str),
        "variance": model.explained_variance_,
        "variance_ratio": model.explained_variance_ratio_,
    }
    if hasattr(model, "joint_certificate_"):
        joint = model.joint_certificate_
        numbers = {"lower": joint.lower, "upper": joint.upper, "gap": joint.gap, "status": joint.status}
        found["joint_certificate"] = numbers | {"json": json.dumps(joint.as_json())}
    if hasattr(model, "certificates_"):
        proven = model.certificates_
        found["certificates"] = {
            "lower": np.array([certificate.lower for certificate in proven]),
            "upper": np.array([certificate.upper for certificate in proven]),
            "gap": np.array([certificate.gap for certificate in proven]),
            "status": np.array([certificate.status for certificate in proven]),
            "json": np.array([json.dumps(certificate.as_json()) for certificate in proven]),
        }
    adata.obsm[in_obsm] = scores
    adata.varm[in_varm] = loadings
    adata.uns[in_uns] = found


def _of_cells(obs: Any, covariates: Any) -> Any:
    """Return covariates: columns of obs, where they are names of such, or what was given."""
    if covariates is None:
        return None
    names = [covariates] if isinstance(covariates, str) else covariates
    if not isinstance(names, list | tuple) or not names or not all(isinstance(name, str) for name in names):
        return covariates
    absent = [name for name in names if name not in obs]
    if absent:
        raise ValueError(
            f"covariates {', '.join(map(repr, absent))} are no columns of obs; its columns are "
            f"{', '.join(map(str, obs)) or 'none'}."
        )
    return obs[list(names)]


def _weights(obs: Any, weights: Any) -> Any:
    """Return the weight of each cell: a column of obs, where it is the name of one, or what was given."""
    if not isinstance(weights, str):
        return weights
    if weights not in obs:
        raise ValueError(
            f"sample_weight={weights!r} is no column of obs; its columns are {', '.join(map(str, obs)) or 'none'}."
        )
    return np.asarray(obs[weights])


def _params(model: SparsePCA, mask_var: Any, layer: str | None, weights: Any) -> dict[str, Any]:
    """Return the settings as .h5ad files can store them; what is None is left out."""
    found: dict[str, Any] = {
        "zero_center": bool(model.center),
        "use_highly_variable": isinstance(mask_var, str) and mask_var == "highly_variable",
        "n_comps": model.n_components_,
        "k": int(model.k) if np.ndim(model.k) == 0 else np.asarray(model.k, dtype=np.int64),
        "method": model.method,
        "deflation": model.deflation,
        "scale": model.scale,
        "joint": bool(model.joint),
        "shared_support": bool(model.shared_support),
        "nonnegative": bool(model.nonnegative),
    }
    if model.constraint is not None:
        found["constraint"] = model.constraint
    if hasattr(model, "covariates_"):
        found["covariates"] = np.array([covariate.name for covariate in model.covariates_.covariates])
    if weights is not None:
        found["sample_weight"] = weights if isinstance(weights, str) else "given"
    if model.missing != "error":
        found["missing"] = model.missing
    if mask_var is not None:
        found["mask_var"] = mask_var if isinstance(mask_var, str) else np.asarray(mask_var, dtype=bool)
    if layer is not None:
        found["layer"] = layer
    if isinstance(model.random_state, int | np.integer):
        found["random_state"] = int(model.random_state)
    return found


def _check_slots(adata: Any, layer: str | None, key_added: Any, copy: bool, *, from_file: bool) -> None:
    """Raise unless there is a matrix to read and a place to write to."""
    needed = ("obsm", "varm", "uns", "var", "layers", "isbacked", "is_view")
    if not all(hasattr(adata, name) for name in needed):
        hint = "SparsePCA takes matrices"
        if isinstance(adata, str | os.PathLike):
            hint = f"Of files, spca takes .h5ad, .zarr and 10x .h5; {shown(adata, 80)!r} is none that exists"
        raise TypeError(f"adata is a {type(adata).__name__}; an AnnData object is needed. {hint}.")
    if adata.isbacked and (copy or adata.is_view):
        what = "copy=True" if copy else "a view"
        raise ValueError(f"{what} of a backed file cannot be written to; use copy=False on the whole, or to_memory().")
    if key_added is not None and not isinstance(key_added, str):
        raise TypeError(f"key_added={key_added!r} must be a string or None.")
    if from_file:
        return
    if adata.isbacked:
        _check_file(adata)
    named = [str(name) for name in adata.layers if name is not None]  # None is X, from anndata 0.13 on
    layers = ", ".join(named) or "none"
    if layer is not None and layer not in adata.layers:
        raise ValueError(f"adata has no layer {layer!r}; its layers are {layers}.")
    if layer is None and adata.X is None:
        raise ValueError(f"adata has no X; give layer=, one of {layers}.")


def _check_file(adata: Any) -> None:
    """Raise if a backed file leads to other files, or lacks a part of its matrix."""
    if not adata.file.is_open:
        adata.file.open()
    root = adata.file["/"]
    check_self_contained(root, str(adata.filename))
    stored = root.get("X")
    if hasattr(stored, "keys"):
        check_sparse_group(stored, str(adata.filename))


def _float_type(dtype: Any) -> np.dtype[Any]:
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = np.dtype(object)
    if found.kind != "f":
        raise TypeError(f"dtype={dtype!r} must be a floating-point type, for example 'float32'.")
    return found


def _check_options(options: dict[str, Any]) -> None:
    known = [name for name in inspect.signature(SparsePCA).parameters if name != "n_components"]
    unknown = sorted(set(options) - set(known))
    if unknown:
        hint = " zero_center of scanpy is center here." if "zero_center" in unknown else ""
        raise TypeError(f"spca has no option {', '.join(unknown)}; those of SparsePCA are {', '.join(known)}.{hint}")


def _are_counts(block: Any) -> bool:
    """Tell whether a few rows hold whole numbers, none negative, and not only 0 and 1."""
    block = block.compute() if hasattr(block, "compute") else block
    values = np.asarray(block.data if hasattr(block, "toarray") else block)
    if values.size == 0 or values.dtype.kind not in "iuf":
        return False
    return bool(values.min() >= 0 and values.max() > 1 and np.array_equal(values, np.floor(values)))


def _groups(var: Any, groups: Any, genes: Any) -> Any:
    """Return the group of each gene in the mask, from a column of var or an entry for every gene."""
    if isinstance(groups, str):
        if groups not in var:
            raise ValueError(
                f"groups={groups!r} is no column of var; its columns are {', '.join(map(str, var)) or 'none'}."
            )
        groups = np.asarray(var[groups], dtype=object)
    if genes is None or groups is None or np.shape(groups) != (len(var),):
        return groups
    return np.asarray(groups)[genes]
