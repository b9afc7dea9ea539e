"""Figures, with matplotlib (extra "plot"): loadings, scores, the path over k, permutation tests and comparisons.

Each ``plot_`` function draws one figure and returns its Axes. The classes follow the Display convention of
scikit-learn: a constructor ``from_...`` computes and draws, ``plot`` draws again, and ``ax_``, ``figure_`` and the
artists can be changed afterwards. Colors are distinct for the color-blind, and markers differ too.
"""

from rspca.plotting.displays import (
    ComparisonDisplay,
    GenomeDisplay,
    LoadingsDisplay,
    PathDisplay,
    PermutationDisplay,
    ScoresDisplay,
)
from rspca.plotting.figures import (
    plot_comparison,
    plot_genome,
    plot_loadings,
    plot_path,
    plot_scores,
    plot_shares,
    plot_test,
)

__all__ = [
    "ComparisonDisplay",
    "GenomeDisplay",
    "LoadingsDisplay",
    "PathDisplay",
    "PermutationDisplay",
    "ScoresDisplay",
    "plot_comparison",
    "plot_genome",
    "plot_loadings",
    "plot_path",
    "plot_scores",
    "plot_shares",
    "plot_test",
]
