"""How many SNPs show the 11 populations of HapMap 3? Sparse components of 20, 100 and 500 SNPs against dense ones.

    python experiments/hapmap3.py
    python experiments/hapmap3.py --figure    only the figure, from the stored numbers and four models

Writes results/hapmap3.csv, results/hapmap3.json, docs/figures/hapmap3.png and docs/hapmap3.md. Components and
classifier are fitted on four fifths of the people and judged on the rest, five times. Numbers of SNPs, variance,
clusters, certificates and the figure are those of all people.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import numpy as np
from build import write
from kept import Row, data, load, needed, plt, save, save_facts, save_figure, say, show
from sklearn.metrics import adjusted_rand_score, balanced_accuracy_score, silhouette_score
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

import rspca
from rspca.algorithm.feature_limits import windows
from rspca.datasets import fetch_hapmap3
from rspca.plotting import ScoresDisplay

KS = (20, 100, 500)
COUNTS = (2, 4, 6, 8)
WINDOW = 5_000_000
NEIGHBORS = 10
DRAWS = 3
SECONDS = 150.0
REGIONS = {
    "ASW": "Africa", "LWK": "Africa", "MKK": "Africa", "YRI": "Africa", "CEU": "Europe", "TSI": "Europe",
    "CHB": "East Asia", "CHD": "East Asia", "JPT": "East Asia", "GIH": "India", "MEX": "Mexico",
}  # fmt: skip
SPARSE = {f"k = {k}": {"k": k} for k in KS}
WINDOWS = {f"k = {k}, one SNP in 5 Mb": {"k": k, "groups": WINDOW} for k in KS}
LARGEST = {f"k = {k}, largest loadings": {"k": k, "method": "maxcomp"} for k in KS}


def table(samples: Any = None) -> rspca.Table:
    """The autosomal SNPs, packed as they lie in the file; all people, or some."""
    folder = data.data_path("hapmap3_flashpca")
    return rspca.read(folder / "data.bed", bim=folder / "data.bim.gz", samples=samples)


def models(n: int) -> dict[str, dict[str, Any]]:
    """The options of every model, by name."""
    return {"dense": {"method": "pca", "k": n}, **SPARSE, **WINDOWS, **LARGEST}


def fitted(people: Any, options: dict[str, Any], count: int = max(COUNTS)) -> rspca.SparsePCA:
    return rspca.SparsePCA(count, scale="patterson", random_state=0, **options).fit(people)


def used(model: rspca.SparsePCA, count: int) -> Any:
    """Return the SNPs of the first so many components."""
    return np.unique(np.concatenate(model.supports_[:count]))


def judged(train: Any, train_labels: Any, test: Any, test_labels: Any) -> list[float]:
    """Return the share of people whose neighbors tell their population, of 11 and of 10, and their region, of 5.

    Each population counts the same.
    """
    found = []
    for join in (np.asarray, merged, region):
        nearest = KNeighborsClassifier(NEIGHBORS).fit(train, join(train_labels))
        found.append(float(balanced_accuracy_score(join(test_labels), nearest.predict(test))))
    return found


def merged(labels: Any) -> Any:
    """Return the populations with the two samples of Han Chinese, of Beijing and of Denver, as one."""
    return np.where(np.isin(labels, ("CHB", "CHD")), "CHB+CHD", labels)


def region(labels: Any) -> Any:
    """Return where people or most of their ancestors came from: Africa, Europe, East Asia, India, or Mexico."""
    return np.array([REGIONS[label] for label in labels])


def on_columns(chosen: Any, count: int, inside: rspca.Table, outside: rspca.Table) -> tuple[Any, Any]:
    """Return scores of dense components of these SNPs alone."""
    A, B = inside.operator.columns(chosen), outside.operator.columns(chosen)
    model = fitted(A, {"method": "pca", "k": len(chosen)}, count)
    return model.transform(A), model.transform(B)


def held_out(names: Any, labels: Any) -> dict[tuple[str, int], list[float]]:
    """Return accuracies of each model and number of components on people that no part of it has seen."""
    found: dict[tuple[str, int], list[list[float]]] = {}
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    for number, (train, test) in enumerate(folds.split(names, labels), 1):
        inside, outside, rng = table(names[train]), table(names[test]), np.random.default_rng(number)
        for name, options in models(inside.shape[1]).items():
            model = fitted(inside, options)
            scores = model.transform(inside), model.transform(outside)
            for count in COUNTS:
                first, second = (part[:, :count] for part in scores)
                found.setdefault((name, count), []).append(judged(first, labels[train], second, labels[test]))
                if name not in SPARSE:
                    continue
                chosen = used(model, count)
                panel = on_columns(chosen, count, inside, outside)
                key = (f"{name}, dense on its SNPs", count)
                found.setdefault(key, []).append(judged(panel[0], labels[train], panel[1], labels[test]))
                for _ in range(DRAWS):
                    drawn = rng.choice(inside.shape[1], len(chosen), replace=False)
                    chance = on_columns(drawn, count, inside, outside)
                    key = (f"{name}, random SNPs", count)
                    found.setdefault(key, []).append(judged(chance[0], labels[train], chance[1], labels[test]))
        say(f"fold {number} of 5")
    return {key: np.mean(values, axis=0).tolist() for key, values in found.items()}


def clusters(scores: Any, labels: Any) -> float:
    """Return how well a mixture of 11 normal distributions, without labels, finds the populations (adjusted Rand)."""
    mixture = GaussianMixture(11, n_init=5, reg_covar=1e-4, random_state=0)
    return float(adjusted_rand_score(labels, mixture.fit_predict(scores / scores.std(axis=0))))


def main() -> None:
    everybody = needed(table)
    labels = np.asarray(data.fetched(fetch_hapmap3, "hapmap3_flashpca/data.bed").labels)
    accuracy = held_out(np.asarray(everybody.samples["iid"]), labels)
    rows: list[Row] = []
    scores, sizes, dense = dict[str, Any](), dict[tuple[str, int], int](), dict[int, float]()
    ratios = dict[str, Any]()
    for name, options in models(everybody.shape[1]).items():
        model = fitted(everybody, options)
        scores[name], ratios[name] = model.transform(everybody), model.explained_variance_ratio_
        for count in COUNTS:
            part = scores[name][:, :count]
            spans = rspca.explained_variance(everybody, model.components_[:count], "subspace", scale="patterson")
            dense.setdefault(count, float(np.sum(spans)))
            sizes[name, count] = len(used(model, count))
            rows.append({
                "data": name, "components": count, "SNPs": sizes[name, count],
                "variance": float(np.sum(spans)) / dense[count], **told(accuracy[name, count]),
                "silhouette": float(silhouette_score(part, labels)), "rand": clusters(part, labels),
            })  # fmt: skip
    for name, count in accuracy:
        if (name, count) not in sizes:
            size = sizes[name.rpartition(",")[0], count]
            rows.append({
                "data": name, "components": count, "SNPs": size, "variance": np.nan, **told(accuracy[name, count]),
                "silhouette": np.nan, "rand": np.nan,
            })  # fmt: skip
    show(save("hapmap3", rows))
    save_facts("hapmap3", people=everybody.shape[0], SNPs=everybody.shape[1], seconds=SECONDS,
               proofs=proofs(everybody))  # fmt: skip
    draw(scores, ratios, labels)
    write("hapmap3")


def draw_again() -> None:
    """Draw the figure without the cross-validation: four models of all people."""
    everybody = needed(table)
    labels = np.asarray(data.fetched(fetch_hapmap3, "hapmap3_flashpca/data.bed").labels)
    chosen = {name: models(everybody.shape[1])[name] for name in (*SPARSE, "dense")}
    found = {name: fitted(everybody, options) for name, options in chosen.items()}
    scores = {name: model.transform(everybody) for name, model in found.items()}
    draw(scores, {name: model.explained_variance_ratio_ for name, model in found.items()}, labels)


def told(accuracies: list[float]) -> Row:
    return dict(zip(("accuracy_11", "accuracy_10", "regions"), accuracies, strict=True))


def proofs(everybody: rspca.Table) -> list[Row]:
    """Return what is proven of the first component; with windows, among components that keep to them."""
    found = []
    X = everybody.operator.columns(np.arange(everybody.shape[1]))  # proofs read it often, and it fits into memory
    labels = windows(WINDOW, everybody.features)
    for name, options in {**SPARSE, **WINDOWS}.items():
        loadings = fitted(everybody, options, 1).components_[0]
        groups = labels if "groups" in options else None
        certify = partial(rspca.certify, X, options["k"], loadings=loadings, groups=groups)
        proof = certify(scale="patterson", seconds=SECONDS)
        found.append({"data": name, "gap": float(f"{proof.gap:.4g}"), "status": proof.status})
        say(f"{name}: {proof}")
    return sorted(found, key=lambda row: int(row["data"].split(",")[0].removeprefix("k = ")))


def draw(scores: dict[str, Any], ratios: dict[str, Any], labels: Any) -> None:
    """Draw the people in the plane of the first two components of each k, next to the dense ones."""
    two = {row["data"]: row for row in load("hapmap3") if row["components"] == 2}
    figure, axes = plt.subplots(2, 2, figsize=(11, 9), layout="constrained")
    for ax, name in zip(axes.flat, [*SPARSE, "dense"], strict=True):
        turned = scores[name] * signs(scores[name], scores["dense"])
        display = ScoresDisplay(scores=turned, labels=labels, shares=ratios[name]).plot(ax, legend=False)
        ax.set_title(f"{name}: {two[name]['SNPs']:,} SNPs", fontsize=11)
    points = display.points_
    figure.legend(list(points.values()), list(points), loc="outside right", markerscale=1.6, frameon=False)
    save_figure(figure, "hapmap3")


def signs(scores: Any, like: Any) -> Any:
    """Return signs that turn components the way the dense ones point: their own are arbitrary."""
    return np.where(np.einsum("ij,ij->j", scores, like) < 0.0, -1.0, 1.0)


if __name__ == "__main__":
    draw_again() if sys.argv[1:] == ["--figure"] else main()
