"""Write docs/performance.md, and the numbers of the README and other pages, from benchmarks/results.

    python tools/page.py

Nothing is measured here: run the benchmark first. A test holds all pages against what this script writes.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import page_comparison
import page_reliability
import page_scale
import page_sentences
import page_text
import page_users
from reading import ROOT, machine, markdown, matched, paragraph, result, with_numbers

PAGE = ROOT / "docs" / "performance.md"
README = ROOT / "README.md"
CERTIFICATES = ROOT / "docs" / "certificates.md"
DEFLATION = ROOT / "docs" / "deflation.md"

NAMES = {
    "Classic-2, sparse": "Classic-2, text, sparse, 2,858 × 12,427",
    "Chowdary, float64": "Chowdary, gene expression, float64, 104 × 22,215",
    "HapMap3, float32": "HapMap3, genotypes, float32, 957 × 14,389",
    "genotypes, float32": "simulated genotypes, float32, 2,500 × 37,493",
}
USERS_NAMES = {
    "Classic-2, sparse": "Classic-2",
    "Chowdary, float64": "Chowdary",
    "HapMap3, float32": "HapMap3",
    "genotypes, float32": "simulated genotypes",
}
"""Beginnings of the names of the same data in users.csv."""
SHOWN = {"hapmap3": "HapMap3, genotypes", "hgdp_euro": "HGDP Europe, genotypes", "classic2": "Classic-2, text",
         "chowdary": "Chowdary, gene expression"}  # fmt: skip


def columns(text: str, width: int) -> list[list[str]]:
    """Return the lines that are a name, two spaces or more, and so many numbers."""
    numbers = r"\s+([-+\d.e]+)" * width
    return [list(m.groups()) for m in re.finditer(rf"^(\S.*?)\s{numbers}\s*$", text, re.MULTILINE)]


def first_component() -> dict[str, list[list[str]]]:
    """Time over svds, passes and the like of each data set, by increasing k."""
    found: dict[str, list[list[str]]] = {}
    for name, *rest in columns(result("speed"), 10):
        found.setdefault(name, []).append(rest)
    assert list(found) == list(NAMES), "speed.txt has other data sets than this page"
    return found


def second_component() -> dict[str, list[list[str]]]:
    found: dict[str, list[list[str]]] = {}
    for name, *rest in columns(result("speed").partition("Two components")[2].partition("Growth")[0], 4):
        found.setdefault(name, []).append(rest)
    return found


def speed_table() -> str:
    second = second_component()
    head = ("one polished, refitted component", "time over svds at k = 1 %, 5 %, 20 % of n",
            "at rest", "with one BLAS thread", "passes over X", "second component over first")  # fmt: skip
    rows = (
        (NAMES[name], *(", ".join(r[column] for r in rows) for column in (IN_TURN, AT_REST, ONE_THREAD, PASSES)),
         ", ".join(r[1] for r in second[name]))
        for name, rows in first_component().items()
    )  # fmt: skip
    return markdown(head, rows)


IN_TURN, AT_REST, ONE_THREAD, PASSES = 1, 2, 3, 6
"""Columns of a row of `first_component`: time over svds, in turn, after a pause and with one BLAS thread; passes."""


def against_svds() -> str:
    """Say in words how the time compares with that of svds."""
    usual, one_thread = (
        [float(r[way]) for rows in first_component().values() for r in rows] for way in (IN_TURN, ONE_THREAD)
    )
    faster, faster_in_one = (sum(ratio <= 1.0 for ratio in ratios) for ratios in (usual, one_thread))
    return (
        f"rspca takes no more time than svds in {faster} of {len(usual)} cases, and at most {max(usual)} times "
        f"as much; with one BLAS thread in {faster_in_one} cases, and at most {max(one_thread)} times as much."
    )


def two_references() -> str:
    """Return the fits that two benchmarks measure, with both references of each."""
    head = ("k = 1 % of n", "`speed.py`: rspca, svds", "ratio", "at rest", "one thread",
            "`users.py`: rspca, svds", "ratio", "one thread")  # fmt: skip
    rows, apart, apart_in_one = [], 0.0, 0.0
    for name, label in NAMES.items():
        k, ratio, at_rest, one_thread, ms, svds_ms, *_ = first_component()[name][0]
        line = page_users.one_component(USERS_NAMES[name], k)
        other, other_in_one = float(line["ratio"]), float(line["one_thread"])
        rows.append(
            (label.partition(",")[0], f"{ms} ms, {svds_ms} ms", ratio, at_rest, one_thread,
             f"{float(line['ms']):.1f} ms, {float(line['over_ms']):.1f} ms", f"{other:.2f}", f"{other_in_one:.2f}")
        )  # fmt: skip
        apart += abs(math.log(other / float(ratio)))
        apart_in_one += abs(math.log(other_in_one / float(one_thread)))
    closer = "With one BLAS thread nothing spins, and the two benchmarks agree better." if apart_in_one < apart else ""
    words = f"""The fits of 1 component, k = 1, 5 or 20 %, are those of the section above. Their ratios differ, because
        svds is given something else. In `benchmarks/speed.py` it has an operator that subtracts the means in every
        product, as rspca does, so that no centered copy of X is made. In `benchmarks/users.py` it has a centered
        copy of dense data, made before the clock starts: svds is then faster, and needs memory for the copy. Of
        sparse data it has an operator in both. In both, rspca runs right after svds, whose BLAS threads still spin;
        only "at rest" follows a pause. {closer} Each benchmark is a run of its own, so
        times differ a little anyway."""
    return f"{paragraph(words)}\n\n{markdown(head, rows)}"


def slopes() -> list[str]:
    """Return the powers of growth over n and over m."""
    found = re.findall(r"^([nm]) = \[(.*)\]: \[(.*)\] ms, slope", result("speed"), re.MULTILINE)
    return [page_scale.slope(axis, sizes, times) for axis, sizes, times in found]


def quality() -> list[tuple[str, list[tuple[int, float, str]]]]:
    """Return for each data set k, how much more variance rspca has than the best other method, and its name."""
    found = []
    for line in result("rivals").splitlines():
        cells = re.findall(r"k=(\d+): ([-+][\d.e+-]+) \(([\w-]+)\)", line)
        if cells:
            found.append((line.split()[0], [(int(k), float(more), rival) for k, more, rival in cells]))
    return found


def gain(more: float) -> str:
    if abs(more) < 1e-9:
        return "0"
    return f"{100 * more:+.2g} %" if abs(more) >= 1e-5 else f"{more:+.0e}".replace("e-0", "e-")


def losses() -> list[str]:
    """Return where another method has more variance, by how much, and its name."""
    return [
        f"{gain(-more).lstrip('+')} more on {name} at k = {k} ({rival})"
        for name, cells in quality()
        for k, more, rival in cells
        if more < -1e-9
    ]


def below_maxcomp() -> str:
    return matched(r"below MaxComp with refit: (\d+)", "rivals")[0]


def quality_table(names: dict[str, str]) -> str:
    rows = {name: cells for name, cells in quality() if name in names}
    head = ["more variance than the best other method", "k = 20", "1 %", "5 %", "20 % of the features"]
    return markdown(head, ((label, *(gain(more) for _, more, _ in rows[name])) for name, label in names.items()))


def packages() -> str:
    """Return other packages at k = 1 % of n as a table."""
    rows, known = [], {name: label.partition(",")[0] for name, label in NAMES.items()}
    for line in result("speed_rivals").splitlines():
        name = next((name for name in known if line.startswith(name)), None)
        if name is None:
            continue
        package, _, outcome = line[len(name) :].strip().partition(" ")
        rows.append((known[name], package, shortened(outcome.strip())))
    return markdown(("data", "package", "time, non-zeros, share of the variance of one dense component"), rows)


def shortened(outcome: str) -> str:
    if "dense data is required" in outcome:
        return "refuses sparse data"
    return outcome.replace("died without a word", "the process died")


def certified() -> list[tuple[str, int, float, float]]:
    """Return name, k, gap and CPU seconds of each certified problem."""
    lines = [line for line in result("certificates").splitlines() if re.search(r"gap <= |reported only", line)]
    cells = [re.split(r"\s{2,}", line) for line in lines]
    return [(name, int(k), float(gap), float(seconds)) for name, k, _, gap, _, seconds, *_ in cells]


CERTIFIED = {
    "pitprops": "Pit props, 13 correlations",
    "normArrhythmia": "Arrhythmia, correlations",
    "make_hadamard()": "`make_hadamard()`, 128 × 4,096",
    "Classic-2": "Classic-2, 2,858 × 12,427",
    "HapMap3, Patterson": "HapMap3, Patterson scaled, 957 × 14,389",
}


def certified_groups() -> dict[str, list[tuple[str, int, float, float]]]:
    """Return the certified problems of each row of the summary."""
    found = {label: [row for row in certified() if row[0] == name] for name, label in CERTIFIED.items()}
    others = [row for row in certified() if row[0] not in CERTIFIED]
    return found | {f"{len({row[0] for row in others})} other covariance and correlation matrices": others}


def certificates() -> str:
    proven = sum(gap <= 1e-6 for _, _, gap, _ in certified())
    return (
        f"Of {len(certified())} problems {proven} are proven optimal, to a gap of 1e-6{slower_than_asked()}. "
        "[Certificates](certificates.md) has a summary, `benchmarks/results/certificates.txt` the whole table."
    )


def slower_than_asked() -> str:
    """Name the problems that take more CPU time than was asked for, if there are any."""
    found = re.findall(r"^(\S.*?) +(\d+) .* ([\d.]+)  gap <= \S+, <= (\d+) s  MISSED$", result("certificates"), re.M)
    named = "; ".join(f"{name}, `k` = {k}: {seconds} CPU seconds for {limit}" for name, k, seconds, limit in found)
    return f", all but {len(found)} in the time that was asked for ({named})" if found else ""


def certificates_summary() -> str:
    """Return the table and the two sentences of docs/certificates.md."""
    rows = []
    for label, problems in certified_groups().items():
        ks = sorted({k for _, k, _, _ in problems})
        shown = f"{ks[0]} to {ks[-1]}" if len(ks) > 3 else ", ".join(f"{k:,}" for k in ks)
        proven = sum(gap <= 1e-6 for _, _, gap, _ in problems)
        largest, slowest = max(gap for _, _, gap, _ in problems), max(seconds for *_, seconds in problems)
        gap = f"{100 * largest:.1f} %" if largest > 1e-6 else "at most 1e-6"
        rows.append((label, shown, f"{proven} of {len(problems)}", gap, f"{slowest:.2f}"))
    k = matched(r"^Classic-2, every k from 1 proven optimal in one minute up to k = (\d+)", "certificates")[0]
    gap, seconds, memory = matched(
        r"^make_genotypes\(2500, 37493\).*gap ([\d.]+) %.*, (\d+) CPU s, peak memory ([\d.]+) GB", "certificates"
    )
    words = f"""On Classic-2 every `k` up to {k} is proven optimal in one minute. For 2,500 × 37,493 simulated genotypes
        in float32 and `k` = 2000, the gap is {gap} % after {seconds} CPU seconds, with a peak memory of {memory} GB."""
    head = ("data", "k", "proven optimal", "largest gap", "CPU seconds at most")
    return f"{markdown(head, rows)}\n\n{paragraph(words)}"


def one_published_optimum() -> str:
    """Say which published optimum is not the optimum."""
    found = matched(r"^normArrhythmia +5 +([\d.]+) ", "certificates")[0]
    return paragraph(
        f"""All published optima for these matrices are confirmed (`tests/test_published_values.py`), except one: for
        the correlations of the arrhythmia data, `k` = 5, the literature has 4.2321; the optimum is {found}."""
    )


DEFLATED = {"classic2": "Classic-2, text", "pitprops": "pit props", "normMiniBooNE": "MiniBooNE, correlations"}
ADJUSTED, SUBSPACE, SUM = 0, 1, 2


def deflations() -> str:
    """Return the table and the sentence of docs/deflation.md."""
    found: dict[str, dict[str, list[str]]] = {}
    pattern = r"^(\S+) +(schur|projection|orthogonal|hotelling)" + r" +([\d.]+)" * 5 + "$"
    for name, scheme, *numbers in re.findall(pattern, result("quality"), re.MULTILINE):
        found.setdefault(name, {})[scheme] = numbers
    head = ("data", "scheme", "adjusted", "subspace", "plain sum", "largest cosine of two components", "of two scores")
    rows = [
        (label, scheme, *numbers) for name, label in DEFLATED.items() for scheme, numbers in found[name].items()
    ]  # fmt: skip

    def share(name: str, scheme: str, definition: int) -> float:
        return float(found[name][scheme][definition])

    best = sum(all(share(d, "schur", ADJUSTED) >= share(d, s, ADJUSTED) for s in found[d]) for d in found)
    wider = sum(share(d, "orthogonal", SUBSPACE) >= share(d, "schur", SUBSPACE) for d in found)
    gram = [d for d in found if "hotelling" in found[d]]
    above = sum(share(d, "hotelling", SUM) > 1.0 for d in gram)
    words = f"""Schur has the largest adjusted variance, or shares it, on {best} of {len(found)} data sets. Orthogonal
        has at least the subspace variance of Schur on {wider} of them. With Hotelling the plain sum exceeds the total
        variance on {above} of {len(gram)} matrices."""
    return f"{markdown(head, rows)}\n\n{paragraph(words)}"


def quality_in_words() -> str:
    """Say in how many cases another method has more variance in the first component."""
    cases = sum(len(cells) for _, cells in quality())
    if not losses():
        return f"None of them has more variance than rspca in any of the {cases} cases."
    return (
        f"One of them has more variance than rspca in {len(losses())} of {cases} cases, MaxComp in {below_maxcomp()}: "
        f"{'; '.join(losses())}."
    )


def few_in_words() -> str:
    """Say how much more variance rspca has for few features of scaled data and of SNPs."""
    lines = gains_and_flags("few_features")
    gains = sorted(100.0 * float(gain) for gain, _ in lines)
    if any(flag.strip() for _, flag in lines):
        flagged = sum(bool(flag.strip()) for _, flag in lines)
        return f"With 3 to 50 features of scaled data and SNPs, {flagged} of {len(lines)} cases lose or fall."
    return (
        "With 3 to 50 features of scaled genes and SNPs, where a few alike ones hide among thousands, it has "
        f"{gains[0]:.1g} to {gains[-1]:.0f} % more variance than the best of them, half of the {len(lines)} cases at "
        f"least {gains[len(gains) // 2]:.2g} %, and never less with more features."
    )


def scaled_in_words() -> str:
    """Say how much more variance rspca has for more features of scaled data, and in how many cases less."""
    lines = gains_and_flags("scaled")
    most, flagged = max(100.0 * float(gain) for gain, _ in lines), sum(bool(flag.strip()) for _, flag in lines)
    less = f"in {flagged} it loses or falls" if flagged else "never less, and never less with more features"
    return f"With 70 features to 10 % of all, scaled, it has up to {most:.0f} % more in {len(lines)} cases; {less}."


def gains_and_flags(name: str) -> list[tuple[str, str]]:
    """Return from a table of growing components how much more than the best other method each has, and its flags."""
    return re.findall(r"k=\d+ +[\d.e+]+ ([-+][\d.e+-]+) \([\w-]+\)(.*)", result(name))


def readme_numbers() -> str:
    quality_text = f"""**Variance.** `benchmarks/quality.py` compares the first component with those of ten other
        methods, all with refitted loadings, on 12 data sets (text, gene expression, genotypes) and 16 covariance
        matrices, at `k` = 20 and 1, 5 and 20 % of the features (`dspca` up to 500 features, `greedy` up to 700).
        {quality_in_words()} {few_in_words()} {scaled_in_words()}"""
    time_text = f"""**Time.** `benchmarks/speed.py` compares one sparse component, of 1, 5 or 20 % of the features, with
        one dense component by `scipy.sparse.linalg.svds`: {against_svds()}
        svds is faster where it is given a centered copy of dense data ([Performance](docs/performance.md) has both).
        {page_users.readme()}"""
    return f"{page_comparison.readme()}\n\n{paragraph(quality_text)}\n\n{paragraph(time_text)}"


def import_times() -> tuple[str, ...]:
    package, estimator = (
        matched(rf"^{name}.*: ([\d.]+) x", "import_time")[0] for name in ("import rspca", "rspca.SparsePCA")
    )
    return package, estimator, matched(r"^rspca --help: ([\d.]+) s", "import_time")[0]


def page() -> str:
    words = f"""{against_svds()} The time of rspca includes means and column norms; svds is given the centered operator.
        Both run alternately in one process with the default number of BLAS threads; a ratio is the median of seven.
        NumPy and SciPy each bring a BLAS, and svds uses both: idle threads of SciPy's BLAS spin for a while and slow
        down the next run of rspca on a machine with two cores. For "at rest" each run follows a pause, and the fastest
        of three counts. With one BLAS thread nothing spins; on Classic-2, which is sparse and multiplied without BLAS,
        svds is then faster than with two threads and rspca is not. Ratios vary between runs and machines."""
    quality_text = f"""`python benchmarks/quality.py`. The table shows the variance of the default method over that of
        the best of ten other methods, refitted, minus one, for the first component (`dspca` takes part up to 500
        features, `greedy` up to 700). {quality_in_words()} {few_in_words()}
        {scaled_in_words()} All data sets are in `benchmarks/results/rivals.txt`, `few_features.txt` and `scaled.txt`,
        the methods in [Methods](methods.md)."""
    growth = f"""For simulated genotypes in dense float32 and `k` = 5 % of n, time grows as n to the power {slopes()[0]}
        and as m to the power {slopes()[1]}; [Large data](scale.md) says which sizes count, and has the same for
        packed genotypes. `benchmarks/results/speed.txt` has all times, the memory and the share of the variance of a
        dense component."""
    package, estimator, help_seconds = import_times()
    import_text = f"""`python benchmarks/import_time.py`. `import rspca` takes {package} of the time of
        `import sklearn.decomposition`, and {estimator} with `rspca.SparsePCA`, which loads scikit-learn and SciPy.
        `rspca --help` takes {help_seconds} s more than starting Python."""
    return f"""# Performance

*Written by `python tools/page.py` from the files in `benchmarks/results`.*

Ratios and passes over the data are comparable across machines, seconds are not. Each file names the machine it was
measured on; here {machine("speed")}.

## One component

`python benchmarks/speed.py`. Time is in units of one `scipy.sparse.linalg.svds(X, 1)` on the same centered data. A pass
is one read of all entries of X.

{speed_table()}

{paragraph(words)}

{paragraph(growth)}

## Several components, few features, tall and large data

{page_users.section()}

{two_references()}

## Other packages

`python benchmarks/speed.py --rivals`, at `k` = 1 % of n, with a limit of 90 s. A package whose number of features
cannot be set is given the penalty that comes closest. "refitted" is the share of its features with the best loadings.

{packages()}

## Quality

{paragraph(quality_text)}

{quality_table(SHOWN)}

## Certificates

{paragraph("`python benchmarks/certificates.py`. " + certificates())}

## Large data

`python benchmarks/scale.py`. [Large data](scale.md) has a summary, `benchmarks/results/scale.txt` all numbers.

## Import

{paragraph(import_text)}
"""


def pages() -> dict[Path, str]:
    """Return every page that has numbers, as it is to be now."""
    return {
        PAGE: page(),
        README: with_numbers(README, readme_numbers()),
        CERTIFICATES: with_numbers(CERTIFICATES, certificates_summary(), one_published_optimum()),
        DEFLATION: with_numbers(DEFLATION, deflations()),
        **dict([page_scale.page(), page_reliability.page(), page_comparison.page(), page_text.page()]),
        **page_sentences.pages(),
    }


def main() -> None:
    for path, text in pages().items():
        path.write_text(text)
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
