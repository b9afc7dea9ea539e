"""Look for false proofs: certify hard small data and compare with every support, in exact arithmetic.

python tools/false_proofs.py                      55,000 certificates, both cores: about half an hour
python tools/false_proofs.py --cases 2000 --first 90000     other seeds
python tools/false_proofs.py --tall --cases 3000  data with up to 100 samples, and several components found in turn
python tools/false_proofs.py --samples --cases 3000         samples with weights and covariates; also with --tall
Prints what was wrong, if anything, and the figures by family; exit 1 if a bound was false.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "benchmarks")]

from common import machine  # noqa: E402
from support.exact_cases import check_case, check_fit, exact_case  # noqa: E402


def examined(seed: int, *, of_samples: bool = False) -> tuple[int, str, list[str], int, int]:
    """Return the seed, its family, what was wrong, and how many certificates, and how many of them "optimal"."""
    family = exact_case(seed, of_samples=of_samples).family
    try:
        results = check_case(seed, of_samples=of_samples)
    except Exception as error:
        return seed, family, [f"{type(error).__name__}: {error}"], 0, 0
    return seed, family, [one.wrong for one in results if one.wrong], len(results), sum(one.optimal for one in results)


def examined_tall(seed: int, *, of_samples: bool = False) -> tuple[int, str, list[str], int, int]:
    """Return the same of tall data, for every k and for components found one after another."""
    family = exact_case(seed, tall=True, of_samples=of_samples).family
    try:
        results = check_case(seed, tall=True, of_samples=of_samples) + check_fit(seed, of_samples=of_samples)
    except Exception as error:
        return seed, family, [f"{type(error).__name__}: {error}"], 0, 0
    return seed, family, [one.wrong for one in results if one.wrong], len(results), sum(one.optimal for one in results)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=12_000, help="data sets; each is certified for every k")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--tall", action="store_true", help="more samples than features")
    parser.add_argument("--samples", action="store_true", help="with weights and covariates of samples")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, default=ROOT / "tools" / "results" / "false_proofs.txt")
    options = parser.parse_args()
    began, lines, wrong = time.time(), list[str](), 0
    certificates, optimal, families = 0, 0, Counter[str]()

    def say(line: str) -> None:
        print(line, flush=True)
        lines.append(line)

    say(f"machine: {machine()}")
    seeds = range(options.first, options.first + options.cases)
    with ProcessPoolExecutor(options.processes) as pool:
        for seed, family, findings, count, proven in pool.map(
            partial(examined_tall if options.tall else examined, of_samples=options.samples), seeds, chunksize=20
        ):
            certificates, optimal = certificates + count, optimal + proven
            families[family] += count
            for finding in findings:
                wrong += 1
                say(f"seed {seed}, {family}: {finding}")
    say(f"seeds {seeds.start} to {seeds.stop - 1}: {certificates} certificates, {optimal} of them optimal")
    say(f"wrong: {wrong}")
    for family, count in sorted(families.items()):
        say(f"  {family:<40} {count:>6}")
    print(f"{time.time() - began:.0f} s")
    options.out.parent.mkdir(exist_ok=True)
    options.out.write_text("\n".join(lines) + "\n")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
