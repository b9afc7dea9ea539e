"""What readers see in a browser: marks that differ, names that cover no mark, shadows, paper, files."""

import csv
import io
import itertools
import re

import numpy as np
import pytest
from support.browser import launched, opened
from support.reports import WINE, fitted

import rspca
from rspca.report import write_report

TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def difference(one, other):
    """Return deltaE 1976 of two colors as browsers write them, rgb(r, g, b): their distance in CIELAB."""
    return float(np.linalg.norm(_lab(one) - _lab(other)))


def _lab(color):
    gamma = np.array([int(part) for part in re.findall(r"\d+", color)[:3]]) / 255.0
    linear = np.where(gamma <= 0.04045, gamma / 12.92, ((gamma + 0.055) / 1.055) ** 2.4)
    ratio = TO_XYZ @ linear / TO_XYZ.sum(axis=1)
    x, y, z = np.where(ratio > 216 / 24389, np.cbrt(ratio), (24389 / 27 * ratio + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.fixture(scope="module")
def browser():
    with launched() as found:
        yield found


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """A report of 8 components of 30 features, with labels, numbers, halves and associates."""
    rng = np.random.default_rng(0)
    parts = rng.standard_normal((90, 8))
    X = np.repeat(parts * np.linspace(3.0, 1.0, 8), 35, axis=1) + 0.3 * rng.standard_normal((90, 280))
    model = rspca.SparsePCA(8, k=30, random_state=0).fit(X)
    model.stability(X, 1, 0)
    return write_report(
        tmp_path_factory.mktemp("looks") / "wide.html", model, scores=model.transform(X), label="group",
        samples={"group": np.where(parts[:, 0] > 0, "a", "b"), "size": parts[:, 1]}, kind="cells",
        feature_names=[f"gene_{i}" for i in range(280)],
    )  # fmt: skip


def labeled(path, scores, labels):
    """Write a report with these scores and labels; the loadings do not matter."""
    model = fitted(n_components=2)
    return write_report(path, model, scores=scores, samples={"label": labels}, label="label")


def downloaded(page, file):
    with page.expect_download() as expected:
        page.get_by_role("button", name=f"Download {file}", exact=True).click()
    return list(csv.DictReader(io.StringIO(expected.value.path().read_text())))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_categories_of_one_shape_have_colors_far_apart(browser, tmp_path, theme):
    labels = [f"category {i % 12:02d}" for i in range(178)]
    path = labeled(tmp_path / "page.html", fitted(n_components=2).transform(WINE.data), labels)
    with opened(browser, path, color_scheme=theme) as page:
        signs = page.locator("#legend button .marks path").evaluate_all(
            "all => all.map((one) => [one.getAttribute('d'), getComputedStyle(one).fill])"
        )
    assert len(signs) == 12
    for (shape, color), (other_shape, other_color) in itertools.combinations(signs, 2):
        apart = difference(color, other_color)
        assert apart >= (70.0 if shape == other_shape else 30.0)
    for (shape, color), (other_shape, other_color) in itertools.pairwise(signs):
        assert shape != other_shape
        assert difference(color, other_color) >= 50.0


def test_no_category_lies_below_another_as_a_whole(browser, tmp_path):
    scores = np.random.default_rng(0).standard_normal((1800, 2)) * 0.1
    scores[0] = [5.0, 5.0]  # all others are crowded
    path = labeled(tmp_path / "page.html", scores, np.repeat(["a", "b", "c"], 600))
    with opened(browser, path) as page:
        page.locator("#scatter").scroll_into_view_if_needed()
        seen = page.locator("#scatter .marks path").evaluate_all("""all => all.map((one) => {
          const box = one.getBoundingClientRect();
          return document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2).getAttribute("class");
        })""")
    assert min(seen.count(color) for color in ("c0", "c1", "c2")) > 0.25 * len(seen)


COVERED = """(chart) => {
  const boxes = (query) => [...chart.querySelectorAll(query)].map((one) => one.getBoundingClientRect());
  const cover = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom - 2 && b.top + 2 < a.bottom;
  const names = boxes(".names text"), others = boxes("svg > path, .head, svg > g:not(.names) > text, text.axis");
  return [names.length, names.filter((name) => others.some((other) => cover(name, other))).length,
    names.filter((name, i) => names.some((other, j) => i < j && cover(name, other))).length];
}"""


@pytest.mark.parametrize("width", [400, 1024])
def test_names_cover_neither_marks_nor_ticks_nor_each_other(browser, tmp_path, width):
    model = fitted(n_components=2, k=6)
    path = write_report(
        tmp_path / "page.html", model, scores=model.transform(WINE.data), feature_names=WINE.feature_names
    )
    with opened(browser, path, viewport={"width": width, "height": 900}) as page:
        page.get_by_label("Features as arrows").check()
        for chart in ("#circle-chart", "#scatter"):
            names, on_marks, on_names = page.locator(chart).evaluate(COVERED)
            assert names >= 6
            assert on_marks == on_names == 0
        arrows = page.locator("#scatter .arrows > line").count()
        assert page.locator("#scatter .arrows > path.head").count() == arrows >= 6


def test_a_shadow_over_the_cells_shows_that_a_table_goes_on(browser, wide):
    with opened(browser, wide, viewport={"width": 400, "height": 900}) as page:
        box = page.locator("#relations .scroll:has(.matrix)").last
        box.scroll_into_view_if_needed()
        assert box.evaluate("one => one.scrollWidth > one.clientWidth")
        place = box.bounding_box()
        clip = {"x": place["x"] + place["width"] - 8, "y": place["y"], "width": 8, "height": place["height"]}
        shaded = page.screenshot(clip=clip)
        box.evaluate("one => one.classList.remove('more-right')")
        assert page.screenshot(clip=clip) != shaded
        box.evaluate("one => { one.scrollLeft = one.scrollWidth; }")
        page.wait_for_function("one => one.classList.contains('more-left')", arg=box.element_handle())
        assert "more-right" not in box.get_attribute("class")


def test_paper_has_every_feature(browser, wide):
    with opened(browser, wide) as page:
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.locator(".features tbody tr:visible").count() == 8 * 30
        assert page.locator(".unprinted:visible").count() == 0
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.locator("#component-1 .features tbody tr").count() == 20
        assert page.locator(".card .body:not([open])").count() == 4


def test_paper_says_how_many_features_it_leaves_out(browser, tmp_path):
    X = np.random.default_rng(0).standard_normal((20, 300))
    path = write_report(tmp_path / "page.html", rspca.SparsePCA(1, method="pca").fit(X))
    with opened(browser, path) as page:
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.locator(".features tbody tr:visible").count() == 250
        assert page.locator(".unprinted:visible").inner_text().startswith("Printed: 250 of 300 features.")


def test_the_largest_loadings_of_all_components_are_shown_at_once(browser, wide):
    with opened(browser, wide) as page:
        first = page.locator("#heat > .scroll tbody tr")
        assert first.count() == 24
        assert first.first.is_visible()
        assert page.locator("#heat summary").inner_text() == "32 more genes"
        for column in range(2, 10):
            assert page.locator(f"#heat > .scroll td:nth-child({column}):is(.p5, .n5)").count() >= 1
        assert "Each column has its own scale" in " ".join(page.locator("#heat > p").inner_text().split())


def test_lists_of_the_cards_and_all_digits_are_in_files(browser, wide):
    with opened(browser, wide) as page:
        assert {row["component"] for row in downloaded(page, "largest_scores.csv")} == set("12345678")
        assert list(downloaded(page, "associates.csv")[0]) == ["component", "gene", "correlation"]
        if page.get_by_role("button", name="Download runners_up.csv").count():
            assert list(downloaded(page, "runners_up.csv")[0]) == ["component", "gene", "halves"]
        loadings = downloaded(page, "loadings.csv")
        largest = max(abs(float(row["component1"])) for row in loadings)
        listed = downloaded(page, "components.csv")
        assert largest == max(abs(float(row["loading"])) for row in listed if row["component"] == "1")
        assert len({row["component1"] for row in loadings if row["component1"] != "0"}) == 30
        said = {row["label"]: row["its_scores"] for row in downloaded(page, "labels.csv")}
        assert said["group"] in ("highest", "lowest")
        assert said["size"] in ("rise", "fall")


@pytest.mark.parametrize(("k", "width", "named", "end"), [(4, 400, 2, ", …"), (4, 1400, 4, ""), (6, 1400, 4, ", …")])
def test_leading_features_end_without_a_comma_where_some_are_hidden(browser, tmp_path, k, width, named, end):
    path = write_report(tmp_path / "page.html", fitted(k=k), feature_names=[f"gene_{i}" for i in range(13)])
    with opened(browser, path, viewport={"width": width, "height": 900}) as page:
        shown = page.locator("#overview .names").all_inner_texts()
    assert all(re.fullmatch(rf"(−?gene_\d+(, )?){{{named}}}(?<!, ){end}", text) for text in shown), shown


def test_long_names_wrap_after_separators(browser, tmp_path):
    path = write_report(tmp_path / "page.html", fitted(), feature_names=WINE.feature_names)
    with opened(browser, path) as page:
        name = page.locator("#component-1 .features bdi", has_text="od280").first
        assert name.locator("wbr").count() == 4
        assert name.inner_text() == "od280/od315_of_diluted_wines"
