"""How certificates say what they prove: so many times this variance, and why the proof ended."""

from __future__ import annotations

import math

ENDED = {
    "proof": "proven",
    "nothing left to try": "nothing left to try",
    "time": "the time was up",
    "interrupt": "interrupted",
}
"""Why a proof ended, for people."""
FINEST = 1e-5
"""Steps in which gaps are told, at the finest."""


def gap_up(gap: float, digits: int = 2) -> float:
    """Return a gap rounded up to so many digits, in no finer steps than `FINEST`: "no more than" stays true."""
    if not 0.0 < gap < math.inf:
        return gap
    step = max(10.0 ** (math.floor(math.log10(gap)) + 1 - digits), FINEST)
    return math.ceil(gap / step - 1e-9) * step


def times(gap: float) -> str:
    """Return 1 + gap, rounded up: "1.12" for a gap of 11.3 %."""
    return f"{1.0 + gap_up(gap):.7g}"


def features_have(k: int, most: int = 0) -> str:
    """Return "50 features have", or what one feature has, and what groups allow."""
    limit = f", at most {most} of a group," if most else ""
    return f"{k:,} features{limit} have" if k > 1 else "single feature has"
