"""Sphinx configuration; build with `make docs`."""

from importlib.metadata import version as installed_version

project = "rspca"
author = "the rspca developers"
project_copyright = "2026, the rspca developers"
version = release = installed_version("rspca")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]

myst_enable_extensions = ["amsmath", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "description"  # docstrings leave the types to the signature
autodoc_typehints_description_target = "documented"
napoleon_google_docstring = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = f"rspca {release}"


def skip_tuple_fields(app, what, name, obj, skip, options):
    """Leave out "Alias for field number 0": the fields of a named tuple stand in its docstring."""
    return True if (getattr(obj, "__doc__", None) or "").startswith("Alias for field number") else None


def setup(app):
    """Register the hook above."""
    app.connect("autodoc-skip-member", skip_tuple_fields)
