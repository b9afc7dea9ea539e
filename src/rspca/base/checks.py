"""What bad input gets: one clear error before any work starts, saying what was given and what to do."""

from __future__ import annotations

import numbers
import os
from collections.abc import Hashable, Iterable, Mapping, Sized
from typing import Any

import numpy as np

from rspca.base.arguments import argument
from rspca.base.arguments import shown as shown
from rspca.base.arguments import spelled as spelled
from rspca.base.dataframes import is_dataframe_like, numeric_array

LARGEST_INTEGER = 2**63 - 1
"""What arrays can count to."""
MOST_DRAWS = 100_000
"""Roundings of one vector: among so many, the best is hardly improved by more."""


class TooLarge(ValueError):
    """A method that refuses data of this size; `compare` reports it and continues."""


class RefusedFile(ValueError):
    """A file that is refused for what it holds; the message has its name."""


def reason(error: BaseException) -> str:
    """Return the message of another package, which may be long or of several lines, in one short line."""
    return shown(" ".join(str(error).split()) or type(error).__name__, 160)


def in_one_line(error: ValueError | TypeError, place: object = "") -> ValueError | TypeError:
    """Return the same error in one line, with the place where it arose before it."""
    kind = TypeError if isinstance(error, TypeError) else ValueError  # a subclass may want other arguments
    return kind(" ".join(f"{f'{place}: ' if place else ''}{error}".split()))


def is_missing(value: object) -> bool:
    """Tell whether a value stands for none: None, NaN, or what pandas has for them."""
    return (
        value is None or (isinstance(value, float) and value != value) or type(value).__name__ in ("NAType", "NaTType")
    )


def check_choice(name: str, value: object, allowed: Iterable[object]) -> None:
    """Raise unless `value` is one of the names in a table."""
    allowed = list(allowed)
    if not isinstance(value, Hashable) or value not in allowed:  # arrays and lists are no names, and cannot be compared
        known = ", ".join(repr(a) for a in sorted(allowed, key=str))
        raise ValueError(f"{argument(name, value)} is not known; choose one of {known}.")


def check_integer(
    name: str, value: object, low: int, high: int | None = None, why: str = "", *, any_size: bool = False
) -> int:
    """Return `value` as an int, or raise if it is not a whole number in [low, high].

    Without `high` it must be one that arrays can count to, unless it may have `any_size`.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{argument(name, value)} must be an integer, not {type(value).__name__}.")
    number = int(value)
    if high is None and not any_size and number > LARGEST_INTEGER:
        high = LARGEST_INTEGER
    if number < low or (high is not None and number > high):
        limits = f"between {low} and {high}" if high is not None else f"at least {low}"
        raise ValueError(f"{argument(name, number)} must be {limits}{why}.")
    return number


def check_real(name: str, value: object, low: float, *, strict: bool = False) -> float:
    """Return `value` as a float, or raise if it is not a finite number above `low`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{argument(name, value)} must be a number, not {type(value).__name__}.")
    try:
        number = float(value)
    except OverflowError:  # an integer or a fraction beyond the largest float
        number = np.inf
    if not np.isfinite(number) or value < low or (strict and value == low):
        limit = "" if low == -np.inf else f" and {'above' if strict else 'at least'} {low:g}"
        raise ValueError(f"{argument(name, value)} must be finite{limit}.")
    return number


def check_rng(rng: Any) -> np.random.Generator:
    """Return `rng` if it is a NumPy generator, or raise."""
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng={spelled(rng)} must be a numpy Generator; make one with numpy.random.default_rng(seed).")
    return rng


def as_generator(random_state: Any) -> np.random.Generator:
    """Accept what scikit-learn accepts, and a Generator; hand the core a Generator."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    if random_state is None:
        return np.random.default_rng()
    return np.random.default_rng(check_integer("random_state", random_state, 0, any_size=True))


def share_as_count(k: Any, n: int) -> Any:
    """Return k; a share of n features, a float strictly between 0 and 1, as a number of them, at least 1."""
    if isinstance(k, float | np.floating) and 0.0 < k < 1.0:
        return max(1, round(float(k) * n))
    return k


def check_sparsity(k: Any, n_components: int, n: int, name: str = "k", what: str = "features") -> list[int]:
    """Return one k per component, each between 1 and the number of features (or samples)."""
    why = f" (X has {n} {what})"
    k = share_as_count(k[()] if isinstance(k, np.ndarray) and k.ndim == 0 else k, n)
    if isinstance(k, numbers.Integral):
        return [check_integer(name, k, 1, n, why)] * n_components
    if isinstance(k, str) or not isinstance(k, Iterable):
        raise TypeError(
            f"{argument(name, k)} must be an integer, a share of the {what} strictly between 0 and 1, or one of these "
            "per component."
        )
    each = list(k)
    if len(each) != n_components:
        raise ValueError(
            f"{argument(name)} has {len(each)} entries for {argument('n_components', n_components)}; give one "
            "integer per component."
        )
    return [check_integer(name, share_as_count(entry, n), 1, n, why) for entry in each]


def check_n_components(n_components: Any, shape: tuple[int, int]) -> int:
    """Return n_components, or raise if a matrix of this shape cannot have so many."""
    return check_integer(
        "n_components", n_components, 1, min(shape), f" (X has {shape[0]} samples and {shape[1]} features)"
    )


def check_draws(n_draws: Any) -> int:
    """Return n_draws, or raise if it is not a number of roundings that can be made."""
    number = check_integer("n_draws", n_draws, 1)
    if number > MOST_DRAWS:
        raise ValueError(
            f"{argument('n_draws', number)} must be at most {MOST_DRAWS}; more find hardly anything better. Lower it."
        )
    return number


def check_listener(name: str, function: object) -> None:
    """Raise unless `function` is None or can be called."""
    if function is not None and not callable(function):
        raise TypeError(f"{argument(name, function)} must be a function, or None.")


def check_length(name: str, values: object, length: int, of: str) -> None:
    """Raise unless `values` has one entry for each of what is named."""
    if not isinstance(values, Sized):
        raise TypeError(f"{argument(name, values)} must be a sequence with one entry for each of the {length} {of}.")
    if len(values) != length:
        raise ValueError(f"{name} has {len(values)} entries for {length} {of}; give one for each.")
    if getattr(values, "ndim", 1) != 1:
        raise ValueError(f"{name} has {getattr(values, 'ndim', 1)} dimensions; give one entry for each of the {of}.")


def rectangular(name: str, x: Any) -> np.ndarray[Any, Any]:
    """Return `x` as an array, or raise if it is a list of lists of different lengths."""
    if is_dataframe_like(x):
        return numeric_array(name, x)
    try:
        return np.asarray(x)
    except ValueError as error:
        raise ValueError(f"{name} has rows of different lengths; give a matrix, or a vector of numbers.") from error


def check_is_data(name: str, X: Any) -> None:
    """Raise, with a hint, if X is not data but something that leads to data: a path, an AnnData, a data set."""
    files = X if isinstance(X, list | tuple) and X else [X]
    if all(isinstance(file, str | os.PathLike) for file in files):
        path = X if isinstance(X, list | tuple) else str(X)
        raise TypeError(f"{name} is a path, {spelled(path)}, not data; read it first: rspca.read({spelled(path)}).")
    if isinstance(X, np.ndarray) or hasattr(X, "to_numpy"):  # columns of a frame may have any name
        return
    if all(hasattr(X, part) for part in ("X", "obs", "var")):
        raise TypeError(f"{name} is an AnnData; give its matrix, adata.X, or use rspca.spca(adata, ...).")
    if hasattr(X, "shape") or hasattr(X, "__array__"):
        return
    for part in ("matrix", "data"):  # what fetch_..., term_matrix and the loaders of scikit-learn return
        if len(getattr(getattr(X, part, None), "shape", ())) == 2:
            raise TypeError(f"{name} is a {type(X).__name__}, a matrix with more around it; give its .{part}.")


def real_array(name: str, x: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return `x` as float64, or raise if it does not hold real numbers."""
    array = rectangular(name, x)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} has dtype {array.dtype}; real numbers are needed. Convert it with astype(float).")
    return array.astype(np.float64)


def check_vector(name: str, x: Any, n: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return `x` as a float64 vector of length n, or raise."""
    vector = real_array(name, x)
    if vector.shape != (n,):
        raise ValueError(f"{name} has shape {vector.shape}; a vector of length {n} is needed, one entry per feature.")
    if not np.isfinite(vector).all():
        raise ValueError(f"{name} contains NaN or infinite values.")
    if not vector.any():
        raise ValueError(f"{name} is zero; a direction is needed.")
    return vector


def check_options(given: Mapping[str, object], defaults: Mapping[str, object], method: str) -> None:
    """Raise if an option that only method='rspca' has was changed for another method."""
    changed = sorted(name for name, value in given.items() if value != defaults[name])
    if changed:
        raise ValueError(
            f"{', '.join(map(argument, changed))} belong(s) to {argument('method', 'rspca')} and cannot be set with "
            f"{argument('method', method)}; "
            "leave the default."
        )


def without_mask(X: Any) -> Any:
    """Return X as it is, a masked array without its mask; raise if that hides something."""
    if not isinstance(X, np.ma.MaskedArray):
        return X
    if np.ma.is_masked(X):
        hidden = int(np.count_nonzero(np.ma.getmaskarray(X)))
        raise ValueError(
            f"X hides {hidden} value(s) under a mask. Impute them first, for example with "
            f"sklearn.impute.SimpleImputer on X.filled(np.nan), or drop the samples or features; "
            f"{argument('missing', 'mean')} lets them count as the mean of their column."
        )
    return X.data
