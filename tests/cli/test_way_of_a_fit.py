"""The way of a fit through the package: few calls deep, few files wide, and no setting checked twice."""

import subprocess
import sys
from pathlib import Path

import numpy as np

import rspca

MOST_FRAMES = 8
"""Calls inside the package from the command to the algorithm, both included."""
MOST_FILES = 98
"""Files of the package in which one fit with a report runs a function; modules that are only imported do not count."""
PACKAGE = Path(rspca.__file__).parent
TRACED = """
import sys
files, deepest, checked = set(), [], []

def while_importing(frame):
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith({package!r}):
            return True
        frame = frame.f_back
    return False

def profile(frame, event, argument):
    code = frame.f_code
    if event != "call" or not code.co_filename.startswith({package!r}) or while_importing(frame):
        return
    files.add(code.co_filename.removeprefix({package!r}))
    if code.co_name in ("check_choice", "check_integer", "check_real"):
        checked.append(frame.f_locals["name"])
    if code.co_name == "rspca_component" and not deepest:
        while frame is not None:
            if frame.f_code.co_filename.startswith({package!r}):
                deepest.append(frame.f_code.co_filename.removeprefix({package!r}) + " " + frame.f_code.co_name)
            frame = frame.f_back

sys.argv = ["rspca", "fit", "table.csv", "-k", "5", "-n", "2", "-o", "out"]
from rspca.cli import main
sys.setprofile(profile)
try:
    main()
finally:
    sys.setprofile(None)
    with open("traced.txt", "w") as out:
        out.write("\\n--\\n".join(map("\\n".join, (deepest[::-1], sorted(files), checked))))
"""


def traced_fit(folder):
    """Return the calls from `main` to the algorithm, the files that run a function, and the settings checked."""
    X = np.random.default_rng(0).standard_normal((30, 12))
    np.savetxt(folder / "table.csv", X, delimiter=",", header=",".join(f"f{j}" for j in range(12)), comments="")
    script = TRACED.format(package=f"{PACKAGE}/")
    subprocess.run([sys.executable, "-c", script], cwd=folder, check=True, capture_output=True)
    assert (folder / "out" / "report.html").exists()
    return [part.split("\n") for part in (folder / "traced.txt").read_text().split("\n--\n")]


def test_the_way_from_the_command_to_the_algorithm_is_short_and_nothing_is_checked_twice(tmp_path):
    calls, files, checked = traced_fit(tmp_path)
    command = calls.index("cli/fit.py fit")
    assert len(calls[command:]) <= MOST_FRAMES, "\n".join(calls[command:])
    assert len(files) <= MOST_FILES, "\n".join(files)
    settings = [name for name in checked if name in rspca.SparsePCA().get_params()]
    assert {"method", "deflation", "k", "n_components", "random_state"} <= set(settings)
    assert len(settings) == len(set(settings)), sorted(settings)
