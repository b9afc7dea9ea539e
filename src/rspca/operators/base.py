"""What operators are built from, in one place to import it from: protocol, mixin, base classes, moments, blocks."""

from rspca.operators.blocks import BLOCK_BYTES, chunks
from rspca.operators.data import Adapted, DataOperator
from rspca.operators.gram_products import Moments, moments_about_zero
from rspca.operators.mixin import OperatorMixin, returned_by
from rspca.operators.products import Meter
from rspca.operators.protocol import Operator

__all__ = [
    "BLOCK_BYTES",
    "Adapted",
    "DataOperator",
    "Meter",
    "Moments",
    "Operator",
    "OperatorMixin",
    "chunks",
    "moments_about_zero",
    "returned_by",
]
