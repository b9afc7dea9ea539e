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
    (
        "algorithm/deflate.py",
        "unit, op = unit * float(op.weights[(1)]), op.inner",
    ): "a Gram matrix is scaled by a unit only, the same for all features: other scales are refused",
    (
        "algorithm/deflate.py",
        "lowest = float(scipy.linalg.eigvalsh(A, subset_by_index=(0, (1)))[0])",
    ): "the first of the two lowest eigenvalues is the lowest",
    (
        "algorithm/normalize.py",
        "return oriented(leading_pairs(op.restrict(support), 1, start, tol=tol).vectors[:, (-1)], op.dtype)",
    ): "of one vector the last is the first",
    (
        "certificates/in_memory.py",
        "return leading_pairs(op.restrict(support), 1, tol=budgets.SCORE_LOADINGS_TOL).vectors[:, (-1)]",
    ): "of one vector the last is the first",
    (
        "algorithm/sketch.py",
        "return self._along(self._spectrum()[1][:, -1:])[(-1)]",
    ): "of one direction the last is the first",
    (
        "algorithm/polish.py",
        "if len(ends[(-1)].support) == len(choice.features):",
    ): "all ends have the same number of features",
    (
        "algorithm/relax.py",
        "rate = np.sqrt(max(gain / last_gain, 1.0)) if np.isfinite(last_gain) and last_gain > 0.0 else 0.0",
    ): "how far steps reach ahead: a step that loses variance is taken back, and it ends at the same tolerance",
    (
        "algorithm/relax.py",
        "rate = np.sqrt(min(gain / last_gain, 1.0)) if np.isfinite(last_gain) and last_gain > 0.0 else (1.0)",
    ): "how far steps reach ahead: a step that loses variance is taken back, and it ends at the same tolerance",
    (
        "algorithm/round.py",
        "if len(pool) > wanted > (-1):",
    ): "where all places are taken by sure features, every draw is those",
    (
        "algorithm/small_search.py",
        "score[each[:, None], :, supports] = (-1.0)",
    ): "only features of positive score are exchanged",
    (
        "algorithm/small_search.py",
        "vectors /= np.where(lengths > 0.0, lengths, (2.0))[:, None]",
    ): "a vector of zeros stays one, whatever it is divided by",
    (
        "certificates/bounds/elimination.py",
        "for part in chunks(n, n * (7), budgets.ROWS_BYTES):",
    ): "blocks of another size hold the same rows",
    (
        "certificates/precision.py",
        "for part in chunks(len(canceled), op.shape[(1)] * 8):",
    ): "blocks of another size hold the same columns",
    (
        "certificates/bounds/row_dual.py",
        "Q, theta = multiplier / 2.0, float(np.abs(multiplier).max(initial=(-1.0))) / 2.0",
    ): "magnitudes are not negative, and a matrix has at least one entry",
    (
        "certificates/bounds/semidefinite.py",
        "copy, multiplier, weight, upper, converged = np.eye(n) / n, np.zeros((n, n)), (2.0), 1.0, False",
    ): "the weight of the penalty adapts from any start: the same dual, after other steps",
    (
        "certificates/bounds/semidefinite.py",
        "factor = 2.0 if apart > 4.0 * moved else 0.5 if (not moved > 4.0 * apart) else 1.0",
    ): "the weight of the penalty decides how fast the dual converges, not to what",
    (
        "certificates/bounds/semidefinite.py",
        "used = projected > (-1.0)",
    ): "directions of weight zero add nothing",
    (
        "certificates/bounds/spectra.py",
        "return ProvenSpectrum(Spectrum(values, np.ones((op.shape[1], count)), rest), np.inf)",
    ): "with an infinite margin the vectors are not used",
    (
        "linalg/eigen.py",
        "retained = max(filled - 1, count + RESTART_SPARE)",
    ): "what a restart retains decides how fast Lanczos converges, not to what",
    (
        "linalg/explained_variance.py",
        "if columns.shape[1] == (0):",
    ): "the largest off a diagonal of one entry is zero too",
    (
        "linalg/explained_variance.py",
        "np.fill_diagonal(sizes, (-1.0))",
    ): "the largest is at least zero",
    (
        "linalg/explained_variance.py",
        "return (-op.scores(support, v[support]))",
    ): "scores are squared, or their signs cancel",
    (
        "linalg/vectors.py",
        "rank = (k / len(sample)) / n",
    ): "where a sample does not enclose the value, all values are partitioned: the longer way",
    (
        "linalg/vectors.py",
        "high = sample[-lower] if lower > (-1) else np.inf",
    ): "where a sample does not enclose the value, all values are partitioned: the longer way",
    (
        "certificates/bounds/gram.py",
        "middle = len(grid) // (3)",
    ): "the order in which levels are tried: all of them are, unless time runs out",
    (
        "certificates/bounds/gram.py",
        "for level in (*grid[middle:], *grid[:middle][::(1)]):",
    ): "the order in which levels are tried: all of them are, unless time runs out",
    (
        "certificates/bounds/thresholds.py",
        "return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty((1))",
    ): "values without places are not used",
    (
        "certificates/bounds/checked_dual.py",
        "paid, paid_less = picks * rho, (picks - (2)) * rho",
    ): "what one feature fewer pays is used with penalties of groups only, which replace it",
    (
        "certificates/bounds/limits.py",
        "return np.asarray(np.maximum(sums - peaks, (-1.0)) + (k + 8) * EPS * sums)",
    ): "the largest entry is among those that are summed, so the difference is negative by rounding only",
    (
        "certificates/bounds/limits.py",
        "return Room(self.labels[free], np.maximum(self.room(fixed), (-1)))",
    ): "fixed features that groups forbid are left out before",
    (
        "certificates/bounds/elimination.py",
        "np.fill_diagonal(squares, (-1.0))",
    ): "a feature's own entry is the least of its row either way, and not among the k - 1 largest",
    (
        "certificates/in_memory.py",
        "return B.spectral_fill(B.spectrum(parts[(1)]), k, limits) + B.remainder(allowed - parts[-1], k, limits)",
    ): "there are two parts",
}
"""(file, line of the mutant) -> why."""
