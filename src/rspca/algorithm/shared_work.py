"""What the components of one fit share: computed once from the data before anything was deflated."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.alike import Blocks, best_scores, make_blocks
from rspca.algorithm.promising import (
    Lasting,
    Projections,
    RowEnergies,
    energies_of_images,
    energies_of_leading_rows,
    lasting_features,
    leading_features,
    main_directions,
    projections_tell_what_is_alike,
    random_projections,
    random_signs,
)
from rspca.algorithm.sketch import Rows, first_count, first_rows, independent, rough_samples_gram
from rspca.base.types import Array
from rspca.linalg.eigen import Pairs, pairs_within, ritz_pairs
from rspca.linalg.vectors import coarse, top_k
from rspca.operators.base import OperatorMixin, chunks
from rspca.operators.deflated import ScoreDeflated
from rspca.operators.low_rank import subtract_square


class FeatureGram(NamedTuple):
    """Features, sorted, and their Gram matrix."""

    features: Array
    gram: Array


class _Last(NamedTuple):
    """The Gram matrix, before deflation, of the last pool that was made around supports, and what it was made of."""

    op: OperatorMixin
    known: FeatureGram


class Probes(NamedTuple):
    """Leading rows of X and how long the rows of X'X are, about."""

    rows: Rows
    energies: RowEnergies


class _Left(NamedTuple):
    """The Gram matrix of all features as components left it, and X'U of the orthonormal scores U that they took."""

    gram: Array
    taken_off: Array


class SharedWork:
    """First rows of a sketch, features for all pools and their Gram matrix, each computed when it is first asked for.

    Nothing in it depends on the components found so far, so that a fit that continues after some of them finds what
    one fit finds.
    """

    def __init__(
        self, op: OperatorMixin, n_components: int = 1, n_served: int | None = None, *, keeps_left: bool = True
    ) -> None:
        self.op = op
        """X before components are taken off it."""
        self.n_components = n_components
        self._n_served = n_components if n_served is None else n_served
        """Components that find their blocks of alike features here; fewer than all where each begins again."""
        self._keeps_left = keeps_left
        """Whether the Gram matrix that a component left is kept for the next one; a proof needs the memory."""
        self._lasting_gram: FeatureGram | None = None
        self._last: _Last | None = None
        self._left: _Left | None = None
        self._working_sets: dict[int, WorkingSet] = {}
        self._blocks: dict[int, Blocks] = {}

    def rows(self, k: int) -> Rows:
        """Return leading directions, enough for all components; for few features those that choose their pool."""
        return self._probes.rows if k <= budgets.POOL_MAX_K else self._rows

    @cached_property
    def _rows(self) -> Rows:
        return first_rows(self.op, self.n_components)

    def samples_gram(self, op: OperatorMixin) -> Array:
        """Return XX' of what earlier components left, in the precision of the data; that of X is computed once."""
        return op.deflated_samples_gram(self._samples_gram)

    @cached_property
    def _samples_gram(self) -> Array:
        return rough_samples_gram(self.op)

    @cached_property
    def _projections(self) -> Projections:
        return random_projections(self.op)

    @cached_property
    def _probes(self) -> Probes:
        """What random products with X show.

        For one component they are the projections that tell what is alike, too. Several components also need what is
        far from the leading directions: the products of X'X with random signs.
        """
        count = max(2 * budgets.POOL_LEADING, first_count(self.op.shape[1], self.n_components))
        if self.n_components == 1:
            rows = self._rows_along(main_directions(self._projections.rows, count))
            return Probes(rows, energies_of_leading_rows(rows.rows))
        images = self.op.gram(random_signs(self.op))
        energies, directions = energies_of_images(images), main_directions(images, count)
        del images  # before the rows are computed
        return Probes(self._rows_along(directions), energies)

    def _rows_along(self, directions: Array) -> Rows:
        return independent(self.op, *self.op.gram_and_scores(directions))

    def leading_pairs(self, op: OperatorMixin) -> Pairs:
        """Return leading eigenpairs of X'X as earlier components left it: accurate for the first component, then rough.

        For later components they are sought in the span of those of the first, by one block product with X, the same
        for all of them. Where that span has too few vectors, or too little is left in it, they are computed from what
        is left, accurately.
        """
        if op is self.op:
            return self._first_pairs
        if self._first_pairs.vectors.shape[1] >= self._span_size:
            basis, images = self._first_span
            pairs = pairs_within(basis, op.deflated_product(images, basis))
            if pairs.values[0] >= op.sq_norms.max():  # else a single feature has more variance: too much was taken off
                return pairs
        return ritz_pairs(op, 1, tol=budgets.LEADING_TOL)

    @cached_property
    def _first_pairs(self) -> Pairs:
        return ritz_pairs(self.op, 1, tol=budgets.LEADING_TOL)

    @property
    def _span_size(self) -> int:
        return budgets.SEARCH_DIRECTIONS + self.n_components

    @cached_property
    def _first_span(self) -> tuple[Array, Array]:
        """Leading vectors of the first component, in whose span later ones seek theirs, and X'X times them."""
        basis = self._first_pairs.vectors[:, : self._span_size]
        return basis, self.op.gram(basis)

    def working_set(self, size: int) -> WorkingSet:
        """Return the features, so many, to which X is restricted first; they are the same for all components."""
        if size not in self._working_sets:
            self._working_sets[size] = self.restricted_to(leading_features(self.op, size, self.n_components))
        return self._working_sets[size]

    def restricted_to(self, features: Array) -> WorkingSet:
        """Return some features, sorted, and what components found in them share."""
        return WorkingSet(features, SharedWork(self.op.restrict(features), self.n_components))

    @property
    def lasting(self) -> Array:
        """Features, sorted, that are part of every pool."""
        return self._lasting.features

    @cached_property
    def _lasting(self) -> Lasting:
        projections = self._projections if projections_tell_what_is_alike(self.op) else None
        lasting = lasting_features(self.op, projections, self._probes.energies, self._leading, self._n_sets)
        vars(self).pop("_projections", None)  # nothing else asks for them
        return lasting

    @property
    def _leading(self) -> Rows:
        """Directions that are no part of what is alike."""
        left, rows = self._probes.rows
        return Rows(left[:, -budgets.POOL_LEADING :], rows[-budgets.POOL_LEADING :])

    @property
    def _n_sets(self) -> int:
        return budgets.ALIKE_SETS + budgets.ALIKE_SETS_LATER * (self._n_served - 1)

    @property
    def _n_blocks(self) -> int:
        return budgets.ALIKE_BLOCKS + budgets.ALIKE_BLOCKS_LATER * (self._n_served - 1)

    def blocks(self, k: int) -> Blocks:
        """Return blocks of features that are much alike, for supports of k features."""
        if k not in self._blocks:
            alike, near = self._lasting.alike, max(k, budgets.ALIKE_NEAR)
            whole, beyond = (sets.best(k, self._n_sets)[:, :near] for sets in alike)
            rest = ScoreDeflated(self.op, self._leading.left, loadings=self._leading.rows.T)
            scores = best_scores(self.op, whole, k, self._n_blocks)
            scores_beyond = rest.unexplained(best_scores(rest, beyond, k, self._n_blocks))
            self._blocks[k] = make_blocks(self.op, np.hstack([scores, scores_beyond]), k)
        return self._blocks[k]

    def gram(self, op: OperatorMixin, features: Array, lasting: Array) -> Array:
        """Return X_S'X_S in float64, for a search, as earlier components left it.

        The products of `lasting` features are computed once and kept. Those of other features are computed each time,
        if most features are others except those that the last pool of the same component had.
        """
        if self._updates(op, features):
            return self._updated(op)
        self._left = None
        if self.op.gram_in_memory or len(lasting) > budgets.POOL_SHARED_FEATURES:
            return op.gram_to_read(features)
        if not mostly_in(features, lasting):
            return self._gram_like_last(op, features)
        self._last = None
        if self._lasting_gram is None or not np.array_equal(self._lasting_gram.features, lasting):
            self._lasting_gram = FeatureGram(lasting, self.op.gram_matrix(lasting))
        gram = op.deflated_gram(self._extended(self._lasting_gram, features), features)
        return op.gram_matrix(features) if gram is None else gram

    def _updates(self, op: OperatorMixin, features: Array) -> bool:
        """Return whether the Gram matrix that the last component left is brought up to date; a function of op alone."""
        is_whole = self.op.gram_in_memory and len(features) == op.shape[1] <= budgets.LEFT_KEPT_FEATURES
        return is_whole and op.taken_off.shape[1] > 0 and not op.nearly_all_taken_off

    def _updated(self, op: OperatorMixin) -> Array:
        """Return X'X less what was taken off, one term after another, in place of what the last component left.

        A fit that continues subtracts the same terms in the same order, so that no bit differs.
        """
        taken_off, left = op.taken_off, self._left
        self._left = None
        if left is None or not np.array_equal(left.taken_off, taken_off[:, : left.taken_off.shape[1]]):
            left = _Left(self.op.gram_matrix(np.arange(len(taken_off))), taken_off[:, :0])
        gram = left.gram
        for along in taken_off[:, left.taken_off.shape[1] :].T:
            gram = subtract_square(gram, along)
        np.fill_diagonal(gram, op.sq_norms)  # computed with more care than differences of products
        if self._keeps_left:  # otherwise the next search makes it again, with the same bits
            self._left = _Left(gram, taken_off)
        return gram

    def gram_of_longest(self, op: OperatorMixin, features: Array) -> Array:
        """Return X_S'X_S in float64 of long columns, as earlier components left it."""
        gram = op.deflated_gram(self._extended(self._longest_gram, features), features)
        gram = op.gram_matrix(features) if gram is None else gram
        np.fill_diagonal(gram, op.sq_norms[features])  # computed with more care than differences of products
        return gram

    @cached_property
    def _longest_gram(self) -> FeatureGram:
        """The products of the longest columns, before deflation."""
        features = top_k(coarse(self.op.sq_norms), budgets.LONGEST_LEAST)
        return FeatureGram(features, self.op.gram_matrix(features))

    def _gram_like_last(self, op: OperatorMixin, features: Array) -> Array:
        """Return X_S'X_S of a pool that may have most features of the last one, whose products are kept if not many."""
        last = self._last
        self._last = None
        if last is not None and last.op is op and mostly_in(features, last.known.features):
            whole = self._extended(last.known, features)
        else:
            del last  # before another matrix is made
            whole = self.op.gram_matrix(features)
        if len(features) <= budgets.POOL_KEPT_FEATURES:
            self._last = _Last(op, FeatureGram(features, whole.copy()))
        gram = op.deflated_gram(whole, features)
        return op.gram_matrix(features) if gram is None else gram

    def forget_last_pool(self) -> None:
        """Free the products of the last pool, which only the next one of the same component would use."""
        self._last = None

    def _extended(self, known: FeatureGram, features: Array) -> Array:
        """Return the Gram matrix of features before deflation: what is known of it, and products for the others.

        Products are made in parts, so that beside the matrix there is little more.
        """
        place = np.minimum(np.searchsorted(known.features, features), len(known.features) - 1)
        old = known.features[place] == features
        gram, new = np.empty((len(features), len(features))), np.flatnonzero(~old)
        for part in chunks(len(features), 8 * len(features), budgets.POOL_COPIED_BYTES):  # columns of others come later
            at = part.start + np.flatnonzero(old[part])
            gram[at] = known.gram[place[at]].take(place, axis=1)
        for part in chunks(len(new), 8 * len(features), budgets.POOL_PRODUCTS_BYTES):
            some = new[part]
            gram[some] = self.op.gram_between(features[some], features)
            gram[:, some] = gram[some].T
        return gram


def mostly_in(features: Array, known: Array) -> bool:
    """Return whether at least half of the features, sorted, are among known ones."""
    return 2 * int(np.count_nonzero(np.isin(features, known, assume_unique=True))) >= len(features)


class WorkingSet(NamedTuple):
    """Some of very many features, sorted, and what components found in X[:, features] share."""

    features: Array
    work: SharedWork


class FitWork:
    """The shared work of one fit; begun again where a deflation leaves nothing to share."""

    def __init__(self, n_components: int = 1, *, proves: bool = False) -> None:
        self._n_components = n_components
        self._proves = proves
        """Whether a proof, which takes more memory than a search, comes after each component."""
        self._work: SharedWork | None = None

    def of(self, op: OperatorMixin) -> SharedWork:
        """Return what the components of this data share."""
        if self._work is None or self._work.op is not op.undeflated:
            n_served = None if self._work is None else 1  # each component begins again
            self._work = SharedWork(op.undeflated, self._n_components, n_served, keeps_left=not self._proves)
        return self._work
