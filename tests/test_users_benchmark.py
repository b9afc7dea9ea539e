"""The table of benchmarks/users.py marks what is worse than was asked for, and nothing else."""

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FINE = {
    "ratio": 1.0,
    "one_thread": 1.0,
    "passes": 5.0,
    "all_passes": 50.0,
    "mb": 10.0,
    "allowed_mb": 60.0,
    "first_change": 0.0,
    "set_change": 0.0,
    "rival": 0.0,
}


@pytest.fixture
def users(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("users")


@pytest.fixture
def row(users):
    return users.Row("10 components, k = 20", "hapmap3", 10, 20, "svds", 6.0, 1.5, one_thread_bar=8.0, most_passes=15)


# issue 16, what it must show


def test_nothing_is_marked_at_the_limits(users, row):
    at_limits = {"ratio": 6.0, "one_thread": 8.0, "passes": 15.0, "all_passes": 150.0, "mb": 60.0}
    assert users.missed(row, FINE | at_limits) == []


@pytest.mark.parametrize(
    ("measured", "marked"),
    [
        ({"ratio": 6.1}, "time"),
        ({"one_thread": 8.1}, "one thread"),
        ({"passes": 15.1}, "passes"),
        ({"all_passes": 151.0}, "passes"),  # shared by all components, counted by none
        ({"mb": 60.1}, "memory"),
        ({"first_change": -2e-6}, "first"),
        ({"rival": -2e-9}, "first"),
        ({"set_change": -2e-4}, "set"),
    ],
)
def test_a_measurement_beyond_its_limit_is_marked(users, row, measured, marked):
    assert users.missed(row, FINE | measured) == [marked]


def test_a_row_without_a_bar_is_not_marked_for_its_time(users):
    row = users.Row("10 components, k = 50", "hapmap3", 10, 50, "svds", most_passes=15)
    assert users.missed(row, FINE | {"ratio": 100.0, "one_thread": 100.0}) == []


def test_the_allowance_of_memory_includes_a_gram_matrix_where_one_is_formed(users):
    # 10 % of 400 MB, 50 MB, eleven vectors, 200 x 200 numbers
    allowed, gram = users.allowance((500_000, 200), 5, 400_000_000)
    assert gram == pytest.approx(0.32)
    assert allowed == pytest.approx(40 + 50 + 8 * 11 * 500_200 / 1e6 + 0.32)
    assert users.allowance((100, 50_000), 5, 400_000_000)[1] == 0.0


def test_variances_are_compared_seed_by_seed_and_as_means(users):
    seeds = [{"first": 2.0, "set": 0.5, "total": 4.0}, {"first": 2.0, "set": 0.7, "total": 4.0}]
    now = [{"first": 2.0, "set": 0.5, "total": 4.0}, {"first": 1.0, "set": 0.6, "total": 4.0}]
    found = users.changes({"row": "x", "values": now}, {"seeds": seeds, "rival": 1.0})
    assert found["first_change"] == -0.5
    assert found["set_change"] == pytest.approx(0.55 / 0.6 - 1)
    assert found["rival"] == 1.0


def test_reference_values_of_other_data_are_refused(users):
    now, before = ({"first": 2.0, "set": 0.5, "total": total} for total in (4.0, 5.0))
    with pytest.raises(ValueError, match="not those of the reference"):
        users.changes({"row": "x", "values": [now]}, {"seeds": [before]})


def test_every_row_has_data_a_reference_and_a_name_of_its_own(users):
    assert len({row.name for row in users.ROWS}) == len(users.ROWS)
    assert {row.data for row in users.ROWS} == set(users.DATA)
    assert {row.over for row in users.ROWS} == set(users.SIDES)
