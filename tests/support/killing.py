"""`rspca fit --resume` killed at random moments, and what must be true of its folder after each kill.

Most fits are copies of one process that has imported everything, so that kills hit the work and not the start of
Python; every few are started afresh.
"""

import contextlib
import faulthandler
import html.parser
import json
import os
import random
import re
import signal
import sys
import time
import warnings
from collections import Counter
from subprocess import DEVNULL, Popen

import numpy as np

import rspca
from rspca.cli.support.locks import LOCK
from rspca.cli.support.spreadsheets import read_csv
from support.commandline import START, source_folder

RESULTS = ("model.npz", "components.csv", "scores.csv", "report.html")
OPTIONS = ("-k", "50,40,30,20,20,10", "--seed", "3", "--resume", "--verbose")
COMPONENTS = 6
PHASES = ("starting", "reading", "relaxing", "polishing", "between components", "writing")


def write_data(path, m=400, n=3000, seed=0):
    """Write a matrix with eight directions, each of a few features: enough for six components."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((8, n)) * (rng.random((8, n)) < 0.05)
    np.save(path, rng.standard_normal((m, n)) + (rng.standard_normal((m, 8)) * np.linspace(3.0, 1.5, 8)) @ features)
    return path


class Killing:
    """Fits of one file, started as processes and killed; one start in `afresh` is a new Python, or none."""

    def __init__(self, data, *, afresh=None, seed=0):
        self.data, self.folder, self.afresh = data, data.parent, afresh
        self.random = random.Random(seed)
        self.log = self.folder / "stderr.txt"
        self.phases = Counter()
        self.starts = self.kills = self.finished = self.components_kept = self.drafts = 0
        self.seconds = {False: self.timed(fresh=False), True: self.timed(fresh=True) if afresh else 0.0}

    def timed(self, *, fresh):
        """Return the time of a fit that nobody kills."""
        began = time.perf_counter()
        self.run("whole", fresh=fresh)
        return time.perf_counter() - began

    def run(self, out, seconds=None, *, fresh=False):
        """Fit into a folder; kill it after so many seconds. Return its exit status, negative for a signal."""
        arguments = ["fit", self.data.name, *OPTIONS, "-o", out]
        with self.log.open("wb") as log:
            process = (_started if fresh else Forked)(arguments, self.folder, log)
        if seconds is not None:
            time.sleep(seconds)
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
        status = process.wait()
        assert status in (0, -signal.SIGKILL), self.log.read_text()
        return status

    def until(self, kills, share=0.6):
        """Kill, resume and begin again until there were so many kills; check the folder after each.

        A copy is killed within `share` of the time that a fit takes, one that starts afresh within all of it. On a
        machine whose load changes both are corrected: less where fits come to their end, more where they get nowhere.
        """
        told = 0
        while self.kills < kills:
            self.starts += 1
            fresh = bool(self.afresh) and self.starts % self.afresh == 0
            most = self.seconds[True] if fresh else share * self.seconds[False]
            status = self.run("out", self.random.uniform(0.0, most), fresh=fresh)
            phase, found = self.told(fresh=fresh)
            if status == 0:
                self.check_finished()
                told = 0
                self.seconds[fresh] *= 0.7
                for one in (self.folder / "out").iterdir():
                    one.unlink()
                continue
            self.kills += 1
            self.phases[phase] += 1
            before, told = told, self.check_killed(max(told, found))
            self.seconds[fresh] *= 1.1 if told == before else 1.0
        self.run("out")
        self.check_finished()

    def told(self, *, fresh):
        """Return in which phase a process ended, and how many components it had reported."""
        lines = re.findall(r" s  component (\d) of \d, (\w+)", self.log.read_text())
        going_on = re.search(r"continuing after (\d)", self.log.read_text())
        kept = int(going_on[1]) if going_on else 0
        found = max([kept, *(int(number) for number, stage in lines if stage == "found")])
        if found == COMPONENTS:
            return "writing", found
        if not lines:
            return "reading" if going_on or not fresh else "starting", found
        last = {"relax": "relaxing", "polish": "polishing", "found": "between components"}
        return last[lines[-1][1]], found

    def check_killed(self, told):
        """Hold the folder of a killed run to what is promised; return how many components it has."""
        folder = self.folder / "out"
        there = [name for name in os.listdir(folder) if name != LOCK] if folder.exists() else []
        drafts = [name for name in there if name.startswith(".") and name.endswith(".tmp")]
        self.drafts += bool(drafts)
        assert set(there) - set(drafts) <= {*RESULTS, "partial.npz"}, there
        files = [name.rsplit(".", 2)[0] for name in drafts]
        assert len(files) == len(set(files)), f"drafts of runs before were left: {drafts}"
        for name in set(RESULTS) & set(there):
            check_whole(folder / name)
            if name.endswith(".csv"):  # as many lines as the fit that nobody killed wrote
                assert len(read_csv(folder / name)[1]) == len(read_csv(self.folder / "whole" / name)[1]), name
        kept = kept_components(folder / "partial.npz") if "partial.npz" in there else 0
        if set(RESULTS) <= set(there):  # killed after its last deed, or a run that began again after one that was
            kept = COMPONENTS
        assert kept >= told, f"{told} components were reported, {kept} are kept"
        self.components_kept += kept
        return kept

    def check_finished(self):
        """Hold the results to those of the fit that nobody killed."""
        one, other = self.folder / "out", self.folder / "whole"
        assert sorted(os.listdir(one)) == sorted(os.listdir(other)) == sorted(RESULTS)
        for name in RESULTS[:3]:
            assert (one / name).read_bytes() == (other / name).read_bytes(), name
        assert _undated(one) == _undated(other)
        self.finished += 1


def _undated(folder):
    """Return the page without what a command line and a date put into it."""
    page = (folder / "report.html").read_text()
    assert page.count(folder.name) >= 1
    page = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", "DATE", page)
    return re.sub(r"(rspca fit [^<\"]*-o )\w+", r"\1FOLDER", page)


def check_whole(path):
    """Fail unless a result can be read, to its end."""
    if path.suffix == ".npz":
        assert rspca.load(path).n_components_ == COMPONENTS
    elif path.suffix == ".csv":
        assert path.read_bytes().endswith(b"\n")
        assert read_csv(path)[1], path.name
    else:
        assert path.read_text().rstrip().endswith("</html>")
        html.parser.HTMLParser().feed(path.read_text())


def kept_components(path):
    """Return how many components a file of an unfinished fit has, after reading all of it."""
    with np.load(path, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    count = len(json.loads(bytes(arrays["partial.json"]))["components"])
    assert all(f"{number}.loadings" in arrays for number in range(count))
    return count


def _started(arguments, folder, log):
    environment = os.environ | {"PYTHONPATH": source_folder()}
    return Popen([*START, *arguments], cwd=folder, stdout=DEVNULL, stderr=log, env=environment)


class Forked:
    """The command in a copy of this process, which has imported everything already; `first` is called in it before."""

    def __init__(self, arguments, folder, log, first=None):
        import jinja2  # noqa: F401

        import rspca.cli
        import rspca.cli.support.checkpoint
        import rspca.cli.support.page
        import rspca.report

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of threads; the copy needs none
            self.pid = os.fork()
        if self.pid:
            return
        status = 70
        try:
            faulthandler.disable()  # pytest's would print every thread of a process that is meant to die
            os.chdir(folder)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(log.fileno(), 2)
            sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w", buffering=1)
            sys.argv = ["rspca", *map(str, arguments)]
            if first is not None:
                first()
            rspca.cli.main()
        except SystemExit as ended:
            status = ended.code
        finally:
            os._exit(status or 0)

    def wait(self):
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def ended(folder, *arguments, first=None):
    """Run the command in a copy of this process; return its exit status and what it said."""
    reader, writer = os.pipe()
    with os.fdopen(writer, "wb") as said:
        process = Forked(arguments, folder, said, first)
    with os.fdopen(reader) as told:
        text = told.read()
    return process.wait(), text
