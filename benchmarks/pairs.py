"""All pairs of supports of two components: what joint ascent on small data is compared with."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from rspca.algorithm.joint.loadings import refit_together


def small_matrices(rng: np.random.Generator, count: int, real: list[np.ndarray]) -> Iterator[tuple[np.ndarray, int]]:
    """Yield Gram and correlation matrices of at most 12 features, a quarter of them parts of real ones, and k."""
    for number in range(count):
        n, k = int(rng.integers(5, 13)), int(rng.integers(1, 4))
        if number % 4 == 0:
            X = rng.standard_normal((int(rng.integers(3, 30)), n))
            yield X.T @ X, k
        elif number % 4 == 1:
            X = rng.standard_normal((20, 3)) @ rng.standard_normal((3, n)) + 0.5 * rng.standard_normal((20, n))
            yield X.T @ X, k
        elif number % 4 == 2:
            A = real[int(rng.integers(len(real)))]
            some = np.sort(rng.choice(len(A), n, replace=False))
            yield A[np.ix_(some, some)], k
        else:
            X = rng.standard_normal((25, n)) * rng.uniform(0.5, 2.0, n) + rng.standard_normal((25, 1))
            yield np.corrcoef(X, rowvar=False), k


def best_of_pairs(A: np.ndarray, k: int, found: float, rng: np.random.Generator) -> float:
    """Return the largest adjusted variance of two vectors of k features, at least `found`.

    Pairs of supports are left out if their bound is below: the sum of their largest eigenvalues, or of the two largest
    of their union. The loadings of the others climb along the gradient from three starts; the best are refined.
    """
    sets = np.array(list(combinations(range(len(A)), k)))
    values, vectors = np.linalg.eigh(A[sets[:, :, None], sets[:, None, :]])
    first, second = (places.ravel() for places in np.indices((len(sets), len(sets))))
    possible = values[first, -1] + values[second, -1] > (1.0 + 1e-9) * found
    first, second = first[possible], second[possible]
    masks = (1 << sets).sum(axis=1)
    unions, place = np.unique(masks[first] | masks[second], return_inverse=True)
    bounds = np.array([_two_largest(A, int(union)) for union in unions])
    possible = bounds[place] > (1.0 + 1e-9) * found if len(unions) else np.zeros(0, dtype=bool)
    first, second, best = first[possible], second[possible], found
    for attempt in range(3 if len(first) else 0):
        starts = [vectors[some][:, :, -1] for some in (first, second)]
        if attempt:
            starts = [rng.standard_normal(start.shape) for start in starts]
        pairs = _climbed_pairs(A, sets[first], sets[second], *starts)
        for V in pairs:
            best = max(best, refit_together(A.__matmul__, V, V != 0.0, tol=1e-13).variance)
    return best


def _two_largest(A: np.ndarray, mask: int) -> float:
    some = [feature for feature in range(len(A)) if mask >> feature & 1]
    return float(np.linalg.eigvalsh(A[np.ix_(some, some)])[-2:].sum())


def _climbed_pairs(
    A: np.ndarray, S: np.ndarray, R: np.ndarray, v: np.ndarray, w: np.ndarray, steps: int = 60, keep: int = 10
) -> list[np.ndarray]:
    """Return the best pairs of vectors, v before w, with supports S and R, after steps along the gradient."""
    within_s, within_r = A[S[:, :, None], S[:, None, :]], A[R[:, :, None], R[:, None, :]]
    across = A[S[:, :, None], R[:, None, :]]

    def scaled(x: np.ndarray) -> np.ndarray:
        return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300)

    v, w = scaled(v), scaled(w)
    for step in range(steps):
        image, other = np.einsum("bij,bj->bi", within_s, v), np.einsum("bij,bi->bj", across, v)
        size = np.sum(v * image, axis=1, keepdims=True)
        for _ in range(3 if step else 20):
            explained = np.sum(other * w, axis=1, keepdims=True) / size
            w = scaled(np.einsum("bij,bj->bi", within_r, w) - other * explained + 1e-9 * w)
        explained = np.sum(other * w, axis=1, keepdims=True) / size
        gradient = image * (1.0 + explained**2) - np.einsum("bij,bj->bi", across, w) * explained
        v = scaled(gradient + 0.3 * size * v)
    image, other = np.einsum("bij,bj->bi", within_s, v), np.einsum("bij,bi->bj", across, v)
    size, explained = np.sum(v * image, axis=1), np.sum(other * w, axis=1)
    reached = size + np.einsum("bi,bij,bj->b", w, within_r, w) - explained**2 / size
    best = np.argsort(-reached)[:keep]
    pairs = []
    for number in best:
        V = np.zeros((len(A), 2))
        V[S[number], 0], V[R[number], 1] = v[number], w[number]
        pairs.append(V)
    return pairs
