"""What the experiments share: the data, the paper's own method, results kept as CSV and JSON, tables and figures."""

from __future__ import annotations

import csv
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import NullFormatter
from PIL import Image
from scipy.sparse.linalg import LinearOperator, svds

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "experiments" / "results"
FIGURES = ROOT / "docs" / "figures"
sys.path.insert(0, str(ROOT))

from benchmarks.common import data as data  # noqa: E402
from benchmarks.common import machine as machine  # noqa: E402
from rspca.algorithm.loop import refitted  # noqa: E402
from rspca.algorithm.results import Component  # noqa: E402
from rspca.linalg.eigen import leading_pairs  # noqa: E402
from rspca.methods import METHODS  # noqa: E402
from rspca.operators import prepare as prepare  # noqa: E402
from rspca.operators.base import OperatorMixin  # noqa: E402
from rspca.plotting.looks import percent_axis as shares_axis  # noqa: E402, F401

Row = dict[str, Any]
PAPER = {"solver": "projected", "rounding": "bernoulli", "n_draws": 1, "polish": False}
"""The options of method="rspca" that are the paper's: its solver, one draw of Algorithm 1 with s = k, nothing else."""
CURVES = {
    "rspca": ("C0", "o"), "spasm": ("C2", "^"), "maxcomp": ("C1", "s"), "default": ("k", "*"), "stage 1": ("C4", "v"),
}  # fmt: skip
PNG_COLORS = 128
"""Colors of a PNG file: half of the size, and lines keep their colors."""
STYLES = {"svd": "-", "naive": ":", "undivided": "-."}


def say(line: str = "") -> None:
    print(line, flush=True)


def available(makers: dict[str, Callable[[], Any]], absent: set[str]) -> Iterator[tuple[str, Any]]:
    """Yield name and data one by one; what is absent is named, with the reason, and added to `absent`."""
    for name, make in makers.items():
        try:
            X = make()
        except data.DataAbsent as reason:
            say(f"skipped {name}: {reason}")
            absent.add(name)
        else:
            yield name, X


def needed(make: Callable[[], Any]) -> Any:
    """Return data without which an experiment has nothing to do, or end the script with the reason."""
    try:
        return make()
    except data.DataAbsent as reason:
        say(f"skipped {Path(sys.argv[0]).name}: {reason}")
        raise SystemExit(0) from None


def undivided(component: Component) -> Component:
    """Return a draw of Algorithm 1 as it is if what is kept is not divided by p_i, of unit length, not yet scored."""
    assert component.inclusion_probability is not None
    loadings = component.loadings * component.inclusion_probability[component.support]
    return Component(
        support=component.support, loadings=loadings / np.linalg.norm(loadings), variance=np.nan,
        n_features=component.n_features,
    )  # fmt: skip


def scored(op: OperatorMixin, component: Component) -> float:
    """Return v'Av of the loadings as they are."""
    return float(np.sum(op.scores(component.support, component.loadings) ** 2))


def curve(op: OperatorMixin, ratios: Iterable[float], seed: int = 0) -> Iterator[Row]:
    """Yield f of every method and normalization, each at the non-zeros that the paper's method has at k = ratio n."""
    n = op.shape[1]
    largest = float(leading_pairs(op, 1, tol=1e-9).values[0])
    for k in sorted({max(2, round(ratio * n)) for ratio in ratios}):
        ours = METHODS["rspca"](op, 1, k, normalization="naive", rng=np.random.default_rng(seed), **PAPER)[0]
        count = len(ours.support)
        found = {("rspca", "naive"): ours.variance, ("rspca", "undivided"): scored(op, undivided(ours))}
        found["rspca", "svd"] = refitted(op, ours).variance
        for name in ("spasm", "maxcomp"):
            one = METHODS[name](op, 1, count, normalization="naive")[0]
            found[name, "naive"], found[name, "svd"] = one.variance, refitted(op, one).variance
        default = METHODS["rspca"](op, 1, count, rng=np.random.default_rng(seed))[0]
        found["default", "svd"] = default.variance
        for (method, normalization), variance in found.items():
            yield {
                "k": k, "nonzeros": count, "ratio": count / n, "method": method, "normalization": normalization,
                "f": variance / largest,
            }  # fmt: skip


SHARE_OF_DENSE = "variance, as a share of that of the dense component"
FEATURES_IN_USE = "features in use, as a share of all"
NAMED = {
    ("rspca", "naive"): "the paper's method", ("rspca", "undivided"): "the paper's method, not divided by p",
    ("rspca", "svd"): "the paper's method, refitted", ("spasm", "naive"): "SPASM", ("spasm", "svd"): "SPASM, refitted",
    ("maxcomp", "naive"): "MaxComp", ("maxcomp", "svd"): "MaxComp, refitted", ("default", "svd"): "our default",
    ("rspca", ""): "the paper's method", ("stage 1", ""): "the same with our solver", ("default", ""): "our default",
    ("spasm", ""): "SPASM", ("maxcomp", ""): "MaxComp",
}  # fmt: skip
"""What legends call a method and its normalization."""


def percent_axis(ax: Any, ticks: Iterable[float]) -> None:
    """Label a logarithmic axis of shares at these values, in percent, and nowhere else."""
    chosen = list(ticks)
    ax.set_xticks(chosen, [f"{100 * tick:g} %" for tick in chosen])
    ax.minorticks_off()


def plain_axis(axis: Any) -> None:
    """Label a logarithmic axis at powers of ten with numbers as they are: 0.1, 1, 10, 1,000."""
    axis.set_major_formatter(lambda value, _: f"{value:,g}" if value < 1 else f"{value:,.0f}")
    axis.set_minor_formatter(NullFormatter())


def legend_above(ax: Any, columns: int, **options: Any) -> None:
    """Put the legend above the Axes, where it covers no point."""
    ax.legend(frameon=False, ncols=columns, loc="lower center", bbox_to_anchor=(0.5, 1.0), **options)


def draw_curves(ax: Any, rows: list[Row], title: str, value: str = "f") -> None:
    """Draw one panel: value against sparsity ratio, a line for each method and normalization."""
    for method, normalization in dict.fromkeys((r["method"], r["normalization"]) for r in rows):
        line = [(r["ratio"], r[value]) for r in rows if (r["method"], r["normalization"]) == (method, normalization)]
        color, marker = CURVES[method]
        label = NAMED[method, normalization]
        ax.plot(*zip(*line, strict=True), STYLES.get(normalization, "-"), color=color, marker=marker, ms=3, label=label)
    ax.set_title(title, fontsize=9)
    ax.set_xscale("log")
    percent_axis(ax, (0.01, 0.1))
    ax.grid(alpha=0.3)


def one_svds(op: OperatorMixin) -> Callable[[], Any]:
    """Return the yardstick of all running times: scipy.sparse.linalg.svds(X, 1) of the same centered operator."""
    linear = LinearOperator(
        op.shape, matvec=op.matmat, rmatvec=op.rmatmat, matmat=op.matmat, rmatmat=op.rmatmat, dtype=op.dtype
    )
    return lambda: svds(linear, 1)


def seconds(work: Callable[[], Any], runs: int = 3) -> float:
    """Return the time of the quickest of some runs: what else the machine does can only add to it."""
    spent = []
    for _ in range(runs):
        started = time.perf_counter()
        work()
        spent.append(time.perf_counter() - started)
    return min(spent)


def show(rows: Iterable[Row], columns: Iterable[str] | None = None) -> None:
    """Print rows as a table."""
    rows = list(rows)
    names = list(columns or rows[0])
    cells = [names, *([cell(row.get(name, "")) for name in names] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(names))]
    for line in cells:
        say("  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True)))


def cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.4f}" if abs(value) < 100 else f"{value:.0f}"
    return str(value)


def save(name: str, rows: list[Row], absent: Iterable[str] = ()) -> list[Row]:
    """Write rows to results/name.csv; of data that are absent the rows of an earlier run stay. Return what is there."""
    path = RESULTS / f"{name}.csv"
    earlier = [row for row in load(name) if row["data"] in absent] if absent and path.exists() else []
    rows = [*rows, *earlier]
    if not rows:
        return []
    RESULTS.mkdir(exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: _short(value) for key, value in row.items()} for row in rows)
    return load(name)  # as written: a figure is the same whether its rows are new or were kept


def save_facts(name: str, **facts: Any) -> None:
    """Write what is not a table to results/name.json."""
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps({key: _short(value) for key, value in facts.items()}, indent=1, default=lambda x: x.item())
    (RESULTS / f"{name}.json").write_text(text + "\n")


def load(name: str) -> list[Row]:
    """Return the rows of results/name.csv, numbers as numbers."""
    with (RESULTS / f"{name}.csv").open(newline="") as file:
        return [{key: _number(value) for key, value in row.items()} for row in csv.DictReader(file)]


def load_facts(name: str) -> Row:
    return json.loads((RESULTS / f"{name}.json").read_text())


def save_figure(figure: Any, name: str) -> None:
    """Write docs/figures/name.png."""
    FIGURES.mkdir(exist_ok=True)
    path = FIGURES / f"{name}.png"
    figure.savefig(path, dpi=90, bbox_inches="tight")
    plt.close(figure)
    few = Image.open(path).convert("RGB").quantize(PNG_COLORS, dither=Image.Dither.NONE)
    few.save(path, optimize=True)
    say(f"figure: docs/figures/{name}.png")


def _short(value: Any) -> Any:
    return float(f"{value:.7g}") if isinstance(value, float) else value


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
