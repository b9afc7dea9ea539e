"""Messages of the library in the words of the command line: the options of the command that runs, not arguments."""

from __future__ import annotations

import inspect
import os
import shlex
from collections.abc import Sequence
from typing import Any, get_args

from typer.models import ArgumentInfo, OptionInfo

from rspca.base.arguments import NoValue, Writer, shown, spelled

NAMES = {
    "n_components": ("n",),
    "k": ("k", "ks", "path"),
    "ks": ("ks", "path"),
    "method": ("method", "methods"),
    "random_state": ("seed",),
    "certify_seconds": ("seconds",),
    "client": ("scheduler",),
    "sample_weight": ("weights",),
    "dataset": ("name",),
}
"""Arguments of the library that commands have under other names; the first that a command has is meant."""
VALUES: dict[tuple[str, bool], str] = {("scale", False): "no", ("scale", True): "yes", ("row_names", False): "none"}
"""Values that are other words on the command line."""
WITH_NEGATIVE = ("center", "header")
"""Flags that also have a form with --no-."""
LONGEST_VALUE = 80


def option_writer(parameters: Sequence[inspect.Parameter]) -> Writer:
    """Return a function that writes arguments of the library as options of a command."""
    known = {
        parameter.name: (_option(parameter), isinstance(_info(parameter), ArgumentInfo)) for parameter in parameters
    }

    def write(name: str, value: object) -> str | None:
        own = next((option_name for option_name in NAMES.get(name, (name,)) if option_name in known), None)
        if own is None:
            return None
        option, is_positional = known[own]
        if is_positional:
            option = name
        if isinstance(value, NoValue):
            return option
        if isinstance(value, bool):
            if (name, value) in VALUES:
                return f"{option} {VALUES[name, value]}"
            negative = f"--no-{option.removeprefix('--')}" if own in WITH_NEGATIVE else f"no {option}"
            return option if value else negative
        return f"no {option}" if value is None else f"{option} {_word(value)}"

    return write


def _option(parameter: inspect.Parameter) -> str:
    """Return the name of an option, its long form where it has one."""
    info = _info(parameter)
    words = (getattr(info, "default", None), *(getattr(info, "param_decls", None) or ()))  # the first is a name too
    declared = [word.split("/")[0] for word in words if isinstance(word, str) and word.startswith("-")]
    declared = declared or [f"--{parameter.name.replace('_', '-')}"]
    return max(declared, key=lambda word: word.startswith("--"))


def _info(parameter: inspect.Parameter) -> Any:
    return next((info for info in get_args(parameter.annotation) if isinstance(info, OptionInfo | ArgumentInfo)), None)


def _word(value: object) -> str:
    """Return a value as it is typed after an option."""
    if isinstance(value, str | os.PathLike):
        return shlex.quote(shown(value, LONGEST_VALUE))
    if isinstance(value, list | tuple):
        return shlex.quote(shown(",".join(map(str, value)), LONGEST_VALUE))
    return spelled(value)
