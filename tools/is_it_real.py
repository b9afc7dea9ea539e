"""Campaigns on simulated data: levels of the permutation test, suggested k, false discoveries of stability.

    python tools/is_it_real.py [spikes] [noise] [path] [stability] [--seeds 100]

Writes the figures against what they should be to results/is_it_real.txt if all campaigns run. Each campaign takes one
to ten minutes on one core.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np

import rspca
from rspca.datasets import make_planted_spikes

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "benchmarks"))
from common import Report  # noqa: E402

ALPHA, PERMUTATIONS, TAU = 0.05, 99, 0.9
KS = (2, 5, 10, 20, 30, 40, 60, 100, 300, 1000)
FINE_KS = (2, 4, 6, 8, 10, 12, 15, 20, 25, 30, 35, 40, 50, 60, 80, 100, 150, 200, 400, 800)


def spikes(seeds: int, say: Report) -> None:
    """Three planted components of 10 of 300 features, 100 samples: how many does the test find?"""
    found = []
    for seed in range(seeds):
        X, _ = make_planted_spikes(100, 300, 10, 3, strength=20.0, random_state=seed)
        found.append(rspca.permutation_test(X, 5, 10, n_permutations=PERMUTATIONS, alpha=ALPHA).suggested)
    say(f"spikes: 3 suggested in {found.count(3)} of {seeds} (at least {0.9 * seeds:g}); {counted(found)}")


def noise(seeds: int, say: Report) -> None:
    """Normal noise, 100 x 300: how often does the test find a component?"""
    found = []
    for seed in range(seeds):
        X = np.random.default_rng(seed).standard_normal((100, 300))
        found.append(rspca.permutation_test(X, 3, 10, n_permutations=PERMUTATIONS, alpha=ALPHA).suggested)
    say(f"noise: 0 suggested in {found.count(0)} of {seeds} (at least {0.9 * seeds:g}); {counted(found)}")


def path(seeds: int, say: Report) -> None:
    """The experiment of docs/choosing-k.md: 30 of 1,000 features, 100 samples, strong and weak."""
    for strength in (20.0, 10.0):
        for name, ks in (("its k", KS), ("20 k", FINE_KS)):
            found = []
            for seed in range(min(seeds, 20)):
                X, _ = make_planted_spikes(100, 1000, 30, 1, strength=strength, random_state=seed)
                found.append(rspca.path(X, ks, cv=5).suggested)
            inside = sum(20 <= k <= 45 for k in found)
            say(
                f"path: strength {strength:g}, {name}: median {np.median(found):g} (30), {inside} of {len(found)} "
                f"within 20 to 45 (at least 18 of 20); {counted(found)}"
            )


def stability(seeds: int, say: Report) -> None:
    """10 of 300 features planted, and pure noise: how many are wrongly chosen by 9 of 10 halves?"""
    for strength, k in ((20.0, 10), (20.0, 20), (8.0, 10), (0.0, 10)):
        wrong, bounds = [], []
        for seed in range(seeds):
            X, V = make_planted_spikes(100, 300, 10, 1, strength=max(strength, 1e-9), random_state=seed)
            planted = np.flatnonzero(np.atleast_2d(V)[0]) if strength else np.array([], dtype=int)
            model = rspca.SparsePCA(1, k=k, random_state=0).fit(X)
            known = model.stability(X, 50, seed)
            chosen = np.flatnonzero(known.shares(0) >= TAU)
            wrong.append(len(np.setdiff1d(chosen, planted)))
            bounds.append(float(known.error_bound(TAU)[0]))
        say(
            f"stability: strength {strength:g}, k = {k}: {np.mean(wrong):.3f} features wrongly chosen with share >= "
            f"{TAU:g} on average (at most {np.mean(bounds):.3f})"
        )


def counted(values: list[int]) -> str:
    """Return how often each value occurs."""
    return ", ".join(f"{value}: {values.count(value)}" for value in sorted(set(values)))


CAMPAIGNS = {"spikes": spikes, "noise": noise, "path": path, "stability": stability}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=", ".join(CAMPAIGNS))
    parser.add_argument("--seeds", type=int, default=100)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    whole = not given.names and given.seeds == parser.get_default("seeds")
    say = Report("is_it_real.txt" if whole else "is_it_real_part.txt", HERE / "results")
    for name in given.names or CAMPAIGNS:
        CAMPAIGNS[name](given.seeds, say)


if __name__ == "__main__":
    main()
