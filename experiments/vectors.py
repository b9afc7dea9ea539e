"""The appendix's four panels: the leading singular vector of the synthetic data, and three sparse ones at 0.1 n.

    python experiments/vectors.py

Writes results/vectors.csv and docs/figures/vectors.png, for the matrix as printed and for the centered one.
"""

from __future__ import annotations

import numpy as np
from kept import METHODS, PAPER, Row, leading_pairs, plt, prepare, refitted, save, save_figure, say, show

import rspca

RATIO = 0.1


def main() -> None:
    X = rspca.datasets.make_hadamard()
    n = X.shape[1]
    rows: list[Row] = []
    figure, axes = plt.subplots(2, 4, figsize=(13, 5), layout="constrained", sharex=True)
    for line, center in zip(axes, (False, True), strict=True):
        op = prepare(X, center=center)
        pairs = leading_pairs(op, 2, tol=1e-9)
        leading, name = pairs.vectors[:, 0], "centered" if center else "as printed"
        rspca_ = METHODS["rspca"](
            op, 1, round(RATIO * n), normalization="naive", rng=np.random.default_rng(0), **PAPER
        )[0]
        count = len(rspca_.support)
        found = {"rspca": rspca_} | {
            method: METHODS[method](op, 1, count, normalization="naive")[0] for method in ("spasm", "maxcomp")
        }
        default = METHODS["rspca"](op, 1, count, rng=np.random.default_rng(0))[0]
        largest = set(np.argsort(-np.abs(leading))[: n // 4].tolist())
        for method, one in (*found.items(), ("default", default)):
            rows.append({
                "data": name, "gap": pairs.values[1] / pairs.values[0], "method": method, "nonzeros": count,
                "among the largest quarter": len(largest & set(one.support.tolist())) / count,
                "shared with the default": len(np.intersect1d(one.support, default.support)) / count,
                "f naive": one.variance / pairs.values[0], "f svd": refitted(op, one).variance / pairs.values[0],
            })  # fmt: skip
        titles = {"rspca": "the paper's method", "spasm": "SPASM", "maxcomp": "MaxComp"}
        vectors = {"dense component": leading} | {titles[method]: one.dense() for method, one in found.items()}
        for ax, (title, vector) in zip(line, vectors.items(), strict=True):
            used = np.flatnonzero(vector)
            ax.axhline(0.0, color="0.6", linewidth=0.8)
            ax.plot(used, vector[used], "o", color="C0", markersize=2.0, markeredgewidth=0.0)
            ax.set_title(f"{title}, {name}", fontsize=9)
    figure.supxlabel("number of the feature")
    figure.supylabel("loading; features with loading 0 have no dot")
    say(f"synthetic data, {X.shape[0]} x {n}, about 0.1 n non-zeros; the paper shows the vectors without numbers")
    show(rows)
    save("vectors", rows)
    save_figure(figure, "vectors")


if __name__ == "__main__":
    main()
