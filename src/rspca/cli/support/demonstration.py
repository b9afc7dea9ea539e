"""What `rspca demo` shows: methods at equal non-zeros on three built-in data sets, in tables and one figure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from rspca.analysis.compare import compare
from rspca.base.atomic import written_atomically
from rspca.base.types import COMPILE, OnStep, Step
from rspca.datasets import PITPROPS_FEATURES, load_pitprops, make_hadamard
from rspca.estimator import SparsePCA
from rspca.operators import GramOperator
from rspca.plotting import SharesDisplay

PROOF_SECONDS = 2.0
"""Time for the proof of each comparison."""


class Example(NamedTuple):
    """One data set of the demo."""

    title: str
    X: Any
    k: int
    names: list[str] | None
    scale: bool


def examples() -> list[Example]:
    """Return the built-in data: pitprops, the paper's synthetic family, and a real set from scikit-learn."""
    from sklearn.datasets import load_breast_cancer

    cancer = load_breast_cancer()
    return [
        Example("pitprops (13 x 13 correlations)", GramOperator(load_pitprops()), 5, list(PITPROPS_FEATURES), False),
        Example("the paper's synthetic family, centered (128 x 4096)", make_hadamard(), 41, None, False),
        Example("breast cancer (569 x 30), scaled", cancer.data, 6, cancer.feature_names.tolist(), True),
    ]


def _compiling_to(echo: Callable[[str], Any]) -> OnStep:
    """Return a callback that announces compiling: it takes half a minute, once on a machine."""

    def report(step: Step) -> None:
        if step.stage == COMPILE and step.iteration == 0:
            echo("(compiling the exact search, once on this machine)")

    return report


def run(out: Path, *, seed: int = 0, echo: Callable[[str], Any] = print) -> None:
    """Print the tables and write the figure to `out`."""
    out.mkdir(parents=True, exist_ok=True)
    shown = examples()
    for example in shown:
        echo(f"\n{example.title}: share of the variance of one dense component, at exactly k = {example.k} features")
        options: dict[str, Any] = {"scale": example.scale, "random_state": seed, "on_step": _compiling_to(echo)}
        echo(str(compare(example.X, example.k, certify_seconds=PROOF_SECONDS, **options)))
    for example in (shown[0], shown[-1]):
        model = SparsePCA(2, k=example.k, scale=example.scale, random_state=seed).fit(example.X)
        echo(f"\n{example.title}: two components, adjusted variance ratio {model.explained_variance_ratio_.round(3)}")
        for number in range(model.n_components_):
            features = model.top_features(number, names=example.names)
            echo(f"  {number + 1}: " + ", ".join(f"{f.loading:+.2f} {f.name}" for f in features))
    last = shown[-1]
    try:
        options = {"scale": last.scale, "random_state": seed}
        display = SharesDisplay.from_data(last.X, range(1, 31), title=last.title, **options)
    except ImportError as reason:
        echo(f"\nNo figure. {reason}")
        return
    with written_atomically(out / "shares.png") as file:
        display.figure_.savefig(file, format="png", dpi=120, bbox_inches="tight")
    echo(f"\nFigure: {out / 'shares.png'}")
