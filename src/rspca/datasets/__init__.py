"""Example data: generated, shipped with rspca, or downloaded."""

from rspca.datasets.counterexamples import Counterexample, make_counterexample
from rspca.datasets.fetchers import Dataset, fetch_classic2, fetch_classic3, fetch_gse10072, fetch_hapmap3, fetch_hgdp
from rspca.datasets.generators import make_genotypes, make_hadamard, make_planted_spikes
from rspca.datasets.pitprops import PITPROPS_FEATURES, load_pitprops

__all__ = [
    "PITPROPS_FEATURES",
    "Counterexample",
    "Dataset",
    "fetch_classic2",
    "fetch_classic3",
    "fetch_gse10072",
    "fetch_hapmap3",
    "fetch_hgdp",
    "load_pitprops",
    "make_counterexample",
    "make_genotypes",
    "make_hadamard",
    "make_planted_spikes",
]
