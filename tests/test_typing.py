"""What type checkers see of the public names, which are imported only when they are first used."""

import os
import subprocess
import sys
from importlib import resources

from support.commandline import source_folder

import rspca

CLIENT = """
import numpy as np

import rspca

model = rspca.SparsePCA(n_components=3, k=5).fit(np.eye(6))
found: rspca.Certificate = rspca.certify(np.eye(6), 2)
share: float = found.upper / found.lower
points: tuple[int, ...] = tuple(point.k for point in rspca.path(np.eye(6), [1, 2]))
table: rspca.Table = rspca.read("data.csv")
matrix = rspca.datasets.load_pitprops()
"""
MISTAKES = {
    "rspca.SparsePCA(n_componentz=3)": 'Unexpected keyword argument "n_componentz" for "SparsePCA"',
    "rspca.certify(np.eye(6))": 'No overload variant of "certify" matches argument type',
    "rspca.certfy": 'Module has no attribute "certfy"',
    "rspca.compare(np.eye(6), '5')": 'Argument 2 to "compare" has incompatible type "str"',
    "rspca.datasets.load_pitprop()": 'Module has no attribute "load_pitprop"',
}


def checked(folder, text):
    """Return what `mypy --strict` says of a script of a user's."""
    (folder / "client.py").write_text(text)
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "client.py"], cwd=folder,
        capture_output=True, text=True, check=False, env=os.environ | {"MYPYPATH": source_folder()}, timeout=300,
    ).stdout  # fmt: skip


# issue 14, item 19
def test_mypy_finds_mistakes_in_a_script_and_knows_every_public_name(tmp_path):
    names = [name for name in rspca.__all__ if name != "__version__"]
    text = CLIENT + "".join(f"{line}\n" for line in MISTAKES) + "".join(f"reveal_type(rspca.{n})\n" for n in names)
    lines = checked(tmp_path, text).splitlines()
    errors = [line for line in lines if " error: " in line]
    assert len(errors) == len(MISTAKES), errors
    for said in MISTAKES.values():
        assert any(said in line for line in errors), (said, errors)
    revealed = [line for line in lines if "Revealed type is" in line]
    assert len(revealed) == len(names)
    assert not [line for line in revealed if 'is "Any"' in line]


def test_the_package_says_that_it_has_types():
    assert resources.files("rspca").joinpath("py.typed").is_file()
