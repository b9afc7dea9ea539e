"""Walk a new user's path and print the time: environment, install, `rspca fit` on a CSV, page opened and read.

    python tools/new_user.py           from this checkout; needs a package index, Chromium and playwright
    python tools/new_user.py --keep    leaves the folder, and says where it is

Three commands are what the user types; their wall time together must be at most two minutes. Then the page is opened in
Chromium, without a network, and the top feature of the first component and its stability are read from it.
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "benchmarks")]

from common import Report  # noqa: E402
from support.browser import launched, opened  # noqa: E402

MOST_SECONDS = 120.0
"""What a new user waits at most, in seconds: issue 21, item 7."""
NAMES = ("rainfall", "altitude", "acidity", "nitrogen", "slope", "sunshine", "soil_depth")
SAMPLES, TOGETHER = 120, (0, 3, 6)
"""Sites, and the measurements that go together in them."""
FAILED = 1


def write_table(path: Path) -> None:
    """Write a table such as a user has: names of rows and columns, different units, three columns that go together."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((SAMPLES, len(NAMES)))
    X[:, TOGETHER] += 2.0 * rng.standard_normal((SAMPLES, 1)) * np.array([1.0, 0.8, 0.6])
    X = 50.0 + X * np.array([200.0, 90.0, 0.4, 3.0, 8.0, 40.0, 0.2])
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["site", *NAMES])
        writer.writerows([f"site{number}", *map(float, row)] for number, row in enumerate(X, 1))


def commands(folder: Path) -> list[list[str]]:
    """Return what the user types."""
    python = str(folder / "env" / "bin" / "python")
    fit = ["fit", "sites.csv", "-k", "3", "-n", "2", "--scale", "yes", "--stability", "50", "-o", "out"]
    return [
        [sys.executable, "-m", "venv", str(folder / "env")],
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(ROOT)],
        [str(folder / "env" / "bin" / "rspca"), *fit],
    ]


def shown(word: str) -> str:
    """Return a word of a command without the folders of this machine; the checkout is a dot."""
    return "." if word == str(ROOT) else Path(word).name if "/" in word else word


def timed(command: list[str], folder: Path) -> tuple[float, str]:
    """Run a command in the folder, without the settings of this process; return its seconds and what it printed."""
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    began = time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=clean, check=False)
    seconds = time.perf_counter() - began
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    return seconds, done.stdout + done.stderr


def read_page(path: Path) -> dict[str, str]:
    """Return the first row of the first table of features, by the headings of its columns."""
    with launched() as browser, opened(browser, path) as page:
        table = page.locator("#component-1 .features").first
        heads = [
            (cell.inner_text().strip(), int(cell.get_attribute("colspan") or 1))
            for cell in table.locator("thead th").all()
        ]
        cells = [cell.inner_text().strip() for cell in table.locator("tbody tr").first.locator("th, td").all()]
    found, place = dict[str, str](), 0
    for head, width in heads:
        found[head] = cells[place + width - 1]
        place += width
    return found


def first_line(path: Path) -> dict[str, str]:
    """Return the first component's first feature in components.csv."""
    with path.open(newline="") as file:
        return next(csv.DictReader(file))


def walk(folder: Path, say: Any) -> float:
    """Walk the path in a folder; return the seconds of the commands."""
    write_table(folder / "sites.csv")
    total = 0.0
    for command in commands(folder):
        seconds, printed = timed(command, folder)
        total += seconds
        say(f"{seconds:6.1f} s  {' '.join(shown(word) for word in command)}")
    say("\n" + printed.strip().replace(str(folder), "."))
    installed = subprocess.run(
        [folder / "env" / "bin" / "python", "-c", "import numba"], capture_output=True, check=False
    )
    compiled = "not installed: nothing is compiled" if installed.returncode else "installed, and may compile"
    say(f"\nnumba is {compiled} on the way")
    began = time.perf_counter()
    row, line = read_page(folder / "out" / "report.html"), first_line(folder / "out" / "components.csv")
    say(f"{time.perf_counter() - began:6.1f} s  page opened in Chromium, without a network")
    say(f"on the page: {', '.join(f'{head} {value}' for head, value in row.items() if value)}")
    say(f"components.csv: {', '.join(f'{head} {value}' for head, value in line.items())}")
    if line["feature"] not in row.values() or f"{float(line['stability']):.2f}" not in row.values():
        raise SystemExit("The page does not show the top feature and its stability as components.csv has them.")
    return total


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="leave the folder with environment and results")
    options = parser.parse_args()
    say = Report("new_user.txt", ROOT / "tools" / "results")
    folder = Path(tempfile.mkdtemp(prefix="rspca-new-user-"))
    try:
        seconds = walk(folder, say)
    finally:
        if options.keep:
            print(f"kept: {folder}")
        else:
            shutil.rmtree(folder)
    say(f"\n3 commands, {seconds:.1f} s of at most {MOST_SECONDS:.0f} s")
    return FAILED if seconds > MOST_SECONDS else 0


if __name__ == "__main__":
    raise SystemExit(main())
