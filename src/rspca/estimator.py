"""The scikit-learn estimator: its options, attributes and methods; what they do is in `models`."""

from __future__ import annotations

import collections
import inspect
import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import metadata_routing
from sklearn.utils.validation import check_is_fitted

from rspca.algorithm.loop import LoopOptions
from rspca.algorithm.results import Component, OnComponent
from rspca.analysis.halves import Halves, HalvesOptions
from rspca.analysis.stability import Stability
from rspca.base.checks import as_generator, check_integer, check_listener
from rspca.base.types import Array, OnStep
from rspca.formats.table import Table
from rspca.genetics.alleles import Matched, Projected
from rspca.methods.combinations import check_nothing_earlier
from rspca.model_files import read_model, write_model
from rspca.models.fit import FitArguments, fit_model
from rspca.models.fitted import by_size
from rspca.models.scores import (
    correlations_with_scores,
    match_table,
    model_scores,
    projected_table,
    rebuilt_data,
    share_in_span,
)
from rspca.models.stability import model_stability
from rspca.operators.prepared import SampleArguments


class Feature(NamedTuple):
    """One feature of one component."""

    name: Any
    loading: float
    inclusion_probability: float | None
    structure: float | None = None
    """Correlation of the feature with the score of the component."""
    share: float | None = None
    """Share of half-samples that choose it, after :meth:`SparsePCA.stability`."""


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
    k : int, float or sequence of these, default=10
        Features per component, or a share of all features between 0 and 1. More than there are: all of them, with a
        warning.
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

    def transform(self, X: Any, *, covariates: Any = None) -> Array:
        """Return the scores: X, centered and scaled as in fit, projected on the components.

        A model that was fitted with covariates needs those of these samples: what they explain is taken off as in fit.
        With missing="mean", a missing value counts as the mean of its feature in fit.

        Features of a table are found by their names, in any order; those that no component uses may be absent.
        Documents are weighted as in fit: a word that they do not have is a zero, and words that the fit did not have
        are left out and counted in a warning.
        """
        check_is_fitted(self)
        return model_scores(self, X, covariates)

    def match(self, table: Table) -> Matched:
        """Return where the SNPs of the components are in a table of genotypes, and which of them can be used."""
        check_is_fitted(self)
        return match_table(self, table)

    def projected(self, table: Table, scores: Array | None = None) -> list[Projected]:
        """Return how many SNPs of each component a table of genotypes has, and how its scores shrink without others.

        `spread` compares the spread of the scores with that of the fit: about 1 for people like those of the fit.
        `scores` are those of the table, where they are known already.
        """
        check_is_fitted(self)
        return projected_table(self, table, scores)

    def score_table(self, table: Table) -> dict[str, Array]:
        """Return the scores of a table next to what it knows of its samples: for genotypes, FID and IID."""
        scores = self.transform(table)
        names = self.get_feature_names_out()
        return dict(table.samples) | {str(name): np.asarray(scores)[:, i] for i, name in enumerate(names)}

    def inverse_transform(self, T: Any) -> Array:
        """Return the least-squares reconstruction from scores T: T pinv(V') in the units of X, plus the mean."""
        check_is_fitted(self)
        return rebuilt_data(self, T)

    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None, covariates: Any = None) -> float:
        """Return the share of the variance of X, about the mean of fit, in the span of the components.

        With `sample_weight` samples count as often as it says; a model with covariates needs those of these samples.
        """
        check_is_fitted(self)
        return share_in_span(self, X, sample_weight, covariates)

    def structure(self, X: Any, *, sample_weight: Any = None, covariates: Any = None) -> Array:
        """Return the correlation of every feature of X with each score, (n_components, n_features).

        Weights are not correlations: a feature that the component does not have may correlate with its score as much as
        one that it has. X is centered by its own means, weighted and freed of covariates as in :meth:`fit`.
        """
        check_is_fitted(self)
        return correlations_with_scores(self, X, sample_weight, covariates)

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
        given, loop = (
            SampleArguments(sample_weight, covariates, self.missing),
            HalvesOptions(on_step, on_halves, earlier),
        )
        self.stability_ = model_stability(self, X, given, n_pairs, as_generator(random_state), loop)
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
        order = by_size(self, component)[:n]
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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one .npz file, atomically; ``rspca.load`` reads it back."""
        write_model(self, path)

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _row(rows: Any, number: int) -> Array | None:
    """Return one row of a sparse array as a vector, or None without one."""
    return None if rows is None else np.asarray(rows[[number], :].toarray()).ravel()


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
