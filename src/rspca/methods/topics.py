"""Topics: parts of X whose loadings are not negative, and k features of each from which X is rebuilt best."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rspca.algorithm.loop import Found
from rspca.algorithm.parts import nonnegative_parts
from rspca.algorithm.rebuilt import rebuilding_supports
from rspca.base.arguments import argument
from rspca.base.checks import check_integer
from rspca.base.types import Report
from rspca.methods.registry import Method
from rspca.operators.base import OperatorMixin


def topics(op: OperatorMixin, ks: list[int], report: Report, *, seed: int = 0) -> Iterator[Found]:
    """Yield k words of each topic, the topic of the largest scores first.

    X is factorized into nonnegative parts. Of each part k features are chosen together for all parts: those whose
    scores rebuild X best. Loadings are the weights of these features in the part. For data without negative
    entries that are not centered, such as tf-idf of documents. `seed` is that of the start, which is accurate enough to
    depend on it little.
    """
    parts = nonnegative_parts(op, len(ks), np.random.default_rng(seed), report)
    ks = ks[: len(parts.weights)]
    supports = rebuilding_supports(op, parts.weights, ks, report) if ks else []
    found = [
        Found(support, row[support] / np.linalg.norm(row[support]), parts.n_iter, parts.converged)
        for support, row in zip(supports, parts.weights, strict=True)
    ]
    sizes = [float(np.sum(op.scores(candidate.support, candidate.loadings) ** 2)) for candidate in found]
    order = range(len(found)) if len(set(ks)) > 1 else np.argsort(-np.array(sizes), kind="stable")
    for place in order:
        yield found[int(place)]


def check_topics(op: OperatorMixin, ks: list[int], options: dict[str, Any]) -> dict[str, Any]:
    """Refuse data without samples, which have no nonnegative parts."""
    check_integer("seed", options["seed"], 0)
    if not op.has_samples:
        raise ValueError(
            f"{argument('method', 'topics')} factorizes the samples; a Gram matrix has none. Give the data matrix."
        )
    return options


TOPICS = Method("topics", topics, check_topics, joint=True, own_loadings=True)
