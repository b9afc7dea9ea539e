"""Figures of the experiments, drawn from stored results: axes have words, ticks and legends cover nothing."""

import itertools
import re
import sys
from pathlib import Path

import pytest

matplotlib = pytest.importorskip("matplotlib")
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "experiments"))

import draw  # noqa: E402
import kept  # noqa: E402


def drawn(name, monkeypatch):
    """Return the figures that an experiment draws, laid out as in its files."""
    module, figures = draw.importlib.import_module(name), []
    monkeypatch.setattr(module, "save_figure", lambda figure, _: figures.append(figure))
    module.draw(kept.load(name))
    for figure in figures:
        figure.canvas.draw()
    return figures


def words_of(text):
    return re.findall(r"[A-Za-z]{3,}", text)


def shown(axis):
    """Return the tick labels of an axis that are in view."""
    low, high = sorted(axis.get_view_interval())
    ticks = zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=True)
    return [label for place, label in ticks if low <= place <= high and label.get_text()]


# issue 21: "axes with words, "f" is not a label"; overlapping ticks
@pytest.mark.parametrize("name", draw.DRAWN)
def test_axes_have_words_and_ticks_and_legends_cover_nothing(name, monkeypatch):
    for figure in drawn(name, monkeypatch):
        for ax in figure.axes:
            named = [name for name in (ax.get_ylabel(), figure.get_supylabel()) if name]
            named = named or [label.get_text() for label in shown(ax.yaxis)]  # rows that have names
            if name != "table1":  # its two panels share a label
                assert any(len(words_of(text)) >= 1 for text in named), "vertical axis"
            assert words_of(ax.get_xlabel() or figure.get_supxlabel()), "horizontal axis"
            assert not {*words_of(ax.get_ylabel())} & {"ratio", "printed"}
            for axis in (ax.xaxis, ax.yaxis):
                boxes = [(label.get_text(), label.get_window_extent()) for label in shown(axis)]
                assert not [
                    (one, other)
                    for (one, box), (other, another) in itertools.combinations(boxes, 2)
                    if min(box.x1, another.x1) - max(box.x0, another.x0) > 1
                    and min(box.y1, another.y1) - max(box.y0, another.y0) > 2
                ]
            for legend in [*figure.legends, *filter(None, [ax.get_legend()])]:
                assert not legend.get_window_extent().padded(-1).overlaps(ax.bbox)
    matplotlib.pyplot.close("all")
