"""Permutation tests as JSON documents and files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from rspca.analysis.permutation import PermutationTest
from rspca.base.atomic import written_atomically
from rspca.base.checks import reason
from rspca.cli.options import plain


def document_of_test(test: PermutationTest) -> dict[str, Any]:
    """Return a test as a document: components with their null bands, and what they suggest."""
    low, high = test.band()
    components = [
        {
            "component": j + 1,
            "k": test.k[j],
            "statistic": test.statistic[j],
            "null_low": low[j],
            "null_high": high[j],
            "p": p,
            "verdict": test.words(j),
        }
        for j, p in enumerate(test.p)
    ]
    return {
        "components": components,
        "suggested": test.suggested,
        "alpha": test.alpha,
        "n_permutations": test.n_permutations,
        "assumption": test.assumption,
    }


def write_test(path: Path, test: PermutationTest, inputs: dict[str, Any]) -> None:
    """Write a test, with all that is needed to continue it."""
    state = {"statistic": test.statistic, "null": test.null, "k": test.k, "alpha": test.alpha, "seed": test.seed}
    document = plain(document_of_test(test) | {"state": state, "inputs": inputs})
    with written_atomically(path) as file:
        file.write((json.dumps(document, indent=1, allow_nan=False) + "\n").encode())


def read_test(path: Path, inputs: dict[str, Any]) -> PermutationTest | None:
    """Return the test in a file, if there is one and it was made of the same data in the same way."""
    if not path.exists():
        return None
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        state, before = document["state"], document["inputs"]
        null = np.asarray(state["null"], dtype=float).reshape(-1, len(state["k"]))
        known = {"statistic": np.asarray(state["statistic"], dtype=float), "null": null, "alpha": state["alpha"]}
        test = PermutationTest(k=[int(k) for k in state["k"]], seed=int(state["seed"]), **known)
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a test that rspca test wrote: {reason(error)}; choose another -o.") from error
    if before != plain(inputs):
        raise ValueError(
            f"{path} is a test of other data, or with other options; run without --resume, or choose another -o."
        )
    return test
