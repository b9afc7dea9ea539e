"""Access to data: one protocol, the containers behind it, and the wrappers round it."""

from rspca.base.types import Array
from rspca.operators.base import Adapted, Operator, OperatorMixin
from rspca.operators.convert import as_operator, prepare
from rspca.operators.deflated import Deflated, ScoreDeflated
from rspca.operators.dense import DenseOperator
from rspca.operators.gram import GramOperator
from rspca.operators.sparse import SparseOperator
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
