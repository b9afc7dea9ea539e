"""Rows of benchmarks/users.py: the work, what it is compared with, and the ratio that is asked for."""

from __future__ import annotations

from dataclasses import dataclass

FOUR = ("hapmap3", "genotypes", "classic2", "chowdary")


@dataclass(frozen=True)
class Row:
    """One line of the table: `r` components of `k` features, timed over a reference."""

    work: str
    data: str
    r: int
    k: float
    """Features of a component; below 1 a share of all."""
    over: str
    """The reference: a name in users_sides.SIDES."""
    bar: float | None = None
    """Largest ratio that is accepted, None if the row has none."""
    goal: float | None = None
    one_thread_bar: float | None = None
    """The same with one BLAS thread, where it is another."""
    most_passes: float | None = None
    """Largest number of passes that is accepted for a component."""
    scale: bool | str = False

    def features(self, n: int) -> int:
        """Return k for n features."""
        return int(self.k * n) if self.k < 1 else min(int(self.k), n)

    @property
    def name(self) -> str:
        """What `--rows` searches, and the key of the reference values."""
        return f"{self.work} | {self.data} | {self.over}"

    @property
    def fit(self) -> str:
        """The fit alone, whatever it is compared with."""
        return f"{self.data}, {self.r} x {self.k:g}"


def _each(work: str, r: int, k: float, bars: tuple[float | None, ...], goal: float | None, **rest: float) -> list[Row]:
    return [Row(work, name, r, k, "svds", bar, goal, **rest) for name, bar in zip(FOUR, bars, strict=True)]  # type: ignore[arg-type]


def _rows() -> list[Row]:
    rows = _each("1 component, k = 20", 1, 20, (1.5, 1.5, 1.5, 5.0), 1.0)
    for k, label in ((0.01, "1 %"), (0.05, "5 %")):
        rows += _each(f"10 components, k = {label}", 10, k, (2.5, 2.5, 4.0, 4.0), 1.0)
    rows += _each("10 components, k = 20", 10, 20, (6.0, 6.0, 12.0, 12.0), 1.5, most_passes=15)
    rows += _each("10 components, k = 50", 10, 50, (None,) * 4, None, most_passes=15)
    for k, label, bar, one in ((0.01, "1 %", 1.0, 1.3), (0.05, "5 %", 1.3, 1.6), (0.20, "20 %", 1.8, 1.8)):
        rows += _each(f"1 component, k = {label}", 1, k, (bar,) * 4, 1.0, one_thread_bar=one)
    for m, n in ((1_000_000, 20), (100_000, 200), (1_000_000, 200), (20_000, 2_000)):
        for dtype in ("float32", "float64"):
            rows.append(Row("tall, 5 components, k = 20", f"tall_{m}_{n}_{dtype}", 5, 20, "best PCA", 2.0, 1.2))
    rows.append(Row("10 components, k = 30", "cells", 10, 30, "sc.pp.pca", 3.0, 1.0))
    rows.append(Row("10 components, k = 50, commands", "bed", 10, 50, "plink2 --pca", 1.0, 0.5, scale="patterson"))
    rows.append(Row("10 components, k = 50, read and fit", "bed", 10, 50, "plink2", 1.0, 0.5,
                    most_passes=15, scale="patterson"))  # fmt: skip
    rows += [Row("5 components, k = 5", name, 5, 5, "PCA", 20.0, 5.0) for name in ("wine", "breast", "digits")]
    rows.append(Row("3 components, k = 30", "cluster", 3, 30, "no cluster", 3.0, 1.5))
    rows.append(Row("3 components, k = 30", "mapped", 3, 30, "20 reads", 1.5, 1.0))
    rows.append(Row("3 components, k = 30, max_memory 1 GB", "mapped", 3, 30, "20 reads, blocks", 1.5, 1.0))
    rows.append(Row("2 components, k = 50", "documents", 2, 50, "svds", 3.0))
    rows.append(Row("2 components, k = 5", "rows", 2, 5, "PCA", 2.0))
    return rows


ROWS = _rows()
