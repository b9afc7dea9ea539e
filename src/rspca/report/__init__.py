"""The report: components, proofs, scores and settings of a fitted model as one HTML file that needs no network."""

from __future__ import annotations

from rspca.report.content import report_content
from rspca.report.page import render, write_report

__all__ = ["render", "report_content", "write_report"]
