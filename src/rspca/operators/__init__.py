"""Access to data: one protocol, the containers behind it, and the wrappers around it."""

from rspca.base.types import Array
from rspca.operators.base import Adapted, Operator, OperatorMixin
from rspca.operators.convert import as_operator, prepare
from rspca.operators.deflated import Deflated, ScoreDeflated
from rspca.operators.dense import DenseOperator
from rspca.operators.float64 import Float64Columns
from rspca.operators.gram import GramOperator
from rspca.operators.multiplied import MultipliedOperator
from rspca.operators.shifted import Shifted
from rspca.operators.sparse import SparseOperator
from rspca.operators.standardized import Centered, Scaled
from rspca.operators.transposed import Transposed

__all__ = [
    "Adapted",
    "Array",
    "Centered",
    "Deflated",
    "DenseOperator",
    "Float64Columns",
    "GramOperator",
    "MultipliedOperator",
    "Operator",
    "OperatorMixin",
    "Scaled",
    "ScoreDeflated",
    "Shifted",
    "SparseOperator",
    "Transposed",
    "as_operator",
    "prepare",
]
