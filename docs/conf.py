"""Sphinx configuration; build with `make docs`."""

import doctest
import re
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
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/*.ipynb", "gallery/*.zip"]
templates_path = ["_templates"]

myst_enable_extensions = ["amsmath", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "description"  # docstrings leave the types to the signature
autodoc_typehints_description_target = "all"  # parameters without a description show their type, too
autodoc_type_aliases = {"Array": "numpy.ndarray"}
napoleon_google_docstring = False
napoleon_use_rtype = False

doctest_default_flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS  # as in tests/test_docs.py

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 1e6,  # how long the machine that built the pages took says nothing
}
suppress_warnings = [
    "config.cache",  # the gallery's settings hold a class, which Sphinx cannot keep
    "ref.python",  # "array of shape (m, n)" is no reference to one of the attributes named shape
]

html_theme = "furo"
html_title = f"rspca {release}"


def skip_members(app, what, name, obj, skip, options):
    """Leave out what is not ours to explain: fields of named tuples, and scikit-learn's routing methods."""
    tuple_field = (getattr(obj, "__doc__", None) or "").startswith("Alias for field number")
    return True if tuple_field or re.fullmatch(r"set_\w+_request", name) else None


def escape_mathematics(app, what, name, obj, options, lines):
    """Let docstrings say |x| and components_ as they read in a terminal: in reST both are references."""
    for number, line in enumerate(lines):
        if line.lstrip().startswith((">>>", "...", ".. ")):
            continue
        parts = re.split(r"(``.*?``|:\w+:`.*?`)", line)
        parts[::2] = [re.sub(r"(?<!\\)\||(?<=\w)(?<!\\)_(?!\w)", r"\\\g<0>", part) for part in parts[::2]]
        lines[number] = "".join(parts)


def setup(app):
    """Register the hooks above, the second one after napoleon."""
    app.connect("autodoc-skip-member", skip_members)
    app.connect("autodoc-process-docstring", escape_mathematics, priority=600)
