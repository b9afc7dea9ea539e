"""Access to data: one protocol, the containers behind it, and the wrappers round it."""

from rspca.operators.deflated import Deflated, ScoreDeflated
from rspca.operators.gram import GramOperator
from rspca.operators.matrix import DenseOperator, SparseOperator
from rspca.operators.protocol import Adapted, Array, Operator, OperatorMixin
from rspca.operators.sources import as_operator, prepare
from rspca.operators.standardized import Centered, Scaled

__all__ = [
    "Adapted",
    "Array",
    "Centered",
    "Deflated",
    "DenseOperator",
    "GramOperator",
    "Operator",
    "OperatorMixin",
    "Scaled",
    "ScoreDeflated",
    "SparseOperator",
    "as_operator",
    "prepare",
]
