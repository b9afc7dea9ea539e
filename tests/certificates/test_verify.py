"""Certificate.verify: the function that proves again is there, whatever was imported first."""

import numpy as np
from support.commandline import rspca_command

import rspca

PROGRAM = """
from rspca.certificates.certificate import Certificate
import sys, numpy
assert "rspca.estimator" not in sys.modules
found = Certificate.load("proof.json")
print(found.verify(numpy.diag([3.0, 2.0, 1.0, 1.0]), seconds=5))
"""


def test_a_certificate_read_by_a_process_that_proved_nothing_can_be_verified(tmp_path):
    rspca.certify(np.diag([3.0, 2.0, 1.0, 1.0]), 2).save(tmp_path / "proof.json")
    result = rspca_command(program=PROGRAM, cwd=tmp_path)
    assert (result.stdout.strip(), result.stderr) == ("True", "")
