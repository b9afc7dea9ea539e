"""How a fit goes through the package: few calls deep, few files wide."""

import subprocess
import sys
from pathlib import Path

import numpy as np

import rspca

MOST_FRAMES = 8
"""Calls inside the package from the command to the algorithm, both included."""
MOST_FILES = 55
"""Files of the package in which one fit with a report runs a function."""
PACKAGE = Path(rspca.__file__).parent
TRACED = """
import sys
files, deepest = set(), []

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
        out.write("\\n".join(deepest) + "\\n--\\n" + "\\n".join(sorted(files)))
"""


def traced_fit(folder):
    """Return the calls from `main` to the algorithm, outermost first, and the files that run a function."""
    X = np.random.default_rng(0).standard_normal((30, 12))
    np.savetxt(folder / "table.csv", X, delimiter=",", header=",".join(f"f{j}" for j in range(12)), comments="")
    script = TRACED.format(package=f"{PACKAGE}/")
    subprocess.run([sys.executable, "-c", script], cwd=folder, check=False)
    assert (folder / "out" / "report.html").exists()
    calls, files = (folder / "traced.txt").read_text().split("--\n")
    return calls.split("\n")[::-1][1:], files.split("\n")


def test_the_way_from_the_command_to_the_algorithm_is_short(tmp_path):
    calls, files = traced_fit(tmp_path)
    command = calls.index("cli/fit.py fit")
    assert len(calls[command:]) <= MOST_FRAMES, "\n".join(calls[command:])
    assert len(files) <= MOST_FILES, "\n".join(files)
