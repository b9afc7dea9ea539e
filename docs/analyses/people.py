"""Where people come from, by components of 20 SNPs: HapMap 3, 11 populations in five regions."""

from __future__ import annotations

from typing import Any

import numpy as np
from drawing import COLORS, MARKERS, Analysis, data, plt
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

import rspca
from rspca.datasets import fetch_hapmap3
from rspca.plotting.looks import component_label, legend_below

TITLE = "People told apart by 20 SNPs"
QUESTION = "How few SNPs show where people come from, and where on the genome are they?"
GUIDE = "genotypes.md"
REGIONS = {
    "ASW": "Africa", "LWK": "Africa", "MKK": "Africa", "YRI": "Africa", "CEU": "Europe", "TSI": "Europe",
    "CHB": "East Asia", "CHD": "East Asia", "JPT": "East Asia", "GIH": "India", "MEX": "Mexico",
}  # fmt: skip
"""The region of each population: where people, or most of their ancestors, came from."""
K, NEIGHBORS, FOLDS = 20, 10, 5


def genotypes(samples: Any = None) -> rspca.Table:
    """Return the autosomal SNPs of all people, or of some."""
    folder = data.data_path("hapmap3_flashpca")
    return rspca.read(folder / "data.bed", bim=folder / "data.bim.gz", samples=samples)


def fitted(table: rspca.Table) -> tuple[rspca.SparsePCA, Any]:
    """Return the model and its first SNP; table = rspca.read("hapmap3.bed")."""
    model = rspca.SparsePCA(4, k=20, scale="patterson", random_state=0).fit(table)
    first = model.top_features(0)[0]  # snp, chromosome, position, alleles, frequency, loading
    return model, first


def analysis() -> Analysis:
    """Draw people in the plane of two components, and the SNPs of both along the genome."""
    table = genotypes()
    labels = np.asarray(data.fetched(fetch_hapmap3, "hapmap3_flashpca/data.bed").labels)
    regions = np.array([REGIONS[label] for label in labels])
    model, first = fitted(table)
    figure = draw(model, table, model.transform(table), regions)
    facts = {
        "people": table.shape[0], "snps": table.shape[1],
        "used": len(np.unique(np.concatenate(model.supports_))), "first": first.name,
        "accuracy": held_out(np.asarray(table.samples["iid"]), regions),
        "ends": [ends(column, regions) for column in model.transform(table)[:, :2].T],
    }  # fmt: skip
    return Analysis(figure, facts)


def held_out(names: Any, regions: Any) -> dict[str, float]:
    """Return the share of unseen people whose nearest neighbors have their region, for the first 1 to 4 components."""
    shares: dict[str, list[float]] = {}
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(names, regions):
        inside, outside = genotypes(names[train]), genotypes(names[test])
        model, _ = fitted(inside)
        scores = model.transform(inside), model.transform(outside)
        for count in range(1, 5):
            nearest = KNeighborsClassifier(NEIGHBORS).fit(scores[0][:, :count], regions[train])
            predicted = nearest.predict(scores[1][:, :count])
            shares.setdefault(str(count), []).append(float(balanced_accuracy_score(regions[test], predicted)))
    return {count: float(np.mean(values)) for count, values in shares.items()}


def ends(scores: Any, regions: Any) -> list[str]:
    """Return the regions with the lowest and the highest mean score."""
    means = {str(name): float(scores[regions == name].mean()) for name in set(regions)}
    return [min(means, key=means.__getitem__), max(means, key=means.__getitem__)]


def draw(model: rspca.SparsePCA, table: rspca.Table, scores: Any, regions: Any) -> Any:
    """Draw scores on the left and the chosen SNPs along the genome on the right."""
    figure, axes = plt.subplot_mosaic("ab;ac", figsize=(9, 4.2), layout="constrained", width_ratios=(1.05, 1))
    for number, name in enumerate(dict.fromkeys(REGIONS.values())):
        chosen = regions == name
        axes["a"].scatter(
            *scores[chosen, :2].T, s=20, c=COLORS[number], marker=MARKERS[number], label=name, lw=0, alpha=0.75
        )
    for axis, number in (("xlabel", 0), ("ylabel", 1)):
        axes["a"].set(**{axis: component_label(number, model.explained_variance_ratio_)})
    legend_below(axes["a"], *axes["a"].get_legend_handles_labels())
    axes["a"].set_title(f"{len(scores)} people, {2 * K} SNPs", loc="left")
    for name, number in (("b", 0), ("c", 1)):
        draw_genome(axes[name], model.supports_[number], model.components_[number], table)
        axes[name].set_title(f"component {number + 1}: where its {K} SNPs are", loc="left")
    axes["c"].set_xlabel("chromosome")
    return figure


def draw_genome(ax: Any, support: Any, loadings: Any, table: rspca.Table) -> None:
    """Draw loadings along the chromosomes of the table; every other chromosome has a grey background."""
    chromosomes = np.asarray(table.features["chromosome"])
    positions = np.asarray(table.features["position"], dtype=float)
    start, middles = 0.0, dict[str, float]()
    places = np.empty(len(positions))
    for number, name in enumerate(sorted(set(chromosomes), key=int)):
        length = positions[chromosomes == name].max()
        places[chromosomes == name] = start + positions[chromosomes == name]
        middles[name] = start + length / 2
        if number % 2:
            ax.axvspan(start, start + length, color="0.94", lw=0)
        start += length
    ax.axhline(0, color="0.5", lw=0.8)
    ax.vlines(places[support], 0, loadings[support], color=COLORS[0], lw=1)
    ax.plot(places[support], loadings[support], "o", color=COLORS[0], ms=4)
    labeled = [name for name in middles if int(name) <= 12 or int(name) % 3 == 0]
    ax.set_xticks([middles[name] for name in labeled], labeled, fontsize=8)
    ax.tick_params(axis="x", length=0)
    ax.set(xlim=(-0.01 * start, 1.01 * start), ylabel="loading")


def caption(facts: dict[str, Any]) -> str:
    """Return what the figure shows."""
    share = facts["accuracy"]
    return (
        f"{facts['people']} people (HapMap 3). Each component is {K} of {facts['snps']:,} SNPs. Of people that the fit "
        f"has not seen, two components identify the region of {100 * share['2']:.0f} %, and four, {facts['used']} SNPs "
        f"in all, of {100 * share['4']:.0f} %."
    )


def findings(facts: dict[str, Any]) -> str:
    """Return what a reader can learn from it."""
    first, second = (" and ".join(sorted(pair)) for pair in facts["ends"])
    return (
        f"The ends of the first component are {first}, those of the second {second}. The SNPs lie all over "
        "the genome, because the data were thinned until neighbors do not correlate. Dense components of all SNPs do "
        "better, above all within regions: [HapMap3](hapmap3.md) compares them."
    )
