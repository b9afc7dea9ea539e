"""Sentences with numbers on pages that have few of them, from the results of benchmarks and campaigns."""

from __future__ import annotations

import math
import re
from pathlib import Path

from reading import ROOT, matched, paragraph, result, with_numbers

DOCS = ROOT / "docs"


def joint_certificates() -> str:
    """Return the gaps of docs/several.md."""
    found = re.findall(r"^(\w+) +(\d+ x \d+) orthogonal +[\d.]+ +[\d.]+ +([\d.]+) ", result("joint_certificates"), re.M)
    gaps = [float(gap) for *_, gap in found]
    seconds = matched(r"^Sets of components with at most (\d+) s for a proof", "joint_certificates")[0]
    tables = len({name for name, *_ in found})
    return paragraph(
        f"""`benchmarks/joint_certificates.py` prints gaps of {min(gaps):.1f} to {_rounded_up(max(gaps))} % for
        {len(found)} orthogonal sets of {tables} data sets, with at most {seconds} s each. The bounds are described
        under [Certificates](certificates.md)."""
    )


def _rounded_up(percent: float) -> str:
    """Return a bound with one digit, never below it."""
    return f"{math.ceil(10.0 * percent) / 10.0:.1f}"


def joint_gains() -> str:
    """Return what joint components gain, for docs/several.md."""
    part = result("joint").partition("gain of the joint ascent")[2]
    gains = sorted(float(gain) for gain in re.findall(r"^\S.* ([\d.]+) % +[\d.]+ s of", part, re.M))
    return paragraph(
        f"""On {len(gains)} data sets, five components of 20 features (or a quarter of them) gain between {gains[0]:.1f}
        and {gains[-1]:.1f} % by `joint=True`, and {gains[len(gains) // 2]:.1f} % in the median
        (`benchmarks/joint.py`, `benchmarks/results/joint.txt`)."""
    )


def memory_of_readers() -> str:
    """Return the memory that readers take beyond their limit, for docs/files.md."""
    limit, size = matched(r"^max_memory (\d+) MB, data of about (\d+) MB", "readers")
    lines = re.findall(r"^(\S.*?) +(\w+) +(\S+) +\d+ +(\d+) ", result("readers"), re.M)
    beyond = {name: int(over) for name, *_, over in lines}
    wide = beyond.pop("vcf zarr, wide")
    assert all(same == "same" for _, same, *_ in lines), "readers give other supports than the dense matrix"
    difference = max(float(difference) for _, _, difference, _ in lines)
    loadings = f"and loadings differ by at most {difference:.0e}" if difference else "with the same loadings"
    return paragraph(
        f"""Measured with `max_memory="{limit}MB"` on data of {size} MB: {min(beyond.values())} to
        {max(beyond.values())} MB beyond the limit for stores of AnnData, 10x files, dosages and VCF Zarr with 10,000
        features, {wide} MB with 100,000 features; supports are those of the dense matrix, {loadings}
        (`benchmarks/readers.py`, `benchmarks/results/readers.txt`)."""
    )


def suggested_k() -> str:
    """Return how often the path suggests the planted k, for docs/choosing-k.md."""
    pattern = r"^path: strength {}, {}: median ([\d.]+) \(30\), (\d+) of (\d+) within 20 to 45"
    strong, weak, strong_finer, weak_finer = (
        matched(pattern.format(strength, grid), "is_it_real") for grid in ("its k", "20 k") for strength in (20, 10)
    )
    inside, sets = (sum(int(found[place]) for found in (strong, weak, strong_finer, weak_finer)) for place in (1, 2))
    return paragraph(
        f"""Over {strong[2]} data sets of each kind (`tools/is_it_real.py`), the median of the suggestions is
        {strong[0]} for the strong signal and {weak[0]} for the weak one, and on a grid of twenty `k` that are closer
        together {strong_finer[0]} and {weak_finer[0]}; the true `k` is 30. Of all {sets} suggestions {inside} are
        between 20 and 45."""
    )


def tests_of_noise() -> str:
    """Return how often tests and halves are right on simulated data, for docs/statistics.md."""
    right, seeds = matched(r"^spikes: 3 suggested in (\d+) of (\d+)", "is_it_real")
    silent, noises = matched(r"^noise: 0 suggested in (\d+) of (\d+)", "is_it_real")
    wrong, bound = matched(r"^stability: strength 0, k = 10: ([\d.]+) features .* \(at most ([\d.]+)\)", "is_it_real")
    return paragraph(
        f"""On simulated data (`tools/is_it_real.py`) the test finds three planted components in {right} of {seeds}
        sets, and at level 0.05 none in {silent} of {noises} sets of noise. In noise, {wrong} features have a
        stability of at least 0.9 on average, where the bound allows {bound}."""
    )


def fuzzed() -> str:
    """Return the size of the fuzzing campaign and its crashes, for docs/reliability_input.md."""
    pattern = r"^in all ([\d,]+) inputs, .* (\d+) crashes? of \d+ kinds?, ([\d.]+) CPU minutes"
    inputs, crashes, minutes = matched(pattern, "fuzz")
    return paragraph(
        f"""In all, {inputs} damaged inputs were tried in {minutes} CPU minutes, and {crashes} of them crashed;
        `tools/results/fuzz.txt` names the kinds."""
    )


def kills() -> str:
    """Return what kills left behind, for docs/reliability_faults.md."""
    count, finished = matched(r"^kills: (\d+); fits finished after them: (\d+), each bit for bit", "kills")
    lost, corrupt = (
        matched(pattern, "kills")[0]
        for pattern in (r"reported and lost: (\d+)$", r"^corrupt or incomplete files in place of results: (\d+)$")
    )
    return paragraph(
        f"""After {count} kills {corrupt} files were corrupt and {lost} reported components lost, and the {finished}
        finished fits were identical (`tools/results/kills.txt`)."""
    )


def pages() -> dict[Path, str]:
    """Return these pages with their numbers as they are now."""
    sentences = {
        "several": (joint_gains, joint_certificates),
        "choosing-k": (suggested_k,),
        "files": (memory_of_readers,),
        "statistics": (tests_of_noise,),
        "reliability_input": (fuzzed,),
        "reliability_faults": (kills,),
    }
    paths = {DOCS / f"{name}.md": written for name, written in sentences.items()}
    return {path: with_numbers(path, *(sentence() for sentence in written)) for path, written in paths.items()}
