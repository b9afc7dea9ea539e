"""Cross-validation of k: the variance of samples that a fit has not seen, and the one-standard-error rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rspca.algorithm.feature_limits import Groups
from rspca.algorithm.many_fits import End, ManyFits, Start, best_climbs
from rspca.analysis.resampling import Loadings, Resampler
from rspca.base.arguments import argument
from rspca.base.checks import check_integer, check_length
from rspca.base.types import Array
from rspca.operators.base import OperatorMixin, chunks
from rspca.operators.prepared import Samples


class Fold(NamedTuple):
    """Samples that are fitted, and samples that are held out."""

    train: Array
    test: Array


def folds_of(cv: Any, cv_groups: Any, m: int, rng: np.random.Generator) -> list[Fold]:
    """Return folds from a number, a splitter of scikit-learn, or pairs of indices; samples of a group stay together."""
    from sklearn.model_selection import GroupKFold, KFold

    if cv_groups is not None:
        check_length("cv_groups", cv_groups, m, "samples")
    if hasattr(cv, "split"):
        pairs = list(cv.split(np.zeros((m, 1)), None, cv_groups))
    elif isinstance(cv, (int, np.integer)) or not hasattr(cv, "__iter__"):
        count = check_integer("cv", cv, 2, m, f" (X has {m} samples)")
        if cv_groups is not None:
            different = len(set(np.asarray(cv_groups).tolist()))
            check_integer("cv", count, 2, different, f" (cv_groups has {different} groups)")
            pairs = list(GroupKFold(count).split(np.zeros((m, 1)), None, cv_groups))
        else:
            pairs = list(KFold(count, shuffle=True, random_state=int(rng.integers(2**31))).split(np.zeros((m, 1))))
    else:
        pairs = list(cv)
    folds = [Fold(np.asarray(train), np.asarray(test)) for train, test in pairs]
    if len(folds) < 2 or any(len(fold.train) < 2 or not len(fold.test) for fold in folds):
        raise ValueError(
            f"{argument('cv', cv)} gives {len(folds)} folds; at least 2 are needed, each with 2 samples to fit and one "
            "to hold out."
        )
    return folds


class FoldFits:
    """Fits of the training part of each fold at each k, and the share of variance that they have of the rest."""

    def __init__(
        self,
        given: OperatorMixin,
        samples: Samples,
        folds: list[Fold],
        ks: Sequence[int],
        *,
        center: bool,
        scale: bool | str,
        limits: Groups | None,
    ) -> None:
        self._resampler = Resampler(given, samples, center=center, scale=scale, limits=limits)
        self._ks, m, rows = list(ks), given.shape[0], self._resampler.rows
        train, test = np.zeros((m, len(folds))), np.zeros((m, len(folds)))
        for number, fold in enumerate(folds):
            train[fold.train, number] = 1.0
            test[fold.test, number] = 1.0
        each = np.repeat(np.arange(len(folds)), len(ks))
        """The fold of each fit: fits go through all k of the first fold, then of the second, ..."""
        one = self._resampler.fits(train)
        self._fold, self._train, self._test = each, train[rows], test[rows]
        factors = None if one.factors is None else one.factors[:, each]
        self._fits = ManyFits(self._resampler.operator, np.sqrt(self._train[:, each]), self._resampler.basis, factors)
        self._single = one
        self._totals = self._held_out_totals()
        self._chosen = list[Array]()
        """Orthonormal directions of the components that are taken off, a column for each fold."""
        self._ends, self._shares = list[End](), np.zeros((len(folds), len(ks)))
        self._before = np.zeros(len(folds))
        """Held-out share of the components that are taken off."""

    def shares(self, found: Sequence[Loadings], rng: np.random.Generator) -> Array:
        """Return the held-out share of each fold (rows) and each k (columns); `found` are those of all samples."""
        fits, ks = self._fits, self._ks
        starts = [Start(fit, found[fit % len(ks)].support, found[fit % len(ks)].loadings) for fit in range(fits.count)]
        own = self._resampler.own_starts(self._single, [max(ks)] * self._single.count, rng)
        for start in own:  # one direction of the fold serves all k: its largest entries
            for place, k in enumerate(ks):
                vector = np.zeros(fits.op.shape[1])
                vector[start.support] = start.loadings
                support = self._resampler.choice.largest(vector, min(k, self._resampler.choice.most))
                loadings = vector[support]
                starts.append(Start(start.fit * len(ks) + place, support, loadings))
        ends = best_climbs(fits, starts, ks * len(self._totals), self._resampler.choice)
        self._ends = ends
        out = np.empty(fits.count)
        for part in chunks(fits.count, 8 * fits.op.shape[1], 1 << 27):
            V = np.zeros((fits.op.shape[1], part.stop - part.start))
            for place, end in enumerate(ends[part]):
                V[end.support, place] = end.loadings
            for chosen in self._chosen:  # what a component adds to the span of those before it
                earlier = chosen[:, self._fold[part]]
                V -= earlier * np.einsum("ij,ij->j", earlier, V)
            lengths = np.linalg.norm(V, axis=0)
            V /= np.where(lengths > 0.0, lengths, 1.0)
            V = V if fits.factors is None else V * fits.factors[:, part]
            scores = np.asarray(fits.op.matmat(V), dtype=np.float64)
            out[part] = self._held_out_squares(scores, self._fold[part])
        shares = out.reshape(len(self._totals), len(ks)) / self._totals[:, None]
        self._shares = shares
        return shares + self._before[:, None]

    def take_off(self, place: int) -> None:
        """Take the components that each fold found at one k off the fits of this fold at every k."""
        chosen = [self._ends[fold * len(self._ks) + place] for fold in range(len(self._totals))]
        self._before = self._before + self._shares[:, place]
        directions = np.zeros((self._fits.op.shape[1], len(chosen)))
        for fold, end in enumerate(chosen):
            directions[end.support, fold] = end.loadings
        for earlier in self._chosen:
            directions -= earlier * np.einsum("ij,ij->j", earlier, directions)
        lengths = np.linalg.norm(directions, axis=0)
        self._chosen.append(directions / np.where(lengths > 0.0, lengths, 1.0))
        scores = np.column_stack([end.scores for end in chosen])
        self._fits.take_off(scores[:, self._fold])
        self._single.take_off(scores)

    def _held_out_squares(self, scores: Array, folds: Array) -> Array:
        """Return the sums of squares of held-out scores, about what the training samples say of mean and covariates."""
        out = np.empty(len(folds))
        for place, fold in enumerate(folds):
            left = scores[:, place] - self._explained(scores[:, place], int(fold))
            out[place] = float(self._test[:, fold] @ left**2)
        return out

    def _explained(self, values: Array, fold: int) -> Array | float:
        basis = self._resampler.basis
        if basis is None:
            return 0.0
        rows = self._train[:, fold] > 0.0
        return np.asarray(basis @ np.linalg.lstsq(basis[rows], values[rows], rcond=None)[0])

    def _held_out_totals(self) -> Array:
        """Return the sum of squares of all held-out columns of each fold, about the same."""
        op, folds, totals = self._resampler.operator, self._test.shape[1], np.zeros(self._test.shape[1])
        for part in chunks(op.shape[1], 8 * op.shape[0]):
            block = np.asarray(op.columns(np.arange(part.start, part.stop)), dtype=np.float64)
            for fold in range(folds):
                rows = self._test[:, fold] > 0.0
                left = block[rows]
                if self._resampler.basis is not None:
                    left = left - self._of_training(block, fold)[rows]
                factors = self._single.factors
                squares = np.einsum("ij,ij->j", left, left)
                totals[fold] += float((squares if factors is None else squares * factors[part, fold] ** 2).sum())
        return np.where(totals > 0.0, totals, 1.0)

    def _of_training(self, block: Array, fold: int) -> Array:
        return np.asarray(self._explained(block, fold))


def one_standard_error(ks: Sequence[int], means: Sequence[float], errors: Sequence[float]) -> tuple[int, str]:
    """Return the place of the smallest k whose held-out share is within one standard error of the best, and why."""
    mean = np.asarray(means)
    best = int(np.argmax(mean))
    place = int(np.argmax(mean >= mean[best] - errors[best]))
    if place == best:
        return place, (
            f"the most held-out variance, {100 * mean[best]:.3g} %; with fewer features it is less by more than one "
            "standard error"
        )
    return place, (
        f"the fewest features whose held-out variance, {100 * mean[place]:.3g} %, is within one standard error of the "
        f"most, {100 * mean[best]:.3g} % with {ks[best]}"
    )
