"""What combines with what: one table of the settings that modes for several components refuse, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from rspca.algorithm.joint.constrained import CONSTRAINTS
from rspca.base.arguments import argument
from rspca.base.checks import check_choice
from rspca.methods import METHODS, PARTS

Given = Mapping[str, Any]
"""Arguments of `decompose` or parameters of SparsePCA."""
TOGETHER = ("joint", "constraint", "shared_support")
MODE_ARGUMENTS = (*TOGETHER, "nonnegative")


class Refusal(NamedTuple):
    """A setting that does not go with some of the modes."""

    setting: str
    """The argument that is refused."""
    words: str
    """Its values, as the table of the manual names them."""
    modes: tuple[str, ...]
    """The arguments it does not go with."""
    applies: Callable[[Given], bool]
    why: str


REFUSALS = (
    Refusal("method", 'method="pca"', MODE_ARGUMENTS, lambda given: (METHODS | PARTS)[given["method"]].dense,
            "its components use all features"),
    Refusal("method", 'methods other than "rspca"', ("nonnegative",),
            lambda given: not (METHODS | PARTS)[given["method"]].rounds,
            "only method 'rspca' keeps signs"),
    Refusal("deflation", 'deflation other than "schur"', TOGETHER, lambda given: given["deflation"] != "schur",
            "the components it starts from are those of Schur deflation; leave the deflation out"),
    Refusal("normalization", 'normalization="naive"', TOGETHER, lambda given: given["normalization"] != "svd",
            "all loadings are refitted together; leave the normalization out"),
    Refusal("side", 'side="both"', MODE_ARGUMENTS, lambda given: given.get("side", "features") != "features",
            "it is for features only; choose side='features'"),
    Refusal("k", "a list of several k", ("shared_support",), lambda given: len(np.unique(given["k"])) > 1,
            "one support has one number of features; give one k"),
    Refusal("joint", "joint=True", ("shared_support",), lambda given: bool(given["joint"]),
            "components on one support are found together already; leave one of the two out"),
    Refusal("constraint", "constraint", ("shared_support",), lambda given: given["constraint"] is not None,
            "components on one support are orthogonal and uncorrelated, and cannot be disjoint; leave one of the two "
            "out"),
)  # fmt: skip
"""Every pair of settings that is refused; all others combine."""


def check_combination(given: Given) -> None:
    """Raise if the settings for several components are unknown, or do not go together, before any work.

    `nonnegative`, an option of method="rspca", is checked with its other options.
    """
    for name in ("joint", "shared_support"):
        check_choice(name, given[name], (True, False))
    if given["constraint"] is not None:
        check_choice("constraint", given["constraint"], CONSTRAINTS)
    for name in MODE_ARGUMENTS:
        for refusal in REFUSALS if given[name] else ():
            if name in refusal.modes and refusal.applies(given):
                raise ValueError(
                    f"{argument(name, given[name])} does not go with "
                    f"{argument(refusal.setting, given[refusal.setting])}: {refusal.why}."
                )


def check_nothing_earlier(given: Given, earlier: Any) -> None:
    """Refuse to continue after components that were found together with others."""
    asked = [name for name in TOGETHER if given[name]]
    if asked and len(earlier):
        raise ValueError(
            f"earlier continues a search for components one by one; {argument(asked[0], given[asked[0]])} finds all of "
            "them together: leave earlier out."
        )
