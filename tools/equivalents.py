"""Mutants that change no result, each with the reason; `mutants.py` counts them apart."""

from __future__ import annotations

EQUIVALENT: dict[tuple[str, str], str] = {
    (
        "certificates/bounds/elimination.py",
        "top = np.partition(rows**2, n - k + (0), axis=1)[:, n - k + 1 :] if k > 1 else np.zeros((len(rows), 1))",
    ): "to put the k-th largest in its place puts the k - 1 larger ones behind it too",
    (
        "certificates/bounds/duals.py",
        "apart = np.maximum((rho - inner[rest] ** 2) * (lengths[rest] - inner[rest] ** 2), (-1.0))",
    ): "both factors are positive where it is used: the guard is against underflow",
    (
        "certificates/bounds/duals.py",
        "return (-np.empty(0))",
    ): "nothing, negated, is nothing",
    (
        "certificates/bounds/gram.py",
        "return float(values[-1] + 4.0 * len(A) * EPS * np.abs(values).max(initial=(-1.0)))",
    ): "magnitudes are not negative, and a matrix has at least one eigenvalue",
    (
        "certificates/nodes.py",
        "if (value >= largest[0]):",
    ): "a value that equals the least of those kept takes the place of its equal",
    (
        "certificates/nodes.py",
        "best, shift = np.inf, (-1.0)",
    ): "the first shift tried is below infinity and replaces it",
    (
        "certificates/nodes.py",
        "everyone = np.zeros(len(outer), dtype=np.bool_)",
    ): "who is left is not asked there: the bound alone is used",
    (
        "certificates/search.py",
        "exchanges = k * int(dominated.sum(axis=(-1)).max(initial=0))",
    ): "of c multiples of one direction one has all others below it, and one has all others above it",
    (
        "certificates/steps.py",
        'inner.proven("all that is left", inner.lower, (1.0))',
    ): "the seconds of a bound inside a step are not reported",
    (
        "certificates/in_memory.py",
        "return leading_pairs(op.restrict(support), (2), tol=budgets.SCORE_LOADINGS_TOL).vectors[:, 0]",
    ): "the first of two leading vectors is the leading one",
    (
        "certificates/bounds/low_rank.py",
        "return (-float(np.sqrt(value)))",
    ): "all heights change their sign, and only products of two of them are used",
    (
        "algorithm/sketch.py",
        "return (-self.source.gram(x))",
    ): "a start and its negative climb alike: variance has no sign, and loadings get theirs at the end",
    (
        "certificates/bounds/duals.py",
        "rest = ~taken & ~near & ((lengths >= rho))",
    ): "a column exactly as long as the penalty gets alpha = beta = 0 there, which it has already",
    (
        "algorithm/deflate.py",
        "unit, op = unit * float(op.weights[(-1)]), op.inner",
    ): "a Gram matrix is scaled by a unit only, the same for all features: other scales are refused",
    (
        "linalg/eigen.py",
        "if n <= DENSE_FEATURES or (start is None and n <= 4 * DENSE_FEATURES) or count > (n * 4):",
    ): "Lanczos instead of a dense decomposition: the same pairs, the longer way",
    (
        "linalg/vectors.py",
        "level = (-1.0)",
    ): "it is asked only where the level is positive, and of more than k magnitudes",
    (
        "algorithm/sketched_data.py",
        "if (gain >= 0.0):",
    ): "a sketch never promises more than X has, so what went on has gained: this is for rounding",
    (
        "certificates/bounds/duals.py",
        "weights = np.maximum(1.0 - rho / np.where(norms > 0.0, norms, 1.0), 0.0) * ((norms >= 0.0))",
    ): "a column of zeros adds nothing, whatever its weight",
    (
        "linalg/eigen.py",
        "if (count < m <= DENSE_FEATURES < n) and m * n <= DENSE_ENTRIES:",
    ): "the dense decomposition or Lanczos instead: the same pairs, the longer way",
    (
        "linalg/eigen.py",
        "if count <= m <= DENSE_FEATURES < n and (m * n < DENSE_ENTRIES):",
    ): "the dense decomposition or Lanczos instead: the same pairs, the longer way",
    (
        "linalg/explained_variance.py",
        "return np.column_stack([op.scores(support, v[support]) for support, v in zip(supports, V, strict=(False))])",
    ): "there is one support for each row, so both are equally long",
    (
        "linalg/explained_variance.py",
        "unit = columns / np.where(lengths > 0.0, lengths, (2.0))",
    ): "a column of zeros stays one, whatever it is divided by",
}
"""(file, line of the mutant) -> why."""
