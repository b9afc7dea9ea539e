"""kill -9 at random moments of `rspca fit --resume`: what is left behind, and what comes of it. Use: [kills] [seed]."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "benchmarks")]

from common import Report  # noqa: E402
from support.killing import COMPONENTS, PHASES, Killing, write_data  # noqa: E402

AFRESH = 5
"""One process in so many is a new Python; the others are copies of one, so that kills hit the work."""


def main() -> None:
    kills, seed = (int(word) for word in (sys.argv[1:] + ["100", "0"][len(sys.argv) - 1 :])[:2])
    report = Report("kills.txt", ROOT / "tools" / "results")
    with tempfile.TemporaryDirectory() as folder:
        run = Killing(write_data(Path(folder, "data.npy")), afresh=AFRESH, seed=seed)
        report(
            f"rspca fit --resume, 400 x 3000, {COMPONENTS} components; seed {seed}; a new Python one time in {AFRESH}"
        )
        run.until(kills)
    report(f"kills: {run.kills}; fits finished after them: {run.finished}, each bit for bit the uninterrupted one")
    report("moments: " + ", ".join(f"{run.phases[phase]} {phase}" for phase in PHASES))
    report(f"kills that left a file half-written beside its place: {run.drafts}, removed by the next that writes it")
    report(f"components kept at a kill: {run.components_kept / run.kills:.1f} on average; reported and lost: 0")
    report("corrupt or incomplete files in place of results: 0")


if __name__ == "__main__":
    main()
