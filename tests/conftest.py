"""How hypothesis searches in every test file, how cases and folders are named, and that tests without data skip."""

import itertools
import os
import re

import pytest
from hypothesis import HealthCheck, Phase, settings

from benchmarks.data import DataAbsent

settings.register_profile(
    "everyday", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
# The same search; `adversarial.invariant` multiplies its examples. Run by tools/truth.py.
settings.register_profile("long", parent=settings.get_profile("everyday"), database=None)
# Whether a mutant is noticed, not by which smallest example; the same examples for every mutant.
settings.register_profile(
    "mutants", parent=settings.get_profile("everyday"), database=None, derandomize=True, max_examples=30,
    phases=[Phase.explicit, Phase.generate],
)  # fmt: skip
settings.load_profile(os.environ.get("RSPCA_HYPOTHESIS", "everyday"))


def pytest_make_parametrize_id(val, argname):
    """Bytes are named after their argument: an id made from them would carry what they hold, a gzip's time too,
    and workers of pytest-xdist that collect a second apart must find the same ids."""
    return argname if isinstance(val, bytes) else None


FOLDERS = itertools.count()


@pytest.fixture
def tmp_path(request, tmp_path_factory):
    """Return an empty folder of the test's own. The one that pytest makes looks through all folders of earlier tests
    for its number, which takes milliseconds when there are thousands of them. Its path is as short: messages cut it."""
    name = re.sub(r"\W", "_", request.node.name, flags=re.ASCII)[:20]
    folder = tmp_path_factory.getbasetemp() / "each" / f"{next(FOLDERS)}-{name}"
    folder.parent.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(mode=0o700)
    return folder


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    """Skip a test whose data are not on this machine."""
    try:
        return (yield)
    except DataAbsent as reason:
        pytest.skip(str(reason))


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    """Skip the tests of a fixture whose data are not on this machine."""
    try:
        return (yield)
    except DataAbsent as reason:
        pytest.skip(str(reason))
