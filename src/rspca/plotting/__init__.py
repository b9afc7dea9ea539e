"""Figures, with matplotlib (extra "plot"): one Display for each panel of the report, and for comparisons.

The classes follow the Display convention of scikit-learn: a constructor ``from_...`` computes and draws, ``plot`` draws
again, and ``ax_``, ``figure_`` and the artists can be changed afterwards. Classes of samples differ in color and in
marker; legends are outside the Axes, where they cover no point: figures of your own need room there, as
``plt.subplots(layout="constrained")`` makes.
"""

from rspca.plotting.bars import CertificateDisplay, LoadingsDisplay, StabilityDisplay
from rspca.plotting.curves import PathDisplay, PermutationDisplay
from rspca.plotting.genome import GenomeDisplay
from rspca.plotting.matrices import HeatmapDisplay, LabelsDisplay
from rspca.plotting.methods import ComparisonDisplay, SharesDisplay
from rspca.plotting.retired import (  # noqa: F401 (deprecated, and so not in __all__)
    plot_comparison,
    plot_genome,
    plot_loadings,
    plot_path,
    plot_scores,
    plot_shares,
    plot_test,
)
from rspca.plotting.scatter import BiplotDisplay, CorrelationDisplay, ScoresDisplay
from rspca.plotting.variance import VarianceDisplay

__all__ = [
    "BiplotDisplay",
    "CertificateDisplay",
    "ComparisonDisplay",
    "CorrelationDisplay",
    "GenomeDisplay",
    "HeatmapDisplay",
    "LabelsDisplay",
    "LoadingsDisplay",
    "PathDisplay",
    "PermutationDisplay",
    "ScoresDisplay",
    "SharesDisplay",
    "StabilityDisplay",
    "VarianceDisplay",
]
