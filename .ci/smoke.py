"""What an installed rspca must do outside its source tree: fit a CSV, write a page, save, load, transform, certify."""

import subprocess
import sys
from pathlib import Path

import numpy as np

import rspca

command, rng = sys.argv[1], np.random.default_rng(0)
assert "site-packages" in rspca.__file__, rspca.__file__
X = rng.standard_normal((40, 6)) + np.outer(rng.standard_normal(40), [3, 2, 0, 0, 0, 1])
names = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]
np.savetxt("smoke.csv", X, delimiter=",", header=",".join(names), comments="")
subprocess.run([command, "fit", "smoke.csv", "-k", "2", "-n", "2", "-o", "smoke-out", "--certify"], check=True)
model = rspca.load("smoke-out/model.npz")
assert [feature.name for feature in model.top_features(0)] == ["alpha", "beta"], model.top_features(0)
assert model.certificates_[0].status == "optimal"
assert model.transform(X).shape == (40, 2)
assert "alpha" in Path("smoke-out/report.html").read_text()
