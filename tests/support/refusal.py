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
    """Parametrize with every entry (an argument's name, then a call) against every value of its kind."""
    rows = [
        pytest.param(call, entry.rpartition(".")[2], value, id=f"{entry}-{kind}")
        for entry, call in entries.items()
        for kind, value in kinds.items()
    ]
    return pytest.mark.parametrize(("call", "argument", "value"), rows)


def calls(prefix, function, *arguments, names):
    """Return the calls that set one keyword each, by the function and the keyword."""
    return {
        f"{prefix}.{name}": lambda value, name=name: function(*arguments, **{name: value}) for name in names.split()
    }
