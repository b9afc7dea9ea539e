"""Draw the figures of the paper's pages again from experiments/results, without computing anything.

python experiments/draw.py
"""

from __future__ import annotations

import importlib

from kept import load

DRAWN = (
    "table1", "figure1", "figure2", "genotypes", "gene_expression", "convex", "starts", "hadamard", "every_method",
)  # fmt: skip
"""Experiments whose results have all that their figures show; the others draw vectors, which are not stored."""


def main() -> None:
    for name in DRAWN:
        importlib.import_module(name).draw(load(name))


if __name__ == "__main__":
    main()
