"""The engine of the exact search: NumPy for short ones, numba for long ones, the same results, compiling said once."""

import numpy as np
import pytest
from support.commandline import rspca_command
from support.enumeration import KINDS, case

import rspca
from rspca.certificates import budgets, engines, nodes
from rspca.certificates.search import search

PITPROPS = rspca.GramOperator(rspca.datasets.load_pitprops())
NOISE = np.random.default_rng(0).standard_normal((40, 24))
"""Data whose proof takes hundreds of nodes."""


@pytest.fixture
def fresh(monkeypatch):
    """A process that has examined nothing and compiled nothing; "compiling" takes no time and gives plain functions."""
    compiled = []

    def compile_all():
        compiled.append(True)
        monkeypatch.setattr(engines._Work, "is_compiled", True)

    monkeypatch.setattr(engines._Work, "plain_features", 0)
    monkeypatch.setattr(engines._Work, "is_compiled", False)
    monkeypatch.setattr(engines, "_compile", compile_all)
    monkeypatch.setattr(engines, "_machine_code", lambda: nodes.examine)
    monkeypatch.setattr(engines, "can_compile", lambda: True)
    monkeypatch.setattr(engines, "is_kept", lambda function: False)
    return compiled


# issue 14, item 21
def test_a_small_proof_runs_in_numpy_and_does_not_import_numba():
    program = """
import sys, rspca
found = rspca.certify(rspca.GramOperator(rspca.datasets.load_pitprops()), 5)
print(found.engine, found.nodes > 1, found.status, "numba" in sys.modules)
"""
    assert rspca_command(program=program).stdout == "numpy True optimal False\n"


# issue 14, item 21
def test_a_long_proof_is_compiled_and_that_is_reported_once(fresh, monkeypatch):
    monkeypatch.setattr(budgets, "PLAIN_FEATURES", 500)
    for work in (
        lambda on_step: rspca.certify(NOISE, 5, seconds=5, on_step=on_step).engine,
        lambda on_step: rspca.decompose(NOISE, 1, k=5, certify=True, on_step=on_step).components[0].certificate.engine,
        lambda on_step: rspca.compare(NOISE, 5, methods=["maxcomp"], on_step=on_step).certificate.engine,
        lambda on_step: rspca.path(NOISE, [5], certify=True, on_step=on_step) and "numba",
    ):
        steps = []
        engines._Work.plain_features, engines._Work.is_compiled = 0, False
        fresh.clear()
        assert work(steps.append) == "numba"
        assert fresh == [True]
        assert [step.iteration for step in steps if step.stage == "compile"] == [0, 1]  # before and after
        assert work(steps.append) == "numba"  # compiled from the first node on
        assert len([step for step in steps if step.stage == "compile"]) == 2


def test_machine_code_of_an_earlier_run_is_loaded_in_silence(fresh, monkeypatch):
    monkeypatch.setattr(budgets, "PLAIN_FEATURES", 500)
    monkeypatch.setattr(engines, "is_kept", lambda function: True)
    steps = []
    assert rspca.certify(NOISE, 5, seconds=5, on_step=steps.append).engine == "numba"
    assert fresh == [True]
    assert not [step for step in steps if step.stage == "compile"]


def test_many_short_searches_pay_for_compiling_as_one_long_search_does(fresh, monkeypatch):
    found = rspca.certify(PITPROPS, 5)
    assert found.engine == "numpy"
    assert found.nodes > 1
    examined = engines._Work.plain_features
    assert 13 <= examined <= 13 * found.nodes
    monkeypatch.setattr(budgets, "PLAIN_FEATURES", 3 * examined)
    assert [rspca.certify(PITPROPS, 5).engine for _ in range(4)][-1] == "numba"
    assert fresh == [True]


def test_compiling_is_no_part_of_the_time_for_a_proof(fresh, monkeypatch):
    monkeypatch.setattr(budgets, "PLAIN_FEATURES", 0)
    clock = [0.0]
    monkeypatch.setattr("rspca.certificates.progress.time.perf_counter", lambda: clock[0])
    outer = engines.Progress(np.arange(2), 1.0, tol=1e-6, deadline=10.0)
    inner = engines.Progress(np.arange(2), 1.0, tol=1e-6, deadline=5.0, parent=outer)

    def takes_20_seconds():
        clock[0] += 20.0

    inner.spend_compiling(takes_20_seconds, is_new=True)
    assert (inner.deadline, outer.deadline) == (25.0, 30.0)


# issue 14, item 21
@pytest.mark.parametrize("kind", KINDS)
def test_both_engines_give_the_same_result(kind, monkeypatch):
    pytest.importorskip("numba", reason="without numba there is one engine")
    A = case(KINDS.index(kind), 10).A
    results = []
    for limit in (0, 10**9):
        monkeypatch.setattr(budgets, "PLAIN_FEATURES", limit)
        monkeypatch.setattr(engines._Work, "is_compiled", False)
        results.append(search(A, 4, np.arange(4), [], tol=1e-6, out_of_time=bool))
    compiled, plain = results
    assert compiled.support.tolist() == plain.support.tolist()
    assert (compiled.lower, compiled.nodes) == (plain.lower, plain.nodes)
    assert compiled.upper == pytest.approx(plain.upper, rel=1e-12)


def test_without_numba_every_search_runs_in_numpy(fresh, monkeypatch):
    monkeypatch.setattr(engines, "can_compile", lambda: False)
    monkeypatch.setattr(budgets, "PLAIN_FEATURES", 0)
    assert rspca.certify(PITPROPS, 5).engine == "numpy"
    assert fresh == []


READ = """
import sys, rspca
steps = []
rspca.read(sys.argv[1], on_step=steps.append)
print([(step.stage, step.iteration) for step in steps])
"""


# issue 14, item 21
def test_kernels_for_genotypes_are_compiled_aloud_once_and_then_loaded_in_silence(tmp_path):
    pytest.importorskip("numba", reason="packed genotypes need numba")
    rspca.formats.write_plink(tmp_path / "x.bed", np.array([[0, 1, 2], [2, 1, 0], [1, 1, 2]]))
    said = [
        rspca_command(tmp_path / "x.bed", program=READ, NUMBA_CACHE_DIR=str(tmp_path / "kept")).stdout.strip()
        for _ in range(2)
    ]
    assert said == ["[('compile', 0), ('compile', 1)]", "[]"]
