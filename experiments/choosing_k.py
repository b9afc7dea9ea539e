"""The figure of docs/choosing-k.md: the path over k with its proven bound, and what held-out data say.

    python experiments/choosing_k.py

Writes docs/figures/choosing_k.png. The data are simulated: 100 samples, 1,000 features, of which 30 move together, once
strongly and once half as strongly.
"""

from __future__ import annotations

from typing import Any

from kept import plt, save_figure, say
from sklearn.model_selection import cross_val_score

import rspca
from rspca.analysis.k_path import Path
from rspca.datasets import make_planted_spikes
from rspca.plotting import PathDisplay
from rspca.plotting.looks import label_values, legend_below, percent_axis

KS = (2, 5, 10, 20, 30, 40, 60, 100, 300, 1000)


def study(strength: float) -> tuple[Path, list[float]]:
    """Return the path over k, and the share of held-out variance at each k."""
    X, _ = make_planted_spikes(100, 1000, 30, 1, strength=strength)
    path = rspca.path(X, KS, certify=True, seconds=240.0)
    held_out = [float(cross_val_score(rspca.SparsePCA(1, k=k, random_state=0), X, cv=5).mean()) for k in KS]
    say(f"\nstrength {strength:g}\n{path}")
    for k, share in zip(KS, held_out, strict=True):
        say(f"k = {k:>4}: {100 * share:.2f} % of held-out variance")
    return path, held_out


def main() -> None:
    figure, axes = plt.subplots(1, 3, figsize=(13, 3.9), layout="constrained")
    styles: list[dict[str, Any]] = [
        {"color": "#0072B2", "marker": "o", "label": "strong"},
        {"color": "#D55E00", "marker": "s", "label": "half as strong"},
    ]
    for ax, strength, style in zip(axes, (20.0, 10.0), styles, strict=False):
        path, held_out = study(strength)
        PathDisplay.from_path(path, ax=ax).ax_.set_title(style["label"])
        axes[2].plot(KS, held_out, markersize=4, **style)
    axes[2].axvline(30, color="0.4", linestyle=":", label="30 features, planted")
    axes[2].set(xscale="log", xlabel="features k", ylabel="share of the held-out variance", title="held out, 5 folds")
    label_values(axes[2], KS, 30)
    percent_axis(axes[2].yaxis)
    axes[2].grid(alpha=0.3)
    legend_below(axes[2], *axes[2].get_legend_handles_labels())
    save_figure(figure, "choosing_k")


if __name__ == "__main__":
    main()
