"""Compare rspca with other packages: three components of k features, variance of their span, and time.

    python benchmarks/comparison.py            prints benchmarks/results/comparison.txt, some minutes
    python -m pip install abess                before it, to measure abess too

Three measures, each a share of the variance of X, none of which depends on how a package scales its loadings: "span"
is X projected on the span of the loadings; "adjusted" is what each score adds to those before it, so that a second
component that repeats the first adds nothing; "rebuilt" is what a linear regression on the three scores explains of
all features. Features are counted in each component. scikit-learn's SparsePCA has a penalty and not a number of
features: alpha is bisected until all components together have as close to 3 k non-zeros as it gets, and the time is
that of the last fit alone. "NMF cut" is NMF with all but the k largest weights of each component set to 0. Times are
of the processor, one BLAS thread, the least of three. Some versions of abess return nearly all features on wide data:
the row says how many. msPCA is an R package, which this script does not run: for it there are the values that its
authors publish, on the data that they publish.
"""

from __future__ import annotations

import csv
import lzma
import os
import time
import warnings
from collections.abc import Callable
from typing import Any

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before BLAS is loaded

import numpy as np  # noqa: E402
from common import Report, data  # noqa: E402
from sklearn import decomposition  # noqa: E402
from sklearn.datasets import load_breast_cancer, load_digits  # noqa: E402

import rspca  # noqa: E402

COMPONENTS = 3
RUNS = 3
BISECTIONS = 14
NEARLY_ALL = 3.0
"""Features over k from which a result is not compared: it is not sparse."""
PUBLISHED = {5: 0.0347, 10: 0.0639, 15: 0.0758, 20: 0.0930, 25: 0.0953, 30: 0.1113, 35: 0.1142}
"""Share of the trace of four orthogonal components of k companies: values that the authors of msPCA publish with it."""


def standardized(X: np.ndarray) -> np.ndarray:
    """Return columns of mean 0 and variance 1."""
    return (X - X.mean(axis=0)) / X.std(axis=0)


def tables() -> dict[str, tuple[Callable[[], np.ndarray], int]]:
    """Return how to read each table, and k; columns are centered by all packages or before."""
    return {
        "breast cancer, 569 x 30": (lambda: standardized(load_breast_cancer().data), 5),
        "digits, 1797 x 64": (lambda: centered(load_digits().data), 8),
        "Khan, 63 x 2308": (lambda: centered(data.gene_expression("khan")), 20),
    }


def centered(X: np.ndarray) -> np.ndarray:
    """Return columns of mean 0."""
    return X - X.mean(axis=0)


def timed(call: Callable[[], np.ndarray]) -> tuple[np.ndarray, float]:
    """Return what a call returns, and its least time of the processor."""
    seconds = []
    for _ in range(RUNS):
        began = time.process_time()
        components = call()
        seconds.append(time.process_time() - began)
    return components, min(seconds)


def by_rspca(X: np.ndarray, k: int, **options: Any) -> tuple[np.ndarray, float]:
    return timed(lambda: rspca.SparsePCA(COMPONENTS, k=k, random_state=0, **options).fit(X).components_)


def by_sklearn(X: np.ndarray, k: int) -> tuple[np.ndarray, float]:
    """Bisect alpha for 3 k non-zeros."""
    low, high, alpha = 0.0, np.inf, 1.0
    best: np.ndarray | None = None
    for _ in range(BISECTIONS):
        began = time.process_time()
        V = decomposition.SparsePCA(COMPONENTS, alpha=alpha, random_state=0).fit(X).components_
        spent, total = time.process_time() - began, np.count_nonzero(V)
        if best is None or abs(total - COMPONENTS * k) < abs(np.count_nonzero(best) - COMPONENTS * k):
            best, seconds = V, spent
        if total == COMPONENTS * k:
            break
        low, high = (alpha, high) if total > COMPONENTS * k else (low, alpha)
        alpha = 4.0 * alpha if high == np.inf else 0.5 * (low + high)
    assert best is not None
    return best, seconds


def by_abess(X: np.ndarray, k: int) -> tuple[np.ndarray, float]:
    from abess.decomposition import SparsePCA

    sizes = np.zeros((k, COMPONENTS))
    sizes[k - 1] = 1
    return timed(lambda: np.asarray(SparsePCA(support_size=sizes).fit(X, number=COMPONENTS).coef_).T)


def by_pca(X: np.ndarray, k: int) -> tuple[np.ndarray, float]:
    return timed(lambda: decomposition.PCA(COMPONENTS, random_state=0).fit(X).components_)


def by_nmf(X: np.ndarray, k: int) -> tuple[np.ndarray, float]:
    """Return the k largest weights of each component of the columns without their least value."""

    def cut() -> np.ndarray:
        H = (
            decomposition.NMF(COMPONENTS, init="nndsvd", random_state=0, max_iter=400)
            .fit(X - X.min(axis=0))
            .components_
        )
        smaller = np.argsort(-H, axis=1, kind="stable")[:, k:]
        np.put_along_axis(H, smaller, 0.0, axis=1)
        return H

    return timed(cut)


PACKAGES: dict[str, Callable[[np.ndarray, int], tuple[np.ndarray, float]]] = {
    "rspca": by_rspca,
    "rspca, joint=True": lambda X, k: by_rspca(X, k, joint=True),
    "rspca, orthogonal": lambda X, k: by_rspca(X, k, constraint="orthogonal"),
    "scikit-learn SparsePCA": by_sklearn,
    "abess SparsePCA": by_abess,
    "scikit-learn NMF cut": by_nmf,
    "scikit-learn PCA, dense": by_pca,
}


def measures(X: np.ndarray, V: np.ndarray) -> tuple[float, float, float]:
    """Return span, adjusted and rebuilt of the rows of V."""
    unit = V / np.linalg.norm(V, axis=1, keepdims=True)
    total = np.sum(X**2)
    Q, R = np.linalg.qr(X @ unit.T)
    span = np.sum((X @ np.linalg.qr(unit.T)[0]) ** 2)
    return float(span / total), float(np.sum(np.diag(R) ** 2) / total), float(np.sum((Q.T @ X) ** 2) / total)


def row(X: np.ndarray, k: int, name: str) -> str:
    """Return what a package has, or why it has nothing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # iterations that end at their limit
            V, seconds = PACKAGES[name](X, k)
    except ImportError:
        return "not installed: not measured"
    counts = np.count_nonzero(V, axis=1).tolist()
    if "dense" not in name and max(counts) > NEARLY_ALL * k:
        return f"{'/'.join(map(str, counts))} features where {k} were asked for: not compared"
    features = "all" if "dense" in name else "/".join(map(str, counts))
    shares = "".join(f"{100 * share:>8.2f} %" for share in measures(X, V))
    return f"{features:<12}{shares}{seconds:>10.4f} s"


def companies() -> np.ndarray:
    """Return the correlations of 423 companies of the S&P 500 that msPCA comes with."""
    with lzma.open(data.data_path("sp500_correlations", "snp500_corr.csv.xz"), "rt") as lines:
        return np.array([line[1:] for line in list(csv.reader(lines))[1:]], dtype=float)


def main() -> None:
    say = Report("comparison.txt")
    say("\nThree components of k features: features of each; span, adjusted, rebuilt; CPU seconds of the fit")
    for name, (make, k) in tables().items():
        try:
            X = make()
        except data.DataAbsent as reason:
            say(f"\n{name}: {reason}")
            continue
        say(f"\n{name}, k = {k}")
        for package in PACKAGES:
            say(f"  {package:<26}{row(X, k, package)}")
    say(
        "\nFour orthogonal components of k of 423 companies, share of the trace: ours, and published by the "
        "authors of msPCA"
    )
    say("(not measured here: msPCA is an R package)\n")
    try:
        A = companies()
    except data.DataAbsent as reason:
        say(str(reason))
        return
    for k, published in PUBLISHED.items():
        model = rspca.decompose(rspca.GramOperator(A), 4, k=k, constraint="orthogonal", random_state=0)
        V = np.array([component.dense() for component in model.components])
        say(f"  k = {k:<3} rspca {np.trace(V @ A @ V.T) / np.trace(A):.4f}  msPCA {published:.4f}")


if __name__ == "__main__":
    main()
