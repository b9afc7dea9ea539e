"""Good sets of sparse components by trying all supports: what no bound of a set may be below."""

from __future__ import annotations

from itertools import combinations, permutations, product

import numpy as np

MODES = ("free", "orthogonal", "uncorrelated", "disjoint", "shared")
STARTS = 2
"""Random starts of the loadings on each choice of supports."""
KEPT = 1e-9
"""Largest cosine at which loadings or scores count as orthogonal."""


def arguments(mode: str) -> dict[str, object]:
    """Return what certify is given for a mode."""
    if mode == "shared":
        return {"shared_support": True}
    return {"constraint": None if mode == "free" else mode}


def value_of(A: np.ndarray, V: np.ndarray, mode: str) -> float:
    """Return what a set has: adjusted variance in the best order, or the sum of v'Av."""
    if mode in ("free", "disjoint"):
        return max(adjusted(A, V[:, list(order)]) for order in permutations(range(V.shape[1])))
    return float(np.sum(V * (A @ V)))


def adjusted(A: np.ndarray, V: np.ndarray) -> float:
    """Return what each component adds to those before, summed."""
    total, left = 0.0, A
    for v in V.T:
        image = left @ v
        variance = float(v @ image)
        if variance <= 1e-12 * np.trace(A):
            continue
        total += variance
        left = left - np.outer(image, image) / variance
    return total


def best_set(A: np.ndarray, ks: tuple[int, ...], mode: str, rng: np.random.Generator) -> tuple[float, np.ndarray]:
    """Return the best set of block ascents from every choice of supports, and its value; -inf if none is feasible."""
    n, best = len(A), (-np.inf, np.zeros((len(A), len(ks))))
    if mode == "shared":
        for support in combinations(range(n), ks[0]):
            values, vectors = np.linalg.eigh(A[np.ix_(support, support)])
            total = float(values[-len(ks) :].sum())
            if total > best[0]:
                V = np.zeros((n, len(ks)))
                V[list(support)] = vectors[:, -len(ks) :]
                best = total, V
        return best
    for supports in product(*(combinations(range(n), k) for k in ks)):
        if len(set(ks)) == 1 and list(supports) != sorted(supports):
            continue
        if mode == "disjoint" and len(set().union(*supports)) < sum(ks):
            continue
        for start in range(1 if mode == "disjoint" else STARTS):
            V = climbed(A, supports, mode, rng, random=start > 0)
            if V is not None and (value := value_of(A, V, mode)) > best[0]:
                best = value, V
    return best


def climbed(A, supports, mode, rng, *, random):
    """Return loadings on supports after block steps; None if they do not keep the constraint."""
    n, r = len(A), len(supports)
    V = np.zeros((n, r))
    for _ in range(6):
        for j, support in enumerate(supports):
            S = list(support)
            others = np.delete(V, j, axis=1)
            others = others[:, others.any(axis=0)]
            left, basis = A, np.eye(len(S))
            if mode in ("free", "disjoint"):
                left = A - A @ others @ np.linalg.pinv(others.T @ A @ others, rcond=1e-10) @ others.T @ A
            elif others.shape[1]:
                wanted = others if mode == "orthogonal" else A @ others
                u, sizes, _ = np.linalg.svd(wanted[S])
                rank = int(np.sum(sizes > 1e-12 * max(np.abs(A).max(), 1.0)))
                basis = u[:, rank:]
                if basis.shape[1] == 0:
                    return None
            inner = basis.T @ left[np.ix_(S, S)] @ basis
            weights = np.linalg.eigh((inner + inner.T) / 2)[1][:, -1]
            if random and not V[:, j].any():
                weights = rng.standard_normal(basis.shape[1])
            V[:, j] = 0.0
            V[S, j] = basis @ weights / np.linalg.norm(basis @ weights)
    inner = V.T @ V if mode == "orthogonal" else V.T @ A @ V if mode == "uncorrelated" else np.eye(r)
    lengths = np.sqrt(np.maximum(np.diagonal(inner), 1e-300))
    cosines = np.abs(inner / np.outer(lengths, lengths)) - np.eye(r)
    return V if cosines.max() <= KEPT else None
