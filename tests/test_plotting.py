"""Figures show what they are given: bars, curves, points and names, and matplotlib is loaded only for them."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_wine

import rspca

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from rspca import plotting  # noqa: E402


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def wine():
    return load_wine()


@pytest.fixture(scope="module")
def model(wine):
    return rspca.SparsePCA(2, k=4, scale=True, random_state=0).fit(wine.data)


@pytest.fixture(scope="module")
def path():
    return rspca.path(rspca.GramOperator(rspca.datasets.load_pitprops()), [1, 2, 3, 5, 8, 13], certify=True)


@pytest.fixture(scope="module")
def comparison():
    return rspca.compare(rspca.GramOperator(rspca.datasets.load_pitprops()), 5, methods=METHODS)


METHODS = ["rspca", "maxcomp", "rotation", "pca"]


def labels_of(texts):
    return [text.get_text() for text in texts]


def test_loadings_are_bars_with_signs_names_and_the_largest_on_top(model, wine):
    display = plotting.LoadingsDisplay.from_estimator(model, component=1, names=wine.feature_names)
    features = model.top_features(1, names=wine.feature_names)
    assert [bar.get_width() for bar in display.bars_] == [f.loading for f in features]
    assert labels_of(display.ax_.get_yticklabels()) == [f.name for f in features]
    assert display.ax_.yaxis_inverted()
    assert display.figure_ is display.ax_.figure


def test_the_colors_of_bars_tell_signs_apart():
    display = plotting.LoadingsDisplay(names="ab", loadings=[0.8, -0.6]).plot()
    positive, negative = (bar.get_facecolor() for bar in display.bars_)
    assert positive != negative


def test_fewer_loadings_than_there_are_say_so(model):
    display = plotting.LoadingsDisplay.from_estimator(model, n=3)
    assert len(display.bars_) == 3
    assert display.ax_.get_title() == "component 1, 3 largest of 4 loadings"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("$x^2$", "$x^2$"), ("_hidden", "_hidden"), ("a_b_$c", "a_b_$c"), ("two\nlines", "two lines"),
        ("bidi\N{RIGHT-TO-LEFT OVERRIDE}", "bidi\N{REPLACEMENT CHARACTER}"), ("$\\frac{", "$\\frac{"),
    ],
    ids=["math", "underscore", "dollar", "newline", "bidi", "broken-math"],
)  # fmt: skip
def test_names_are_drawn_as_they_are(name, shown):
    bars = plotting.LoadingsDisplay(names=[name], loadings=[1.0]).plot()
    points = plotting.ScoresDisplay.from_scores(np.eye(2), labels=[name, name])
    for text in (bars.ax_.get_yticklabels()[0], points.legend_.get_texts()[0]):
        assert text.get_text() == shown
        assert not text.get_parse_math()
    bars.figure_.canvas.draw()
    points.figure_.canvas.draw()


def test_long_names_are_shortened_in_the_middle():
    name = "begin" + "x" * 200 + "end"
    (text,) = labels_of(plotting.LoadingsDisplay(names=[name], loadings=[1.0]).plot().ax_.get_yticklabels())
    assert len(text) == 40
    assert text.startswith("begin")
    assert text.endswith("end")


def test_scores_are_points_of_their_label(model, wine):
    display = plotting.ScoresDisplay.from_estimator(model, wine.data, labels=wine.target, components=(1, 0))
    scores = model.transform(wine.data)
    assert list(display.points_) == ["0", "1", "2"]
    for name, points in display.points_.items():
        np.testing.assert_allclose(points.get_offsets(), scores[wine.target == int(name)][:, ::-1])
    assert labels_of(display.legend_.get_texts()) == ["0", "1", "2"]
    shares = [f"component {j + 1} ({100 * model.explained_variance_ratio_[j]:.3g} %)" for j in (1, 0)]
    assert [display.ax_.get_xlabel(), display.ax_.get_ylabel()] == shares
    assert plotting.ScoresDisplay.from_scores(scores).ax_.get_xlabel() == "component 1"


def test_labels_differ_in_color_and_marker_together():
    names = [f"{i:02}" for i in range(84)]
    display = plotting.ScoresDisplay.from_scores(np.zeros((84, 2)), labels=names)
    looks = {
        (tuple(points.get_facecolor()[0]), points.get_paths()[0].vertices.tobytes())
        for points in display.points_.values()
    }
    assert len(looks) == 84
    assert len(display.legend_.get_texts()) == 84


def cielab(colors):
    """Return CIELAB coordinates (D65) of colors of matplotlib."""
    rgb = matplotlib.colors.to_rgba_array(colors)[:, :3]
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
                       [0.0193339, 0.1191920, 0.9503041]])  # fmt: skip
    xyz = linear @ to_xyz.T / (0.95047, 1.0, 1.08883)
    x, y, z = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116).T
    return np.column_stack([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_twelve_labels_have_colors_that_are_far_apart_and_neighbors_other_markers():
    assert cielab(["white"])[0] == pytest.approx([100, 0, 0], abs=0.02)
    display = plotting.ScoresDisplay.from_scores(np.zeros((12, 2)), labels=[f"{i:02}" for i in range(12)])
    points = list(display.points_.values())
    places = cielab([one.get_facecolor()[0][:3] for one in points])
    distances = np.linalg.norm(places[:, None] - places, axis=2)[np.triu_indices(12, 1)]
    assert distances.min() > 30, "Delta E 1976; 2.3 is just noticeable"
    assert places[:, 0].max() < 80, "none is faint on white"
    markers = [one.get_paths()[0].vertices.tobytes() for one in points]
    assert all(one != other for one, other in itertools.pairwise(markers))


def test_marks_are_large_unless_there_are_very_many():
    few, many = (plotting.ScoresDisplay.from_scores(np.zeros((count, 2))).points_[None] for count in (500, 50_000))
    assert few.get_sizes()[0] == 30
    assert many.get_sizes()[0] == 8


def test_scores_without_labels_have_no_legend(model, wine):
    assert plotting.ScoresDisplay.from_estimator(model, wine.data).legend_ is None
    assert plotting.ScoresDisplay.from_scores(model.transform(wine.data)).legend_ is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, X: plotting.ScoresDisplay.from_scores(m.transform(X)[:, :1]), "two components or more"),
        (lambda m, X: plotting.ScoresDisplay.from_estimator(m, X, labels=[1, 2]), "one for each of 178 samples"),
        (lambda m, X: plotting.ScoresDisplay.from_estimator(m, X, labels=range(178)), "at most 84"),
        (lambda m, X: plotting.ScoresDisplay.from_estimator(m, X, components=(0, 2)), "component=2"),
        (lambda m, X: plotting.ScoresDisplay.from_estimator(m, X, components=(0,)), "must name two"),
        (lambda m, X: plotting.LoadingsDisplay.from_estimator(m, component=2), "component=2"),
        (lambda m, X: plotting.PathDisplay(path=()), "path is empty"),
        (lambda m, X: plotting.ComparisonDisplay(comparison=rspca.compare(X, 4, methods=["pca"])), "no sparse method"),
        (lambda m, X: plotting.SharesDisplay(ks=[1, 2], curves={("rspca", "svd"): [0.5]}), "each of 2 ks"),
    ],
    ids=["one component", "labels", "many labels", "no such component", "one axis", "loadings", "path", "comparison",
         "shares"],
)  # fmt: skip
def test_what_cannot_be_drawn_is_refused_in_one_line(call, message, model, wine):
    with pytest.raises(ValueError, match=message) as error:
        call(model, wine.data)
    assert "\n" not in str(error.value)


def test_a_path_shows_shares_bound_and_suggestion(path):
    display = plotting.PathDisplay.from_path(path)
    np.testing.assert_allclose(display.line_.get_xydata(), [(p.k, p.share) for p in path])
    largest = path[-1].variance / path[-1].share
    np.testing.assert_allclose(display.bound_.get_ydata(), [p.upper / largest for p in path])
    assert list(display.suggestion_.get_xdata()) == [path.suggested] * 2
    assert any(str(path.suggested) in label for label in labels_of(display.ax_.get_legend().get_texts()))


def test_a_path_without_certificates_has_no_bound():
    found = rspca.path(rspca.GramOperator(rspca.datasets.load_pitprops()), [1, 5, 13])
    display = plotting.PathDisplay.from_path(found)
    assert display.bound_ is None
    assert labels_of(display.ax_.get_legend().get_texts()) == ["found", f"suggested k = {found.suggested}"]


def has_room(display):
    """Return whether everything that is drawn is inside the figure."""
    display.figure_.canvas.draw()
    drawn, page = display.figure_.get_tightbbox(), display.figure_.bbox_inches.padded(0.01)
    return page.contains(drawn.x0, drawn.y0) and page.contains(drawn.x1, drawn.y1)


def overlapping(texts):
    """Return pairs of texts that cover each other, after drawing."""
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts if text.get_text()]
    return [
        (name, other)
        for number, (name, box) in enumerate(boxes)
        for other, another in boxes[number + 1 :]
        if box.overlaps(another)
    ]


def test_a_comparison_shows_both_normalizations_without_pca(comparison):
    display = plotting.ComparisonDisplay.from_comparison(comparison)
    methods = labels_of(display.ax_.get_yticklabels())
    assert sorted(methods) == ["maxcomp", "rotation", "rspca"]
    for normalization, points in display.points_.items():
        shares = {row.method: row.share for row in comparison if row.normalization == normalization}
        assert {methods[round(y)]: x for x, y in points.get_offsets()} == shares
    assert display.bound_.get_xdata()[0] >= max(row.share for row in comparison if row.method != "pca") - 1e-6
    words = labels_of(display.ax_.get_legend().get_texts())
    assert words[:2] == ["own loadings", "refitted"]
    assert words[2].startswith("proven bound: ")


def test_a_comparison_shows_differences(comparison):
    display = plotting.ComparisonDisplay.from_comparison(comparison)
    sparse = [row.share for row in comparison if row.method != "pca"]
    low, high = display.ax_.get_xlim()
    assert high - low < 3 * (max(sparse) - min(sparse)), "the axis covers the values, not all from 0"
    assert low < min(sparse) <= max(sparse) < high
    (right,) = display.ax_.child_axes
    shown = dict(zip(labels_of(display.ax_.get_yticklabels()), labels_of(right.get_yticklabels()), strict=True))
    below = {name: 1 - max(r.share for r in comparison if r.method == name) / max(sparse) for name in shown}
    assert shown == {name: "best" if far < 1e-9 else f"{100 * far:.2g} %" for name, far in below.items()}
    assert sorted(shown.values()) == ["9 %", "best", "best"]
    assert has_room(display)


def test_methods_that_tie_are_drawn_as_tied():
    row = rspca.compare(rspca.GramOperator(rspca.datasets.load_pitprops()), 1, methods=["rspca"])
    display = plotting.ComparisonDisplay.from_comparison(row)
    low, high = display.ax_.get_xlim()
    assert high - low >= 0.002 * row[0].share


def test_a_bound_that_is_far_away_leaves_the_differences_visible(comparison):
    from rspca.analysis.compare import Comparison

    far = Comparison(row._replace(of_bound=row.share) for row in comparison if row.method != "pca")
    display = plotting.ComparisonDisplay.from_comparison(far)
    assert display.bound_.get_xdata()[0] == pytest.approx(1.0)
    assert display.ax_.get_xlim()[1] < 1.0
    assert labels_of(display.ax_.get_legend().get_texts())[2] == "proven bound: 100 %, right of this range"


def test_a_comparison_of_several_components_is_refused(wine):
    rows = rspca.compare(wine.data, 3, n_components=2, methods=["rspca"], certify_seconds=None)
    with pytest.raises(TypeError, match="several components"):
        plotting.ComparisonDisplay(comparison=rows)


def test_a_comparison_without_a_bound_draws_none():
    rows = rspca.compare(
        rspca.GramOperator(rspca.datasets.load_pitprops()), 5, methods=["maxcomp"], certify_seconds=None
    )
    assert plotting.ComparisonDisplay.from_comparison(rows).bound_ is None


def test_percentages_have_no_more_decimals_than_they_need():
    _, ax = plt.subplots()
    ax.set_xlim(0.95, 1.0)
    plotting.looks.percent_axis(ax.xaxis)
    assert [ax.xaxis.get_major_formatter()(share) for share in (0.1 + 0.2, 0.975, 1.0)] == ["30 %", "97.5 %", "100 %"]


# issue 21, item 3
def test_displays_are_the_only_public_way_to_draw():
    assert all(name.endswith("Display") for name in plotting.__all__)
    for name in plotting.__all__:
        display = getattr(plotting, name)
        assert [method for method in vars(display) if method.startswith("from_")], name
        assert callable(display.plot)


def test_displays_draw_on_the_axes_given(model, wine, path, comparison):
    _, axes = plt.subplots(2, 2)
    assert plotting.LoadingsDisplay.from_estimator(model, ax=axes[0, 0]).ax_ is axes[0, 0]
    assert plotting.ScoresDisplay.from_estimator(model, wine.data, ax=axes[0, 1]).ax_ is axes[0, 1]
    assert plotting.PathDisplay.from_path(path, ax=axes[1, 0]).ax_ is axes[1, 0]
    assert plotting.ComparisonDisplay.from_comparison(comparison, ax=axes[1, 1]).ax_ is axes[1, 1]
    assert plt.get_fignums() == [axes[0, 0].figure.number]


@pytest.mark.parametrize(
    "display",
    [
        plotting.LoadingsDisplay(names="ab", loadings=[0.8, -0.6]),
        plotting.ScoresDisplay(scores=np.eye(2)),
        plotting.SharesDisplay(ks=[1, 2], curves={("rspca", "svd"): [0.5, 0.7]}),
    ],
    ids=["loadings", "scores", "shares"],
)
def test_a_display_can_be_drawn_again_with_other_settings(display):
    first = display.plot().ax_
    second = display.plot(color="black")
    assert second is display
    assert second.ax_ is not first


def test_matplotlib_is_loaded_by_drawing_only_and_its_absence_is_one_clear_line():
    code = (
        "import sys; sys.modules['matplotlib'] = None; import rspca; "
        "display = rspca.plotting.LoadingsDisplay(names='a', loadings=[1.0])\n"
        "try: display.plot()\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "Figures need matplotlib: pip install 'rspca[plot]'.\n"


def test_scores_may_be_a_frame():
    X, y = load_wine(return_X_y=True)
    model = rspca.SparsePCA(2, k=3, random_state=0).set_output(transform="pandas")
    drawn = plotting.ScoresDisplay.from_scores(model.fit_transform(X), labels=y)
    assert len(drawn.points_) == 3


def test_shares_are_drawn_from_few_features_to_many():
    pitprops = rspca.GramOperator(rspca.datasets.load_pitprops())
    display = plotting.SharesDisplay.from_data(pitprops, [5, 1, 3], methods=["rspca"], title="pitprops")
    assert display.ks == [1, 3, 5]
    assert sorted(display.lines_) == [("rspca", "naive"), ("rspca", "svd")]
    for key, line in display.lines_.items():
        assert line.get_xydata().tolist() == [list(pair) for pair in zip(display.ks, display.curves[key], strict=True)]
    assert sorted(labels_of(display.ax_.get_legend().get_texts())) == ["rspca, own loadings", "rspca, refitted"]
    assert display.ax_.get_ylabel() == "share of the variance\nof the first principal component"
    with pytest.raises(ValueError, match="ks is empty"):
        plotting.SharesDisplay.from_data(pitprops, [])


@pytest.mark.parametrize("ks", [range(1, 14), [2, 5, 10, 20, 30, 40, 60, 100, 300, 1000], [7]], ids=str)
@pytest.mark.parametrize("panels", [1, 3])
def test_the_axis_of_a_path_has_the_k_that_were_tried_and_no_number_covers_another(ks, panels):
    from rspca.analysis.k_path import Path, PathPoint

    nothing = np.array([])
    found = Path(PathPoint(k, k / max(ks), k / max(ks), None, None, nothing, nothing) for k in ks)
    figure, axes = plt.subplots(1, panels, figsize=(6.4 if panels == 1 else 13, 4), layout="constrained", squeeze=False)
    ax = plotting.PathDisplay.from_path(found, ax=axes[0, 0]).ax_
    figure.canvas.draw()
    ticks = {*ax.get_xticks(), *ax.get_xticks(minor=True)}
    assert ticks == set(ks)
    shown = labels_of(ax.get_xticklabels())
    assert {str(found.suggested), str(max(ks)), str(min(ks))} <= set(shown)
    assert len(shown) >= min(5, len(ks))
    assert not any(labels_of(ax.get_xticklabels(minor=True)))
    assert not overlapping(ax.get_xticklabels())


@pytest.mark.parametrize("count", [3, 8, 30])
@pytest.mark.parametrize("panels", [1, 3])
def test_p_values_stay_in_the_figure_and_apart(count, panels):
    from rspca.analysis.permutation import PermutationTest

    null = np.random.default_rng(0).uniform(1.0, 3.0, (99, count))
    test = PermutationTest(statistic=np.linspace(9.0, 0.5, count), null=null, k=[5] * count, alpha=0.05, seed=0)
    _, axes = plt.subplots(1, panels, figsize=(6.4 if panels == 1 else 10.4, 4), layout="constrained", squeeze=False)
    display = plotting.PermutationDisplay.from_test(test, ax=axes[0, -1])
    assert has_room(display)
    labels = [*display.ax_.get_xticklabels(), display.ax_.xaxis.label, *display.ax_.get_legend().get_texts()]
    assert labels[0].get_text().split() == ["1", "0.01"]
    assert not overlapping(labels)
    assert not display.ax_.texts


# issue 21, item 3
def test_the_colors_of_a_second_study_continue_and_join_the_legend(model, wine):
    first = plotting.ScoresDisplay.from_estimator(model, wine.data[::2], labels=wine.target[::2])
    second = plotting.ScoresDisplay.from_estimator(model, wine.data[1::2], labels=wine.target[1::2], ax=first.ax_)
    colors = [tuple(points.get_facecolor()[0]) for one in (first, second) for points in one.points_.values()]
    assert len(set(colors)) == 6
    assert labels_of(second.legend_.get_texts()) == ["0", "1", "2"] * 2
    with pytest.raises(ValueError, match="at most 84"):
        plotting.ScoresDisplay.from_scores(np.zeros((80, 2)), labels=range(80), ax=first.ax_)


# issue 21, item 3
def test_legends_cover_no_points(model, wine, path, comparison):
    wine_frame = load_wine(as_frame=True)
    drawn = [
        plotting.ScoresDisplay.from_estimator(model, wine.data, labels=wine_frame.target.rename("cultivar")),
        plotting.BiplotDisplay.from_estimator(model, wine.data, labels=wine.target),
        plotting.CorrelationDisplay.from_estimator(model),
        plotting.PathDisplay.from_path(path),
        plotting.ComparisonDisplay.from_comparison(comparison),
        plotting.SharesDisplay(ks=[1, 2], curves={(name, "svd"): [0.5, 0.7] for name in rspca.METHODS}).plot(),
        plotting.VarianceDisplay.from_estimator(model),
    ]
    for display in drawn:
        display.figure_.canvas.draw()
        legend = display.ax_.get_legend().get_window_extent()
        assert not legend.overlaps(display.ax_.bbox), type(display).__name__
        assert not legend.overlaps(display.ax_.xaxis.get_tightbbox()), type(display).__name__
        assert has_room(display), type(display).__name__
    assert drawn[0].legend_.get_title().get_text() == "cultivar"


# issue 21, item 3
def test_a_biplot_states_its_scaling(model, wine):
    display = plotting.BiplotDisplay.from_estimator(model, wine.data, names=wine.feature_names, n=2)
    largest = [feature.name for j in (0, 1) for feature in model.top_features(j, 2, wine.feature_names)]
    assert display.names == list(dict.fromkeys(largest))
    assert len(display.arrows_) == len(display.names)
    ends = np.array([arrow.xy for arrow in display.arrows_])
    columns = [wine.feature_names.index(name) for name in display.names]
    np.testing.assert_allclose(ends, model.components_[:2, columns].T * display.factors_)
    across, stated = display.ax_.get_xlabel().splitlines()
    assert across.startswith("component 1 (")
    assert stated == f"arrows: loadings, times {display.factors_[0]:.3g} across and {display.factors_[1]:.3g} up"


# issue 21, item 3
def test_the_circle_has_the_correlations_of_features_and_associates(wine):
    model = rspca.SparsePCA(3, k=6, scale=True, random_state=0).fit(wine.data)
    display = plotting.CorrelationDisplay.from_estimator(model, components=(0, 2), names=wine.feature_names)
    columns = [wine.feature_names.index(name) for name in display.names]
    np.testing.assert_allclose(display.correlations, model.structure(wine.data)[[0, 2]][:, columns].T, atol=1e-12)
    for column, group in zip(columns, display.groups, strict=True):
        inside = [column in model.supports_[j] for j in (0, 2)]
        assert group == {(True, True): "both", (True, False): "first", (False, True): "second"}.get(
            tuple(inside), "associate"
        )
    del model.structure_
    with pytest.raises(ValueError, match="does not know these correlations"):
        plotting.CorrelationDisplay.from_estimator(model)


# issue 21, item 3
def test_matrices_show_loadings_and_labels(model, wine):
    heat = plotting.HeatmapDisplay.from_estimator(model, names=wine.feature_names)
    columns = [wine.feature_names.index(name) for name in heat.names]
    np.testing.assert_array_equal(heat.image_.get_array(), model.components_[:, columns].T)
    labels = plotting.LabelsDisplay.from_estimator(
        model, wine.data, labels={"cultivar": wine.target, "alcohol": wine.data[:, 0]}
    )
    scores = model.transform(wine.data)
    np.testing.assert_allclose(
        labels.image_.get_array()[:, 1], [np.corrcoef(score, wine.data[:, 0])[0, 1] ** 2 for score in scores.T]
    )
    assert "p " in labels.texts_[0].get_text()
    with pytest.raises(TypeError, match="a mapping"):
        plotting.LabelsDisplay.from_estimator(model, wine.data, labels=wine.target)
    with pytest.raises(ValueError, match="No label can be tested"):
        plotting.LabelsDisplay.from_estimator(model, wine.data, labels={"same": np.zeros(178, dtype=int)})


# issue 21, item 3
def test_bars_show_stability_proofs_and_variance(wine):
    model = rspca.SparsePCA(2, k=3, scale=True, certify=True, random_state=0).fit(wine.data)
    with pytest.raises(ValueError, match="does not know its stability"):
        plotting.StabilityDisplay.from_estimator(model)
    model.stability(wine.data, 2, 0)
    stable = plotting.StabilityDisplay.from_estimator(model, component=-1, names=wine.feature_names)
    others = model.stability_.runners_up(1, 5)
    shares = [f.share for f in model.top_features(1)] + [one.share for one in others]
    assert [bar.get_width() for bar in stable.bars_] == shares
    assert stable.names[3:] == [wine.feature_names[one.feature] for one in others]
    proof = plotting.CertificateDisplay.from_estimator(model)
    assert [bar.get_width() for bar in proof.bars_] == proof.reached
    variance = plotting.VarianceDisplay.from_estimator(model)
    np.testing.assert_allclose(variance.line_.get_ydata()[-1], model.explained_variance_ratio_.sum())
    together = rspca.SparsePCA(2, k=3, scale=True, joint=True, certify=True, certify_seconds=1, random_state=0)
    found = plotting.CertificateDisplay.from_estimator(together.fit(wine.data))
    assert found.names[-1] == "all together"
    assert 0.0 < found.reached[-1] <= 1.0
    with pytest.raises(ValueError, match="certify=True"):
        plotting.CertificateDisplay.from_estimator(rspca.SparsePCA(k=3).fit(wine.data))


def test_functions_before_the_displays_still_draw_and_say_what_to_call_instead(model, wine, path, comparison):
    scores = model.transform(wine.data)
    test = rspca.permutation_test(wine.data, 1, 4, scale=True, n_permutations=19)
    calls = {
        "plot_loadings": (model, 1, 3),
        "plot_scores": (model, wine.data),
        "plot_path": (path,),
        "plot_test": (test,),
        "plot_comparison": (comparison,),
        "plot_shares": (rspca.GramOperator(rspca.datasets.load_pitprops()), [2, 5]),
    }
    for name, given in calls.items():
        with pytest.warns(FutureWarning, match=rf"{name} is deprecated and will be removed in 0\.4; use \w+Display"):
            assert isinstance(getattr(plotting, name)(*given), plt.Axes)
        assert name not in plotting.__all__
    with pytest.warns(FutureWarning, match="ScoresDisplay"):
        axes = plotting.plot_scores(scores, labels=wine.target)
    assert len(axes.collections) == len(np.unique(wine.target))


def test_the_genome_can_still_be_drawn_by_its_function(tmp_path):
    X = np.random.default_rng(0).binomial(2, 0.3, (30, 6))
    variants = {"chromosome": ["1", "1", "2", "2", "3", "3"], "position": [1, 2, 1, 2, 1, 2]}
    rspca.formats.write_plink(tmp_path / "a.bed", X, variants=variants)
    model = rspca.SparsePCA(k=4, random_state=0).fit(rspca.read(tmp_path / "a.bed"))
    with pytest.warns(FutureWarning, match="GenomeDisplay"):
        assert plotting.plot_genome(model).get_xlabel() == "chromosome"


def test_a_model_in_place_of_scores_is_answered_with_what_to_call(model):
    with pytest.raises(TypeError, match=r"give the data too: ScoresDisplay\.from_estimator\(model, X\)"):
        plotting.ScoresDisplay.from_scores(model)
