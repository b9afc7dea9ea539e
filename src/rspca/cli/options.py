"""What commands have in common: shared options, parsing of values, and how a command ends."""

from __future__ import annotations

import functools
import inspect
import os
import re
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from rspca.base.arguments import arguments_written_by
from rspca.cli.support.spelling import option_writer
from rspca.formats import registry

Csv = Annotated[Path | None, typer.Option("--out", "-o", help="Also write the table to this .csv.")]


def named_files(paths: list[Path] | None) -> list[Path] | None:
    """Return the files that were named, also where a name without suffix stands for a file."""
    return None if paths is None else [registry.completed(path) for path in paths]


Data = Annotated[
    list[Path],
    typer.Argument(
        help=f"A file ({', '.join(registry.suffixes())}) or a folder of documents; several .bed are one study.",
        show_default=False,
        callback=named_files,
    ),
]
MOST_DIGITS = 19
"""Digits from which a number is beyond anything that can be counted here."""


def whole(least: int) -> Callable[[Any], int]:
    """Return a parser of whole numbers; versions of typer differ in what they accept."""

    def integer(value: Any) -> int:
        text = str(value)
        if not re.fullmatch(r"[+-]?[0-9]{1,40}", text) or int(text) < least:
            raise typer.BadParameter(f"{text[:60]!r} is not a whole number of at least {least}.")
        return int(text)

    return integer


OneK = Annotated[int, typer.Option("-k", parser=whole(1), help="Features in the component.")]
Seed = Annotated[int, typer.Option(parser=whole(0), help="Seed of the rounding.")]
Model = Annotated[Path, typer.Argument(help="model.npz, or the folder it is in.", show_default=False)]
LabelOption = Annotated[
    str | None,
    typer.Option(
        "--label",
        metavar="NAME|FILE",
        help="Color samples by this: a column of the data, or a file of labels, which goes to scores.csv.",
    ),
]
Title = Annotated[str | None, typer.Option("--title", help="Title of the page; the name of the data if not given.")]

INTERRUPTED, BROKEN_PIPE = 130, 141
"""Exit statuses, as shells give them for SIGINT and SIGPIPE."""


class Interrupted(KeyboardInterrupt):
    """The user stopped a command; the message says what was saved."""


@dataclass(frozen=True)
class Preparing:
    """How columns are prepared."""

    scale: Annotated[
        str,
        typer.Option(metavar="no|yes|patterson", help="Divide columns: yes: unit variance; patterson: genotypes."),
    ] = "no"
    center: Annotated[
        bool | None,
        typer.Option("--center/--no-center", help="Subtract column means, or not; documents: not, else yes."),
    ] = None
    missing: Annotated[
        str, typer.Option(metavar="error|mean", help="Missing values: refused, or the mean of their column.")
    ] = "error"

    def options(self, data: list[Path]) -> dict[str, Any]:
        """Return the arguments of the library for these files: documents are not centered unless that is given.

        A stopped run of an earlier version knows nothing of missing values, so their default is left out.
        """
        if self.missing not in ("error", "mean"):
            raise ValueError(f"--missing {self.missing} is not known; choose error or mean.")
        known: dict[str, bool | str] = {"no": False, "yes": True, "patterson": "patterson"}
        if self.scale not in known:
            raise ValueError(f"--scale {self.scale} is not known; choose no, yes or patterson.")
        center = not registry.are_documents(data) if self.center is None else self.center
        missing = {} if self.missing == "error" else {"missing": self.missing}
        return {"scale": known[self.scale], "center": center, **missing}


@dataclass(frozen=True)
class Several:
    """How several components are found together, and what their loadings keep to."""

    joint: Annotated[bool, typer.Option("--joint", help="Improve all components together.")] = False
    constraint: Annotated[
        str | None,
        typer.Option(
            metavar="orthogonal|uncorrelated|disjoint",
            help="Exactly orthogonal loadings, uncorrelated scores, or no feature twice.",
        ),
    ] = None
    shared_support: Annotated[
        bool, typer.Option("--shared-support", help="One set of k features for all components.")
    ] = False
    nonnegative: Annotated[bool, typer.Option("--nonnegative", help="No loading is negative.")] = False

    def given(self) -> dict[str, Any]:
        """Return the arguments of the library that are given: a stopped run of an earlier version has none of them."""
        return {name: value for name, value in asdict(self).items() if value}


@dataclass(frozen=True)
class Talking:
    """How a command prints its results and progress."""

    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout, numbers in full.")] = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")] = False
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Progress as plain lines on stderr.")] = False

    def say(self, text: str) -> None:
        """Print a line for people; nothing with --json or --quiet."""
        if not (self.json or self.quiet):
            typer.echo(printable(text))

    def answer(self, document: dict[str, Any], text: str) -> None:
        """Print the result itself: as JSON, or as text."""
        if self.json:
            import json

            typer.echo(json.dumps(plain(document), indent=1, allow_nan=False))
        else:
            typer.echo(printable(text))


def plain(value: Any) -> Any:
    """Return a value of JSON types; numbers that are not finite become None."""
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # an array or a number of numpy
        return plain(value.tolist())
    if isinstance(value, float) and not -float("inf") < value < float("inf"):
        return None
    return value


def printable(text: str) -> str:
    """Return a text that is safe on a terminal: control characters are shown as codes."""
    return re.sub(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", _code, text)


def _code(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def whole_numbers(option: str, text: str) -> list[int]:
    """Return the numbers in "5,10,20"."""
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() and len(word) < MOST_DIGITS and int(word) > 0 for word in words):
        raise ValueError(
            f"{option} {text[:80]} is not a list of whole numbers above 0; give for example {option} 5,10,20."
        )
    return [int(word) for word in words]


def sparsities(option: str, text: str) -> list[int | float]:
    """Return the numbers of features in "5,10,20", or their shares in "0.01,0.05"."""
    words = [word.strip() for word in text.split(",")]
    if not any("." in word for word in words):
        return list(whole_numbers(option, text))
    shares = [float(word) for word in words if re.fullmatch(r"0?\.[0-9]{1,20}", word) and 0.0 < float(word) < 1.0]
    if len(shares) < len(words):
        raise ValueError(
            f"{option} {text[:80]} is neither a list of whole numbers above 0 nor of shares between 0 and 1; give for "
            f"example {option} 5,10,20 or {option} 0.01,0.05."
        )
    return list(shares)


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Make a function a command: options in a dataclass become its own, an interrupt or a closed pipe ends it."""
    signature = inspect.signature(function, eval_str=True)
    groups: dict[str, Any] = {
        name: parameter.annotation
        for name, parameter in signature.parameters.items()
        if is_dataclass(parameter.annotation)
    }
    flat = list[inspect.Parameter]()
    for name, parameter in signature.parameters.items():
        flat += _own_options(groups[name]) if name in groups else [parameter]

    @functools.wraps(function)
    def run(**given: Any) -> None:
        for name, kind in groups.items():
            given[name] = kind(**{option.name: given.pop(option.name) for option in fields(kind)})
        try:
            with arguments_written_by(option_writer(flat)):
                function(**given)
            sys.stdout.flush()
        except KeyboardInterrupt as stopped:
            typer.echo(f"rspca: interrupted; {str(stopped) or 'nothing was written.'}", err=True)
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:  # whoever read our output has enough; Python would complain again when it ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(BROKEN_PIPE) from None

    changed: Any = run
    changed.__doc__ = _examples_kept(inspect.getdoc(function) or "")
    keyword = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in flat]
    changed.__signature__ = signature.replace(parameters=keyword)
    changed.__annotations__ = {parameter.name: parameter.annotation for parameter in flat}
    return run


def _examples_kept(text: str) -> str:
    """Return a help text whose examples keep their lines: typer joins those of other paragraphs."""
    return re.sub(r"\n\n(?=rspca )", "\n\n\b\n", text)


def _own_options(kind: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    return [
        inspect.Parameter(
            option.name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=hints[option.name]
        )
        for option in fields(kind)
    ]
