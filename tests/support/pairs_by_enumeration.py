"""The best two components under a constraint, by enumeration of all pairs of supports: the reference of the tests."""

from itertools import combinations

import numpy as np


def best_pair(A, k, constraint, *, nonnegative=False, starts=6, seed=0):
    """Return the largest objective of two components of k features each; -inf if no pair of supports is feasible."""
    n = len(A)
    supports = [np.array(support) for support in combinations(range(n), k)]
    largest = np.array([np.linalg.eigvalsh(A[np.ix_(support, support)])[-1] for support in supports])
    pairs = [
        (largest[i] + largest[j], i, j)
        for i in range(len(supports))
        for j in range(i, len(supports))
        if not (constraint == "disjoint" or nonnegative) or not np.isin(supports[i], supports[j]).any()
    ]
    pairs.sort(key=lambda pair: -pair[0])
    rng, best = np.random.default_rng(seed), -np.inf
    for bound, i, j in pairs:
        if bound <= best * (1.0 + 1e-12):
            break
        best = max(best, best_on(A, supports[i], supports[j], constraint, rng, starts))
    return best


def best_on(A, first, second, constraint, rng, starts):
    """Return the largest objective on two supports, from several starts."""
    if constraint == "disjoint":
        return max(adjusted_on(A, first, second), adjusted_on(A, second, first))
    B = A if constraint == "uncorrelated" else np.eye(len(A))
    return sum_on(A, B, first, second, rng, starts)


def adjusted_on(A, first, second):
    """Maximize |Xv|^2 + |Xw|^2 - (v'Aw)^2 / v'Av: with v = first + t second in the span, a generalized eigenproblem.

    The adjusted variance with v first is v'Av + w'(A - Avv'A / v'Av)w. Alternate over w and, by line search, over v.
    """
    best = -np.inf
    for start in [*np.eye(len(first)).tolist(), np.linalg.eigh(A[np.ix_(first, first)])[1][:, -1]]:
        v, before = np.array(start), -np.inf
        for _ in range(200):
            image = A[:, first] @ v
            variance = v @ image[first]
            if variance <= 1e-12:
                break
            rest = A[np.ix_(second, second)] - np.outer(image[second], image[second]) / variance
            values, vectors = np.linalg.eigh(rest)
            w, value = vectors[:, -1], variance + values[-1]
            if value <= before + 1e-12:
                break
            before = value
            v = ascend_first(A, first, second, v, w)
        best = max(best, before)
    return best


def ascend_first(A, first, second, v, w):
    """Return v after gradient steps with backtracking, w fixed."""
    F, c = A[np.ix_(first, first)], A[np.ix_(first, second)] @ w

    def value(v):
        v = v / np.linalg.norm(v)
        return v @ F @ v - (v @ c) ** 2 / (v @ F @ v)

    for _ in range(20):
        variance, along = v @ F @ v, v @ c
        gradient = 2 * F @ v - 2 * along * c / variance + 2 * along**2 / variance**2 * (F @ v)
        gradient -= v * (v @ gradient)
        step = 1.0 / max(np.trace(F), 1e-300)
        while step > 1e-12 and value(v + step * gradient) <= value(v):
            step /= 4.0
        v = v + step * gradient
        v /= np.linalg.norm(v)
    return v


def sum_on(A, B, first, second, rng, starts):
    """Maximize v'Av + w'Aw subject to v'Bw = 0 on two supports, with no loading of zero."""
    F, S, C = A[np.ix_(first, first)], A[np.ix_(second, second)], B[np.ix_(first, second)]
    best = -np.inf
    for _ in range(starts):
        w, before = rng.standard_normal(len(second)), -np.inf
        w /= np.linalg.norm(w)
        for _ in range(500):  # by turns, each the eigenproblem of its null space
            v = top_in_null_space(F, C @ w)
            if v is None:
                break
            w_new = top_in_null_space(S, C.T @ v)
            if w_new is None:
                break
            w = w_new
            value = v @ F @ v + w @ S @ w
            if value <= before + 1e-13:
                break
            before = value
        if before > best and v is not None and min(np.abs(v).min(), np.abs(w).min()) > 1e-6:
            best = newton_value(F, S, C, v, w, before)
    return best


def top_in_null_space(M, c):
    """Return the unit vector of largest v'Mv with c'v = 0; None if there is none."""
    if np.linalg.norm(c) <= 1e-12:
        return np.linalg.eigh(M)[1][:, -1]
    if len(M) == 1:
        return None
    basis = np.linalg.svd(c[None])[2][1:].T
    return basis @ np.linalg.eigh(basis.T @ M @ basis)[1][:, -1]


def newton_value(F, S, C, v, w, value):
    """Return the value after ascent along the constraint of both vectors at once: turns alone stop too early."""
    k = len(v)
    x = np.concatenate([v, w])
    H = np.zeros((2 * k, 2 * k))
    H[:k, :k], H[k:, k:] = F, S

    def jacobian(x):
        rows = np.zeros((3, 2 * k))
        rows[0, :k], rows[0, k:] = C @ x[k:], C.T @ x[:k]
        rows[1, :k], rows[2, k:] = x[:k], x[k:]
        return rows

    def restored(x):
        for _ in range(30):
            v, w = x[:k], x[k:]
            errors = np.array([v @ C @ w, (v @ v - 1) / 2, (w @ w - 1) / 2])
            if np.abs(errors).max() < 1e-14:
                return x
            x = x - np.linalg.pinv(jacobian(x)) @ errors
        return x if np.abs(errors).max() < 1e-11 else None

    step = 0.5
    for _ in range(3000):
        slope, J = 2 * H @ x, jacobian(x)
        slope = slope - J.T @ np.linalg.lstsq(J.T, slope, rcond=None)[0]
        if np.linalg.norm(slope) < 1e-10 or step < 1e-10:
            break
        trial = restored(x + step * slope)
        if trial is not None and trial @ H @ trial > value:
            x, value, step = trial, trial @ H @ trial, step * 2.0
        else:
            step /= 4.0
    return value
