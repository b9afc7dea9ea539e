"""The scikit-learn estimator: validate, call the core, store what it found. No mathematics here."""

from __future__ import annotations

import collections
import functools
import inspect
import numbers
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import metadata_routing
from sklearn.utils.validation import check_is_fitted, validate_data

from rspca.algorithm.feature_limits import limits
from rspca.algorithm.joint.task import SparseVector
from rspca.algorithm.loop import LoopOptions
from rspca.algorithm.results import Component, Decomposition, OnComponent
from rspca.analysis.halves import Halves, HalvesOptions
from rspca.analysis.stability import Stability, check_pairs, refitted_stability, stability_of
from rspca.base.arguments import argument, where_known
from rspca.base.checks import (
    as_generator,
    check_integer,
    check_is_data,
    check_length,
    check_listener,
    in_one_line,
    real_array,
    without_mask,
)
from rspca.base.dataframes import with_plain_columns
from rspca.base.types import Array, OnStep
from rspca.formats.labeled import table_of_labeled
from rspca.formats.matching import scores_about, scores_by_name, weighted_as_in_fit
from rspca.formats.named import plain
from rspca.formats.table import Table
from rspca.genetics.alleles import (
    Matched,
    Projected,
    are_snps,
    counted_as_in,
    match_snps,
    matched_scores,
    projected,
)
from rspca.genetics.linkage import linkage_note, linked_share
from rspca.linalg.explained_variance import scores_of
from rspca.linalg.structure import associates, structure_of
from rspca.linalg.vectors import nonzeros
from rspca.methods.combinations import check_nothing_earlier
from rspca.methods.decompose import Settings, checked_settings, decompose_checked
from rspca.model_files import read_model, write_model
from rspca.operators.base import OperatorMixin
from rspca.operators.convert import as_operator, balanced, check_center, is_beyond_arrays
from rspca.operators.covariates import design_as
from rspca.operators.held_out import Explained, held_out_share
from rspca.operators.labeled import is_labeled
from rspca.operators.missing import with_missing_as, with_nan
from rspca.operators.prepared import (
    SampleArguments,
    TakenOff,
    check_has_samples,
    checked_samples,
    data_operator,
    operator_of,
    prepared,
)
from rspca.operators.sample_weights import checked_weights


class Feature(NamedTuple):
    """One feature of one component."""

    name: Any
    loading: float
    inclusion_probability: float | None
    structure: float | None = None
    """Correlation of the feature with the score of the component."""
    share: float | None = None
    """Share of half-samples that choose it, after :meth:`SparsePCA.stability`."""


MOST_ASSOCIATES = 50
"""Features outside a support whose correlation with the score a model stores, at most."""
LEADING = 20
"""Features and associates of each component, largest first, whose correlation with every score a model stores."""


HINTS = {
    "alpha": "give k, the number of features of a component, in place of a penalty: SparsePCA(k=10)",
    "ridge_alpha": "nothing is penalized: loadings are the best ones on their k features",
    "n_jobs": "threads are those of BLAS (threadpoolctl, OMP_NUM_THREADS) and of numba (NUMBA_NUM_THREADS)",
    "verbose": "fit(X, on_step=print) reports progress",
    "U_init": "there is nothing to start from: starts are found in the data",
    "V_init": "there is nothing to start from: starts are found in the data",
    "sample_weight": "weights of samples are an argument of fit",
    "covariates": "covariates are an argument of fit",
}
"""What to do instead of options that similar classes have, those of scikit-learn's SparsePCA first."""


class _SignatureOfInit:
    """The signature of a class as its constructor has it: `__new__` takes anything, to say more about what is wrong."""

    def __get__(self, instance: object, owner: Any) -> inspect.Signature:
        signature = inspect.signature(owner.__init__)
        return signature.replace(parameters=list(signature.parameters.values())[1:])


class SparsePCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Principal components of exactly k features each.

    Each component is the combination of k features that has (nearly always) the most variance: a relaxed problem is
    solved, rounded at random, refitted on its support, and improved by exchanging features. Data are centered and
    scaled implicitly: sparse data stay sparse, memory-mapped data stay on disk.

    Parameters
    ----------
    n_components : int, default=1
        Number of components.
    k : int or sequence of int, default=10
        Features per component. More than there are features: all of them, with a warning.
    method : str, default="rspca"
        A key of ``rspca.METHODS``. Options from `solver` to `n_draws`, and `polish`, `max_iter` and `tol`, belong to
        "rspca"; options of other methods are arguments of ``rspca.METHODS[name](...)``. Or "topics": nonnegative parts
        of data without negative entries, with center=False; see ``rspca.text.topics``.
    solver : {"linearized", "projected"}, default="linearized"
        Stage 1. "projected" is the paper's; its fixed point is not stationary for the relaxed problem.
    rounding : {"exact", "bernoulli"}, default="exact"
        "exact" draws supports of exactly k features; "bernoulli" is Algorithm 1 of the paper, whose support has
        at most s features in expectation.
    s : float, default=None
        Expected support of the rounding; None means k. With rounding="exact" it shapes the probabilities only.
    n_draws : int, default=16
        Roundings, of which the best is kept; at most 100,000. On large data with k above a tenth of the features
        polishing begins at the k largest entries alone.
    normalization : {"svd", "naive"}, default="svd"
        Refit the loadings on the support, or keep their direction.
    polish : bool, default=True
        Improve the rounded support by truncated power steps and single exchanges.
    deflation : {"schur", "projection", "orthogonal", "hotelling"}, default="schur"
        What is removed before the next component. "schur": earlier scores, so that each variance is the adjusted
        variance. "projection" is the paper's. "hotelling" is for a Gram matrix only.
    center : bool, default=True
        Subtract column means, implicitly.
    scale : {False, True, "patterson"}, default=False
        Divide columns by their standard deviation (ddof 0), or by sqrt(2p(1-p)), p half the mean, for genotypes.
    groups : array of labels, int, or "r2:LIMIT", default=None
        A group for each feature (a gene, a topic), or, for a table of genotypes, the width of windows in base pairs, or
        "r2:0.2": clumps of SNPs whose squared correlation with the commonest of them is above 0.2, within 500 kb. A
        component uses at most `max_per_group` features of one group: linked SNPs say the same and would fill it.
        Features without a label (None, NaN, an empty text) are in no group.
    max_per_group : int, default=1
        Features of one group in one component, with `groups`.
    joint : bool, default=False
        Improve all components together after they were found one by one: their adjusted variance is never less.
    constraint : {None, "orthogonal", "uncorrelated", "disjoint"}, default=None
        Loadings that are orthogonal, scores that are uncorrelated, or no feature in two components, exactly; found for
        all components together.
    shared_support : bool, default=False
        One set of k features for all components, whose loadings use all of them.
    nonnegative : bool, default=False
        No loading is negative.
    missing : {"error", "mean"}, default="error"
        "mean": a missing value (NaN, or masked) counts as the mean of its feature over what is observed, so it adds
        nothing to components; see ``missing_share_``.
    certify : bool, default=False
        Prove for each component how far it is from the best possible one; see ``certificates_``.
    certify_seconds : float, default=30.0
        Time for the certificates of all components.
    max_iter : int, default=1000
        Largest number of iterations of stage 1.
    tol : float, default=1e-7
        Relative gain at which stage 1 stops.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the rounding.

    Attributes
    ----------
    components_ : array of shape (n_components_, n_features)
        Unit rows with exact zeros; the largest loading of each is positive.
    supports_ : list of arrays
        Sorted indices of the features of each component.
    explained_variance_ : array
        Adjusted variance: R_jj^2 / (m - 1) from the QR of the scores (no divisor for a Gram matrix); m is the sum of
        the weights where samples have them.
    explained_variance_ratio_ : array
        The same over the total variance of the centered, scaled data.
    inclusion_probability_ : sparse array of shape (n_components_, n_features)
        Rounding probability: that with which the rounding takes each feature; method="rspca" only. It describes the
        algorithm, not how stable a feature is under new data.
    structure_ : sparse array of shape (n_components_, n_features)
        Structure coefficients: correlations of features with the scores, of the features of each component and of its
        associates; with every score also of the 20 largest features and associates of each component.
        :meth:`structure` returns those of all features.
    associates_ : list of arrays
        Features outside each support that correlate with the score as much as one inside: they could have stood in.
        Largest first, at most 50.
    reconstruction_ratio_ : array
        What each component adds to the part of X that the scores explain by least squares, over the total variance.
    stability_ : Stability
        How often half-samples choose each feature; only after :meth:`stability`.
    certificates_ : list of Certificate
        Proven bounds for each component, given the earlier ones; with certify=True only, and not where components are
        found together.
    joint_certificate_ : JointCertificate
        Proven bound for all components, with certify=True and `joint`, `constraint` or `shared_support`.
    joint_gain_ : float
        Adjusted variance over that of the components found one by one, less 1; with joint=True and no constraint.
    mean_, scale_ : arrays
        What was subtracted from the columns, and what they were divided by.
    missing_share_, missing_fill_ : arrays
        Share of each feature that was missing, and what missing values count as; with missing="mean" only.
    covariates_ : TakenOff
        Covariates, their means, and what they explain of each feature; only after a fit with covariates.
    total_weight_ : float
        Number of samples, or the sum of their weights.
    preparation_ : tuple of str
        What was done to the data before components were sought, in words.
    features_ : dict of arrays
        What a table knows of its features, one entry each; only after a fit on a table.
    term_weights_ : TermWeights
        Vocabulary, idf and rules by which documents are weighted; only after a fit on a table of documents.
    linked_share_ : array
        Share of the SNPs of each component that repeat their neighbor; only for genotypes without `groups`.
    n_components_, n_samples_, n_features_in_, n_iter_ : int
        Components found, samples and features seen, most iterations of stage 1.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import rspca
    >>> wine = load_wine(as_frame=True).data
    >>> model = rspca.SparsePCA(1, k=3, scale=True, random_state=0).fit(wine)
    >>> [feature.name for feature in model.top_features()]
    ['flavanoids', 'total_phenols', 'od280/od315_of_diluted_wines']
    """

    __metadata_request__inverse_transform = {"T": metadata_routing.UNUSED}  # noqa: RUF012

    __signature__ = _SignatureOfInit()

    def __new__(cls, *args: Any, **given: Any) -> Self:
        """Say what to do instead of options that similar classes have, before Python says that they do not exist."""
        hints = "; ".join(f"{name}: {HINTS[name]}" for name in sorted(given) if name in HINTS)
        if hints:
            raise TypeError(f"SparsePCA has no option {', '.join(sorted(set(given) & set(HINTS)))}. {hints}.")
        return super().__new__(cls)

    def __init__(
        self,
        n_components: int = 1,
        *,
        k: Any = 10,
        method: str = "rspca",
        solver: str = "linearized",
        rounding: str = "exact",
        s: float | None = None,
        n_draws: int = 16,
        normalization: str = "svd",
        polish: bool = True,
        deflation: str = "schur",
        center: bool = True,
        scale: bool | str = False,
        groups: Any = None,
        max_per_group: int = 1,
        joint: bool = False,
        constraint: str | None = None,
        shared_support: bool = False,
        nonnegative: bool = False,
        missing: str = "error",
        certify: bool = False,
        certify_seconds: float = 30.0,
        max_iter: int = 1000,
        tol: float = 1e-7,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.k = k
        self.method = method
        self.solver = solver
        self.rounding = rounding
        self.s = s
        self.n_draws = n_draws
        self.normalization = normalization
        self.polish = polish
        self.deflation = deflation
        self.center = center
        self.scale = scale
        self.groups = groups
        self.max_per_group = max_per_group
        self.joint = joint
        self.constraint = constraint
        self.shared_support = shared_support
        self.nonnegative = nonnegative
        self.missing = missing
        self.certify = certify
        self.certify_seconds = certify_seconds
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        covariates: Any = None,
        feature_names: Any = None,
        on_step: OnStep | None = None,
        on_component: OnComponent | None = None,
        earlier: Sequence[Component] = (),
        **unknown: Any,
    ) -> Self:
        """Find the components of X (array, memmap, frame, sparse matrix, table, Dask array, operator); no `y`.

        `sample_weight` has how often each sample counts: a weight of 2 is a row given twice, 0 one left out.
        `covariates` (an array, a frame, or a mapping from names to columns; texts are categories) are projected out of
        X, with an intercept, and then needed for new samples. `feature_names` names the features of data that have no
        names, such as a sparse matrix. `on_step`, `on_component` and `earlier` are those of :func:`decompose`:
        progress, and resuming after a stop.
        """
        if unknown:
            raise TypeError(
                f"fit() does not take {', '.join(sorted(unknown))}; besides X and y it takes sample_weight, "
                "covariates, feature_names, on_step, on_component and earlier."
            )
        check_nothing_earlier(self.get_params(deep=False), earlier)
        loop = LoopOptions(on_step, on_component, earlier)
        fit_model(self, X, None, loop, FitArguments(sample_weight, covariates, feature_names))
        return self

    def fit_transform(
        self, X: Any, y: Any = None, *, sample_weight: Any = None, covariates: Any = None, **fit_params: Any
    ) -> Array:
        """Fit to X and return its scores; the arguments are those of `fit`."""
        self.fit(X, y, sample_weight=sample_weight, covariates=covariates, **fit_params)
        return self.transform(X, covariates=covariates)

    def _store(self, found: Decomposition, dtype: np.dtype[Any]) -> None:
        """Set the attributes that a fit has, from what was found."""
        divisor = found.total_weight - 1.0 if found.has_samples and found.total_weight > 1.0 else 1.0
        self.components_ = found.loadings.astype(dtype)
        self.supports_ = [c.support for c in found.components]
        self.n_components_ = len(found)
        self.n_samples_ = found.n_samples
        self.mean_ = found.mean  # float64: rounded to single precision a mean may be off by more than the spread
        self.scale_ = found.scale.astype(dtype)
        self.n_iter_ = max(c.n_iter for c in found.components)
        self.explained_variance_ = found.explained_variance / divisor
        self.explained_variance_ratio_ = found.explained_variance / found.total_variance
        if found.joint_certificate is not None:
            self.joint_certificate_ = found.joint_certificate
        elif self.certify:
            self.certificates_ = [c.certificate for c in found.components]
        if found.joint_gain is not None:
            self.joint_gain_ = found.joint_gain
        self.total_weight_ = found.total_weight
        self.preparation_ = found.preparation
        if found.missing_share is not None:
            self.missing_share_, self.missing_fill_ = found.missing_share, np.asarray(found.fill)
        if found.taken_off is not None:
            self.covariates_ = found.taken_off
        probabilities = [c.inclusion_probability for c in found.components if c.inclusion_probability is not None]
        if probabilities:
            self.inclusion_probability_ = _sparse_rows(probabilities, [nonzeros(one) for one in probabilities])
        self.reconstruction_ratio_ = found.reconstruction / found.total_variance
        self.associates_ = [
            associates(coefficients, support, MOST_ASSOCIATES)
            for coefficients, support in zip(found.structure, self.supports_, strict=True)
        ]
        leading = [self._by_size(j)[:LEADING] for j in range(self.n_components_)]
        shown = np.unique(np.concatenate([*leading, *(others[:LEADING] for others in self.associates_)]))
        own = zip(self.supports_, self.associates_, strict=True)
        kept = [np.unique(np.concatenate([shown, support, others])) for support, others in own]
        self.structure_ = _sparse_rows(list(found.structure), kept)  # zeros are known too

    def transform(self, X: Any, *, covariates: Any = None) -> Array:
        """Return the scores: X, centered and scaled as in fit, projected on the components.

        A model that was fitted with covariates needs those of these samples: what they explain is taken off as in fit.
        With missing="mean", a missing value counts as the mean of its feature in fit.

        Features of a table are found by their names, in any order; those that no component uses may be absent.
        Documents are weighted as in fit: a word that they do not have is a zero, and words that the fit did not have
        are left out and counted in a warning.
        """
        check_is_fitted(self)
        X = self._weighted_as_in_fit(X)
        if self._both_snps(X):
            matched = self.match(X)
            if matched.unused():
                message = f"{matched.unused()}; they count as their mean. match(table) lists them."
                warnings.warn(message, UserWarning, stacklevel=2)
            scores = matched_scores(X.operator, matched, *self._weights_and_means(self._used_features()))
            return self._less_explained(scores, covariates)
        if isinstance(X, Table) and not self._names_agree(X):
            used = self._used_features()
            scores = scores_by_name(X, self.feature_names_in_[used], *self._weights_and_means(used), self._spread())
            return self._less_explained(scores, covariates)
        op = self._filled_as_in_fit(data_operator(self._checked(X, reset=False), self.missing))
        if not op.has_samples:
            raise ValueError("A Gram matrix has no samples, so it has no scores; give the data matrix.")
        self._warn_without_means()
        return self._less_explained(scores_about(op, *self._weights_and_means(), self._spread()), covariates)

    def _filled_as_in_fit(self, op: OperatorMixin) -> OperatorMixin:
        """Return data with missing values counted as the means of fit, where the model does so."""
        fill = getattr(self, "missing_fill_", None)
        return op if fill is None else with_missing_as(op, fill)

    def _explained_rows(self, covariates: Any, n_samples: int) -> Explained | None:
        """Return what covariates explain of new samples; refuse them where the fit had none, or the other way."""
        known: TakenOff | None = getattr(self, "covariates_", None)
        if known is None and covariates is not None:
            raise ValueError(
                f"{argument('covariates')} are given, but the model was fitted without any. Leave them out."
            )
        if known is None:
            return None
        if covariates is None:
            names = ", ".join(covariate.name for covariate in known.covariates)
            raise ValueError(
                f"The model was fitted with {argument('covariates')} ({names}); give those of these samples too, or "
                "nothing is known of what they explain."
            )
        return Explained(design_as(covariates, known.covariates, n_samples) - known.means, known.coefficients)

    def _less_explained(self, scores: Array, covariates: Any) -> Array:
        """Return scores less what covariates explain of them, as in fit."""
        explained = self._explained_rows(covariates, len(scores))
        if explained is None:
            return scores
        along = explained.coefficients @ self.components_.T.astype(float)
        return np.asarray(scores - explained.rows @ along, dtype=scores.dtype)

    def match(self, table: Table) -> Matched:
        """Return where the SNPs of the components are in a table of genotypes, and which of them can be used."""
        check_is_fitted(self)
        if not are_snps(getattr(self, "features_", None)) or not are_snps(table.features):
            raise ValueError("SNPs are matched by name and alleles: fit on, and give, a table of genotypes.")
        return match_snps(self.features_, table.features, self._used_features())

    def projected(self, table: Table, scores: Array | None = None) -> list[Projected]:
        """Return how many SNPs of each component a table of genotypes has, and how its scores shrink without others.

        `spread` compares the spread of the scores with that of the fit: about 1 for people like those of the fit.
        `scores` are those of the table, where they are known already.
        """
        matched = self.match(table)
        if scores is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # what is not used is in the result
                scores = self.transform(table)
        return projected(matched, self.components_[:, self._used_features()], scores, self._spread())

    def _weighted_as_in_fit(self, X: Any) -> Any:
        """Return X; a DataArray as a table, a table of documents with the weights that words have in this model."""
        X = table_of_labeled(X) if is_labeled(X) else X
        if not isinstance(X, Table) or X.terms is None:
            return X
        weights = getattr(self, "term_weights_", None)
        if weights is not None:
            return weighted_as_in_fit(X, weights)
        known = getattr(self, "feature_names_in_", None)
        if known is not None and set(known[self._used_features()]) <= set(X.feature_names):
            message = (
                "The model does not store the weights of its words, so those of these documents are used, which may "
                "differ. Fit it again on its documents."
            )
            warnings.warn(message, UserWarning, stacklevel=3)
        return X

    def _both_snps(self, X: Any) -> bool:
        """Tell whether this model and X both know SNPs, so that alleles decide what is counted."""
        known = getattr(self, "features_", None)
        return isinstance(X, Table) and bool(known) and are_snps(known) and are_snps(X.features)

    def _used_features(self) -> Array:
        return np.flatnonzero(np.any(self.components_ != 0.0, axis=0))

    def _weights_and_means(self, features: Any = slice(None)) -> tuple[Array, Array]:
        """Return what turns some columns of X into scores."""
        return self.components_[:, features] / self.scale_[features], self.mean_[features]

    def _spread(self) -> Array:
        """Return the standard deviation of the scores of each component, as far as earlier ones do not explain it."""
        return np.sqrt(np.maximum(self.explained_variance_, 0.0))

    def _names_agree(self, table: Table) -> bool:
        """Tell whether a table has the features of fit, in their order, as far as their names are known."""
        known = getattr(self, "feature_names_in_", None)
        return known is None or not table.has_feature_names or np.array_equal(known, table.feature_names)

    def score_table(self, table: Table) -> dict[str, Array]:
        """Return the scores of a table next to what it knows of its samples: for genotypes, FID and IID."""
        scores = self.transform(table)
        names = self.get_feature_names_out()
        return dict(table.samples) | {str(name): np.asarray(scores)[:, i] for i, name in enumerate(names)}

    def inverse_transform(self, T: Any) -> Array:
        """Return the least-squares reconstruction from scores T: T pinv(V') in the units of X, plus the mean."""
        check_is_fitted(self)
        T = np.asarray(T) if getattr(T, "dtype", None) == np.float32 else real_array("T", T)
        if not np.isfinite(T).all():
            raise ValueError("T contains NaN or infinite values; scores as transform returns them are needed.")
        if T.ndim != 2 or T.shape[1] != self.n_components_:
            raise ValueError(f"T has shape {T.shape}; scores of {self.n_components_} component(s) are needed.")
        return np.asarray((T @ np.linalg.pinv(self.components_).T) * self.scale_ + self.mean_.astype(self.scale_.dtype))

    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None, covariates: Any = None) -> float:
        """Return the share of the variance of X, about the mean of fit, in the span of the components.

        With `sample_weight` samples count as often as it says; a model with covariates needs those of these samples.
        """
        check_is_fitted(self)
        X = self._weighted_as_in_fit(X)
        mean, scale = np.asarray(self.mean_, dtype=float), np.asarray(self.scale_, dtype=float)
        if self._both_snps(X):
            matched = match_snps(self.features_, X.features, np.arange(self.n_features_in_))
            op, mean, signs = counted_as_in(matched, X.operator, mean)
        else:
            op, signs = data_operator(self._checked(X, reset=False), self.missing), np.ones(self.n_features_in_)
            if not op.has_samples:
                raise ValueError("A Gram matrix has no samples, so it cannot be scored; give the data matrix.")
            self._warn_without_means()
            op = self._filled_as_in_fit(op)
        return held_out_share(
            op,
            self.components_,
            mean,
            scale,
            signs=signs,
            sample_weight=None if sample_weight is None else checked_weights(sample_weight, op.shape[0], least=0.0),
            explained=self._explained_rows(covariates, op.shape[0]),
        )

    def structure(self, X: Any, *, sample_weight: Any = None, covariates: Any = None) -> Array:
        """Return the correlation of every feature of X with each score, (n_components, n_features).

        Weights are not correlations: a feature that the component does not have may correlate with its score as much as
        one that it has. X is centered by its own means, weighted and freed of covariates as in :meth:`fit`.
        """
        check_is_fitted(self)
        op = operator_of(self._checked(self._weighted_as_in_fit(X), reset=False), self.missing)
        given = SampleArguments(sample_weight, covariates, self.missing)
        samples = checked_samples(op, given, self.center)
        data = prepared(op, center=self.center, scale=self.scale, n_components=0, **samples._asdict())
        V = self.components_.astype(np.float64)
        measured, _ = balanced(data.operator)
        scores = scores_of(measured, V)
        return structure_of(scores, np.asarray(measured.rmatmat(scores), dtype=np.float64), measured.sq_norms)[0]

    def stability(
        self,
        X: Any,
        n_pairs: int = 50,
        random_state: Any = None,
        *,
        sample_weight: Any = None,
        covariates: Any = None,
        on_step: OnStep | None = None,
        on_halves: Callable[[Halves], None] | None = None,
        earlier: dict[str, Array] | None = None,
    ) -> Stability:
        """Return how often fits to halves of the samples of X choose each feature, and find the same components.

        `n_pairs` complementary pairs of halves are drawn; each half is fitted, starting from the components of this
        model and from directions of its own, and its components are matched with those of the model by the |cosine| of
        their loadings. X, weights and covariates are those of the fit. The result is kept as ``stability_``:
        :meth:`top_features`, files and reports show it.

        On large data halves are fitted a few at a time. `on_halves` is called after each part with what was counted; a
        call that was stopped goes on from the ``arrays()`` of it, given as `earlier` with the same other arguments.
        """
        check_is_fitted(self)
        check_listener("on_step", on_step)
        check_listener("on_halves", on_halves)
        checked = self._checked(self._weighted_as_in_fit(X), reset=False)
        op = operator_of(checked, self.missing)
        samples = checked_samples(op, SampleArguments(sample_weight, covariates, self.missing), self.center)
        self.stability_ = model_stability(
            self,
            op,
            samples,
            getattr(X, "features", None),
            n_pairs,
            as_generator(random_state),
            HalvesOptions(on_step, on_halves, earlier),
        )
        return self.stability_

    def top_features(
        self, component: int = 0, n: int | None = None, names: Any = None, *, associates: int = 0
    ) -> list[Feature]:
        """Return the features of one component by decreasing |loading|, with what is known of them.

        Each has its loading, its correlation with the score (`structure`), and the share of half-samples that choose it
        (`share`, after :meth:`stability`). After a fit on a table, each also has the columns of ``features_``: for
        genotypes chromosome, position, alleles and frequency. `associates` features that the component does not have
        follow, at most, with a loading of 0: those that correlate with its score as much as one that it has.
        """
        check_is_fitted(self)
        count = self.n_components_
        check_integer("component", component, -count, count - 1, f" (the model has {count})")
        if n is not None:
            check_integer("n", n, 0)
        check_integer("associates", associates, 0)
        names = getattr(self, "feature_names_in_", None) if names is None else np.asarray(names, dtype=object)
        if names is not None and len(names) != self.n_features_in_:
            raise ValueError(f"names has {len(names)} entries for {self.n_features_in_} features.")
        v = self.components_[component]
        stable = getattr(self, "stability_", None)
        columns = [
            _row(getattr(self, "inclusion_probability_", None), component),
            _row(getattr(self, "structure_", None), component),
            _row(None if stable is None else stable.share, component),
        ]
        order = self._by_size(component)[:n]
        if associates and hasattr(self, "associates_"):
            order = np.concatenate([order, self.associates_[component][:associates]])
        known = getattr(self, "features_", {})
        kind: Any = collections.namedtuple("Feature", [*Feature._fields, *known], rename=True) if known else Feature
        return [
            kind(
                int(i) if names is None else names[i],
                float(v[i]),
                *(None if column is None else float(column[i]) for column in columns),
                *(column[i].item() for column in known.values()),
            )
            for i in order
        ]

    def _by_size(self, component: int) -> Array:
        """Return the features of a component by decreasing |loading|."""
        support = self.supports_[component]
        return np.asarray(support[np.argsort(-np.abs(self.components_[component][support]), kind="stable")])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one .npz file, atomically; ``rspca.load`` reads it back."""
        write_model(self, path)

    def _checked(self, X: Any, *, reset: bool) -> Any:
        """Return X as the core takes it, after the checks of scikit-learn for what scikit-learn knows."""
        X = table_of_labeled(X) if is_labeled(X) else X
        if is_beyond_arrays(X):
            op = X if isinstance(X, Table) else as_operator(X)
            n_features = op.shape[1]
            if reset:
                self.n_features_in_ = n_features
                self._describe_features(X)
            elif n_features != self.n_features_in_:
                raise ValueError(
                    f"X has {n_features} features, but SparsePCA is expecting {self.n_features_in_} features as input."
                )
            elif isinstance(X, Table) and not self._names_agree(X):
                raise ValueError("The table has not the features of fit in their order; give them by the same names.")
            elif isinstance(X, Table) and not X.has_feature_names and hasattr(self, "feature_names_in_"):
                message = "The table has no names of features, so they are taken in the order of fit."
                warnings.warn(message, UserWarning, stacklevel=4)
            return op
        check_is_data("X", X)
        if reset:
            self._describe_features(None)
        X = with_plain_columns(with_nan(X) if self.missing == "mean" else without_mask(X))
        try:
            return validate_data(
                self,
                X,
                reset=reset,
                accept_sparse=("csr", "csc"),
                dtype="numeric",
                ensure_all_finite=False,
                ensure_min_samples=2 if reset and check_center(self.center) else 1,
            )
        except (ValueError, TypeError) as error:  # messages of scikit-learn run over several lines
            raise in_one_line(error) from error

    def _warn_without_means(self) -> None:
        """Warn that scores are not centered if the model was fitted to a Gram matrix, which has no means."""
        if self.center and self.n_samples_ == 0:
            message = "The model was fitted to a Gram matrix, which has no means: X is taken as it is. Center it first."
            warnings.warn(message, UserWarning, stacklevel=3)

    def _report_linkage(self, X: Any) -> None:
        """Say so where a component of SNPs shows linkage more than structure, and nothing was done about it."""
        known = getattr(self, "features_", {})
        if self.groups is not None or not isinstance(X, Table) or not {"chromosome", "position"} <= set(known):
            return
        self.linked_share_ = np.array([linked_share(X.operator, support, known) for support in self.supports_])
        for number, share in enumerate(self.linked_share_):
            if note := linkage_note(share):
                warnings.warn(f"Component {number}: {note}", UserWarning, stacklevel=4)

    def _describe_features(self, X: Any) -> None:
        """Keep what a table knows of its features, and forget what an earlier fit knew and this one may not."""
        known = "features_ feature_names_in_ term_weights_ linked_share_ inclusion_probability_"
        known = f"{known} missing_share_ missing_fill_ covariates_"
        for name in f"{known} certificates_ joint_certificate_ joint_gain_ stability_ structure_ associates_".split():
            if hasattr(self, name):
                delattr(self, name)
        if isinstance(X, Table):
            if X.has_feature_names:
                self.feature_names_in_ = np.asarray(X.feature_names, dtype=object)
            self.features_ = {name: plain(np.asarray(column)) for name, column in X.features.items()}
            if X.terms is not None:
                self.term_weights_ = X.terms.weights

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class FitArguments(NamedTuple):
    """What `fit` is given beside X: of samples, and of features."""

    sample_weight: Any = None
    covariates: Any = None
    feature_names: Any = None


NOTHING_GIVEN = FitArguments()


def fit_model(
    model: SparsePCA, X: Any, settings: Settings | None, loop: LoopOptions, given: FitArguments = NOTHING_GIVEN
) -> None:
    """Fit a model to X; `settings` are those of the model where they are checked already, None otherwise."""
    with _unchanged_on_failure(model):
        X = model._checked(X, reset=True)
        if given.feature_names is not None:
            model.feature_names_in_ = _checked_names(given.feature_names, model)
        settings = checked_settings(_parameters(model)) if settings is None else settings
        settings = settings._replace(k=_at_most(model.k, X.shape[1]), groups=model.groups)
        found = decompose_checked(X, settings, loop, given.sample_weight, given.covariates)
        if not all(component.converged for component in found.components):
            why = (
                f"Stage 1 did not converge in {where_known('max_iter', 'max_iter=')}{model.max_iter} iterations"
                f"{where_known('max_iter', '; raise max_iter or tol')}."
                if settings.method.rounds
                else f"{argument('method', model.method)} did not converge in its own number of iterations."
            )
            warnings.warn(f"{why} What it reached was used all the same.", ConvergenceWarning, stacklevel=3)
        dtype = getattr(X.operator if isinstance(X, Table) else X, "dtype", np.dtype(float))
        model._store(found, dtype if dtype in (np.float32, np.float64) else np.dtype(float))
        model._report_linkage(X)


def _checked_names(names: Any, model: SparsePCA) -> Array:
    """Return names of features, one for each, or raise; X must have none of its own."""
    if hasattr(model, "feature_names_in_"):
        raise ValueError(f"{argument('feature_names')} are given, and X has names of features of its own. Drop one.")
    check_length("feature_names", names, model.n_features_in_, "features")
    each = [str(name) for name in names]
    if len(set(each)) < len(each):
        twice = next(name for name, count in collections.Counter(each).items() if count > 1)
        raise ValueError(f"{argument('feature_names')} has {twice!r} twice; give each feature its own name.")
    return np.array(each, dtype=object)


def _sparse_rows(vectors: list[Array], places: list[Array]) -> scipy.sparse.csr_array:
    """Return vectors as the rows of a sparse array that stores what they have at these places."""
    values = [vector[used] for vector, used in zip(vectors, places, strict=True)]
    ends = np.cumsum([0, *(len(used) for used in places)])
    shape = (len(vectors), len(vectors[0]))
    return scipy.sparse.csr_array((np.concatenate(values), np.concatenate(places), ends), shape=shape)


def _row(rows: Any, number: int) -> Array | None:
    """Return one row of a sparse array as a vector, or None without one."""
    return None if rows is None else np.asarray(rows[[number], :].toarray()).ravel()


def _parameters(model: SparsePCA) -> dict[str, Any]:
    """Return what `get_params` returns; it reads the signature each time, which takes as long as a small component."""
    kind: Any = type(model)
    return {name: getattr(model, name) for name in _parameter_names(kind)}


@functools.cache
def _parameter_names(kind: Any) -> list[str]:
    return list(kind._get_param_names())


@contextmanager
def _unchanged_on_failure(model: SparsePCA) -> Iterator[None]:
    """Leave a model as it was if the block fails: half of a new model and half of an old one would be neither."""
    before = dict(model.__dict__)
    try:
        yield
    except BaseException:
        model.__dict__.clear()
        model.__dict__.update(before)
        raise


def _at_most(k: Any, n_features: int) -> Any:
    """Return k, with entries above the number of features lowered to it and a warning."""
    each: list[Any] = np.asarray(k, dtype=object).reshape(-1).tolist() if np.ndim(k) < 2 else []
    if not all(isinstance(entry, numbers.Integral) for entry in each) or all(entry <= n_features for entry in each):
        return k
    message = f"{argument('k', k)} is more than the {n_features} features of X; using {n_features}."
    warnings.warn(message, UserWarning, stacklevel=4)
    return min(k, n_features) if np.ndim(k) == 0 else [min(entry, n_features) for entry in k]


def model_stability(
    model: SparsePCA,
    op: Any,
    samples: Any,
    features: Any,
    n_pairs: Any,
    rng: np.random.Generator,
    loop: HalvesOptions,
) -> Stability:
    """Return the stability of a fitted model: by short climbs, or by full fits where it was found otherwise."""
    check_has_samples(op, "stability")
    pairs, seed = check_pairs(n_pairs, op.shape[0]), int(rng.integers(2**62))
    rows = zip(model.supports_, model.components_.astype(np.float64), strict=True)
    found = [SparseVector(support, row[support]) for support, row in rows]
    options = _parameters(model)
    together = options["joint"] or options["constraint"] is not None or options["shared_support"]
    plain = model.method == "rspca" and options["polish"] and options["rounding"] == "exact"
    if plain and not together and not options["nonnegative"] and model.deflation == "schur":
        labels = limits(model.groups, model.max_per_group, op.shape[1], features)
        return stability_of(
            op,
            samples,
            found,
            center=model.center,
            scale=model.scale,
            limits=labels,
            n_pairs=pairs,
            seed=seed,
            loop=loop,
        )
    settings = checked_settings(options | {"certify": False})
    settings = settings._replace(k=[len(support) for support in model.supports_], n_components=model.n_components_)
    return refitted_stability(op, samples, found, settings, pairs, seed, loop)


def load(path: str | os.PathLike[str]) -> SparsePCA:
    """Return the model that ``SparsePCA.save`` wrote to `path`.

    Examples
    --------
    >>> import numpy as np, os, rspca, tempfile
    >>> X = np.random.default_rng(0).standard_normal((20, 6))
    >>> model = rspca.SparsePCA(1, k=2, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "model.npz"))
    ...     again = rspca.load(os.path.join(folder, "model.npz"))
    >>> bool((again.transform(X) == model.transform(X)).all())
    True
    """
    return read_model(path, SparsePCA)
