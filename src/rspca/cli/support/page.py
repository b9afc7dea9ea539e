"""The report page of a command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rspca.estimator import SparsePCA


def write_page(path: Path, model: SparsePCA, **content: Any) -> None:
    """Write the page; `content` is what ``rspca.report.write_report`` takes."""
    from rspca.report import write_report

    write_report(path, model, **content)
