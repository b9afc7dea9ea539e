"""How bad input is to be refused: with one error of a documented type, in one line, and no warning before it."""

import warnings

import pytest


def complaint(call, value):
    """Return the only line of the error that a call raises; no warning may come before it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((ValueError, TypeError, OSError)) as caught:
            call(value)
    said = str(caught.value)
    assert said
    assert len(said.splitlines()) == 1, said
    assert len(said) < 1000
    return said


def table(kinds, entries):
    """Make a test of each entry (an argument's name, then a call), which tries every kind of value."""
    rows = [pytest.param(call, entry.rpartition(".")[2], id=entry) for entry, call in entries.items()]

    def decorate(refused):
        def every_value(call, argument):
            for kind, value in kinds.items():
                try:
                    refused(call, argument, value)
                except BaseException as wrong:
                    wrong.add_note(f"The value: {kind}.")
                    raise

        every_value.__name__ = refused.__name__
        every_value.pytestmark = getattr(refused, "pytestmark", [])
        return pytest.mark.parametrize(("call", "argument"), rows)(every_value)

    return decorate


def calls(prefix, function, *arguments, names):
    """Return the calls that set one keyword each, by the function and the keyword."""
    return {
        f"{prefix}.{name}": lambda value, name=name: function(*arguments, **{name: value}) for name in names.split()
    }
