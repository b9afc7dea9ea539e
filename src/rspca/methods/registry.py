"""What a method is: a function that finds components, and how the loop runs it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from rspca.algorithm.deflate import DEFLATIONS, Deflation
from rspca.algorithm.loop import LoopOptions, Prover, all_together, one_by_one
from rspca.algorithm.normalize import NORMALIZATIONS
from rspca.algorithm.results import Component, OnComponent
from rspca.algorithm.shared_work import FitWork
from rspca.base.arguments import argument, spelled
from rspca.base.checks import as_generator, check_choice, check_integer, check_real, check_sparsity
from rspca.base.types import OnStep
from rspca.operators.base import OperatorMixin

GIVEN_BY_THE_LOOP = ("normalization", "rng", "work")
"""Keyword arguments of a finder that are no options of its method."""
Check = Callable[[OperatorMixin, list[int], dict[str, Any]], dict[str, Any]]
"""(op, ks, options) -> the options as the finder takes them; raises if they, or data of this size, are refused."""


class MethodSettings(NamedTuple):
    """How a method runs; `Method.checked` makes them."""

    normalization: str
    deflation: str
    options: Mapping[str, Any]


@dataclass(frozen=True, eq=False, repr=False)
class Method:
    """A row of the table of methods; calling it returns the components of an operator.

    `find(op, k, report, **options)` returns one component as `Found`: a support of at most k features and loadings of
    any length. Its keyword arguments are the options of the method. If it takes `rng`, it gets a random stream of its
    own for each component; if it takes `work`, what the components of one fit share. If it takes `normalization`, it
    normalizes the loadings itself; otherwise the loop does.
    """

    name: str
    find: Callable[..., Any]
    check: Check = lambda op, ks, options: options
    joint: bool = False
    """Whether `find(op, ks, report, **options)` returns all components together."""
    dense: bool = False
    """Whether components have all features, whatever k is."""
    rounds: bool = False
    """Whether it rounds a relaxed vector: `solver`, `rounding`, `s`, ... of SparsePCA, and groups, are its options."""
    own_loadings: bool = False
    """Whether its loadings stay as they are, whatever the normalization."""
    own_deflation: Deflation | None = None
    """What deflation="own" is; the default where there is one."""
    defaults: Mapping[str, Any] | None = None
    """Options and their defaults, if they are not those of the keyword arguments of `find`."""
    check_values: Callable[[Mapping[str, Any]], None] = lambda options: None
    """Raises for options that no data allow; `check` raises for what these data do not allow."""

    def __repr__(self) -> str:
        """Return the name and the options in one line."""
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"Method({self.name!r}{options})"

    @cached_property
    def options(self) -> Mapping[str, Any]:
        """Names of the options, with their defaults."""
        if self.defaults is not None:
            return self.defaults
        keyword = inspect.Parameter.KEYWORD_ONLY
        named = {name: each.default for name, each in self._parameters.items() if each.kind is keyword}
        return {name: default for name, default in named.items() if name not in GIVEN_BY_THE_LOOP}

    @cached_property
    def _parameters(self) -> Mapping[str, inspect.Parameter]:
        return inspect.signature(self.find).parameters

    @property
    def certifiable(self) -> bool:
        """Whether a component is one of k features, given those before it: a certificate bounds nothing else."""
        return not (self.joint or self.dense)

    @property
    def deflation(self) -> str:
        """Default of the argument `deflation`."""
        return "schur" if self.own_deflation is None else "own"

    def __call__(
        self,
        op: OperatorMixin,
        n_components: int,
        k: Any = None,
        *,
        normalization: str = "svd",
        deflation: str | None = None,
        rng: np.random.Generator | None = None,
        on_step: OnStep | None = None,
        on_component: OnComponent | None = None,
        earlier: Sequence[Component] = (),
        **options: Any,
    ) -> list[Component]:
        """Return components of an operator, after checks of the arguments.

        `deflation` is "schur" by default, "own" for a method that has its own; joint methods do not use it, nor
        `on_component`. Without `rng` a random stream is made.
        """
        check_integer("n_components", n_components, 1)
        settings = self.checked(normalization, self.deflation if deflation is None else deflation, options)
        self.check_earlier(earlier, n_components, op.shape[1])
        ks = [op.shape[1]] * n_components if self.dense else check_sparsity(k, n_components, op.shape[1])
        return self.run(op, ks, settings, as_generator(rng), LoopOptions(on_step, on_component, earlier))

    def run(
        self,
        op: OperatorMixin,
        ks: list[int],
        settings: MethodSettings,
        rng: np.random.Generator,
        loop: LoopOptions,
        prove: Prover | None = None,
    ) -> list[Component]:
        """Return components for arguments that are checked: the loop, with a random stream for each component.

        No component depends on where the search for another ended, and earlier ones leave the streams of those after
        them as they are.
        """
        find = partial(self.find, **self.check(op, ks, {**self.options, **settings.options}))
        if self.joint:
            how = "naive" if self.own_loadings else settings.normalization
            return all_together(find, op, ks, normalization=how, loop=loop)
        normalization: str | None = None if self.dense else settings.normalization
        if "normalization" in self._parameters:
            find, normalization = partial(find, normalization=normalization), None
        finders = [find] * len(ks)
        if "work" in self._parameters:
            finders = [partial(find, work=FitWork(len(ks), proves=prove is not None))] * len(ks)
        if "rng" in self._parameters:
            finders = [partial(f, rng=stream) for f, stream in zip(finders, rng.spawn(len(ks)), strict=True)]
        own = self.own_deflation if settings.deflation == "own" else None
        deflate, pairs = own or DEFLATIONS[settings.deflation], list(zip(ks, finders, strict=True))
        return one_by_one(pairs, op, deflate=deflate, normalization=normalization, loop=loop, prove=prove)

    def checked(self, normalization: str, deflation: str, options: Mapping[str, Any]) -> MethodSettings:
        """Return settings; raise if a name or a value is unknown, as far as that shows without data.

        Settings that a method does not use must have known names too, so that a typing error is not passed over.
        """
        check_choice("normalization", normalization, NORMALIZATIONS)
        check_choice("deflation", deflation, {*DEFLATIONS, self.deflation})
        if "max_iter" in options:
            check_integer("max_iter", options["max_iter"], 1)
        if "tol" in options:
            check_real("tol", options["tol"], 0.0)
        unknown = sorted(set(options) - set(self.options))
        if unknown:
            known = ", ".join(self.options) or "none"
            raise TypeError(
                f"{argument('method', self.name)} has no option {', '.join(unknown)}; its options are: {known}."
            )
        self.check_values(options)
        return MethodSettings(normalization, deflation, options)

    def check_earlier(self, earlier: Sequence[Component], n_components: int, n_features: int) -> None:
        """Raise if these components cannot be the first of those asked for."""
        if not isinstance(earlier, Sequence) or not all(isinstance(component, Component) for component in earlier):
            raise TypeError(f"earlier={spelled(earlier)} must be a list of Component, as decompose returned them.")
        if not len(earlier):
            return
        if self.joint:
            raise ValueError(
                f"{argument('method', self.name)} finds all components together; it cannot continue after earlier ones."
            )
        if len(earlier) > n_components or any(component.n_features != n_features for component in earlier):
            raise ValueError(
                f"earlier holds {len(earlier)} component(s) of {earlier[0].n_features} features; at most "
                f"{argument('n_components', n_components)} of the {n_features} features of X can be continued."
            )
