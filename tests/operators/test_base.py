"""The mixin: what its methods return is registered, whatever was imported first."""

import pytest
from support.commandline import rspca_command

PROGRAM = """
import numpy as np
from rspca.operators.{first} import {name}
op = {name}({data})
print(*(type(one).__name__ for one in (op.restrict(np.array([0])), op.transposed(), op.shifted(np.ones(2)))))
"""


@pytest.mark.parametrize(
    ("first", "name", "data", "made"),
    [
        ("base", "Adapted", "np.eye(3, 2).view(type('Data', (np.ndarray,), {'columns': lambda self, S: self[:, S]}))",
         "DenseOperator Transposed Shifted"),
        ("dense", "DenseOperator", "np.eye(3, 2)", "DenseOperator DenseOperator DenseOperator"),
        ("sparse", "SparseOperator", "__import__('scipy.sparse').sparse.csr_array(np.eye(3, 2))",
         "SparseOperator SparseOperator Shifted"),
    ],
)  # fmt: skip
def test_the_mixin_makes_operators_whichever_module_comes_first(first, name, data, made, tmp_path):
    result = rspca_command(program=PROGRAM.format(first=first, name=name, data=data), cwd=tmp_path)
    assert (result.stdout.strip(), result.stderr) == (made, "")
