"""Packages that are optional for users: what needs one that is not installed is skipped, and says so."""

import pytest

NEEDED = {
    "matplotlib": ("matplotlib", "plotting"),
    "anndata": ("anndata", "rspca.singlecell", ".h5"),
    "zarr": (".zarr", ".vcz"),
    "pyarrow": ("parquet",),
    "pgenlib": (".pgen",),
    "numba": (".bed", ".pgen", ".vcz", "rspca.operators.kernels", "write_plink"),
}
"""The package, and words that tell of a need for it."""


def skip_without_extras(*texts: str) -> None:
    """Skip the test where a package is missing that one of these texts (names, files, code) needs."""
    for package, words in NEEDED.items():
        if any(word in text for text in texts for word in words):
            pytest.importorskip(package, reason=f"{package} is not installed")
