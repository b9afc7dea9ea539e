"""
Populations from a few SNPs
===========================

Genotypes of 300 simulated people of four populations at 2,000 linked SNPs. Components of 40 SNPs, at most one in each
window of 20,000 base pairs, since neighbors repeat each other.
"""

import tempfile
from pathlib import Path

import numpy as np

import rspca
from rspca.plotting import ScoresDisplay

X, population = rspca.datasets.make_genotypes(300, 2000, 4, random_state=0)
folder = tempfile.TemporaryDirectory()
rspca.formats.write_plink(Path(folder.name) / "study.bed", X)

table = rspca.read(Path(folder.name) / "study.bed", min_frequency=0.05)
model = rspca.SparsePCA(3, k=40, scale="patterson", groups=20_000, random_state=0).fit(table)
names = [f"population {i}" for i in population]
ScoresDisplay.from_estimator(model, table, labels=names)

# %%
# Two of them lie close together in this plane. The third component separates them.

ScoresDisplay.from_estimator(model, table, labels=names, components=(1, 2))

# %%
# The three components use this many of the SNPs:

print(len(np.unique(np.concatenate(model.supports_))), "of", table.shape[1])

# %%
# And these are the first of them, with what the file knows of each.

for snp in model.top_features(0, 3):
    print(snp.snp, snp.chromosome, snp.position, f"{snp.allele_1}/{snp.allele_2}", round(snp.loading, 3))
