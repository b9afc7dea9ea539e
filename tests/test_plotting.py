"""Figures show what they are given: bars, curves, points and names, and matplotlib is loaded only for them."""

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
    return rspca.compare(rspca.GramOperator(rspca.datasets.load_pitprops()), 5, methods=["rspca", "maxcomp", "pca"])


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
    axes = plotting.plot_loadings(model, n=3)
    assert len(axes.patches) == 3
    assert axes.get_title() == "component 1, 3 largest of 4 loadings"


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
    assert plotting.plot_scores(scores).get_xlabel() == "component 1"


def test_labels_differ_in_color_and_marker_together():
    names = [f"{i:02}" for i in range(42)]
    display = plotting.ScoresDisplay.from_scores(np.zeros((42, 2)), labels=names)
    looks = {
        (tuple(points.get_facecolor()[0]), points.get_paths()[0].vertices.tobytes())
        for points in display.points_.values()
    }
    assert len(looks) == 42
    assert len(display.legend_.get_texts()) == 42


def test_scores_without_labels_have_no_legend(model, wine):
    assert plotting.plot_scores(model, wine.data).get_legend() is None
    assert plotting.plot_scores(model.transform(wine.data)).get_legend() is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, X: plotting.plot_scores(m), "give the data too"),
        (lambda m, X: plotting.plot_scores(m.transform(X)[:, :1]), "two components or more"),
        (lambda m, X: plotting.plot_scores(m, X, labels=[1, 2]), "one for each of 178 samples"),
        (lambda m, X: plotting.plot_scores(m, X, labels=range(178)), "at most 42"),
        (lambda m, X: plotting.plot_scores(m, X, components=(0, 2)), "component=2"),
        (lambda m, X: plotting.plot_scores(m, X, components=(0,)), "must name two"),
        (lambda m, X: plotting.plot_loadings(m, component=2), "component=2"),
        (lambda m, X: plotting.PathDisplay(path=()), "path is empty"),
        (lambda m, X: plotting.plot_comparison(rspca.compare(X, 4, methods=["pca"])), "no sparse method"),
    ],
    ids=["no data", "one component", "labels", "many labels", "no such component", "one axis", "loadings", "path",
         "comparison"],
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


def test_a_comparison_shows_both_normalizations_without_pca(comparison):
    display = plotting.ComparisonDisplay.from_comparison(comparison)
    methods = labels_of(display.ax_.get_xticklabels())
    assert sorted(methods) == ["maxcomp", "rspca"]
    for normalization, bars in display.bars_.items():
        shares = {row.method: row.share for row in comparison if row.normalization == normalization}
        for bar in bars:
            place = round(bar.get_x() + bar.get_width() / 2)
            assert bar.get_height() == shares[methods[place]]
    assert display.bound_.get_ydata()[0] >= max(row.share for row in comparison if row.method != "pca") - 1e-6


def test_a_comparison_without_a_bound_draws_none():
    rows = rspca.compare(
        rspca.GramOperator(rspca.datasets.load_pitprops()), 5, methods=["maxcomp"], certify_seconds=None
    )
    assert plotting.ComparisonDisplay.from_comparison(rows).bound_ is None


def test_functions_draw_on_the_axes_given(model, wine, path, comparison):
    _, axes = plt.subplots(2, 2)
    assert plotting.plot_loadings(model, ax=axes[0, 0]) is axes[0, 0]
    assert plotting.plot_scores(model, wine.data, ax=axes[0, 1]) is axes[0, 1]
    assert plotting.plot_path(path, ax=axes[1, 0]) is axes[1, 0]
    assert plotting.plot_comparison(comparison, ax=axes[1, 1]) is axes[1, 1]
    assert plt.get_fignums() == [axes[0, 0].figure.number]


@pytest.mark.parametrize(
    "display",
    [
        plotting.LoadingsDisplay(names="ab", loadings=[0.8, -0.6]),
        plotting.ScoresDisplay(scores=np.eye(2)),
    ],
    ids=["loadings", "scores"],
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
    drawn = plotting.plot_scores(model.fit_transform(X), labels=y)
    assert len(drawn.collections) == 3


def test_shares_are_drawn_from_few_features_to_many():
    pitprops = rspca.GramOperator(rspca.datasets.load_pitprops())
    lines = plotting.plot_shares(pitprops, [5, 1, 3], methods=["rspca"]).get_lines()
    assert all(line.get_xdata().tolist() == [1, 3, 5] for line in lines)
    with pytest.raises(ValueError, match="ks is empty"):
        plotting.plot_shares(pitprops, [])


# issue 21, item 3
def test_the_colors_of_a_second_study_continue_and_join_the_legend(model, wine):
    first = plotting.ScoresDisplay.from_estimator(model, wine.data[::2], labels=wine.target[::2])
    second = plotting.ScoresDisplay.from_estimator(model, wine.data[1::2], labels=wine.target[1::2], ax=first.ax_)
    colors = [tuple(points.get_facecolor()[0]) for one in (first, second) for points in one.points_.values()]
    assert len(set(colors)) == 6
    assert labels_of(second.legend_.get_texts()) == ["0", "1", "2"] * 2
    with pytest.raises(ValueError, match="at most 42"):
        plotting.ScoresDisplay.from_scores(np.zeros((40, 2)), labels=range(40), ax=first.ax_)


# issue 21, item 3
def test_legends_cover_no_points(model, wine, path):
    wine_frame = load_wine(as_frame=True)
    drawn = [
        plotting.ScoresDisplay.from_estimator(model, wine.data, labels=wine_frame.target.rename("cultivar")),
        plotting.BiplotDisplay.from_estimator(model, wine.data, labels=wine.target),
        plotting.CorrelationDisplay.from_estimator(model),
        plotting.PathDisplay.from_path(path),
    ]
    for display in drawn:
        display.figure_.canvas.draw()
        legend = display.ax_.get_legend().get_window_extent()
        assert not legend.overlaps(display.ax_.bbox), type(display).__name__
        assert display.figure_.bbox.fully_contains(legend.x1, legend.y0), "the figure has room for it"
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
