"""
Reading components
==================

178 wines, 13 measurements. Two components of four measurements each, their loadings, and the wines in their plane.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

import rspca
from rspca.plotting import LoadingsDisplay, ScoresDisplay

wine = load_wine(as_frame=True)
model = rspca.SparsePCA(n_components=2, k=4, scale=True, random_state=0).fit(wine.data)

figure, axes = plt.subplots(2, 1, figsize=(7, 4), layout="constrained", sharex=True)
for number, ax in enumerate(axes):
    LoadingsDisplay.from_estimator(model, component=number, ax=ax)

# %%
# The first component is made of phenols, the second of alcohol and color. Together they separate the three cultivars,
# which the fit has not seen.

names = [wine.target_names[i] for i in wine.target]
ScoresDisplay.from_estimator(model, wine.data, labels=names)

# %%
# What four features cost against all 13, as shares of the total variance:

dense = rspca.SparsePCA(2, k=13, method="pca", scale=True).fit(wine.data)
print("sparse", model.explained_variance_ratio_.round(3))
print("dense ", dense.explained_variance_ratio_.round(3))
