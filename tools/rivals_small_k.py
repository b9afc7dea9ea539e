"""The default against every other method for few features: all data sets, chromosome by chromosome, several seeds.

    python tools/rivals_small_k.py                                    all of it, hours
    python tools/rivals_small_k.py --sets hapmap3:9 alon --ks 5 10    some of it
    python tools/rivals_small_k.py --certify                          against the end of certify(seconds=30)

A loss is a variance below that of another method by more than 1e-9, relatively. The rivals are all methods that accept
the data, refitted, and truncated power steps from every feature on the Gram matrix, up to EVERY_COORDINATE features.
What rivals find does not change with the default: it is stored in tools/.cache and not computed again.
Writes tools/results/rivals_small_k.txt or certify_small_k.txt. Data: the folder that RSPCA_DATA names.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "benchmarks"))

from common import data, machine  # noqa: E402

import rspca  # noqa: E402
from rspca.algorithm.normalize import NORMALIZATIONS  # noqa: E402
from rspca.base.checks import TooLarge  # noqa: E402
from rspca.formats import read_plink  # noqa: E402
from rspca.operators.convert import prepare  # noqa: E402

KS = (2, 3, 5, 10, 20, 50)
LOSS = 1e-9
EVERY_COORDINATE = 8000
"""Features up to which truncated power steps start from every one of them: the Gram matrix has their square."""
RIVALS = [name for name in rspca.METHODS if name not in ("rspca", "pca")]
EXPRESSION = ("alon", "golub", "gordon", "khan", "lymphoma")
PLINK = {
    "hapmap3": ("hapmap3_flashpca", "data.bed"),
    "euro": ("hgdp_euro", "H938_Euro.LDprune.bed"),
}
Case = tuple[Any, dict[str, Any]]


def all_sets() -> dict[str, Callable[[], Case]]:
    """Return name -> loader of (data, options of decompose)."""
    genotypes = {"center": True, "scale": "patterson"}
    sets: dict[str, Callable[[], Case]] = {}
    for name, path in PLINK.items():
        for chromosome in range(1, 23):
            sets[f"{name}:{chromosome}"] = lambda path=path, c=chromosome: (
                rspca.read(data.data_path(*path), chromosomes=c),
                genotypes,
            )
    zipped = ("hapmap_snprelate", "plinkhapmap.bed.gz")  # which cannot be mapped: read into memory, float32
    for chromosome in range(1, 23):
        sets[f"snprelate:{chromosome}"] = lambda c=chromosome: (
            read_plink(data.data_path(*zipped), chromosome=c).matrix,
            genotypes,
        )
    sets["snprelate"] = lambda: (data.hapmap_snprelate(), genotypes)
    sets["hgdp22"] = lambda: (data.hgdp_world_chr22(), genotypes)
    sets |= {name: (lambda name=name: (data.gene_expression(name), {})) for name in EXPRESSION}
    sets["chowdary"] = lambda: (data.chowdary(), {})
    sets["kos"] = lambda: (data.kos(), {})
    sets["classic2"] = lambda: (data.classic2(), {"center": False})
    sets |= {name: (lambda path=path: (rspca.read(data.data_path(*path)), genotypes)) for name, path in PLINK.items()}
    return sets


class Stored:
    """Results of rivals on disk, one JSON line each."""

    def __init__(self, path: Path) -> None:
        self.path, self.known = path, {}
        path.parent.mkdir(exist_ok=True)
        if path.exists():
            self.known = {tuple(row[:3]): row[3] for row in map(json.loads, path.read_text().splitlines())}

    def get(self, key: tuple[str, int, str], compute: Callable[[], float | None]) -> float | None:
        if key not in self.known:
            self.known[key] = compute()
            with self.path.open("a") as lines:
                lines.write(json.dumps([*key, self.known[key]]) + "\n")
        return self.known[key]


def rivals(name: str, X: Any, k: int, options: dict[str, Any], stored: Stored) -> dict[str, float]:
    """Return what each rival reaches; methods that refuse the data, or find more than k features, are left out."""

    def variance_of(method: str) -> float | None:
        try:
            found = rspca.decompose(X, 1, k=k, method=method, random_state=0, **options).components[0]
        except TooLarge:
            return None
        return found.variance if len(found.support) <= k else None

    values = {method: stored.get((name, k, method), lambda method=method: variance_of(method)) for method in RIVALS}
    if X.shape[1] <= EVERY_COORDINATE:
        values["every coordinate"] = stored.get((name, k, "every coordinate"), lambda: from_every_one(X, k, options))
    return {method: value for method, value in values.items() if value is not None}


def from_every_one(X: Any, k: int, options: dict[str, Any]) -> float:
    """Return the best end of truncated power steps from every feature, refitted; nothing of the default is used."""
    op = prepare(X, center=options.get("center", True), scale=options.get("scale", False))
    A = op.gram_block(np.arange(op.shape[1]))
    best, support = 0.0, np.arange(k)
    for first in range(0, len(A), 512):
        moving, ends, before = A[first : first + 512], [], np.zeros((0, k))
        for step in range(100):  # rows of `moving` are Av; those whose support stays have ended
            places = np.sort(np.argpartition(-np.abs(moving), k - 1, axis=1)[:, :k], axis=1)
            stays = (places == before).all(axis=1) if step else np.zeros(len(places), dtype=bool)
            ends.append(places[stays])
            places, values = places[~stays], np.take_along_axis(moving[~stays], places[~stays], axis=1)
            if not len(places):
                break
            values /= np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-300)
            steps = np.arange(0, places.size + 1, k)
            moving = scipy.sparse.csr_array((values.ravel(), places.ravel(), steps), (len(places), len(A))) @ A
            before = places
        supports = np.unique(np.vstack([*ends, places]), axis=0)
        values = np.linalg.eigvalsh(A[supports[:, :, None], supports[:, None, :]])[:, -1]
        if values.max() > best:
            best, support = float(values.max()), supports[int(np.argmax(values))]
    scores = op.scores(support, NORMALIZATIONS["svd"](op, support, np.ones(k)))  # as the variance of a component is
    return float(scores @ scores)


class Lines:
    """Prints lines and writes them to tools/results."""

    def __init__(self, name: str) -> None:
        self.path, self.lines = HERE / "results" / name, list[str]()
        self.path.parent.mkdir(exist_ok=True)
        self(f"machine: {machine()}")

    def __call__(self, line: str = "") -> None:
        print(line, flush=True)
        self.lines.append(line)
        self.path.write_text("\n".join(self.lines) + "\n")


def chosen_sets(wanted: list[str] | None) -> Iterator[tuple[str, Callable[[], Case]]]:
    """Yield the sets asked for: a name, or the part of it before the colon followed by ':'."""
    for name, load in all_sets().items():
        if wanted is None or name in wanted or name.partition(":")[0] + ":" in wanted:
            yield name, load


def against_rivals(wanted: list[str] | None, ks: list[int], seeds: int, say: Lines) -> int:
    """Compare, print a line for each set and k, and return the losses."""
    stored = Stored(HERE / ".cache" / "rivals_small_k.jsonl")
    say(f"Variance of the default over that of the best rival, less one: least of {seeds} seeds; seconds of one fit")
    say(f"{'set':<14}{'samples':>8}{'features':>9}{'k':>4}{'least':>10}{'best rival':>18}{'seconds':>9}")
    losses = cases = 0
    for name, load in chosen_sets(wanted):
        X, options = load()
        for k in ks:
            if k > X.shape[1]:
                continue
            theirs = rivals(name, X, k, options, stored)
            rival = max(theirs, key=theirs.__getitem__)
            began = time.perf_counter()
            ours = [
                rspca.decompose(X, 1, k=k, random_state=seed, **options).components[0].variance for seed in range(seeds)
            ]
            seconds = (time.perf_counter() - began) / seeds
            gain = min(ours) / theirs[rival] - 1.0
            cases, losses = cases + 1, losses + (gain < -LOSS)
            mark = "  LOSS" if gain < -LOSS else ""
            spread = max(ours) / min(ours) - 1.0
            mark += f"  seeds differ by {spread:.1e}" if spread > LOSS else ""
            shape = f"{X.shape[0]:>8}{X.shape[1]:>9}"
            say(f"{name:<14}{shape}{k:>4}{gain:>+10.1e}{rival:>18}{seconds:>9.3f}{mark}")
    say(f"\nlosses beyond {LOSS:g}: {losses} of {cases}")
    return losses


def against_certificates(wanted: list[str] | None, ks: list[int], seconds: float, say: Lines) -> int:
    """Compare the default with what certify ends with, and return how often it is below a proven optimum."""
    default = [*(f"hapmap3:{c}" for c in range(1, 23)), "hgdp22", *EXPRESSION, "chowdary"]
    say(f"Variance of the default over the end of certify(seconds={seconds:g}), less one")
    say(f"{'set':<14}{'k':>4}{'default':>10}  {'status':<9}{'gap':>9}{'seconds':>9}")
    below = proven = cases = 0
    for name, load in chosen_sets(wanted or default):
        X, options = load()
        for k in ks:
            ours = rspca.decompose(X, 1, k=k, random_state=0, **options).components[0].variance
            proof = rspca.certify(X, k, seconds=seconds, **options)
            gain, optimal = ours / proof.lower - 1.0, proof.status == "optimal"
            cases, proven, below = cases + 1, proven + optimal, below + (optimal and gain < -LOSS)
            mark = ("  BELOW" if optimal else "  below, not proven") if gain < -LOSS else ""
            gap = proof.upper / proof.lower - 1.0
            say(f"{name:<14}{k:>4}{gain:>+10.1e}  {proof.status:<9}{gap:>9.1e}{proof.seconds:>9.1f}{mark}")
    say(f"\nbelow a proven optimum by more than {LOSS:g}: {below} of {proven} proven, {cases} in all")
    return below


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", nargs="+", help="names such as alon or hapmap3:9; 'hapmap3:' is every chromosome")
    parser.add_argument("--ks", nargs="+", type=int)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--certify", action="store_true", help="compare with the end of certify instead")
    parser.add_argument("--seconds", type=float, default=30.0, help="time of each proof")
    parser.add_argument("--out", help="name of the file in tools/results")
    chosen = parser.parse_args()
    if chosen.certify:
        say = Lines(chosen.out or "certify_small_k.txt")
        sys.exit(against_certificates(chosen.sets, chosen.ks or [5, 10], chosen.seconds, say) > 0)
    say = Lines(chosen.out or "rivals_small_k.txt")
    sys.exit(against_rivals(chosen.sets, chosen.ks or list(KS), chosen.seeds, say) > 0)


if __name__ == "__main__":
    main()
