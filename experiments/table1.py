"""Table 1: variance captured on Classic-2, every column at all eight k, one and two components, every reading.

    python experiments/table1.py

Writes results/table1.csv, results/table1.json and docs/figures/table1.png.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from kept import (
    METHODS,
    Row,
    data,
    leading_pairs,
    load,
    needed,
    plt,
    prepare,
    refitted,
    save,
    save_facts,
    save_figure,
    say,
    shares_axis,
    show,
)
from published import COUNTS, KS, SPARSITY, TABLE1

import rspca
from rspca.linalg.vectors import inclusion_probabilities, top_k
from rspca.operators.base import OperatorMixin
from rspca.operators.deflated import Deflated

DRAWS, FEW_DRAWS = 20, 5
"""Draws of Algorithm 1, and those of them after which the second component is sought as Algorithm 2 does."""
Pair = tuple[float, float]


class Scale:
    """Variance as Table 1 has it: x'Ax / ||A||_F, and of a second component y'By / ||B||_F, B = A - l_1 v_1 v_1'."""

    def __init__(self, X: Any) -> None:
        self.op = prepare(X)
        G = (X @ X.T).toarray()  # m x m, and centered: of the same Frobenius norm as A
        G -= G.mean(axis=0)
        G -= G.mean(axis=1, keepdims=True)
        pairs = leading_pairs(self.op, 2, tol=1e-9)
        self.leading, self.values = pairs.vectors.T, pairs.values
        self.norms = (float(np.linalg.norm(G)), float(np.sqrt(np.linalg.norm(G) ** 2 - self.values[0] ** 2)))

    @cached_property
    def rest(self) -> OperatorMixin:
        """X less its leading component: the matrix of the second component."""
        return Deflated(self.op, self.leading[0], self.op.matmat(self.leading[0]))

    def parts(self, *vectors: np.ndarray) -> Pair:
        """Return what Table 1 prints for two components: the first alone, and both."""
        found = [
            float(np.sum(op.matmat(v) ** 2)) / norm
            for op, v, norm in zip((self.op, self.rest), vectors, self.norms, strict=False)
        ]
        return found[0], sum(found)


def truncated(v: np.ndarray, count: int) -> np.ndarray:
    """MaxComp left as it is: the largest entries, not of unit length."""
    out = np.zeros_like(v)
    kept = top_k(np.abs(v), count)
    out[kept] = v[kept]
    return out


def sampled(x: np.ndarray, k: int, rng: np.random.Generator, *, divide: bool) -> np.ndarray:
    """One draw of Algorithm 1 with s = k, of unit length; `divide` says whether what is kept is divided by p_i."""
    draw = rspca.round_vector(x, k, rng)
    if not divide:
        draw *= inclusion_probabilities(x, k)
    return draw / np.linalg.norm(draw)


def stage1_after(scale: Scale, first: np.ndarray, k: int) -> np.ndarray:
    """Stage 1 of the second component as Algorithm 2 has it: on X less the *rounded* first component."""
    left = Deflated(scale.op, first, scale.op.matmat(first))
    return rspca.relax(left, k, solver="projected", center=False).x


def values(scale: Scale, number: int, few: int = FEW_DRAWS) -> Iterator[tuple[str, str, Pair, Pair]]:
    """Yield column, reading, the values for one and two components, and their non-zeros, at one k."""
    k, counts = KS[number], [count[number] for count in COUNTS]
    ops = (scale.op, scale.rest)

    def of(column: str, reading: str, *vectors: np.ndarray) -> tuple[str, str, Pair, Pair]:
        return column, reading, scale.parts(*vectors), tuple(float(np.count_nonzero(v)) for v in vectors)

    def each(method: str, normalization: str) -> list[np.ndarray]:
        """Run a method on X, and on X less its leading component."""
        rng = np.random.default_rng(0)
        return [
            METHODS[method](op, 1, count, normalization=normalization, rng=rng)[0].dense()
            for op, count in zip(ops, counts, strict=True)
        ]

    yield of("pca", "dense", *scale.leading)
    relaxed = [rspca.relax(op, k, solver="projected", center=False).x for op in ops]
    yield of("cvx", "the paper's iteration", *relaxed)
    yield of("cvx", "stationary point", *(rspca.relax(op, k, center=False).x for op in ops))
    for divide, reading in ((False, "without 1/p"), (True, "with 1/p")):
        rng = np.random.default_rng(0)
        draws = [[sampled(x, k, rng, divide=divide) for x in relaxed] for _ in range(DRAWS)]
        found = np.array([scale.parts(*pair) for pair in draws])
        nonzeros = np.array([[np.count_nonzero(v) for v in pair] for pair in draws])
        yield "rspca", reading, tuple(found.mean(axis=0)), tuple(nonzeros.mean(axis=0))
        best = found.argmax(axis=0)
        yield "rspca", f"{reading}, best draw", tuple(found.max(axis=0)), tuple(nonzeros[best, (0, 1)])
        after = [stage1_after(scale, first, k) for first, _ in draws[:few]]
        pairs = [(first, sampled(x, k, rng, divide=divide)) for (first, _), x in zip(draws, after, strict=False)]
        for column, several in () if few == 0 else (("cvx", [(relaxed[0], x) for x in after]), ("rspca", pairs)):
            nonzeros = np.mean([[np.count_nonzero(v) for v in pair] for pair in several], axis=0)
            mean = np.mean([scale.parts(*pair) for pair in several], axis=0)
            yield column, f"{reading}, Algorithm 2", tuple(mean), tuple(nonzeros)
    yield of("maxcomp", "not of unit length", *(map(truncated, scale.leading, counts)))
    yield of("maxcomp", "naive", *each("maxcomp", "naive"))
    yield of("maxcomp", "svd", *each("maxcomp", "svd"))
    spasm = METHODS["spasm"](scale.op, 2, counts, normalization="naive")
    yield of("spasm", "naive", *(one.dense() for one in spasm))
    yield of("spasm", "svd", *(refitted(op, one).dense() for op, one in zip(ops, spasm, strict=True)))
    yield of("default", "svd", *each("rspca", "svd"))
    yield "default", "Algorithm 2", *algorithm2(scale, counts)


def algorithm2(scale: Scale, counts: list[int]) -> tuple[Pair, Pair]:
    """Return our default where its own first component, not the dense one, is deflated: then B has another norm."""
    rng = np.random.default_rng(0)
    one, two = METHODS["rspca"](scale.op, 2, counts, deflation="projection", rng=rng)
    image = float(np.sum(scale.op.gram(one.dense()) ** 2))
    norm = np.sqrt(scale.norms[0] ** 2 - 2.0 * image + one.variance**2)  # of (I - vv')A(I - vv')
    first = one.variance / scale.norms[0]
    return (first, first + two.variance / norm), (float(len(one.support)), float(len(two.support)))


def counts_that_agree(scale: Scale, number: int, component: int) -> tuple[int, int]:
    """Return the fewest and the most non-zeros at which MaxComp, not of unit length, has the printed digits."""
    printed = TABLE1["maxcomp"][component][number]
    first = truncated(scale.leading[0], COUNTS[0][number])

    def reaches(bar: float) -> int:
        low, high = 1, scale.op.shape[1]
        while high - low > 1:
            middle = (low + high) // 2
            vector = truncated(scale.leading[component], middle)
            value = scale.parts(vector)[0] if component == 0 else scale.parts(first, vector)[1]
            low, high = (middle, high) if value < bar else (low, middle)
        return high

    return reaches(printed - 5e-5), reaches(printed + 5e-5) - 1


LABELS = {
    ("cvx", "the paper's iteration"): "relaxed, the paper's iteration", ("rspca", "without 1/p"): "the paper's method",
    ("rspca", "with 1/p"): "the paper's method, divided by p", ("spasm", "naive"): "SPASM",
    ("maxcomp", "not of unit length"): "MaxComp, not of unit length", ("maxcomp", "naive"): "MaxComp",
    ("default", "svd"): "our default",
}  # fmt: skip


def main() -> None:
    scale = Scale(needed(data.classic2))
    rows: list[Row] = []
    ranges = []
    for number, k in enumerate(KS):
        for column, reading, found, nonzeros in values(scale, number):
            for component in (0, 1):
                paper = TABLE1[column][component][number] if column in TABLE1 else float("nan")
                rows.append({
                    "k": k, "components": component + 1, "column": column, "reading": reading,
                    "nonzeros": nonzeros[component], "paper": paper, "ours": found[component],
                    "difference": found[component] - paper,
                })  # fmt: skip
        ranges.append({"k": k, "counts": [counts_that_agree(scale, number, component) for component in (0, 1)]})
        say()
        show(row for row in rows if row["k"] == k)
    save("table1", rows)
    n = scale.op.shape[1]
    save_facts(
        "table1", norms=scale.norms, eigenvalues=list(scale.values), ranges=ranges, draws=DRAWS, features=n,
        shape=scale.op.shape,
        sparsity=[[round(100 * (1 - count / n), 1) for count in counts] for counts in COUNTS],
        printed_sparsity=SPARSITY["rspca"], few_draws=FEW_DRAWS, printed_cvx_sparsity=SPARSITY["cvx"],
    )  # fmt: skip
    draw(load("table1"))


def draw(rows: list[Row]) -> None:
    """Draw the columns of Table 1 as computed, with the printed values as circles."""
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), sharex=True, layout="constrained")
    shown = {
        ("cvx", "the paper's iteration"): ("C4", ":"), ("rspca", "without 1/p"): ("C0", "-"),
        ("rspca", "with 1/p"): ("C0", "--"), ("spasm", "naive"): ("C2", "-"),
        ("maxcomp", "not of unit length"): ("C1", ":"), ("maxcomp", "naive"): ("C1", "-"),
        ("default", "svd"): ("k", "-"),
    }  # fmt: skip
    for component, ax in enumerate(axes):
        for (column, reading), (color, style) in shown.items():
            line = [
                r["ours"] for r in rows
                if (r["column"], r["reading"], r["components"]) == (column, reading, component + 1)
            ]  # fmt: skip
            label = LABELS.get((column, reading), f"{column}, {reading}")
            ax.plot(KS, line, style, color=color, label=label)
            if column in TABLE1 and reading != "with 1/p" and (column, reading) != ("maxcomp", "naive"):
                ax.plot(KS, TABLE1[column][component], "o", color=color, ms=5, mfc="none")
        ax.set(xscale="log", xlabel="k, number of features", title=("one component", "two components")[component])
        ax.set_xticks([100, 1000, 10_000], ["100", "1,000", "10,000"])
        shares_axis(ax.yaxis)
        ax.grid(alpha=0.3)
    axes[0].plot([], [], "o", color="0.3", ms=5, mfc="none", label="circles: printed in the paper")
    axes[0].set_ylabel("variance, as a share of the\nFrobenius norm of the covariance matrix")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, ncols=4, loc="outside upper center")
    save_figure(figure, "table1")


if __name__ == "__main__":
    main()
