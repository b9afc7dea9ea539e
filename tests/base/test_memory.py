"""Memory: work that does not fit is refused before it starts, with sizes and a remedy; what is freed is kept."""

import os
import platform
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
from support.commandline import TESTS, call, one_line, rspca_command, write_table

import rspca
from rspca.base.memory import free_memory, readable


class Untouched:
    """Data of any size that must not be looked at."""

    dtype = np.dtype(np.float64)

    def __init__(self, m, n):
        self.shape = (m, n)

    def matmat(self, V):
        raise AssertionError("the work has started")

    rmatmat = columns = matmat


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc is known to give freed blocks back")
def test_freed_blocks_are_used_again_without_new_pages():
    # ten blocks of 1 MB, taken, filled and freed together, again and again: how many pages are fetched for them
    program = """if True:
        import resource
        import numpy as np
        from rspca.base.memory import keep_freed_blocks

        def pages(rounds):
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            for _ in range(rounds):
                blocks = [np.ones(2**17) for _ in range(10)]
                del blocks
            return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

        pages(3)
        before = pages(10)
        keep_freed_blocks()
        pages(3)
        print(before, pages(10))
    """
    # whoever sets the thresholds of malloc keeps them: Dask does, in the process that starts its workers
    own = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=own)
    before, after = map(int, done.stdout.split())
    assert after < 1000 < before


@pytest.mark.parametrize(
    ("shape", "k", "said"),
    [
        ((10**6, 10**6), 10**6, r"work on k=1000000 of 1000000 features with 1000000 samples needs 8 TB, and"),
        ((10, 10**12), 5, r"needs 24 TB, and [\d.]+ \w+ is free\. Choose fewer features"),
    ],
    ids=["columns", "features"],
)
def test_work_beyond_the_memory_is_refused_before_it_starts(shape, k, said):
    with pytest.raises(MemoryError, match=said):
        rspca.decompose(Untouched(*shape), 1, k=k)
    for work in (
        lambda X: rspca.SparsePCA(1, k=k).fit(X),
        lambda X: rspca.path(X, [1, k]),
        lambda X: rspca.certify(X, k),
        lambda X: rspca.compare(X, k),
    ):
        with pytest.raises(MemoryError, match=said):
            work(Untouched(*shape))


LIMITED = """
import resource, sys, numpy as np, rspca
from numpy.lib.stride_tricks import as_strided
sys.path[:0] = sys.argv[1:]
from test_memory import Untouched

size = resource.getpagesize() * int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (size + 10**8, resource.RLIM_INFINITY))
for work in (
    lambda: rspca.decompose(Untouched(10**6, 1000), 1, k=100),
    lambda: rspca.GramOperator(as_strided(np.ones(1), (4000, 4000), (0, 0))),
    lambda: rspca.read("large.npz"),
    lambda: rspca.read("large.mtx"),
):
    try:
        work()
    except MemoryError as error:
        print(error)
"""


def test_the_limits_of_the_process_count(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")  # its threads would take most of what the process may have
    np.savez_compressed(tmp_path / "large.npz", X=np.zeros((2000, 8000)))
    (tmp_path / "large.mtx").write_bytes(b"%%MatrixMarket matrix coordinate real general\n5000 8000 20000000\n")
    os.truncate(tmp_path / "large.mtx", 1 << 27)
    result = rspca_command(os.path.dirname(__file__), TESTS, program=LIMITED, cwd=tmp_path)
    assert [line.split(" needs ")[0].removeprefix("Not enough memory: ") for line in result.stdout.splitlines()] == [
        "work on k=100 of 1000 features with 1000000 samples",
        "the square root of a 4000 x 4000 matrix",
        "large.npz, unpacked,",
        "the matrix of large.mtx",
    ], result.stderr
    assert result.stdout.count(" is free. ") == 4


def test_the_command_line_says_it_in_one_line(tmp_path, monkeypatch):
    write_table(tmp_path / "table.csv", 30, 12)
    monkeypatch.setattr("rspca.base.memory.LITTLE", 0)
    monkeypatch.setattr("rspca.base.memory.free_memory", lambda: 900)
    result = call("fit", "table.csv", "-k", "3", "-o", "out", cwd=tmp_path)
    assert result.returncode == 2
    assert one_line(result.stderr) == (
        "rspca: Not enough memory: the Gram matrix of 12 features needs 3.46 kB, and 900 bytes is free. Choose fewer "
        "features."
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("size", "words"), [(0, "0 bytes"), (999, "999 bytes"), (1000, "1 kB"), (2.5e9, "2.5 GB"), (8e12, "8 TB")]
)
def test_sizes_are_readable(size, words):
    assert readable(size) == words


def test_a_proof_leaves_out_what_does_not_fit(monkeypatch):
    """The spectrum needs a square matrix; a proof without it is weaker, and still one."""
    X = np.random.default_rng(0).standard_normal((50, 2000))
    full = rspca.certify(X, 30, seconds=5.0)
    for module in ("strategy", "products", "proof_state"):
        monkeypatch.setattr(f"rspca.certificates.{module}.has_room", lambda needed: False)
    less = rspca.certify(X, 30, seconds=2.0)
    assert "largest eigenvalue" in {bound.name for bound in full.bounds}
    assert "largest eigenvalue" not in {bound.name for bound in less.bounds}
    assert less.upper >= less.lower


def system(root, **files):
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_free_memory_is_the_least_of_machine_and_control_group(tmp_path):
    meminfo = "MemTotal: 9000 kB\nMemAvailable: 5000 kB\nSwapFree: 1000 kB\n"
    root = system(tmp_path, proc__meminfo=meminfo)
    assert free_memory(root) == 6000 * 1024
    second = {
        "proc__self__cgroup": "0::/job\n",
        "sys__fs__cgroup__job__memory_dot_max": "3000000\n",
        "sys__fs__cgroup__job__memory_dot_current": "2500000\n",
        "sys__fs__cgroup__job__memory_dot_stat": "anon 1\ninactive_file 400000\nactive_file 100000\n",
    }
    assert free_memory(system(tmp_path, **second)) == 1000000
    assert free_memory(system(tmp_path, sys__fs__cgroup__job__memory_dot_max="max\n")) == 6000 * 1024
    first = {
        "proc__self__cgroup": "4:memory:/a/b\n",
        "sys__fs__cgroup__memory__a__b__memory_dot_limit_in_bytes": "2000000\n",
        "sys__fs__cgroup__memory__a__b__memory_dot_usage_in_bytes": "1500000\n",
    }
    assert free_memory(system(tmp_path, **first)) == 500000


def test_packed_and_sparse_data_need_less_than_dense_ones():
    dense = rspca.as_operator(np.ones((400, 100)))
    sparse = rspca.as_operator(scipy.sparse.random(400, 100, density=0.01, format="csr", random_state=0))
    assert dense.restricted_bytes(10) == 400 * 10 * 8
    assert sparse.restricted_bytes(10) == 400 * 10 * 0.01 * 12
    assert rspca.operators.Centered(sparse).restricted_bytes(10) == sparse.restricted_bytes(10)
    assert sparse.transposed().restricted_bytes(10) <= 1000
