"""The same supports with one and two BLAS threads, on data with near-tied factors, in both precisions.

    python tools/blas_threads.py             200 cases, three components each, some minutes
    python tools/blas_threads.py --cases 20  fewer

Writes tools/results/blas_threads.txt.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tests"), str(HERE.parent / "benchmarks")]

from common import machine  # noqa: E402
from support.near_ties import near_tied_factors  # noqa: E402

import rspca  # noqa: E402

SHAPES = ((1500, 3000), (500, 2100), (300, 4000), (200, 9000), (2000, 800))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=200)
    wanted = parser.parse_args().cases
    lines = [f"machine: {machine()}"]
    kinds = itertools.cycle(itertools.product(SHAPES, (0.3, 1.0), (np.float32, np.float64)))
    same, began = 0, time.perf_counter()
    for seed, ((m, n), noise, dtype) in zip(range(wanted), kinds, strict=False):
        X = near_tied_factors(seed, m, n, noise=noise, dtype=dtype)
        found = []
        for threads in (1, 2):
            with threadpool_limits(threads, user_api="blas"):
                found.append(rspca.decompose(X, 3, k=12, scale=True, random_state=0).components)
        alike = [np.array_equal(one.support, other.support) for one, other in zip(*found, strict=True)]
        same += all(alike)
        if not all(alike):
            ratios = [one.variance / other.variance - 1.0 for one, other in zip(*found, strict=True)]
            lines.append(f"{m} x {n}, noise {noise}, {np.dtype(dtype)}, seed {seed}: {alike}, variances {ratios}")
            print(lines[-1], flush=True)
    lines.append(f"same supports with 1 and 2 threads: {same} of {wanted}, {time.perf_counter() - began:.0f} s")
    print(lines[-1])
    (HERE / "results").mkdir(exist_ok=True)
    (HERE / "results" / "blas_threads.txt").write_text("\n".join(lines) + "\n")
    sys.exit(same < wanted)


if __name__ == "__main__":
    main()
