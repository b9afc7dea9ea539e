"""Blocks of features that are much alike, such as linked SNPs: found once, and starts of the search of components."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.gram_search import distinct_rows
from rspca.algorithm.polish import Polished
from rspca.algorithm.sketch import Rows
from rspca.base.types import Array
from rspca.linalg.vectors import top_k
from rspca.operators.base import OperatorMixin, chunks


class Blocks(NamedTuple):
    """Features of each block as rows, sorted, and their Gram matrices in X before anything was taken off it."""

    features: Array
    grams: Array


class _Fits(NamedTuple):
    """Supports as rows, places in a block, and unit loadings and variance of each."""

    places: Array
    loadings: Array
    variances: Array


def take_leading_off(op: OperatorMixin, projected: Array, directions: Array, leading: Rows, longest: float) -> None:
    """Turn projections X'R into those of X without its leading directions.

    Each gets the length of what is left of its column, divided by that of the `longest`, or zero where little is left.
    Features that follow the leading directions are alike too, but `promising` finds them; here those are sought that
    are alike besides.
    """
    along = (leading.left.T @ directions).astype(projected.dtype)
    for part in chunks(len(projected), 4 * (len(along) + projected.shape[1]), budgets.POOL_LINKAGE_BYTES):
        rows = leading.rows[:, part]
        projected[part] -= rows.T.astype(projected.dtype) @ along
        left = op.sq_norms[part] - np.einsum("ij,ij->j", rows, rows)
        left[left < budgets.ALIKE_LEFT * op.sq_norms[part]] = 0.0
        sizes = np.einsum("ij,ij->i", projected[part], projected[part], dtype=np.float64)
        scale = np.sqrt(np.divide(left, sizes, out=np.zeros(len(left)), where=sizes > 1e-30)) / longest
        projected[part] *= scale.astype(projected.dtype)[:, None]


def make_blocks(op: OperatorMixin, scores: Array, k: int) -> Blocks:
    """Return blocks of 2k features with their Gram matrices: those of largest gradient for each column of scores."""
    size, found = min(op.shape[1], 2 * k), list[Array]()
    for part in chunks(scores.shape[1], op.shape[1], budgets.ALIKE_GRADIENT_ENTRIES):
        gradients = op.rmatmat(np.asarray(scores[:, part], dtype=op.dtype))
        found += [np.sort(top_k(np.abs(gradient), size)) for gradient in gradients.T]
    blocks = np.array(found, dtype=np.intp).reshape(len(found), size)
    blocks = blocks[distinct_rows(blocks)]
    grams = [grams for _, _, grams in _grams(op, blocks)]
    return Blocks(blocks, np.concatenate([np.empty((0, size, size)), *grams]))


def best_scores(op: OperatorMixin, sets: Array, k: int, count: int) -> Array:
    """Return scores, as columns, of the best k features of each set of features, of at most `count` sets.

    Projections, by which features are in a set, are rough: Gram matrices show which are best. Scores are those of X
    before anything was taken off it.
    """
    scores, variances = np.empty((op.shape[0], len(sets)), dtype=op.dtype), np.empty(len(sets))
    for part, columns, grams in _grams(op.undeflated, sets):
        fits = _fitted(_left_of(op, grams, sets[part]), k)
        weights = np.zeros((len(grams), 1, sets.shape[1]), dtype=op.dtype)
        np.put_along_axis(weights[:, 0], fits.places, fits.loadings.astype(op.dtype), axis=1)
        scores[:, part] = (weights @ columns)[:, 0].T
        variances[part] = fits.variances
    return scores[:, np.argsort(-variances, kind="stable")[:count]]


def block_ends(op: OperatorMixin, k: int, choice: Choice, blocks: Blocks) -> list[Polished]:
    """Return the best supports of k features, each inside of a block, in what earlier components leave."""
    choices = [choice.among(features) for features in blocks.features]
    kept = np.array([within.most >= k for within in choices], dtype=bool)
    features, choices = blocks.features[kept], [within for within in choices if within.most >= k]
    if not len(features):
        return []
    grams = _left_of(op, blocks.grams[kept], features)
    loadings = _power_steps(grams)
    places = np.array([within.largest(row, k) for within, row in zip(choices, loadings, strict=True)])
    fits = _refitted(grams, places)
    best = np.argsort(-fits.variances, kind="stable")[: budgets.ALIKE_STARTS]
    return [
        Polished(features[row][fits.places[row]], fits.loadings[row], float(fits.variances[row]), 0, None)
        for row in best
    ]


def _grams(op: OperatorMixin, blocks: Array) -> Iterator[tuple[slice, Array, Array]]:
    """Yield for some blocks at a time: which, their columns, and their Gram matrices.

    Each time costs a read of a file whose rows are contiguous.
    """
    (m, n), width = op.shape, blocks.shape[1]
    at_once = max(budgets.ALIKE_BYTES, int(budgets.ALIKE_COLUMNS_SHARE * 8 * m * n))
    for part in chunks(len(blocks), 8 * width * m, at_once):
        columns = op.columns(blocks[part].ravel()).T.reshape(-1, width, m)
        yield part, columns, np.asarray(columns @ columns.transpose(0, 2, 1), dtype=np.float64)


def _left_of(op: OperatorMixin, grams: Array, blocks: Array) -> Array:
    """Return what deflation leaves of Gram matrices; zero if that is mostly rounding."""
    for gram, features in zip(grams, blocks, strict=True):
        if op.deflated_gram(gram, features) is None:
            gram[:] = 0.0
    return grams


def _fitted(grams: Array, k: int) -> _Fits:
    """Return the k largest entries of the leading direction of each Gram matrix, or all, and their variance."""
    loadings = np.abs(_power_steps(grams))
    places = np.argsort(-loadings, axis=1, kind="stable")[:, :k]
    return _refitted(grams, np.sort(places, axis=1))


def _refitted(grams: Array, places: Array) -> _Fits:
    inside = np.take_along_axis(np.take_along_axis(grams, places[:, :, None], axis=1), places[:, None, :], axis=2)
    loadings = _power_steps(inside)
    return _Fits(places, loadings, np.einsum("bi,bij,bj->b", loadings, inside, loadings))


def _power_steps(grams: Array) -> Array:
    """Return roughly the leading eigenvector of each matrix, as rows."""
    longest = np.argmax(np.einsum("bij,bij->bi", grams, grams), axis=1)
    v = grams[np.arange(len(grams)), longest][:, :, None]
    for _ in range(budgets.ALIKE_POWER_STEPS):
        length = np.sqrt(np.sum(v * v, axis=1, keepdims=True))
        v = grams @ np.divide(v, length, out=np.zeros_like(v), where=length > 0.0)
    length = np.sqrt(np.sum(v * v, axis=1, keepdims=True))
    return np.divide(v, length, out=np.full_like(v, grams.shape[1] ** -0.5), where=length > 0.0)[:, :, 0]
