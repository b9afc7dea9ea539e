"""Text with and without centering: topics of Classic-2, what their scores tell, how they overlap, passes over the data.

Run: python benchmarks/centering.py   (needs Classic-2: see docs/data.md)
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from common import Report, data
from sklearn.metrics import roc_auc_score

import rspca
from rspca.datasets import fetch_classic2

K, N = 60, 4
HIGHEST = 50


def main() -> None:
    try:
        found = data.fetched(fetch_classic2, "classic2/classic2_counts.npz", "classic2/classic2_vocab.txt.gz")
    except data.DataAbsent as reason:
        raise SystemExit(f"skipped {Path(__file__).name}: {reason}") from None
    X, words, labels = found.matrix, found.feature_names, np.asarray(found.labels)
    say = Report("centering.txt")
    say(f"Classic-2, {X.shape[0]} x {X.shape[1]}, {X.nnz} entries, k = {K}, {N} components, random_state = 0")
    mean = np.asarray(X.mean(axis=0)).ravel()
    mean /= np.linalg.norm(mean)
    for center in (True, False):
        op = rspca.as_operator(X)
        model = rspca.SparsePCA(N, k=K, center=center, random_state=0).fit(op)
        passes, scores = op.passes, model.transform(X)
        say(f"\ncenter={center}: {passes:.0f} passes over the data")
        for j, v in enumerate(model.components_):
            best = [feature.name for feature in model.top_features(j, 8, names=words)]
            negative = [feature.name for feature in model.top_features(j, names=words) if feature.loading < 0][:8]
            high = labels[np.argsort(-scores[:, j], kind="stable")[:HIGHEST]]
            names, counts = np.unique(high, return_counts=True)
            name, count = names[np.argmax(counts)], counts.max()
            auc = roc_auc_score(labels == labels[0], scores[:, j])
            auc = max(auc, 1 - auc)
            say(
                f"component {j + 1}: {', '.join(best)}\n"
                f"  signs: {int(np.sum(v > 0))} positive, {int(np.sum(v < 0))} negative; cosine with the mean of the "
                f"documents {abs(float(v @ mean)):.2f}\n"
                f"  negative: {', '.join(negative) or 'none'}\n"
                f"  {count} of the {HIGHEST} highest scores are {name}; AUC between the collections {auc:.3f}; "
                f"adjusted share of the variance {100 * model.explained_variance_ratio_[j]:.2f} %"
            )
        used = [set(support.tolist()) for support in model.supports_]
        shared = [[len(a & b) for b in used] for a in used]
        say(f"words shared by components: {shared}")


if __name__ == "__main__":
    main()
