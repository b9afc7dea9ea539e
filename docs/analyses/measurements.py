"""How many of 30 measurements does a classifier need? Breast cancer data of scikit-learn, in a pipeline."""

from __future__ import annotations

from typing import Any

import numpy as np
from drawing import COLORS, Analysis, plt
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

import rspca
from rspca.plotting.looks import legend_below, percent_axis

TITLE = "How many measurements does a classifier need?"
QUESTION = "A pipeline uses three principal components of 30 measurements. Would a few measurements do?"
GUIDE = "sklearn.md"
KS = (1, 2, 3, 5, 8, 12, 20, 30)


def fitted(X: Any, y: Any, k: int, method: str = "rspca") -> Any:
    """Return the accuracy on each fold."""
    components = rspca.SparsePCA(3, k=k, scale=True, method=method, random_state=0)
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=4, random_state=0)
    accuracy = cross_val_score(make_pipeline(components, LogisticRegression()), X, y, cv=folds)
    return accuracy


def analysis() -> Analysis:
    """Draw held-out accuracy against the number of measurements in use."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    used, means, errors = list[int](), list[float](), list[float]()
    for k in KS:
        accuracy = fitted(X, y, k)
        model = rspca.SparsePCA(3, k=k, scale=True, random_state=0).fit(X)
        used.append(len(np.unique(np.concatenate(model.supports_))))
        means.append(float(accuracy.mean()))
        errors.append(float(accuracy.std()))
    dense = fitted(X, y, X.shape[1], "pca").mean()
    figure, ax = plt.subplots(figsize=(6.6, 3.5), layout="constrained")
    ax.errorbar(KS, means, errors, fmt="o-", color=COLORS[0], capsize=3, label="three components of k measurements")
    ax.axhline(dense, color=COLORS[1], ls="--", label="three dense components, all 30")
    for k, count, mean in zip(KS, used, means, strict=True):
        ax.annotate(f"{count}", (k, mean), xytext=(6, -12), textcoords="offset points", fontsize=8)
    ax.set(xscale="log", xlabel="k, measurements in each component (small numbers: different ones in all three)",
           ylabel="held-out accuracy")  # fmt: skip
    ax.set_xticks(KS, [str(k) for k in KS])
    ax.minorticks_off()
    percent_axis(ax.yaxis)
    legend_below(ax, *ax.get_legend_handles_labels())
    facts = {
        "samples": X.shape[0], "used": dict(zip(map(str, KS), used, strict=True)),
        "accuracy": dict(zip(map(str, KS), means, strict=True)), "dense": float(dense),
    }  # fmt: skip
    return Analysis(figure, facts)


def caption(facts: dict[str, Any]) -> str:
    """Return what the figure shows."""
    accuracy, used = facts["accuracy"], facts["used"]
    return (
        f"Benign or malignant, {facts['samples']} tumors: logistic regression on three components, five folds repeated "
        f"four times; bars are standard deviations over folds. With k = 3, {used['3']} of 30 measurements, "
        f"{100 * accuracy['3']:.1f} % are right; with dense components {100 * facts['dense']:.1f} %."
    )


def findings(facts: dict[str, Any]) -> str:
    """Return what a reader can learn from it."""
    best = max(facts["accuracy"], key=facts["accuracy"].__getitem__)
    return (
        f"The best k here is {best}, with {100 * facts['accuracy'][best]:.1f} %. Components of most variance "
        "do not look "
        "at the target; to choose measurements *for* a target, a penalized classifier is the direct way. "
        "Components are "
        "for reading, and for data where the target comes later."
    )
