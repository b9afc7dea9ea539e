"""
Parts of digits
===============

1,797 images of 8 x 8 pixels. A dense component is a picture of all pixels; a sparse one is a stroke.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import rspca

X = load_digits().data
dense = rspca.SparsePCA(5, k=64, method="pca").fit(X)
sparse = rspca.SparsePCA(5, k=8, random_state=0).fit(X)

figure, axes = plt.subplots(2, 5, figsize=(8, 3.6), layout="constrained")
for row, model in zip(axes, (dense, sparse), strict=True):
    for ax, component in zip(row, model.components_, strict=True):
        largest = np.abs(component).max()
        ax.imshow(component.reshape(8, 8), cmap="PuOr", vmin=-largest, vmax=largest)
        ax.set_axis_off()
axes[0, 0].set_title("64 pixels each", loc="left")
axes[1, 0].set_title("8 pixels each", loc="left")

# %%
# Variance of the projection on all five, as a share of the total:

for name, model in (("dense", dense), ("sparse", sparse)):
    print(name, round(model.score(X), 3))
