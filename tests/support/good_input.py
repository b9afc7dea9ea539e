"""Small input that is in order, to stand beside a bad value: data, documents, a model, a certificate, AnnData."""

from functools import cache

import numpy as np
import pytest

import rspca
from rspca import SparsePCA

M, N = 10, 6
X = np.random.default_rng(0).standard_normal((M, N))
TEXTS = ["wing flow lift", "heat flow", "library books"]


@cache
def model():
    return SparsePCA(2, k=3, random_state=0).fit(X)


@cache
def certificate():
    return rspca.certify(X, 2)


def adata():
    anndata = pytest.importorskip("anndata")
    return anndata.AnnData(X.copy())
