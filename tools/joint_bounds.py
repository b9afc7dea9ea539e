"""Look for sets of components that exceed a joint bound, and measure the gaps of joint certificates.

python tools/joint_bounds.py --cases 2000         enumerated sets of two and three components, every mode
python tools/joint_bounds.py --cases 0 --gaps     gaps on pitprops, breast cancer, wine and, with RSPCA_DATA, S&P 500
Prints what was wrong, if anything, and the figures by mode; exit 1 if a bound was false.
"""

from __future__ import annotations

import argparse
import csv
import lzma
import os
import sys
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests")]

from support.enumeration import case  # noqa: E402
from support.sets import MODES, arguments, best_set  # noqa: E402

import rspca  # noqa: E402

NOTHING = 1e-9
"""Relative error of the enumeration itself."""
ORTHOGONAL = {"pitprops 5 x 3": 7.7092, "wine 4 x 3": 7.3337, "breast 5 x 3": 13.1987, "breast 10 x 4": 21.6700}
UNCORRELATED = {"pitprops 5 x 3": 7.1775, "wine 4 x 3": 6.47863, "breast 5 x 3": 10.1700, "breast 10 x 4": 17.2060}
FREE = {"pitprops 5 x 3": 7.4595, "wine 4 x 3": 6.7919, "breast 5 x 3": 10.8334, "breast 10 x 4": 18.8400}
KNOWN = {"orthogonal": ORTHOGONAL, "uncorrelated": UNCORRELATED, "free": FREE}
"""Best known values of sets: shared/spec/components.md, sections 3 and 4, as issue 17 states them."""
SHARES = {5: 0.0431, 10: 0.0691, 15: 0.0860, 20: 0.1000, 25: 0.1093}
"""Shares of the trace that four orthogonal components of S&P 500 correlations have."""


def examined(seed: int) -> tuple[str, str | None, float]:
    """Return the mode of a seed, what was wrong, and the gap to the best enumerated set."""
    mode = MODES[seed % len(MODES)]
    rng = np.random.default_rng(seed)
    r = 3 if seed % 3 == 0 else 2
    one = case(
        seed // len(MODES), n=int(rng.integers(r + 1, 10 if r == 2 and mode == "shared" else 7 if r == 2 else 6))
    )
    if mode == "shared":
        ks = (int(rng.integers(r, one.n + 1)),) * r
    else:
        most = max(1, one.n // r) if mode == "disjoint" else 3 if r == 2 else 2
        ks = tuple(int(k) for k in rng.integers(1, most + 1, r))
    value, V = best_set(one.A, ks, mode, rng)
    if not np.isfinite(value) or value <= 0.0 or np.linalg.matrix_rank(one.A, tol=1e-9 * np.trace(one.A)) < r:
        return mode, None, np.nan
    try:
        proof = rspca.certify(
            one.given, list(ks), n_components=r, loadings=V.T, seconds=20, **one.options, **arguments(mode)
        )
    except ValueError as error:
        rounding = "rounding" in str(error) or "not uncorrelated" in str(error)
        return mode, None if rounding else f"seed {seed}, {one.kind}: {error}", np.nan
    wrong = None
    if proof.upper < value * (1.0 - NOTHING):
        wrong = f"seed {seed}, {mode}, {one.kind}, k = {ks}: bound {proof.upper} of {value}"
    return mode, wrong, proof.upper / value - 1.0


def gaps() -> None:
    """Print the gap of every mode to the best known values."""
    from sklearn.datasets import load_breast_cancer, load_wine

    matrices = {"pitprops": rspca.datasets.load_pitprops()}
    matrices |= {
        name: np.corrcoef(load().data, rowvar=False)
        for name, load in (("wine", load_wine), ("breast", load_breast_cancer))
    }
    for mode, values in KNOWN.items():
        for name, value in values.items():
            data, k, _, r = name.split()
            report(f"{name} {mode}", matrices[data], int(k), int(r), mode, value)
    folder = os.environ.get("RSPCA_DATA")
    path = Path(folder or ".") / "sp500_correlations" / "snp500_corr.csv.xz"
    if folder and path.exists():
        with lzma.open(path, "rt") as file:
            A = np.array([[float(entry) for entry in row[1:]] for row in list(csv.reader(file))[1:]])
        for k, share in SHARES.items():
            report(f"S&P 500 {k} x 4 orthogonal", (A + A.T) / 2, k, 4, "orthogonal", share * float(np.trace(A)))


def report(name: str, A: np.ndarray, k: int, r: int, mode: str, value: float) -> None:
    """Print the bound of one set as an excess over the best known value, and its seconds of the processor."""
    began = time.process_time()
    proof = rspca.certify(rspca.GramOperator(A), k, n_components=r, seconds=60, **arguments(mode))
    best = min(proof.bounds, key=lambda bound: bound.value)
    seconds = time.process_time() - began
    print(f"{name:32} {100 * (proof.upper / value - 1):6.2f} %  {best.name:20} {seconds:5.1f} s", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--gaps", action="store_true")
    options = parser.parse_args()
    found, wrong = defaultdict[str, list[float]](list), 0
    with ProcessPoolExecutor(options.processes) as pool:
        for mode, error, gap in pool.map(examined, range(options.first, options.first + options.cases), chunksize=4):
            if error is not None:
                wrong += 1
                print(error, flush=True)
            if np.isfinite(gap):
                found[mode].append(gap)
    for mode, values in found.items():
        shares = 100 * np.quantile(values, [0.5, 0.9])
        print(f"{mode:12} {len(values):5} sets, gap {shares[0]:.2f} % in half of them, {shares[1]:.2f} % in 9 of 10")
    print(f"{wrong} of {options.cases} wrong")
    if options.gaps:
        gaps()
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
