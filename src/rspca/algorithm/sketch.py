"""A sketch of X, a few rows on which iterations run, and the products with X that confirm their results."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy.linalg

from rspca.algorithm import budgets
from rspca.algorithm.starting import most_directions, starting_directions
from rspca.base.threads import small_products_in_one_thread
from rspca.base.types import Array
from rspca.linalg.vectors import coarse, decreasing_order, spread, top_k, unit
from rspca.operators.base import OperatorMixin, chunks
from rspca.operators.dense import DenseOperator


class ConfirmedProduct(NamedTuple):
    """Products of a vector with X itself: X'Xx and x'X'Xx."""

    gradient: Array
    variance: float
    refuted: bool
    """Whether the sketch claimed more variance, because rounding had grown in it."""


class Rows(NamedTuple):
    """Orthonormal scores U, and the rows U'X."""

    left: Array
    rows: Array


class Sketch:
    """U'X, where the q columns of U span the scores Xx of the vectors x multiplied so far.

    |U'Xx| <= |Xx|, with equality for these vectors. So an iteration that gains variance on the sketch, from a vector at
    which the sketch is exact, gains at least as much on X: alternating between the sketch and products with X is an
    ascent on X (minorize-maximize). The sketch uses all earlier products, so few of them are needed.
    """

    def __init__(self, op: OperatorMixin, known: Rows, more_rows: int) -> None:
        m, n = op.shape
        self.source = op
        self._size = more_rows + len(known.rows)
        self._left = np.empty((m, self._size), order="F")
        self._rows = np.empty((self._size, n))
        self._products = np.zeros((self._size, self._size))  # of the rows with each other, so far as compared
        self._filled = self._multiplied = 0
        self._decomposed: tuple[Array, Array] | None = None
        self._rounding = rounding_of(op)
        self._add(*known)
        self._n_first = self._filled

    def restricted_to(self, features: Array, part: OperatorMixin) -> Sketch:
        """Return the sketch of some features; `part` is X[:, features], and products with it are learned from."""
        known = Rows(self._left[:, : self._filled], np.take(self._rows[: self._filled], features, axis=1))
        return Sketch(part, known, most_rows(len(features)))

    def features(self, gradient: Array, count: int) -> Array:
        """Return the `count` features with the largest gradients, or all if few would be left out."""
        few = count < budgets.SKETCH_MAX_SHARE * len(gradient)
        return top_k(np.abs(gradient), count) if few else np.arange(len(gradient))

    def forget_rows(self) -> None:
        """Free the memory of the sketch, of which nothing is asked any more."""
        self._left, self._rows = self._left[:, :0].copy(), self._rows[:0].copy()
        self._filled = self._multiplied = 0
        self._decomposed = None

    def gradient(self, x: Array) -> Array:
        """Return X'Xx on the sketch: exact for the vectors that were multiplied with X."""
        rows = self._rows[: self._filled]
        return (rows @ x) @ rows

    def converge_leading_direction(self, products: float, residual: float) -> None:
        """Add rows, as Lanczos steps do, until the leading direction is one of X, or after so many products."""
        used = 0
        while self._filled < self._size and used < products:
            used += 1
            v, before = self.leading_direction(), self._filled
            seen = self.confirm(v)
            length = float(np.linalg.norm(seen.gradient - seen.variance * v))
            if length <= residual * seen.variance or self._filled == before:
                break

    def directions(self, k: int) -> list[Array]:
        """Return the directions of large variance on the sketch, the largest first, and the most promising for k."""
        values, weights = (part[..., ::-1][..., : most_directions(self._rows.shape[1])] for part in self._spectrum())
        sure = values > budgets.SKETCH_SPAN_ROUNDING * values[0]
        return starting_directions(values[sure], self._along(weights[:, sure]), k, self._variance_of)

    def _variance_of(self, support: Array, loadings: Array) -> float:
        scores = np.take(self._rows[: self._filled], support, axis=1, mode="clip") @ loadings
        return float(scores @ scores)

    def leading_direction(self) -> Array:
        """Return the direction of largest variance on the sketch."""
        return self._along(self._spectrum()[1][:, -1:])[0]

    def _along(self, weights: Array) -> list[Array]:
        """Return unit vectors that combine the rows of the sketch with the weights of each column."""
        combined = weights.T @ self._rows[: self._filled]
        return list(combined / np.linalg.norm(combined, axis=1, keepdims=True))

    def leading_rows(self, count: int) -> Array:
        """Return a row for each feature such that their products are those of the leading part of X'X, about."""
        weights = self._spectrum()[1][:, -count:]
        return (weights.T @ self._rows[: self._filled]).T

    def near_leading(self, count: int) -> Array | None:
        """Return rough leading directions as columns, so many, if the sketch shows them."""
        weights = self._spectrum()[1][:, ::-1][:, :count]
        return np.column_stack(self._along(weights)) if weights.shape[1] == count else None

    def operator(self, features: Array) -> OperatorMixin:
        """Return the sketch of these features as an operator with q rows instead of m."""
        return DenseOperator(np.take(self._rows[: self._filled], features, axis=1, mode="clip"))

    def confirm(self, x: Array, scores: Array | None = None, claimed: float = 0.0) -> ConfirmedProduct:
        """Multiply x by X and X' in one read, or by X' if the scores Xx are known, and learn from it.

        `claimed` is the variance of x on the sketch. X has no less, unless rows of the sketch are wrong: they are
        differences of other rows, and rounding grows with each difference. Then all but the first rows are forgotten.
        """
        if self._filled == self._size:
            self._drop_half()
        if scores is None:
            image, scores = self.source.gram_and_scores(x)
        else:
            image = np.asarray(self.source.rmatmat(scores), dtype=np.float64)
        variance = float(x @ image)
        refuted = claimed > (1.0 + budgets.SKETCH_ROW_ERROR) * variance
        if refuted:
            self._filled = self._multiplied = self._n_first
            self._decomposed = None
        self._add_scores(np.asarray(scores, dtype=np.float64), image)
        return ConfirmedProduct(image, variance, refuted)

    def _add_scores(self, scores: Array, image: Array) -> None:
        """Add a row for the part of these scores outside the span of U, unless it is only rounding."""
        left, rows = self._left[:, : self._filled], self._rows[: self._filled]
        inside = left.T @ scores
        new = scores - left @ inside
        size, length = math.sqrt(new @ new), math.sqrt(scores @ scores)
        if size < budgets.SKETCH_ONCE_SHARE * length:  # otherwise once is enough
            again = left.T @ new
            new, inside = new - left @ again, inside + again
            size = math.sqrt(new @ new)
        if size <= self._rounding * length:
            return
        new /= size
        if size > self._rounding**budgets.SKETCH_DIFFERENCE_DIGITS * length:  # X'new follows from X'scores
            self._add(new[:, None], (image - inside @ rows) / size)
        else:  # the difference would be mostly rounding
            self._add(new[:, None], self.source.rmatmat(new))

    def _add(self, left: Array, rows: Array) -> None:
        """Add directions and their rows X'left."""
        new = slice(self._filled, self._filled + left.shape[1])
        self._left[:, new], self._rows[new] = left, rows
        self._filled = new.stop

    def _row_products(self) -> Array:
        """Return the products of the rows with each other; those of new rows are computed here."""
        new, count = slice(self._multiplied, self._filled), self._filled
        if self._multiplied < count:
            products = self._rows[:count] @ self._rows[new].T
            self._products[:count, new], self._products[new, :count] = products, products.T
            self._multiplied = count
        return self._products[:count, :count]

    def _spectrum(self) -> tuple[Array, Array]:
        """Return eigenvalues and eigenvectors of the products of the rows, computed when rows are new."""
        if self._decomposed is None or len(self._decomposed[0]) != self._filled:
            values, weights = np.linalg.eigh(self._row_products())
            self._decomposed = values, weights
        return self._decomposed

    def _drop_half(self) -> None:
        """Keep the leading half of what is known."""
        kept = self._size // 2
        values, weights = (part[..., -kept:] for part in self._spectrum())
        self._rows[:kept] = weights.T @ self._rows
        self._left[:, :kept] = self._left @ weights
        self._products[:kept, :kept] = np.diag(values)
        self._filled = self._multiplied = self._n_first = kept
        self._decomposed = None


def learned_sketch(
    op: OperatorMixin,
    first: Rows | None = None,
    *,
    products: float = np.inf,
    residual: float | None = None,
    more_rows: int | None = None,
) -> Sketch:
    """Return a sketch whose leading direction is one of X, up to this residual, or after so many products.

    `first` has the rows from which it starts, of X before anything was taken off it. `residual` is SKETCH_RESIDUAL, and
    the rows that may be added are `most_rows`, if not given.
    """
    first = first_rows(op.undeflated, 1) if first is None else first
    known = Rows(*op.deflated_rows(*first))
    if not len(known.rows):  # earlier components explain all directions that were learned before
        known = first_rows(op, 1)
    more_rows = most_rows(op.shape[1]) if more_rows is None else more_rows
    sketch = Sketch(op, known, int(min(more_rows, 2 * products)))  # for the leading direction, and for stage 1
    del known  # its rows are copied
    sketch.converge_leading_direction(products, budgets.SKETCH_RESIDUAL if residual is None else residual)
    return sketch


def has_few_samples(op: OperatorMixin, k: int) -> bool:
    """Return whether XX', m x m, is worth its time: directions learned from products would be less accurate.

    Of few features a pool is searched, and many have most of their variance along the leading directions.
    """
    m, n = op.shape
    few = m <= budgets.FEW_SAMPLES and n <= budgets.FEW_SAMPLES_FEATURES
    return few and budgets.POOL_MAX_K < k <= budgets.SEVERAL_STARTS_SHARE * n


def rough_samples_gram(op: OperatorMixin) -> Array:
    """Return XX' in the precision of the data: for directions that are only starts, not for proofs.

    It is made from the columns, of sparse data from their entries, and where reading some columns reads all from a few
    products with X and X'.
    """
    m, n = op.shape
    if op.entries < m * n:
        return op.samples_gram()
    gram = np.zeros((m, m))
    with small_products_in_one_thread():
        if op.selects_columns:
            for part in chunks(n, 8 * m, budgets.FEW_SAMPLES_BYTES):
                columns = op.columns(np.arange(part.start, part.stop))
                gram += columns @ columns.T
        else:
            for part in chunks(m, op.dtype.itemsize * n, budgets.FEW_SAMPLES_IMAGE_BYTES):
                gram[:, part] = op.matmat(op.rmatmat(np.eye(m, dtype=op.dtype)[:, part]))
    return (gram + gram.T) / 2.0


def sketch_of_few_samples(op: OperatorMixin, samples_gram: Array, more_rows: int) -> Sketch:
    """Return a sketch of the leading directions of X, those of XX'; they are accurate, and nothing has to be learned.

    Where there are few samples for very many features, the directions of a few alike features have little more variance
    than all others. A sketch that is learned from products would mix them.
    """
    m = len(samples_gram)
    subset = [max(0, m - budgets.FEW_SAMPLES_ROWS), m - 1]
    values, left = scipy.linalg.eigh(samples_gram, subset_by_index=subset, check_finite=False)
    left = left[:, values > budgets.NO_VARIANCE_EPS * np.finfo(op.dtype).eps * values[-1]]
    rows = np.ascontiguousarray(np.asarray(op.rmatmat(left), dtype=np.float64).T)
    return Sketch(op, Rows(left, rows), more_rows)


def first_rows(op: OperatorMixin, n_components: int) -> Rows:
    """Return orthonormal scores U and the rows U'X of about the leading directions, enough for so many components.

    Power steps on some columns come first, which cost little. For several components, one step with all of X follows.
    """
    several = n_components > 1
    count = first_count(op.shape[1], n_components) if several else op.first_block
    sampled = longest_columns(op)
    if count == 1:
        numbers = _numbers(op, sampled, 1)
        # features that vary most together, and some chance: no symmetry of X may hide a direction from the start
        start = op.sq_norms[sampled] * (1.0 + budgets.SKETCH_START_NOISE * numbers[:, 0])
        V = spread(unit(start), sampled, op.shape[1])[:, None]
        return independent(op, *op.gram_and_scores(V))
    left = first_scores(op, sampled, count)
    rows = np.asarray(op.rmatmat(left), dtype=np.float64).T
    if several:
        left, rows = independent(op, *op.gram_and_scores(_orthonormal(rows.T)))
    return Rows(left, rows)


def most_rows(n: int) -> int:
    """Return the rows that a sketch of n features adds to the first ones, at most."""
    return int(np.clip(budgets.SKETCH_ENTRIES // n, budgets.SKETCH_MIN_ROWS, budgets.SKETCH_ROWS))


def first_count(n: int, n_components: int) -> int:
    """Return the number of first rows for several components of n features; fewer if there are very many."""
    wanted = budgets.SKETCH_FIRST_ROWS + 2 * n_components
    return min(wanted, max(n_components + 2, budgets.SKETCH_ENTRIES // n))


def longest_columns(op: OperatorMixin) -> Array:
    """Return some features of largest variance, from whose columns the leading directions are learned first."""
    count = max(op.shape[1] // budgets.SKETCH_COLUMN_STEP, budgets.SKETCH_MIN_COLUMNS)
    return top_k(coarse(op.sq_norms), count)  # scaled features are alike: rounding, and threads, must not order them


def first_scores(op: OperatorMixin, sampled: Array, count: int) -> Array:
    """Return orthonormal scores of about the leading directions, at most `count`, from power steps on some columns."""
    V, part = _numbers(op, sampled, count), op.restrict(sampled)
    for _ in range(budgets.SKETCH_POWER_STEPS):
        V = np.linalg.qr(part.gram(V))[0]
    left, rest = np.linalg.qr(np.asarray(part.matmat(V), dtype=np.float64))
    sizes = np.linalg.norm(rest, axis=1)  # of what each direction explains: none of nothing but rounding
    return left[:, sizes > rounding_of(op) * np.max(sizes)]


def _orthonormal(V: Array) -> Array:
    """Return an orthonormal basis, about, of what columns span: several times as fast as QR of a tall matrix."""
    values, weights = np.linalg.eigh(V.T @ V)
    sure = values > budgets.SKETCH_SPAN_ROUNDING * values[-1]
    return V @ (weights[:, sure] / np.sqrt(values[sure]))


def _numbers(op: OperatorMixin, sampled: Array, count: int) -> Array:
    """Return random vectors for these features as columns, at most `count`."""
    numbers = np.empty((len(sampled), min(count, len(sampled))))
    # numbers go to features by their variance, not by their place: so the order of the features does not matter
    by_variance = decreasing_order(coarse(op.sq_norms[sampled]))
    numbers[by_variance] = np.random.default_rng(len(sampled)).standard_normal(numbers.shape)
    return numbers


def independent(op: OperatorMixin, images: Array, scores: Array) -> Rows:
    """Return orthonormal scores and their rows from scores T and images X'T, without what is rounding in them."""
    scores = np.asarray(scores, dtype=np.float64)
    values, weights = np.linalg.eigh(scores.T @ scores)
    sure = values > rounding_of(op) * values[-1]
    weights = weights[:, sure] / np.sqrt(values[sure])
    return Rows(scores @ weights, weights.T @ images.T)


def rounding_of(op: OperatorMixin) -> float:
    """Return the share of the length of scores below which they are rounding."""
    return float(np.sqrt(np.finfo(op.dtype).eps))
