"""Content to page: one template, one style, one script, and a policy under which a browser loads nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rspca.base.atomic import written_atomically
from rspca.report.content import report_content
from rspca.report.words import percent, percent_up

if TYPE_CHECKING:
    from markupsafe import Markup

    from rspca.analysis.compare import Comparison
    from rspca.analysis.compare_sets import SetComparison
    from rspca.analysis.k_path import Path as PathOverK
    from rspca.analysis.permutation import PermutationTest
    from rspca.estimator import SparsePCA

_PARTS = ("elements", "features", "charts", "genome", "scores", "circle", "tables", "start")
_SEPARATED = re.compile(r"(?<=[_/.:|,;-])(?=\w)")
"""Where a long name may be wrapped; elements.js has the same."""
_UNSAFE = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def write_report(
    path: str | os.PathLike[str],
    model: SparsePCA,
    *,
    scores: Any = None,
    sample_names: Sequence[Any] | None = None,
    samples: Mapping[str, Any] | None = None,
    label: str | None = None,
    path_points: PathOverK | None = None,
    comparison: Comparison | None = None,
    set_comparison: SetComparison | None = None,
    test: PermutationTest | None = None,
    provenance: Mapping[str, Any] | None = None,
    title: str | None = None,
    documents: Sequence[str] | None = None,
    reference: Any = None,
    feature_names: Sequence[Any] | None = None,
    kind: str | None = None,
) -> Path:
    """Write the report of a fitted model as one HTML file, and return where it is.

    The file needs no network and no other file. It is written under another name and renamed when it is complete.

    Parameters
    ----------
    path : path
        Where the page goes. Its folder must exist.
    model : SparsePCA
        A fitted model; certificates, feature names and properties of features are shown if it has them.
    scores : array, optional
        ``model.transform(X)``, a row for each sample: shown as a scatter, and as the samples with the largest scores
        of each component.
    sample_names : sequence, optional
        Names of the samples.
    samples : mapping or frame, optional
        Properties of the samples: the name of a column to its values. Each can color the scatter.
    label : str, optional
        The column of `samples` that colors the scatter at first.
    path_points : Path, optional
        What ``rspca.path`` returned.
    comparison : Comparison, optional
        What ``rspca.compare`` returned.
    set_comparison : SetComparison, optional
        What ``rspca.compare`` returned for several components.
    test : PermutationTest, optional
        What ``rspca.permutation_test`` returned.
    provenance : mapping, optional
        Where the data came from: names to plain values, lists or mappings, shown as they are.
    title : str, optional
        Title of the page.
    documents : sequence of str, optional
        For text: the documents themselves, whose beginnings are shown next to their scores.
    reference : array, optional
        Scores of the samples of the fit, where `scores` are those of another study: drawn in grey below them.
    feature_names : sequence, optional
        Names of the features, where the model was fitted on data without names.
    kind : {"table", "genotypes", "cells", "documents"}, optional
        What the page calls features and samples: SNPs and people, genes and cells, words and documents. Otherwise it
        is what the model and the other arguments show.

    Examples
    --------
    >>> import os, rspca, tempfile
    >>> from sklearn.datasets import load_wine
    >>> wine = load_wine(as_frame=True)
    >>> model = rspca.SparsePCA(2, k=4, scale=True, random_state=0).fit(wine.data)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = rspca.report.write_report(
    ...         os.path.join(folder, "wine.html"), model, scores=model.transform(wine.data),
    ...         samples={"cultivar": wine.target}, label="cultivar", title="Wine")
    ...     "flavanoids" in page.read_text(encoding="utf-8")
    True
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"The folder {path.parent} does not exist; make it first, or name another one.")
    content = report_content(
        model,
        scores=scores,
        sample_names=sample_names,
        samples=samples,
        label=label,
        path_points=path_points,
        comparison=comparison,
        set_comparison=set_comparison,
        test=test,
        provenance=provenance,
        title=title,
        documents=documents,
        reference=reference,
        feature_names=feature_names,
        kind=kind,
    )
    page = render(content).encode()
    with written_atomically(path) as file:
        file.write(page)
    return path


def render(content: dict[str, Any]) -> str:
    """Return the page for what ``report_content`` returned.

    Examples
    --------
    >>> import rspca
    >>> model = rspca.SparsePCA(1, k=3).fit(rspca.GramOperator(rspca.datasets.load_pitprops()))
    >>> rspca.report.render(rspca.report.report_content(model, title="<Pit props>")).count("&lt;Pit props&gt;")
    2
    """
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"percent": percent, "percent_up": percent_up, "times_ten_to": _times_ten_to}
    environment.filters |= {"capitalize_first": _capitalized, "fixed": _fixed, "aligned": _aligned}
    environment.filters |= {"breakable": _breakable}
    style, script = _file("style.css"), _script()
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )
    embedded = _embedded(content)
    data = Markup(embedded)  # < > & and line separators are escaped in it  # nosec B704
    own = {"style": Markup(style), "script": Markup(script)}  # files of this package  # nosec B704
    return environment.from_string(_file("template.html")).render(page=content, data=data, policy=policy, **own)


def _embedded(content: dict[str, Any]) -> str:
    """Return JSON that ends no script element and opens no comment, whatever the names in it are."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_UNSAFE)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _script() -> str:
    """Return the parts of the script as one block, whose names stay its own."""
    return "\n".join(['"use strict";', "{", *(_file(f"script/{part}.js") for part in _PARTS), "}"])


def _file(name: str) -> str:
    return resources.files("rspca.report").joinpath(name).read_text(encoding="utf-8")


def _capitalized(text: str) -> str:
    """Return a phrase that begins with a capital; the rest keeps its own, as in SNPs."""
    return text[:1].upper() + text[1:]


def _times_ten_to(value: int, exponent: int, decimals: int) -> str:
    return f"{value * 10.0**exponent:+.{decimals}f}"


def _fixed(value: float, decimals: int = 2) -> str:
    """Return a number with so many decimals and a real minus sign, which a zero does not have."""
    text = f"{value:.{decimals}f}"
    return text.lstrip("-") if float(text) == 0.0 else text.replace("-", "\N{MINUS SIGN}")


def _breakable(name: str) -> Markup:
    """Return a name, escaped, that a browser wraps after separators before it breaks a word."""
    from markupsafe import Markup

    return Markup("<wbr>").join(_SEPARATED.split(name))


def _aligned(share: float) -> str:
    """Return a share in percent with three digits, zeros at the end too, for columns of them."""
    return f"{100.0 * share:#.3g}".rstrip(".") + "\N{NO-BREAK SPACE}%"
