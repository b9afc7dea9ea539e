"""Run the eight analyses of docs/analyses.md: figures, numbers and pages.

    python docs/analyses/draw.py                all of them, about two minutes
    python docs/analyses/draw.py cells people   some of them

Data come from RSPCA_DATA (docs/data.md); the cells come with scanpy. An analysis whose data are absent says so,
and what it found earlier stays.
"""

from __future__ import annotations

import json
import sys
import time
import warnings

import write_pages
from drawing import data, save_figure


def main() -> None:
    chosen = sys.argv[1:] or write_pages.NAMES
    unknown = set(chosen) - set(write_pages.NAMES)
    if unknown:
        raise SystemExit(
            f"There is no analysis {', '.join(sorted(unknown))}; there are {', '.join(write_pages.NAMES)}."
        )
    facts = json.loads(write_pages.RESULTS.read_text()) if write_pages.RESULTS.exists() else {}
    for name in chosen:
        began = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what rspca says of linked SNPs is what the figures show
                found = write_pages.module(name).analysis()
        except data.DataAbsent as reason:
            print(f"skipped {name}: {reason}")
            continue
        facts[name] = found.facts
        path = save_figure(found.figure, name)
        print(f"{name}: {time.perf_counter() - began:.1f} s, {path.name} of {path.stat().st_size:,} bytes", flush=True)
    ordered = {name: facts[name] for name in write_pages.NAMES if name in facts}
    write_pages.RESULTS.write_text(json.dumps(ordered, indent=1, default=float) + "\n")
    write_pages.main()


if __name__ == "__main__":
    main()
