"""The numbers of docs/scale.md in words and tables, from benchmarks/results/scale.txt."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from reading import ROOT, markdown, matched, paragraph, result, with_numbers

from rspca.algorithm.budgets import SWAP_MAX_PAIRS
from rspca.algorithm.polish import swaps_affordable

PAGE = ROOT / "docs" / "scale.md"
PRODUCTS = {"X'u": "X'u", "X v": "Xv", "X'U, 8": "X'U, 8 columns"}
NAMES = {
    "make_genotypes 1000x20000": "simulated, 1,000 × 20,000",
    "HapMap3 957x14389": "HapMap3, 957 × 14,389",
    "HGDP, Europeans 156x66147": "HGDP Europeans, 156 × 66,147",
}
NUMBER, WITH_PASSES = r"\s+([\d.]+)", r"\s+([\d.]+(?: \(\d+\))?)"
SPEEDUP = r"(\d[\d.]*) s, ([\d.]+) x plink2 --pca 1 approx .*?; ([\d.]+) passes; (\d+) MB"


def products() -> str:
    rows = []
    for name, label in PRODUCTS.items():
        *_, single, double, memory = matched(rf"^{name}{6 * NUMBER}$", "scale")
        rows.append((label, single, double, f"1/{round(1 / float(memory))}"))
    return markdown(("Product", "packed float32 / BLAS", "packed float64 / BLAS", "memory"), rows)


def one_component() -> str:
    (_, single, single_passes, single_mb), (_, double, passes, mb) = (
        matched(rf"^{dtype}: {SPEEDUP}", "scale") for dtype in ("float32", "float64")
    )
    first, later = matched(r"^kernels: ([\d.]+) s to compile the first time on a machine, ([\d.]+) s", "scale")
    return paragraph(
        f"""One polished component of 1,875 of these SNPs, Patterson scaled, from opening the file to the loadings,
        took {double} of the time of `plink2 --pca 1 approx` on the same file, {passes} passes and {mb} MB of memory
        beyond the interpreter with its imports; with products in float32 {single}, {single_passes} passes and
        {single_mb} MB. plink2 finds a dense component, and its approximate mode is meant for more than 5,000
        samples. Kernels took {first} s to compile the first time, and {later} s to load afterwards."""
    )


def routes() -> str:
    rows = []
    for name, label in NAMES.items():
        _, float64, _, *others = matched(rf"^{name}{NUMBER}{8 * WITH_PASSES}\s*$", "scale")
        rows.append((label, float64, *others))
    return markdown(("Data", "float64", "packed", "blocks", "cluster", "svds", "sklearn PCA", "plink2"), rows)


def streamed() -> str:
    gigabytes = matched(r"mapped float32 file of ([\d.]+) GB", "scale")[0]
    option = "" if gigabytes == "2" else f" (`--gigabytes {gigabytes}`)"
    sklearn = matched(r"these: (\d+) x our time", "scale")[0]
    ratio, memory = matched(r"s a pass, ([\d.]+) x plainly reading it .*RssAnon at most (\d+) MB", "scale")
    return paragraph(
        f"""A file of {gigabytes} GB{option} in float32, with `max_memory="500MB"` and the system's cache dropped before
        each pass: a fused pass took {ratio} of the time of plainly reading the file, with at most {memory} MB of
        anonymous memory. Two worker processes took {cluster()} times as long for X'(Xv) on 5,000 × 160,000
        genotypes as one process with two threads. scikit-learn's `SparsePCA` took {sklearn} times as long as ours
        on 400 × 2,000 genotypes."""
    )


def cluster() -> str:
    return matched(r"ms against \d+ ms: ([\d.]+) x", "scale")[0]


def growth() -> str:
    lines = re.findall(r"^([nm]) = \[(.*)\]: \[(.*)\] s, slope ([\d.]+)$", result("scale"), re.MULTILINE)
    fixed = {"n": "m = 1,000", "m": "n = 10,000"}
    tables = [
        markdown(
            (f"{axis}, at {fixed[axis]}", *(f"{int(size):,}" for size in sizes.split(", "))),
            [("seconds", *seconds.split(", "))],
        )
        for axis, sizes, seconds, _ in lines
    ]
    over_n, over_m = (slope(axis, sizes, seconds) for axis, sizes, seconds, _ in lines)
    said = paragraph(
        f"""For packed genotypes and `k` = 5 % of n, time grows as n to the power {over_n} and as m to the power
        {over_m}. {swaps_apart(lines[0][1])}"""
    )
    return "\n\n".join([said, *tables])


def examines_swaps(axis: str, size: int) -> bool:
    """Return whether a fit of k = 5 % of n examines all single swaps; the other axis has n = 10,000."""
    n = size if axis == "n" else 10_000
    return swaps_affordable(n // 20, n)


def swaps_apart(sizes: str) -> str:
    """Say which values of n are left out of the power, and why they take longer than larger ones."""
    apart = [int(size) for size in sizes.split(", ") if examines_swaps("n", int(size))]
    if not apart:
        return ""
    n = apart[-1]
    k = n // 20
    return f"""The power over n is that of the sizes above {n:,}. At n = {n:,} the fit does one thing more: it compares
        the support with all {k * (n - k):,} that differ in one feature, which takes the products of its {k} columns
        with X. It does so for up to {SWAP_MAX_PAIRS:,} such supports; larger fits leave this step out."""


def slope(axis: str, sizes: str, seconds: str) -> str:
    """Return the power of growth: the slope on logarithmic axes, over fits that do not examine all single swaps."""
    pairs = zip(map(int, sizes.split(", ")), map(float, seconds.split(", ")), strict=True)
    x, y = np.log([pair for pair in pairs if not examines_swaps(axis, pair[0])]).T
    return f"{np.polyfit(x, y, 1)[0]:.2f}"


def measured() -> str:
    return f"""Packed genotypes, 2,500 × 37,493, against float32 BLAS on the unpacked matrix, both cores:

{products()}

{one_component()}

One component at k = 5 % of n, time over that of dense float32, and passes in brackets; svds, PCA and plink2 find one
dense component:

{routes()}

{streamed()}

{growth()}"""


def same_loadings() -> str:
    """Say how packed genotypes agree with dense ones."""

    def compared(one: str, other: str) -> tuple[bool, float, str]:
        same, differences, ratios = matched(
            rf"^{one}, {other}: same supports \[(.*)\], largest differences of loadings (.*),\n"
            r" +variance / variance (.*)$",
            "scale",
        )
        return "False" not in same, max(float(number) for number in differences.split(", ")), ratios

    double, single, dense = (
        compared(*pair) for pair in (("packed f8", "dense f8"), ("packed f4", "dense f8"), ("packed f4", "dense f4"))
    )
    agree = "the same" if dense[0] else "other"
    return paragraph(
        f"""On HapMap3 (k = 100, three components) packed genotypes give {"the" if double[0] else "other"} supports
        {"of" if double[0] else "than"} dense float64 data, with loadings that differ by at most {double[1]:.0e}; in
        single precision {"the same supports" if single[0] else "other supports"}, and loadings that differ by at
        most {single[1]:.0e}. Dense float32 data end in {agree} supports; variances in single precision over those
        are {dense[2]}."""
    )


def plan() -> str:
    speed, passes, minutes = matched(
        r"At ([\d.]+) billion genotypes a\nsecond and core, a component of (\d+) passes takes (\d+) core-min", "scale"
    )
    rows = re.findall(r"^(\d+) +(\d+) +([\d.]+)$", result("scale"), re.MULTILINE)
    table = markdown(
        ("Workers of 8 cores", "Memory each", "Minutes for a component"),
        ((workers, f"{gigabytes} GB", minutes) for workers, gigabytes, minutes in rows),
    )
    said = paragraph(
        f"""125 GB packed. At the measured {speed} billion genotypes a second and core, a component of {passes}
        passes takes {minutes} core-minutes of products. Times the measured {cluster()} for a cluster:"""
    )
    return f"{said}\n\n{table}"


def page() -> tuple[Path, str]:
    """Return docs/scale.md with its numbers as they are now."""
    return PAGE, with_numbers(PAGE, measured(), same_loadings(), plan())
