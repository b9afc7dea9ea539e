"""Principal components of exactly k features each, from any matrix you can multiply by."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what type checkers see; the table below is what is imported
    from rspca import datasets as datasets
    from rspca import formats as formats
    from rspca import plotting as plotting
    from rspca import report as report
    from rspca import singlecell as singlecell
    from rspca import text as text
    from rspca.algorithm.results import Component as Component
    from rspca.algorithm.results import Decomposition as Decomposition
    from rspca.algorithm.round import round_vector as round_vector
    from rspca.algorithm.round import theorem1 as theorem1
    from rspca.analysis.compare import compare as compare
    from rspca.analysis.k_path import path as path
    from rspca.analysis.permutation import PermutationTest as PermutationTest
    from rspca.analysis.permutation import permutation_test as permutation_test
    from rspca.analysis.stability import Stability as Stability
    from rspca.api import certify as certify
    from rspca.api import decompose as decompose
    from rspca.api import explained_variance as explained_variance
    from rspca.api import normalize as normalize
    from rspca.api import relax as relax
    from rspca.base.types import Step as Step
    from rspca.certificates.certificate import Certificate as Certificate
    from rspca.certificates.joint_certificate import JointCertificate as JointCertificate
    from rspca.estimator import SparsePCA as SparsePCA
    from rspca.estimator import load as load
    from rspca.formats.reading import read as read
    from rspca.formats.table import Table as Table
    from rspca.methods import METHODS as METHODS
    from rspca.operators import GramOperator as GramOperator
    from rspca.operators import OperatorMixin as OperatorMixin
    from rspca.operators import as_operator as as_operator
    from rspca.singlecell import spca as spca

_HOMES = {
    "SparsePCA": "rspca.estimator",
    "decompose": "rspca.api",
    "relax": "rspca.api",
    "normalize": "rspca.api",
    "explained_variance": "rspca.api",
    "round_vector": "rspca.algorithm.round",
    "theorem1": "rspca.algorithm.round",
    "as_operator": "rspca.operators",
    "GramOperator": "rspca.operators",
    "OperatorMixin": "rspca.operators",
    "METHODS": "rspca.methods",
    "compare": "rspca.analysis.compare",
    "certify": "rspca.api",
    "Certificate": "rspca.certificates.certificate",
    "JointCertificate": "rspca.certificates.joint_certificate",
    "path": "rspca.analysis.k_path",
    "permutation_test": "rspca.analysis.permutation",
    "PermutationTest": "rspca.analysis.permutation",
    "Stability": "rspca.analysis.stability",
    "load": "rspca.estimator",
    "read": "rspca.formats.reading",
    "spca": "rspca.singlecell",
    "Table": "rspca.formats.table",
    "Component": "rspca.algorithm.results",
    "Decomposition": "rspca.algorithm.results",
    "Step": "rspca.base.types",
}
_MODULES = ("datasets", "formats", "plotting", "report", "singlecell", "text")

__version__ = "0.2.0"
__all__ = ["__version__", *_HOMES, *_MODULES]


if not TYPE_CHECKING:  # otherwise every misspelled name would have the type Any

    def __getattr__(name: str) -> Any:
        """Import a public name when it is first used (PEP 562), so that importing rspca costs nothing."""
        if name in _HOMES:
            value = getattr(importlib.import_module(_HOMES[name]), name)
        elif name in _MODULES:
            value = importlib.import_module(f"rspca.{name}")
        else:
            raise AttributeError(f"module 'rspca' has no attribute {name!r}; it has {', '.join(sorted(__all__))}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
