"""Upper bounds on what r components have together, from a spectrum or a diagonal: for every kind of set.

Each component has unit length and k_t features, all together s features. Whether their adjusted variance is measured
(R_tt^2 of the QR of the scores XV) or, for orthonormal V, sum v_t'Av_t, it is at most the sum of the r largest
eigenvalues of A_SS for the s features S of all: v_t'Av_t sums to tr(V'A_SS V), and R_tt = q_t'X v_t with orthonormal
q_t gives R_tt^2 <= |X_S'q_t|^2, so both follow from Ky Fan's theorem. The best support that r components share has the
same bounds, with its size as s.

What is not valid is the sum of min(l_t, Z_k) over t: X = [[1, 1], [e, -e]], k = 1, r = 2 has 2 (1 + e^2) as orthonormal
set, while l_2 = 2 e^2.
"""

from __future__ import annotations

import numpy as np

from rspca.base.types import Array
from rspca.certificates import budgets
from rspca.certificates.bounds.gram import EPS, Spectrum, top_sum


def ky_fan(A: Array, r: int) -> float:
    """Return the sum of the r largest eigenvalues that are positive, raised by the rounding of their computation.

    tr(AY) is at most that for all 0 <= Y <= I with trace r or less.
    """
    values = np.linalg.eigvalsh(A)
    margin = 4.0 * len(A) * EPS * float(np.abs(values).max(initial=0.0))
    return float(np.maximum(values[::-1][:r] + margin, 0.0).sum())


def filled_by_union(pairs: Spectrum, r: int, s: int) -> float:
    """Return max of sum l_j p_j over 0 <= p_j <= T_s(v_j^2), sum p_j <= r, for r components of s features in all.

    With an orthogonal projection Y of rank r on those features, p_j = v_j'Y v_j is at most the square of v_j on them,
    and the p_j sum to r, with the remainder on `rest`. With s = n this is the sum of the r largest eigenvalues.
    """
    caps = np.minimum(top_sum(pairs.vectors**2, s, axis=0), 1.0)
    used = np.minimum(np.cumsum(caps), float(r))
    parts = np.diff(used, prepend=0.0)
    largest = max(float(pairs.values[0]), pairs.rest, 0.0)
    rounding = (
        8.0 * len(pairs.vectors) * EPS * r * largest
    )  # of the squares, and of vectors that are not quite orthogonal
    return float(parts @ np.maximum(pairs.values, 0.0) + (r - used[-1]) * max(pairs.rest, 0.0)) + rounding


def capped_eigenvalues(values: Array, rest: float, r: int, largest: float) -> float:
    """Return the sum over j <= r of min(l_j, largest), `largest` a bound for one component of s features.

    Eigenvalue j of A_SS is at most that of A, by interlacing, and at most the first of A_SS.
    """
    leading = np.full(r, max(rest, 0.0))
    known = min(r, len(values))
    leading[:known] = np.maximum(values[:known], 0.0)
    return float(np.minimum(leading, largest).sum())


def frobenius_of_set(diagonal: Array, row_energy: Array, r: int, s: int) -> float:
    """Return the least over c of r c + sqrt(r T_s((a_ii - c)^2 + e_i)), e_i = T_{s-1}(a_ij^2, j != i) as `row_energy`.

    The r largest eigenvalues of A_SS - c I sum to at most sqrt(r) |A_SS - c I|_F. If the diagonal is raised to its
    maximum d, all s eigenvalues of A_SS - d I sum to 0; if the first r sum to f, their squares sum to at least f^2 / r
    and the others to f^2 / (s - r): f <= sqrt(r (s - r) / s T_s(e)).
    """
    largest = float(diagonal.max())
    shifts = np.linspace(0.0, largest, budgets.FROBENIUS_SHIFTS)
    bounds = [r * c + float(np.sqrt(r * top_sum((diagonal - c) ** 2 + row_energy, s))) for c in shifts]
    raised = r * largest + float(np.sqrt(r * max(s - r, 0) / s * top_sum(row_energy, s)))
    return min(*bounds, raised)
