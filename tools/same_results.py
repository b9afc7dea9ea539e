"""Results as hashes and hexadecimal numbers, to compare two versions of the code to the last bit.

    python tools/same_results.py write FILE                a few minutes, one BLAS thread
    python tools/same_results.py compare BEFORE AFTER      prints what differs; exit status 1 if anything does

Covered are SparsePCA with its options and deflations, every method with both normalizations, certify, path and
compare, on the data of benchmarks/quality.py (the folder that RSPCA_DATA names) and on generated data. Certificates
count where they end by proof or because nothing is left to try; what depends on the clock is left out. Data that are
absent are listed with the reason, and skipped in the comparison if one of the files lacks them.
"""

from __future__ import annotations

import os
import sys

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"

import hashlib  # noqa: E402
import json  # noqa: E402
import time  # noqa: E402
import warnings  # noqa: E402
from collections.abc import Callable, Iterator  # noqa: E402
from functools import partial  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

import rspca  # noqa: E402

PAPER = {"solver": "projected", "rounding": "bernoulli", "n_draws": 1, "polish": False, "deflation": "projection"}
OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "scaled": {"scale": True},
    "uncentered": {"center": False},
    "naive": {"normalization": "naive"},
    "no polish": {"polish": False, "n_draws": 5, "s": 3.5},
    "projection": {"deflation": "projection"},
    "orthogonal": {"deflation": "orthogonal"},
    "paper": PAPER,
    "paper, naive": PAPER | {"normalization": "naive"},
    "exact draws of projected": {"solver": "projected", "n_draws": 4},
}
SECONDS = 300.0
"""Time for each proof: so much that none of its steps, some of which get a share of it, ends by the clock."""
PROOF = {"certify": True, "certify_seconds": SECONDS}
TIMED = ("seconds",)
"""Fields that depend on the clock."""


def digest(*values: Any) -> str:
    """Return a short hash of arrays and numbers, to the last bit."""
    found = hashlib.sha256()
    for value in values:
        array = np.ascontiguousarray(value)
        found.update(str((array.dtype.str, array.shape)).encode() + array.tobytes())
    return found.hexdigest()[:20]


def exact(value: Any) -> Any:
    """Return a number, a text, None or a sequence of them as JSON that has every bit."""
    if isinstance(value, list | tuple):
        return [exact(part) for part in value]
    if isinstance(value, np.ndarray):
        return digest(value)
    if isinstance(value, np.generic):
        value = value.item()
    return value.hex() if isinstance(value, float) else value


def component(found: Any) -> Any:
    """Return one component, with how it was found."""
    probability = None if found.inclusion_probability is None else digest(found.inclusion_probability)
    return [
        exact(found.variance), digest(found.support, found.loadings), found.n_iter, bool(found.converged),
        exact(found.passes), exact(found.relaxed_variance), probability, exact(found.swap_optimal),
        certificate(found.certificate),
    ]  # fmt: skip


def certificate(found: Any) -> Any:
    """Return what a certificate proves, if it does not depend on the clock."""
    if found is None:
        return None
    if found.stopped_by not in ("proof", "exhausted"):
        return "stopped by the clock"
    bounds = [[bound.name, exact(bound.value)] for bound in found.bounds]
    fields = ("k", "lower", "upper", "status", "stopped_by", "support", "loadings", "assumptions", "margin")
    fields += ("survivors", "nodes", "n_features", "center", "scale", "tol")  # the engine depends on the clock
    return [*(exact(getattr(found, name)) for name in fields), bounds]


def model(X: Any, n_components: int, k: Any, **options: Any) -> Any:
    """Return a fitted model and the steps that it reported."""
    steps: list[Any] = []
    components: list[Any] = []

    def on_step(step: Any) -> None:
        if step.stage != "compile":
            steps.append([step.stage, step.component, step.iteration, exact(step.variance), exact(step.upper)])

    fitted = rspca.SparsePCA(n_components, k=k, **{"random_state": 0} | options)
    fitted.fit(X, on_step=on_step, on_component=lambda found: components.append(component(found)))
    probability = getattr(fitted, "inclusion_probability_", None)
    timed = any(found[-1] == "stopped by the clock" for found in components)
    return {
        "loadings": digest(fitted.components_),
        "supports": digest(np.concatenate(fitted.supports_)),
        "variance": [exact(float(value)) for value in fitted.explained_variance_],
        "ratio": digest(fitted.explained_variance_ratio_),
        "affine": digest(fitted.mean_, fitted.scale_),
        "probability": None if probability is None else digest(probability.toarray()),
        "components": components,
        "steps": None if timed else hashlib.sha256(json.dumps(steps).encode()).hexdigest()[:20],
        "n_steps": None if timed else len(steps),
    }


def each_method(X: Any, k: int, n_components: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield a computation for every method, normalization and, for some, deflation."""
    for name, method in rspca.METHODS.items():
        for options in ({}, {"normalization": "naive"}, {"deflation": "orthogonal"}):
            yield f"method {name} {options}", partial(run_method, method, X, n_components, k, options)


def run_method(method: Any, X: Any, n_components: int, k: int, options: dict[str, Any]) -> Any:
    """Return what a method of the table finds."""
    found = method(rspca.as_operator(X), n_components, k, rng=np.random.default_rng(5), **options)
    return [component(each) for each in found]


def path(X: Any, ks: list[int], **options: Any) -> Any:
    """Return a path; bounds where all are proofs."""
    found = rspca.path(X, ks, **options)
    proven = all(point.gap is not None and point.gap <= 1e-6 for point in found)
    rows = [[p.k, exact(p.variance), exact(p.share), digest(p.support, p.loadings)] for p in found]
    bounds = [exact(p.upper) for p in found] if proven else None
    return {"rows": rows, "bounds": bounds, "suggested": found.suggested}


def compared(X: Any, k: int, **options: Any) -> Any:
    """Return a comparison without its times."""
    found = rspca.compare(X, k, **{"certify_seconds": None} | options)
    rows = [[exact(getattr(row, name)) for name in row._fields if name not in TIMED] for row in found]
    return {"rows": rows, "skipped": found.skipped, "certificate": certificate(found.certificate)}


def generated() -> dict[str, Any]:
    """Return small data of every kind: dense, sparse, single precision, tall, wide, far from zero, a Gram matrix."""
    rng = np.random.default_rng(0)
    sparse = sp.csr_array((rng.random((200, 700)) < 0.03) * rng.random((200, 700)))
    low_rank = rng.standard_normal((40, 3)) @ rng.standard_normal((3, 25))
    return {
        "hadamard": rspca.datasets.make_hadamard(64, 512),
        "genotypes": rspca.datasets.make_genotypes(120, 900, random_state=1)[0].astype(np.float32),
        "far from zero": rng.standard_normal((80, 300)).astype(np.float32) + 1e4,
        "sparse": sparse,
        "tall": rng.standard_normal((900, 40)) @ rng.standard_normal((40, 40)),
        "wide": rng.standard_normal((60, 3000)),
        "tiny values": 1e-120 * rng.standard_normal((50, 30)),
        "rank three": low_rank,
        "pit props": rspca.GramOperator(rspca.datasets.load_pitprops()),
    }


def on_generated() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield what is computed on generated data."""
    for name, X in generated().items():
        gram = isinstance(X, rspca.GramOperator)
        for label, options in OPTIONS.items():
            if not (gram and "scale" in options):
                yield f"{name}: SparsePCA {label}", lambda X=X, options=options: model(X, 3, 5, **options)
        for label, run in each_method(X, 4, 2):
            yield f"{name}: {label}", run
        if name in ("tall", "hadamard", "sparse", "rank three", "pit props", "tiny values"):
            for k in () if name in ("sparse", "hadamard") else (2, 4):  # there the search depends on the clock
                yield f"{name}: certify {k}", lambda X=X, k=k: certificate(rspca.certify(X, k, seconds=SECONDS))
            yield f"{name}: path", lambda X=X: path(X, [2, 3, 5])
            yield f"{name}: compare", lambda X=X: compared(X, 5)
    data = generated()
    pit, tall, genotypes = (data[name] for name in ("pit props", "tall", "genotypes"))
    first = rspca.decompose(pit, 1, k=4, random_state=0).loadings
    groups = np.arange(40) // 4
    runs: dict[str, Callable[[], Any]] = {
        "pit props: hotelling": lambda: model(pit, 3, [5, 4, 3], deflation="hotelling"),
        "pit props: certified": lambda: model(pit, 4, [5, 4, 3, 2], **PROOF),
        "pit props: certified, resumed": lambda: resumed(pit, [5, 4, 3], **PROOF),
        "pit props: certified maxcomp": lambda: model(pit, 3, 4, **PROOF, method="maxcomp"),
        "pit props: certified, paper": lambda: model(pit, 2, 4, **PROOF, **PAPER),
        "pit props: certified, naive": lambda: model(pit, 2, 4, **PROOF, normalization="naive"),
        "pit props: certify after": lambda: certificate(rspca.certify(pit, 4, after=first)),
        "pit props: certified path": lambda: path(pit, list(range(1, 14)), certify=True, seconds=SECONDS),
        "pit props: certified comparison": lambda: compared(pit, 5, certify_seconds=SECONDS),
        "tall: certified": lambda: model(tall, 2, 3, **PROOF, scale=True),
        "tall: groups": lambda: model(tall, 2, 4, groups=groups),
        "tall: groups, certified": lambda: model(tall, 2, 4, groups=groups, **PROOF),
        "tall: both sides": lambda: both_sides(tall),
        "tall: resumed": lambda: resumed(tall, [4, 4, 4]),
        "tall: generator": lambda: model(tall, 2, 4, random_state=np.random.default_rng(3)),
        "genotypes: patterson": lambda: model(genotypes, 2, 6, scale="patterson"),
        "tall: relax": lambda: [exact(part) for part in rspca.relax(tall, 4.0)],
    }
    yield from runs.items()


def resumed(X: Any, ks: list[int], **options: Any) -> Any:
    """Return components that continue the first of another run."""
    whole = rspca.decompose(X, len(ks), k=ks, random_state=7, **options)
    again = rspca.decompose(X, len(ks), k=ks, random_state=7, earlier=whole.components[:1], **options)
    return [[component(found) for found in run.components] for run in (whole, again)]


def both_sides(X: Any) -> Any:
    """Return sparse vectors of both sides."""
    found = rspca.decompose(X, 2, k=4, side="both", k_samples=10, random_state=0)
    return [component(one) for one in (*found.components, *found.sample_components)]


SLOW = ("hgdp_euro", "chowdary", "hapmap3", "kos", "hgdp_chr22")
"""Data on which comparisons take long: only the fast methods are compared there."""
FAST = ["rspca", "maxcomp", "tpower", "gpower-l1", "pca"]


def on_quality_data() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield what is computed on the data of benchmarks/quality.py."""
    import quality

    for name, make in quality.DATA.items():
        for k in (5, 20):
            yield f"{name}: SparsePCA {k}", lambda make=make, k=k: fitted(make(), k)
        yield f"{name}: paper", lambda make=make: fitted(make(), 20, **PAPER)
        methods = FAST if name in SLOW else [one for one in rspca.METHODS if one not in ("dspca", "greedy", "spasm")]
        yield f"{name}: compare", lambda make=make, methods=methods: at_most(make(), 10, methods)
        if name in ("pitprops", "wine", "wdbc", "dermatology", "spambase"):
            yield f"{name}: certify", lambda make=make: certificate(rspca.certify(make(), 5, seconds=SECONDS))
            yield f"{name}: path", lambda make=make: path(make(), [2, 4, 6], certify=True, seconds=SECONDS)


def fitted(X: Any, k: int, **options: Any) -> Any:
    """Return two components of at most k features."""
    return model(X, 2, min(k, X.shape[1]), **options)


def at_most(X: Any, k: int, methods: list[str]) -> Any:
    """Return a comparison at k features, or all there are."""
    return compared(X, min(k, X.shape[1]), methods=methods)


def write(file: Path) -> None:
    """Compute everything and write it."""
    results: dict[str, Any] = {}
    skipped: dict[str, str] = {}
    began = time.perf_counter()
    for name, run in (*on_generated(), *on_quality_data()):
        started = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results[name] = run()
        except FileNotFoundError as error:
            skipped[name] = str(error)
        except Exception as error:  # a refusal is a result too
            results[name] = f"{type(error).__name__}"
        if time.perf_counter() - started > 3.0:
            print(f"{time.perf_counter() - started:6.1f} s  {name}", flush=True)
    file.write_text(json.dumps({"results": results, "skipped": skipped}, indent=1) + "\n")
    seconds = time.perf_counter() - began
    print(f"{len(results)} results, {len(skipped)} skipped, {seconds:.0f} s: {file}; code {rspca.__file__}")
    for name, why in skipped.items():
        print(f"skipped {name}: {why}")


def compare(before: Path, after: Path) -> int:
    """Print what differs between two files; return the exit status."""
    one, other = (json.loads(path.read_text()) for path in (before, after))
    absent = {*one["skipped"], *other["skipped"]}
    names = sorted({*one["results"], *other["results"]} - absent)
    differing = [name for name in names if one["results"].get(name, "absent") != other["results"].get(name, "absent")]
    for name in differing:
        place, left, right = first_difference(*(file["results"].get(name, "absent") for file in (one, other)))
        print(f"{name}{place}\n  before {json.dumps(left)[:200]}\n  after  {json.dumps(right)[:200]}")
    print(f"{len(names)} results compared, {len(absent)} skipped, {len(differing)} differ")
    return 1 if differing or not names else 0


def first_difference(left: Any, right: Any, place: str = "") -> tuple[str, Any, Any]:
    """Return where two results first differ, and what each has there."""
    if isinstance(left, dict) and isinstance(right, dict) and left.keys() == right.keys():
        pairs = [(key, left[key], right[key]) for key in left]
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        pairs = [(key, *both) for key, both in enumerate(zip(left, right, strict=True))]
    else:
        return place, left, right
    key, *both = next(pair for pair in pairs if pair[1] != pair[2])
    return first_difference(*both, f"{place}[{key!r}]")


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "write":
        write(Path(sys.argv[2]))
    elif len(sys.argv) == 4 and sys.argv[1] == "compare":
        sys.exit(compare(Path(sys.argv[2]), Path(sys.argv[3])))
    else:
        sys.exit(__doc__)
