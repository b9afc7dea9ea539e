"""Quality on every data set: our default against every other method, and the deflation schemes side by side.

    python benchmarks/quality.py                 all, some minutes
    python benchmarks/quality.py few_features    some of rivals, few_features, scaled and deflations

Writes benchmarks/results/rivals.txt, few_features.txt, scaled.txt and quality.txt. Data: the folder that RSPCA_DATA
names, or shared/data beside the repository.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from common import Report, data

import rspca

MATRICES = (
    "pitprops", "wine", "normCommunities", "normMiniBooNE", "normArrhythmia", "Eisen1", "Eisen2", "buzz", "dermatology",
    "digits", "gas", "keggdirected", "pol", "song", "spambase", "wdbc",
)  # fmt: skip

DATA: dict[str, Callable[[], Any]] = {
    "classic2": data.classic2,
    "kos": data.kos,
    "chowdary": data.chowdary,
    **{
        name: (lambda name=name: data.gene_expression(name)) for name in ("alon", "golub", "gordon", "khan", "lymphoma")
    },
    "hapmap3": data.hapmap3,
    "hapmap_snprelate": data.hapmap_snprelate,
    "hgdp_euro": data.hgdp_euro,
    "hgdp_chr22": data.hgdp_world_chr22,
    **{name: (lambda name=name: rspca.GramOperator(data.benchmark_matrix(name))) for name in MATRICES},
}


def sparsities(n: int) -> list[int]:
    return sorted({min(max(k, 1), n) for k in (20, n // 100, n // 20, n // 5)})


FEW = (3, 5, 8, 12, 20, 30, 50)
FEW_DATA = [(name, True) for name in ("hapmap3", "hgdp_chr22", "gordon", "golub", "chowdary")] + [("hgdp_euro", False)]
SCALED_DATA = [(name, True) for name in ("hapmap3", "hgdp_chr22", "gordon", "golub", "chowdary", "hgdp_euro")]
GREEDY_MOST = 700
RIVALS = [name for name in rspca.METHODS if name not in ("rspca", "pca")]


def against_rivals(say: Report) -> None:
    say("\nVariance of our default over that of the best other method, refitted, less one; first component")
    say(f"(dspca cannot run above 500 features; greedy, one product a feature, is left out above {GREEDY_MOST})\n")
    losses, over_maxcomp = 0, 0
    for name, make in DATA.items():
        X = make()
        row = []
        for k in sparsities(X.shape[1]):
            rivals = [name for name in RIVALS if name != "greedy" or k <= GREEDY_MOST]
            found = rspca.compare(X, k, methods=["rspca", *rivals], certify_seconds=None)
            best = {r.method: r.variance for r in found if r.normalization == "svd" and r.nonzeros <= k}
            ours = best.pop("rspca")
            rival = max(best, key=best.__getitem__)
            gain = ours / best[rival] - 1.0
            losses += gain < -1e-9
            over_maxcomp += ours < best["maxcomp"] * (1.0 - 1e-9)
            row.append(f"k={k}: {gain:+.1e} ({rival})" + (" LOSS" if gain < -1e-9 else ""))
        say(f"{name:<18}" + ", ".join(row))
    say(f"\nbelow the best rival by more than 1e-9: {losses}; below MaxComp with refit: {over_maxcomp}")


def few_features(say: Report) -> None:
    """Print the variance of few features where a few alike ones hide among very many: scaled genes, and SNPs."""
    growing(say, FEW_DATA, lambda n: FEW)


def scaled(say: Report) -> None:
    """Print the variance of more features of the same data, where directions of few features hide behind others."""
    growing(say, SCALED_DATA, lambda n: sorted({70, n // 100, n // 50, n // 20, n // 10}))


def growing(say: Report, cases: list[tuple[str, bool]], sizes: Callable[[int], Sequence[int]]) -> None:
    say("\nVariance of our first component, and over that of the best other method, refitted, less one")
    say("(with more features than before it must not fall)\n")
    losses, falls = 0, 0
    for name, scale in cases:
        X, before = DATA[name](), 0.0
        for k in sizes(X.shape[1]):
            rivals = [name for name in RIVALS if name != "greedy" or k <= GREEDY_MOST]
            found = rspca.compare(X, k, scale=scale, methods=["rspca", *rivals], certify_seconds=None)
            best = {r.method: r.variance for r in found if r.normalization == "svd" and r.nonzeros <= k}
            ours = best.pop("rspca")
            rival = max(best, key=best.__getitem__)
            gain, fell = ours / best[rival] - 1.0, ours < before * (1.0 - 1e-9)
            losses, falls, before = losses + (gain < -1e-9), falls + fell, ours
            label = f"{name}{', scaled' * scale}"
            say(f"{label:<22}k={k:<4}{ours:>12.6g} {gain:+.1e} ({rival}){' LOSS' * (gain < -1e-9)}{' FALLS' * fell}")
    say(f"\nbelow the best rival by more than 1e-9: {losses}; below our own component of fewer features: {falls}")


def deflations(say: Report) -> None:
    say("\nFive components of k = 20 features (or n/4): share of the total variance, adjusted / subspace / plain sum,")
    say("largest |cosine| of two components and of two scores\n")
    say(f"{'data':<18}{'scheme':<12}{'adjusted':>9}{'subspace':>9}{'sum':>9}{'loadings':>9}{'scores':>8}")
    for name, make in DATA.items():
        X = make()
        k = min(20, max(2, X.shape[1] // 4))
        schemes = ["schur", "projection", "orthogonal"] + ["hotelling"] * isinstance(X, rspca.GramOperator)
        for scheme in schemes:
            found = rspca.decompose(X, min(5, X.shape[1]), k=k, deflation=scheme, random_state=0)
            total = found.total_variance
            measured = [
                rspca.explained_variance(X, found.loadings, definition).sum() / total
                for definition in ("adjusted", "subspace", "sum")
            ]
            say(
                f"{name:<18}{scheme:<12}" + "".join(f"{value:>9.4f}" for value in measured)
                + f"{found.orthogonality:>9.2f}{found.score_correlation:>8.2f}"
            )  # fmt: skip


TABLES = {
    "rivals": (against_rivals, "rivals.txt"),
    "few_features": (few_features, "few_features.txt"),
    "scaled": (scaled, "scaled.txt"),
    "deflations": (deflations, "quality.txt"),
}


if __name__ == "__main__":
    np.seterr(all="raise", under="ignore")
    unknown = [table for table in sys.argv[1:] if table not in TABLES]
    if unknown:
        sys.exit(
            f"quality.py: there is no table {', '.join(unknown)}; give some of {', '.join(TABLES)}, or none for all"
        )
    for table in sys.argv[1:] or TABLES:
        write, file = TABLES[table]
        write(Report(file))
