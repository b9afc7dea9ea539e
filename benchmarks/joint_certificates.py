"""Proven gaps of several components as a set: what the search finds, next to what no such set exceeds.

    python benchmarks/joint_certificates.py               30 seconds for each proof
    python benchmarks/joint_certificates.py --seconds 5

Writes benchmarks/results/joint_certificates.txt.
"""

from __future__ import annotations

import argparse

from common import Report
from joint_constrained import DATA

import rspca

CASES = (
    ("pitprops", 5, 3, "orthogonal", 8.0),
    ("breast", 5, 3, "orthogonal", 6.0),
    ("sp500", 5, 4, "orthogonal", 8.0),
    ("sp500", 10, 4, "orthogonal", 7.0),
    ("sp500", 15, 4, "orthogonal", 9.0),
    ("sp500", 20, 4, "orthogonal", 7.5),
    ("sp500", 25, 4, "orthogonal", 5.0),
    ("pitprops", 5, 3, None, None),
    ("breast", 5, 3, None, None),
    ("pitprops", 5, 3, "uncorrelated", None),
    ("breast", 5, 3, "uncorrelated", None),
    ("pitprops", 4, 3, "disjoint", None),
    ("breast", 5, 3, "disjoint", None),
)
"""Data, k, r, constraint, and the largest gap that is accepted, in percent."""


def main(say: Report, seconds: float) -> None:
    say(f"\nSets of components with at most {seconds:g} s for a proof: what they have, its bound, the gap in percent\n")
    say(f"{'data':<10}{'k x r':>7} {'constraint':<14}{'lower':>10}{'upper':>10}{'gap':>8}{'wanted':>8}{'s':>7}  bound")
    for name, k, r, constraint, wanted in CASES:
        proof = rspca.certify(DATA[name](), k, n_components=r, constraint=constraint, seconds=seconds)
        best = min(proof.bounds, key=lambda bound: bound.value).name
        missed = "" if wanted is None or 100.0 * proof.gap <= wanted else "  ABOVE"
        say(
            f"{name:<10}{f'{k} x {r}':>7} {constraint or 'none':<14}{proof.lower:>10.4f}{proof.upper:>10.4f}"
            f"{100.0 * proof.gap:>8.2f}{'-' if wanted is None else format(wanted, 'g'):>8}{proof.seconds:>7.1f}"
            f"  {best}{missed}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30.0)
    main(Report("joint_certificates.txt"), parser.parse_args().seconds)
