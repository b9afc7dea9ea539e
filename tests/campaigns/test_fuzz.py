"""A few damaged files of every kind, as tools/fuzz.py makes them by the hundred thousand."""

import random
import re
import sys
import warnings
from pathlib import Path

import pytest
from support.extras import skip_without_extras

sys.path.append(str(Path(__file__).resolve().parent.parent.parent / "tools"))

import fuzz
from damage import damaged, write
from fuzz_targets import TARGETS

INPUTS = 40
PACKED = {"plink", "regions", "model"}
"""What is damaged with genotypes among its seeds."""


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_damaged_files_are_refused_in_one_line_or_hold_together(name, tmp_path):
    skip_without_extras("a.bed" if name in PACKED else f"a.{name}")
    target, rng = TARGETS[name], random.Random(name)
    seeds = target.seeds()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, files in enumerate(
            seeds + [damaged(rng.choice(seeds), seeds, target.words, rng) for _ in range(INPUTS)]
        ):
            folder = tmp_path / str(number)
            folder.mkdir()
            write(folder, files)
            try:
                target.run(folder)
            except Exception as error:
                assert number >= len(seeds), "what is right was refused"
                why = fuzz._crash(error, folder)
                assert why is None, why


def test_the_pages_quote_the_kept_output():
    root = Path(__file__).resolve().parent.parent.parent
    kept = (root / "tools" / "results" / "fuzz.txt").read_text().splitlines()
    pages = "".join(page.read_text(encoding="utf-8") for page in (root / "docs").glob("reliability*.md"))
    inputs, minutes = re.search(r"([\d,]+) inputs in ([\d.]+) CPU minutes", fuzz.all_rounds(kept)).groups()
    assert f"{inputs} damaged inputs" in pages
    assert f"{minutes} CPU minutes" in pages
