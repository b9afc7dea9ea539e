"""Memory: whether there is enough before work starts, and reuse of freed blocks."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

UNKNOWN = 1 << 62
LITTLE = 1 << 25
"""Bytes that are taken without asking: to ask takes longer than small work does."""
GROWTH_FROM = 1 << 25
"""Bytes up to which what grows is not looked at."""
_CGROUPS = (
    ("sys/fs/cgroup{}/memory.max", "sys/fs/cgroup{}/memory.current", "sys/fs/cgroup{}/memory.stat"),
    (
        "sys/fs/cgroup/memory{}/memory.limit_in_bytes",
        "sys/fs/cgroup/memory{}/memory.usage_in_bytes",
        "sys/fs/cgroup/memory{}/memory.stat",
    ),
)
"""Limit, use and details of a control group, as Linux shows them in its second and its first version."""


KEPT = (1 << 25) - (1 << 16)
"""Bytes of the largest block that glibc may be brought to keep: 32 MB with its own header."""


class NotEnoughMemory(MemoryError):
    """Work that needs more memory than there is."""


def check_room(needed: float, what: str, remedy: str) -> None:
    """Raise unless this many bytes are free; the error says what needs them and what to do."""
    if needed <= LITTLE:
        return
    free = free_memory()
    if needed > free:
        sizes = f"{readable(needed)}, and {readable(free)} is free"
        raise NotEnoughMemory(f"Not enough memory: {what} needs {sizes}. {remedy}")


class GrowingRoom:
    """Memory for data that grow while they are read: at each doubling there must be room to double again."""

    def __init__(self, what: str, remedy: str) -> None:
        self.what, self.remedy, self.limit = what, remedy, GROWTH_FROM

    def check(self, size: float) -> None:
        """Raise unless data of this size have room to double."""
        if size > self.limit:
            check_room(size, f"{self.what}, which has more than {readable(size)},", self.remedy)
            self.limit = 2 * int(size)


@cache
def keep_freed_blocks() -> None:
    """Let freed blocks be used again instead of going back to the system: where pages come slowly, a third of the time.

    glibc maps blocks above a threshold afresh, and raises the threshold to the size of any such block that is freed
    (M_MMAP_THRESHOLD in mallopt(3)). So to take and free one, of which no page is touched, is all that is needed, once
    in a process. Up to twice its size may stay with the process; other systems take no notice.
    """
    bytes(KEPT)


def has_room(needed: float) -> bool:
    """Return whether this many bytes are free."""
    return needed <= free_memory()


def free_memory(root: Path = Path("/")) -> int:
    """Return how many bytes this process may still take: of the machine, of its control group, of its own limits."""
    return max(0, min(_machine(root), _control_group(root), _own_limit(root)))


def readable(size: float) -> str:
    """Return a number of bytes as text, such as "1.5 GB"."""
    units = ("bytes", "kB", "MB", "GB", "TB")
    power = min(len(units) - 1, (len(str(int(size))) - 1) // 3)
    return f"{size / 1000**power:.3g} {units[power]}"


def _machine(root: Path) -> int:
    """Return the free memory of the machine, with caches of files, which make room."""
    known = {}
    for line in _text(root / "proc/meminfo").splitlines():
        name, _, value = line.partition(":")
        known[name] = 1024 * int(value.split()[0])
    if "MemAvailable" in known:
        return known["MemAvailable"] + known.get("SwapFree", 0)
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return UNKNOWN


def _control_group(root: Path) -> int:
    """Return the free memory of the control group, which containers and schedulers set."""
    places = {"": None}
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, kinds, place = line.split(":", 2)
        if kinds in ("", "memory"):
            places[place.rstrip("/")] = None
    left = UNKNOWN
    for place in places:
        for limit, used, details in _CGROUPS:
            most = _text(root / limit.format(place)).strip()
            if most.isdigit() and int(most) < UNKNOWN // 2:
                lines = (line.split() for line in _text(root / details.format(place)).splitlines())
                cached = sum(int(line[1]) for line in lines if line[:1] in (["inactive_file"], ["active_file"]))
                left = min(left, int(most) - int(_text(root / used.format(place)).strip() or 0) + cached)
    return left


def _own_limit(root: Path) -> int:
    """Return the memory that the limits of the process leave (ulimit -v, -d)."""
    try:
        import resource
    except ImportError:  # not a Unix
        return UNKNOWN
    left = UNKNOWN
    sizes = _text(root / "proc/self/statm").split()
    page = os.sysconf("SC_PAGE_SIZE")
    for kind, place in ((resource.RLIMIT_AS, 0), (resource.RLIMIT_DATA, 5)):
        most = resource.getrlimit(kind)[0]
        if most != resource.RLIM_INFINITY:
            left = min(left, most - page * (int(sizes[place]) if len(sizes) > place else 0))
    return left


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
