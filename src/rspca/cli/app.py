"""The command line: the table of commands, and how mistakes, warnings and bugs are shown."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Annotated, Any

import typer

from rspca.base.imports import load
from rspca.base.memory import NotEnoughMemory
from rspca.cli.options import printable
from rspca.cli.support.streams import check_open, last_words, named_output

COMMANDS = (
    "rspca.cli.fit:fit",
    "rspca.cli.path:path",
    "rspca.cli.test:test",
    "rspca.cli.compare:compare",
    "rspca.cli.certify:certify",
    "rspca.cli.transform:transform",
    "rspca.cli.report:report",
    "rspca.cli.datasets:datasets",
    "rspca.cli.demo:demo",
)
"""The commands in the order of the help text: one file each."""
# Rich would double the time of --help, and its traceback would hide ours: both stay off.
app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Sparse principal components: exactly k features each. rspca COMMAND --help shows examples.",
)
for place in COMMANDS:
    app.command()(load(place))

_MISTAKES = (ValueError, TypeError, OSError, ImportError)
_USAGE: Any = typer.BadParameter.__mro__[2]
"""What typer raises for words it does not understand: the parent of all of them has no public name in old versions."""


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    if version:
        from rspca import __version__

        typer.echo(__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)


def main() -> None:
    """Run the command line; a mistake of the user is one line on stderr and exit status 2."""
    warnings.showwarning = _show_warning
    try:
        check_open()
        with named_output():
            status = app(standalone_mode=False, prog_name="rspca")
            sys.stdout.flush()
    except _USAGE as error:
        command = error.ctx.command_path if getattr(error, "ctx", None) else "rspca"
        message = error.format_message().rstrip(".")
        _end(f"{message}. See {command} --help.", 2)
    except Exception as error:
        if "--debug" in sys.argv[1:]:
            raise
        if isinstance(error, NotEnoughMemory):
            _end(str(error), 2)
        if isinstance(error, MemoryError):
            _end(f"not enough memory. {error} Use fewer features, or --max-memory where the file can be streamed.", 2)
        if isinstance(error, _MISTAKES):
            _end(str(error) or type(error).__name__, 2)
        _end(f"an error of rspca itself: {error!r}. Please report it; rspca --debug COMMAND shows where.", 1)
    sys.exit(status if isinstance(status, int) else 0)


def _end(message: str, status: int) -> None:
    last_words(f"rspca: {_one_line(message)}")
    _drop_unwritten()
    sys.exit(status)


def _drop_unwritten() -> None:
    """Drop unwritten output, so that Python does not try again at exit and change the status."""
    for stream, number in ((sys.stdout, 1), (sys.stderr, 2)):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
        except (AttributeError, ValueError):  # closed
            continue


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    """Print a warning as one line, without the place in the source."""
    typer.echo(f"rspca: warning: {_one_line(str(message))}", err=True)


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))
