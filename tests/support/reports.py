"""Models to report on, and names that try to break a page."""

import warnings

import numpy as np
from scipy.sparse import csr_array
from sklearn.datasets import load_wine

import rspca
from rspca.report import write_report

WINE = load_wine()


HOSTILE = [
    "<script>alert(1)</script>", "</script><script>alert(2)</script>", "<!--<script>", "\"quotes\" 'and' `ticks`",
    "two\nlines\r\nand\ttabs", "right\u202eto left", "=cmd|'/c calc'!A0", "{{7*7}} ${7*7} {% raw %}", "x" * 5000, "",
    "&amp; &lt;b&gt;", "line\u2028separator\u2029", "nul\x00bell\x07", "half \ud800 a pair",
    '"><img src=x onerror=alert(3)>', "javascript:alert(4)", "]]> --> */", "日本語 عربى",
]  # fmt: skip


def fitted(**options):
    return rspca.SparsePCA(**{"n_components": 3, "k": 4, "scale": True, "random_state": 0} | options).fit(WINE.data)


def hostile_report(path, m=30):
    """Write a report in which every name is one that would break the page, or run something."""
    n = len(HOSTILE)
    X = np.random.default_rng(0).standard_normal((m, n))
    model = rspca.SparsePCA(2, k=n, random_state=0).fit(X)
    each = np.resize(HOSTILE, m).tolist()
    return write_report(
        path, model, scores=model.transform(X), sample_names=each, samples=dict.fromkeys(HOSTILE, each),
        label=HOSTILE[0], title=HOSTILE[1], provenance=dict.fromkeys(HOSTILE, HOSTILE), documents=each,
        feature_names=HOSTILE,
    )  # fmt: skip


def large_model(extra=False):
    """A fit of 20 components of 1,000 features each, made by hand: what counts is its size."""
    rng, n = np.random.default_rng(0), 40_000
    components = np.zeros((20, n))
    for row in components:
        row[rng.choice(n, 1000, replace=False)] = rng.standard_normal(1000)
        row /= np.linalg.norm(row)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = rspca.SparsePCA(20, k=1000).fit(rng.standard_normal((25, 1000)))
    model.components_, model.n_features_in_ = components, n
    model.supports_ = [np.flatnonzero(row) for row in components]
    leading = np.unique([support[np.argsort(-np.abs(row[support]))][:20] for row, support in
                         zip(components, model.supports_, strict=True)])  # fmt: skip
    stored = [np.union1d(leading, support) for support in model.supports_]
    ends, values = np.cumsum([0, *map(len, stored)]), rng.uniform(-1.0, 1.0, sum(map(len, stored)))
    model.structure_ = csr_array((values, np.concatenate(stored), ends), shape=components.shape)
    model.associates_ = [np.array([], dtype=np.int64)] * 20
    model.inclusion_probability_ = type(model.inclusion_probability_)(np.abs(components) ** 0.1 * (components != 0))
    model.feature_names_in_ = np.array([f"rs{i}" for i in rng.integers(10**6, 10**8, n)], dtype=object)
    if extra:
        model.features_ = {
            "chromosome": rng.integers(1, 23, n).astype(str), "position": rng.integers(1, 2 * 10**8, n),
            "allele_1": rng.choice(list("ACGT"), n), "allele_2": rng.choice(list("ACGT"), n),
            "frequency": rng.random(n), "missing": rng.random(n) * 0.02,
        }  # fmt: skip
    return model, rng.standard_normal((2500, 20)) * 7.0, rng.choice(["AFR", "EUR", "EAS", "SAS", "AMR"], 2500)
