"""Damaged files into every reader: nothing but a one-line error that names the file, or data that hold together.

python tools/fuzz.py --minutes 32            # CPU minutes over all targets; output in tools/results/fuzz.txt
python tools/fuzz.py --minutes 10 --seed 1 --add   # a further round below the earlier ones
python tools/fuzz.py --target model --minutes 2 --keep crashes/

Inputs are mutated seeds. One that reaches lines of rspca in a new order joins the seeds. Each target runs in a process
of its own, under a limit of memory; what kills that process counts like any other crash, and is kept.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import Any, NoReturn

import fuzz_targets
from damage import LARGEST, Files, damaged, write

import rspca

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "benchmarks"))

from common import Report  # noqa: E402

SOURCE = str(Path(rspca.__file__).parent)
SECONDS = 5.0
"""Longest time for one small file."""
MEMORY = 1 << 30
"""Bytes of address space beyond what the process has when it starts: inputs are a few thousand bytes."""
DOCUMENTED = (ValueError, TypeError, OSError, ImportError)
LONGEST = 600
MOST_SEEDS = 400


class TooSlow(BaseException):
    """One input took longer than SECONDS; no handler of the code under test can swallow it."""


def main() -> None:
    """Fuzz the targets one after another and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=32.0, help="CPU minutes in total")
    parser.add_argument("--target", choices=sorted(fuzz_targets.TARGETS), nargs="*", help="only these")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="targets at a time")
    parser.add_argument("--add", action="store_true", help="keep the rounds that the output file has")
    parser.add_argument("--keep", type=Path, help="folder for inputs that crash")
    options = parser.parse_args()
    names = options.target or list(fuzz_targets.TARGETS)
    report = print if options.target else _report(options.add)
    report(f"round of seed {options.seed}: {options.minutes:g} CPU minutes over {len(names)} targets")
    heads = " ".join(f"{head:>9}" for head in ("inputs", "accepted", "refused", "errors", "seeds", "CPU s", "crashes"))
    report(f"{'target':<12}{heads}")
    total: collections.Counter[str] = collections.Counter()
    crashes: dict[str, int] = {}
    work = [(name, 60.0 * options.minutes / len(names), options.seed, options.keep) for name in names]
    pool = multiprocessing.get_context("fork").Pool(options.jobs)
    for name, found in zip(names, pool.imap(_in_child, work), strict=True):
        row = [found[key] for key in ("inputs", "accepted", "refused", "errors", "seeds", "seconds")]
        report(f"{name:<12}" + " ".join(f"{value:>9,.0f}" for value in (*row, sum(found["crashes"].values()))))
        total.update({key: found[key] for key in ("inputs", "accepted", "refused", "errors", "seconds")})
        crashes |= {f"{name}: {key}": count for key, count in found["crashes"].items()}
    report(
        f"in all {total['inputs']:,} inputs, {total['accepted']:,} accepted and {total['refused']:,} refused with "
        f"{total['errors']:,} distinct errors, {sum(crashes.values()):,} crashes of {len(crashes)} kinds, "
        f"{total['seconds'] / 60.0:.1f} CPU minutes"
    )
    for key, count in crashes.items():
        report(f"  {count:>6} x {key}")
    if options.add and isinstance(report, Report):
        report()
        report(f"all rounds: {all_rounds(report.lines)}")


def all_rounds(lines: list[str]) -> str:
    """Return the sum over the rounds of an output file."""
    found = [re.findall(r"[\d,.]+\d|\d", line) for line in lines if line.startswith("in all ")]
    numbers = [[float(number.replace(",", "")) for number in row] for row in found]
    inputs, accepted, refused, _, crashes, _, minutes = (sum(column) for column in zip(*numbers, strict=True))
    return (
        f"{inputs:,.0f} inputs in {minutes:.1f} CPU minutes, {accepted:,.0f} accepted, {refused:,.0f} refused, "
        f"{crashes:,.0f} crashes"
    )


def _report(add: bool) -> Report:
    """Return a printer that begins with the limits, or goes on below earlier rounds."""
    path = ROOT / "tools" / "results" / "fuzz.txt"
    before = path.read_text().splitlines() if add and path.exists() else []
    report = Report(path.name, path.parent)
    report(f"limits: {SECONDS:g} s and {MEMORY >> 20} MiB beyond the start for files of at most {LARGEST:,} bytes")
    report(f"refused: one line of at most {LONGEST} characters that names the file; anything else is a crash")
    report()
    if before:
        report.lines[:] = [*before, ""]
    return report


def _in_child(work: tuple[str, float, int, Path | None]) -> dict[str, Any]:
    """Fuzz in processes of their own until the time is used up; one that dies is followed by another."""
    name, seconds, seed, keep = work
    found: dict[str, Any] = {
        "inputs": 0, "accepted": 0, "refused": 0, "errors": 0, "seeds": 0, "seconds": 0.0, "crashes": {}
    }  # fmt: skip
    for attempt in range(1000):
        if found["seconds"] >= seconds - 0.5:
            break
        with tempfile.TemporaryDirectory(prefix="rspca-fuzz-") as scratch:
            child = os.fork()
            if child == 0:
                try:
                    _child(name, seconds - found["seconds"], seed + 1000 * attempt, Path(scratch), keep)
                finally:  # an error of the fuzzer itself must not run the rest of the parent
                    traceback.print_exc()
                    os._exit(1)
            _, status = os.waitpid(child, 0)
            part = json.loads(Path(scratch, "result.json").read_text())
            if status != 0:
                looped = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF
                key = "did not come back from C" if looped else f"the process ended with status {status}"
                part["seconds"] += 2 * SECONDS if looped else 0.0
                part["crashes"][key] = part["crashes"].get(key, 0) + 1
                _keep(Path(scratch, "input"), keep, name, key)
        for key, count in part["crashes"].items():
            found["crashes"][key] = found["crashes"].get(key, 0) + count
        for key in ("inputs", "accepted", "refused", "seconds"):
            found[key] += part[key]
        found |= {key: max(found[key], part[key]) for key in ("errors", "seeds")}
    return found


def _child(name: str, seconds: float, seed: int, scratch: Path, keep: Path | None) -> NoReturn:
    target = fuzz_targets.TARGETS[name]
    rng, folder = random.Random(f"{name} {seed}"), scratch / "input"
    corpus: list[Files] = target.seeds()
    state: dict[str, Any] = {"inputs": 0, "accepted": 0, "refused": 0, "crashes": collections.Counter()}
    errors: set[str] = set()
    seen: set[Any] = set()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, _too_slow)

    def save() -> None:
        used = time.process_time() - began
        text = json.dumps(state | {"errors": len(errors), "seeds": len(corpus), "seconds": used})
        (scratch / "result.json").write_text(text)

    began = time.process_time()
    for files in corpus:  # what is right must be accepted, and whatever is loaded lazily is loaded before the limit
        _run(target, files, folder, seen)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
    began = saved = time.process_time()
    save()
    while time.process_time() - began < seconds:
        files = damaged(rng.choice(corpus), corpus, target.words, rng)
        before = len(seen)
        state["inputs"] += 1
        try:
            _run(target, files, folder, seen)
            state["accepted"] += 1
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            why = _crash(error, folder)
            errors.add(_kind(error))
            if why is None:
                state["refused"] += 1
            else:
                state["crashes"][why] += 1
                with contextlib.suppress(OSError, MemoryError):
                    _keep(folder, keep, name, why)
                if isinstance(error, TooSlow | MemoryError):  # what C still holds would be blamed on the next input
                    save()
                    os._exit(0)
        if len(seen) > before and len(corpus) < MOST_SEEDS:
            corpus.append(files)
        if time.process_time() - saved > 1.0:
            saved = time.process_time()
            save()
    save()
    os._exit(0)


def _run(target: fuzz_targets.Target, files: Files, folder: Path, seen: set[Any]) -> None:
    """Give the files to the target, and note in which order lines of rspca were reached."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    write(folder, files)
    last = None

    def line(frame: Any, event: str, _: Any) -> Any:
        nonlocal last
        here = (frame.f_code, frame.f_lineno)
        seen.add((last, here))
        last = here
        return line

    def call(frame: Any, event: str, _: Any) -> Any:
        return line if frame.f_code.co_filename.startswith(SOURCE) else None

    signal.setitimer(signal.ITIMER_REAL, 3 * SECONDS)  # tracing and a busy machine make it slower than it is
    signal.setitimer(signal.ITIMER_PROF, 2 * SECONDS)  # a loop in C hears no handler, so this one ends the process
    began = time.process_time()
    sys.settrace(call)
    try:
        target.run(folder)
    finally:
        sys.settrace(None)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        if time.process_time() - began > SECONDS:
            raise TooSlow


def _crash(error: BaseException, folder: Path) -> str | None:
    """Return in words why an error is not one that a user may be shown, or None."""
    place = _place(error)
    if isinstance(error, TooSlow):
        return f"took longer than {SECONDS:g} s"
    if isinstance(error, fuzz_targets.Broken):
        return f"accepted: {error}"
    if not isinstance(error, DOCUMENTED):
        return f"{type(error).__name__} at {place}: {_words(error)}"
    text = str(error)
    if "\n" in text or "\r" in text:
        return f"an error of several lines at {place}"
    if str(folder) not in text:
        return f"an error without the file's name at {place}: {type(error).__name__}: {_words(error)}"
    if len(text) > LONGEST:
        return f"an error of more than {LONGEST} characters at {place}"
    return None


def _words(error: BaseException) -> str:
    """Return the beginning of a message, without the numbers, quotes and names in which inputs differ."""
    return re.sub(r"'.*?'|\".*?\"|0x[0-9a-f]+|\d+", "_", str(error))[:60]


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [one for one in frames if one.filename.startswith(SOURCE)]
    return f"{ours[-1].filename.removeprefix(SOURCE)[1:]}:{ours[-1].name}" if ours else "nowhere"


def _kind(error: BaseException) -> str:
    """Return what tells errors apart: where they were raised, and the error behind them."""
    frames = traceback.extract_tb(error.__traceback__)
    told = " ".join([type(error).__name__, *(f"{one.name}:{one.lineno}" for one in frames[-2:])])
    return f"{told} < {_kind(error.__cause__)}" if error.__cause__ else told


def _keep(folder: Path, keep: Path | None, name: str, why: str) -> None:
    """Keep the first input of each kind of crash."""
    if keep is None or not folder.exists():
        return
    place = keep / f"{name}-{''.join(c if c.isalnum() else '_' for c in why)[:80]}"
    if not place.exists():
        shutil.copytree(folder, place)


def _too_slow(*_: Any) -> NoReturn:
    raise TooSlow


if __name__ == "__main__":
    main()
