"""What the analyses share: data, colors, and figures saved as small PNG files."""

from __future__ import annotations

import inspect
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from PIL import Image

DOCS = Path(__file__).resolve().parent.parent
FIGURES = DOCS / "figures"
sys.path.insert(0, str(DOCS.parent))

from benchmarks import data as data  # noqa: E402

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F")
"""Colors that the color-blind can tell apart (Okabe and Ito)."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DPI = 110
PNG_COLORS = 200
"""Colors of a PNG file after quantization: half of the size, and no difference to the eye."""
plt.rcParams |= {"font.size": 9, "axes.titlesize": 10, "axes.spines.top": False, "axes.spines.right": False}


class Analysis(NamedTuple):
    """A figure, and the numbers that its page states."""

    figure: Any
    facts: dict[str, Any]


def save_figure(figure: Any, name: str) -> Path:
    """Write docs/figures/analysis_NAME.png and return its path."""
    path = FIGURES / f"analysis_{name}.png"
    figure.savefig(path, dpi=DPI)
    plt.close(figure)
    Image.open(path).convert("RGB").quantize(PNG_COLORS, dither=Image.Dither.NONE).save(path, optimize=True)
    return path


def shown_code(function: Callable[..., Any]) -> str:
    """Return the body of a function without its docstring and its last line, `return`: what a page shows of it."""
    lines = inspect.getsource(function).splitlines()
    first = next(number for number, line in enumerate(lines) if line.rstrip().endswith('"""')) + 1
    return textwrap.dedent("\n".join(lines[first:-1]))


def listed(words: list[str]) -> str:
    """Return words as a list in a sentence: a, b and c."""
    return ", ".join(words[:-1]) + " and " + words[-1]
