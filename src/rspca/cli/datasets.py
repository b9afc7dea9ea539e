"""rspca datasets: public data sets, listed or fetched."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from rspca.cli.options import Talking, command


@command
def datasets(
    *,
    name: Annotated[str | None, typer.Argument(help="Fetch this one.", show_default=False)] = None,
    talking: Talking,
) -> None:
    """List public data sets, or fetch one into the cache.

    rspca datasets
    rspca datasets hapmap3

    RSPCA_DATA names a folder of local copies, RSPCA_CACHE one for downloads.
    """
    from rspca.base.checks import check_choice
    from rspca.datasets.catalog import CATALOG

    if name is None:
        rows = {dataset: _entry(dataset) for dataset in CATALOG}
        lines = [
            f"{dataset:<12} {row['shape'][0]:>6,} x {row['shape'][1]:<7,} {'here' if row['present'] else '-':<5} "
            f"{row['about']} ({', '.join(row['from'])})"
            for dataset, row in rows.items()
        ]
        talking.answer({"datasets": list(rows.values())}, "\n".join(lines))
        return
    check_choice("dataset", name, CATALOG)
    found = CATALOG[name].fetch()
    row = _entry(name) | {"shape": list(found.matrix.shape), "source": found.source}
    lines = [f"{found!r}", *row["files"]]
    bed = next((file for file in row["files"] if file.endswith(".bed")), None)
    lines += [f"try: rspca fit {bed} -k 50 -n 2 --scale patterson --chromosomes all"] if bed else []
    talking.answer(row, "\n".join(lines))


def _entry(name: str) -> dict[str, Any]:
    from rspca.datasets.catalog import CATALOG

    entry = CATALOG[name]
    paths = entry.paths()
    return {
        "name": name,
        "shape": list(entry.shape),
        "about": entry.about,
        "from": entry.hosts(),
        "present": all(paths),
        "files": [str(path) for path in paths if path],
    }
