"""Blocks of features that are much alike, such as linked SNPs: found once, and starts of the search of components."""

from __future__ import annotations

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
from rspca.operators.deflated import ScoreDeflated


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
    """Turn projections X'R into those of X without its leading directions, each as long as what is left
    of its column, divided by the length of the `longest`.

    Features that follow the leading directions are alike too, but `promising` finds them; here those are sought that
    are alike besides. Rows become zero where little is left.
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


def nearest_features(rows: Array, linked: Array, count: int) -> Array:
    """Return the features most like each of some features, nearest first, as rows; the most linked features come first.

    `rows` are projections of the columns, `linked` how much each is like others. No two of the features chosen are much
    alike.
    """
    worth, found, size = linked.copy(), list[Array](), min(len(rows), budgets.ALIKE_NEAR)
    while len(found) < count:
        middle = int(np.argmax(worth))
        if worth[middle] <= 0.0:
            break
        products = np.abs(rows @ rows[middle])
        near = top_k(products, size)
        near = near[np.argsort(-products[near], kind="stable")]
        found.append(near)
        worth[near[products[near] > budgets.ALIKE_SHARE * products[middle]]] = 0.0
        worth[middle] = 0.0
    return np.array(found, dtype=np.intp).reshape(len(found), size)


def make_blocks(op: OperatorMixin, near: Array, leading: Rows, k: int, count: int) -> Blocks:
    """Return blocks of 2k features, at most `count`, from sets of features that projections show to be alike.

    Projections are rough. So the best k features of each set are found by their Gram matrix, and the sets of largest
    variance are replaced by the features of largest gradient at these loadings: one block product with X.
    """
    rest = ScoreDeflated(op, leading.left, loadings=leading.rows.T)
    scores, variances = np.empty((op.shape[0], len(near)), dtype=op.dtype), np.empty(len(near))
    for part, columns, grams in _grams(op, near):
        fits = _fitted(_left_of(rest, grams, near[part]), k)
        for column, places, loadings, block in zip(
            range(part.start, part.stop), fits.places, fits.loadings, columns, strict=True
        ):
            scores[:, column] = loadings.astype(op.dtype) @ block[places]
        variances[part] = fits.variances
    best = np.argsort(-variances, kind="stable")[:count]
    size, features = min(op.shape[1], 2 * k), list[Array]()
    for part in chunks(len(best), op.shape[1], budgets.ALIKE_GRADIENT_ENTRIES):
        gradients = rest.rmatmat(rest.unexplained(np.asarray(scores[:, best[part]], dtype=np.float64)))
        features += [np.sort(top_k(np.abs(gradient), size)) for gradient in gradients.T]
    blocks = np.array(features, dtype=np.intp).reshape(len(features), size)
    blocks = blocks[distinct_rows(blocks)]
    grams = [grams for _, _, grams in _grams(op, blocks)]
    return Blocks(blocks, np.concatenate([np.empty((0, size, size)), *grams]))


def block_ends(op: OperatorMixin, k: int, choice: Choice, blocks: Blocks) -> list[Polished]:
    """Return the best supports of k features, each inside of a block, in what earlier components leave."""
    if not len(blocks.features):
        return []
    grams = _left_of(op, blocks.grams.copy(), blocks.features)
    fits = _fitted(grams, k)
    ends = list[Polished]()
    for row in np.argsort(-fits.variances, kind="stable")[: budgets.ALIKE_STARTS]:
        support = blocks.features[row][fits.places[row]]
        ends.append(Polished(support, fits.loadings[row], float(fits.variances[row]), 0, None))
    return ends


def _grams(op: OperatorMixin, blocks: Array):
    """Yield for some blocks at a time: which, their columns, and their Gram matrices."""
    width = blocks.shape[1]
    for part in chunks(len(blocks), 8 * width * op.shape[0], budgets.ALIKE_BYTES):
        columns = op.columns(blocks[part].ravel()).T.reshape(-1, width, op.shape[0])
        yield part, columns, np.asarray(columns @ columns.transpose(0, 2, 1), dtype=np.float64)


def _left_of(op: OperatorMixin, grams: Array, blocks: Array) -> Array:
    """Return what deflation leaves of Gram matrices; zero if that is mostly rounding."""
    for gram, features in zip(grams, blocks, strict=True):
        if op.deflated_gram(gram, features) is None:
            gram[:] = 0.0
    return grams


def _fitted(grams: Array, k: int) -> _Fits:
    """Return the k largest entries of the leading direction of each Gram matrix, and their variance."""
    loadings = _power_steps(grams)
    k = min(k, grams.shape[1])
    places = np.sort(np.argsort(-np.abs(loadings), axis=1, kind="stable")[:, :k], axis=1)
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
