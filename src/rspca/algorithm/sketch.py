"""A sketch of X, a few rows on which iterations run, and the products with X that confirm their results."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rspca.algorithm import budgets
from rspca.base.types import Array
from rspca.linalg.eigen import leading_pairs
from rspca.linalg.vectors import coarse, decreasing_order, spread, top_k, unit
from rspca.operators.base import OperatorMixin
from rspca.operators.dense import DenseOperator


class ConfirmedProduct(NamedTuple):
    """Products of a vector with X itself: X'Xx and x'X'Xx."""

    gradient: Array
    variance: float


class Sketch:
    """U'X, where the q columns of U span the scores Xx of the vectors x multiplied so far.

    |U'Xx| <= |Xx|, with equality for these vectors. So an iteration that gains variance on the sketch, from a vector at
    which the sketch is exact, gains at least as much on X: alternating between the sketch and products with X is an
    ascent on X (minorize-maximize). The sketch uses all earlier products, so few of them are needed.
    """

    def __init__(self, op: OperatorMixin) -> None:
        m, n = op.shape
        self.source = op
        self._left = np.empty((m, budgets.SKETCH_ROWS), order="F")
        self._rows = np.empty((budgets.SKETCH_ROWS, n))
        self._products = np.zeros((budgets.SKETCH_ROWS,) * 2)  # of the rows with each other
        self._filled = self._multiplied = 0  # rows, and rows whose products with each other are computed
        self._rounding = float(np.sqrt(np.finfo(op.dtype).eps))
        variances = coarse(op.sq_norms)  # rounding, and threads, must not order equal variances
        sampled = top_k(variances, max(n // budgets.SKETCH_COLUMN_STEP, budgets.SKETCH_MIN_COLUMNS))
        numbers = np.empty((len(sampled), op.first_block))
        # random numbers are assigned by variance, not by index, so that the order of the features does not matter
        by_variance = decreasing_order(variances[sampled])
        numbers[by_variance] = np.random.default_rng(len(sampled)).standard_normal(numbers.shape)
        if op.first_block > 1:
            self._add_block(sampled, numbers)
        else:
            # the features of largest variance, and noise, so that no symmetry of X hides a direction from the start
            start = op.sq_norms[sampled] * (1.0 + budgets.SKETCH_START_NOISE * numbers[:, 0])
            self.confirm(spread(unit(start), sampled, n))
        self._converge_leading_direction()

    def _add_block(self, sampled: Array, V: Array) -> None:
        """Add the directions that power steps on some columns lead to, in one read of X."""
        part = self.source.restrict(sampled)
        for _ in range(budgets.SKETCH_POWER_STEPS):
            V = np.linalg.qr(part.gram(V))[0]
        left, rest = np.linalg.qr(np.asarray(part.matmat(V), dtype=np.float64))
        sizes = np.linalg.norm(rest, axis=1)  # directions that explain only rounding are left out
        left = left[:, sizes > self._rounding * np.max(sizes)]
        self._add(left, self.source.rmatmat(left).T)

    def features(self, gradient: Array, count: int) -> Array:
        """Return the `count` features with the largest gradients, or all if few would be left out."""
        few = count < budgets.SKETCH_MAX_SHARE * len(gradient)
        return top_k(np.abs(gradient), count) if few else np.arange(len(gradient))

    def gradient(self, x: Array) -> Array:
        """Return X'Xx on the sketch: exact for the vectors that were multiplied with X."""
        rows = self._rows[: self._filled]
        return (rows @ x) @ rows

    def _converge_leading_direction(self) -> None:
        """Add rows, as Lanczos steps do, until the leading direction of the sketch is one of X."""
        while self._filled < budgets.SKETCH_ROWS:
            v, before = self.directions()[0], self._filled
            seen = self.confirm(v)
            residual = float(np.linalg.norm(seen.gradient - seen.variance * v))
            if residual <= budgets.SKETCH_RESIDUAL * seen.variance or self._filled == before:
                break

    def directions(self) -> list[Array]:
        """Return the directions of large variance on the sketch, the largest first."""
        rows = self._rows[: self._filled]
        values, weights = np.linalg.eigh(self._row_products())
        close = np.flatnonzero(values[::-1] >= budgets.SKETCH_CLOSE_VARIANCE * values[-1])
        directions = [weights[:, -1 - i] @ rows for i in close[: budgets.SKETCH_MAX_DIRECTIONS]]
        return [direction / np.linalg.norm(direction) for direction in directions]

    def operator(self, features: Array) -> OperatorMixin:
        """Return the sketch of these features as an operator with q rows instead of m."""
        return DenseOperator(np.take(self._rows[: self._filled], features, axis=1, mode="clip"))

    def confirm(self, x: Array) -> ConfirmedProduct:
        """Multiply x by X and X' in one read, and add the result to the sketch."""
        if self._filled == budgets.SKETCH_ROWS:
            self._drop_half()
        image, scores = self.source.gram_and_scores(x)
        self._add_scores(np.asarray(scores, dtype=np.float64), image)
        return ConfirmedProduct(image, float(x @ image))

    def _add_scores(self, scores: Array, image: Array) -> None:
        """Add a row for the part of these scores outside the span of U, unless it is only rounding."""
        left, rows = self._left[:, : self._filled], self._rows[: self._filled]
        new, inside = scores, np.zeros(self._filled)
        for _ in range(2):
            part = left.T @ new
            new, inside = new - left @ part, inside + part
        size, length = float(np.linalg.norm(new)), float(np.linalg.norm(scores))
        if size <= self._rounding * length:
            return
        new /= size
        if size > self._rounding ** (2 / 3) * length:  # X'new follows from X'scores
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

    def _drop_half(self) -> None:
        """Replace the rows by the leading half of their directions."""
        half = budgets.SKETCH_ROWS // 2
        values, weights = (part[..., -half:] for part in np.linalg.eigh(self._row_products()))
        self._rows[:half] = weights.T @ self._rows
        self._left[:, :half] = self._left @ weights
        self._products[:half, :half] = np.diag(values)
        self._filled = self._multiplied = half


class FullData:
    """X itself in place of a sketch, for small data: the same methods, with exact results."""

    def __init__(self, op: OperatorMixin, tol: float | None = None) -> None:
        self.source, self.tol = op, budgets.LEADING_TOL if tol is None else tol

    def directions(self) -> list[Array]:
        """Return the direction of largest variance, to residual tol."""
        return [leading_pairs(self.source, 1, tol=self.tol).vectors[:, 0]]

    def features(self, gradient: Array, count: int) -> Array:
        """Return all features."""
        return np.arange(len(gradient))

    def gradient(self, x: Array) -> Array:
        """Return X'Xx."""
        return self.source.gram(x)

    def operator(self, features: Array) -> OperatorMixin:
        """Return X."""
        return self.source

    def confirm(self, x: Array) -> ConfirmedProduct:
        """Multiply x by X'X."""
        gradient = self.source.gram(x)
        return ConfirmedProduct(gradient, float(x @ gradient))
