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
    "dataset": ("name",),
}
"""Arguments of the library that commands have under other names; the first that a command has is meant."""
VALUES: dict[tuple[str, bool], str] = {("scale", False): "no", ("scale", True): "yes", ("row_names", False): "none"}
"""Values that are other words on the command line."""
WITH_NEGATIVE = ("center", "header")
"""Flags that also have a form with --no-."""
LONGEST_VALUE = 80


def option_writer(parameters: Sequence[inspect.Parameter]) -> Writer:
    """Return what writes arguments of the library as options of a command with these parameters."""
    known = {one.name: (_option(one), isinstance(_info(one), ArgumentInfo)) for one in parameters}

    def write(name: str, value: object) -> str | None:
        own = next((one for one in NAMES.get(name, (name,)) if one in known), None)
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
    declared = [one.split("/")[0] for one in words if isinstance(one, str) and one.startswith("-")]
    declared = declared or [f"--{parameter.name.replace('_', '-')}"]
    return max(declared, key=lambda one: one.startswith("--"))


def _info(parameter: inspect.Parameter) -> Any:
    return next((one for one in get_args(parameter.annotation) if isinstance(one, OptionInfo | ArgumentInfo)), None)


def _word(value: object) -> str:
    """Return a value as it is typed after an option."""
    if isinstance(value, str | os.PathLike):
        return shlex.quote(shown(value, LONGEST_VALUE))
    if isinstance(value, list | tuple):
        return shlex.quote(shown(",".join(map(str, value)), LONGEST_VALUE))
    return spelled(value)
