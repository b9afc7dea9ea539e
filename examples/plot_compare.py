"""
Methods side by side
====================

Every method at the same number of features, with its own loadings and with refitted ones.
"""

import rspca
from rspca.plotting import ComparisonDisplay

pitprops = rspca.GramOperator(rspca.datasets.load_pitprops())
comparison = rspca.compare(pitprops, 5)
ComparisonDisplay.from_comparison(comparison)

# %%
# The dashed line is a proven bound: no five features have more. Most methods find the same five here. On the paper's
# synthetic family, centered, they do not:

X = rspca.datasets.make_hadamard(64, 256)
methods = ["rspca", "maxcomp", "spasm", "tpower"]
print(rspca.compare(X, 13, methods=methods, certify_seconds=None))
