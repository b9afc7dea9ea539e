"""
How many features?
==================

The path over k: the variance of the best component found, a proven bound on any other, and a suggested k.
"""

import rspca
from rspca.plotting import PathDisplay

pitprops = rspca.GramOperator(rspca.datasets.load_pitprops())
path = rspca.path(pitprops, range(1, 14), certify=True)
PathDisplay.from_path(path)

# %%
# The curves coincide: for each k the component is proven to be the best there is. The table says the same, and why that
# k is suggested.

print(path)
