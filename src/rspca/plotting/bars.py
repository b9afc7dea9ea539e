"""Horizontal bars with names: loadings, stability under halves of the samples, and what is proven."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from rspca.plotting.looks import COLORS, Display, literal, new_axes, percent_axis


class _NamedBars(Display):
    """A bar for each name, the first on top."""

    names: list[Any]
    title: str
    bars_: Any

    def _bars(self, ax: Any, values: Sequence[float], colors: Sequence[str], kwargs: dict[str, Any]) -> Any:
        """Draw the bars, and return their Axes."""
        ax = new_axes(ax, height=0.8 + 0.24 * max(len(self.names), 3))
        places = range(len(self.names))
        self.bars_ = ax.barh(places, values, **({"color": list(colors)} | kwargs))
        ax.set_yticks(places, [literal(name) for name in self.names], parse_math=False)
        ax.invert_yaxis()
        ax.set(title=self.title)
        ax.grid(axis="x", alpha=0.3)
        ax.set_axisbelow(True)
        return ax


class LoadingsDisplay(_NamedBars):
    """The features of one component as horizontal bars, the largest on top.

    Parameters
    ----------
    names : sequence
        Names of the features, by decreasing magnitude of their loadings.
    loadings : sequence of float
        Their loadings.
    title : str
        What stands above.

    Attributes
    ----------
    ax_, figure_ : Axes and Figure
        Where it was drawn.
    bars_ : BarContainer
        One bar for each feature.

    Examples
    --------
    >>> import rspca
    >>> from sklearn.datasets import load_wine
    >>> model = rspca.SparsePCA(2, k=4, scale=True, random_state=0).fit(load_wine(as_frame=True).data)
    >>> display = rspca.plotting.LoadingsDisplay.from_estimator(model, component=1)
    >>> len(display.bars_)
    4
    """

    def __init__(self, *, names: Sequence[Any], loadings: Sequence[float], title: str = "") -> None:
        self.names, self.loadings, self.title = list(names), list(loadings), title

    @classmethod
    def from_estimator(
        cls, model: Any, *, component: int = 0, n: int | None = 20, names: Any = None, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the n largest loadings of a component of a fitted SparsePCA; `kwargs` go to ``Axes.barh``."""
        features = model.top_features(component, n, names)
        number = component % model.n_components_ + 1
        left_out = len(model.supports_[component]) - len(features)
        more = f", {len(features)} largest of {len(features) + left_out} loadings" if left_out else ""
        display = cls(
            names=[f.name for f in features], loadings=[f.loading for f in features], title=f"component {number}{more}"
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on these Axes, or on new ones."""
        colors = [COLORS[0] if value >= 0.0 else COLORS[1] for value in self.loadings]
        ax = self._bars(ax, self.loadings, colors, kwargs)
        ax.axvline(0.0, color="0.3", linewidth=0.8)
        ax.set_xlabel("loading")
        return self._drawn_on(ax)


class StabilityDisplay(_NamedBars):
    """The share of half-samples that choose each feature of a component, and features they choose instead.

    Parameters
    ----------
    names : sequence
        Names of the features: those of the component, then others that halves choose.
    shares : sequence of float
        Share of the halves that choose each.
    chosen : sequence of bool
        Whether the component has the feature.
    title : str
        What stands above.

    Attributes
    ----------
    ax_, figure_ : Axes and Figure
        Where it was drawn.
    bars_ : BarContainer
        One bar for each feature.

    Examples
    --------
    >>> import rspca
    >>> from sklearn.datasets import load_wine
    >>> X = load_wine(as_frame=True).data
    >>> model = rspca.SparsePCA(2, k=4, scale=True, random_state=0).fit(X)
    >>> _ = model.stability(X, n_pairs=5, random_state=0)
    >>> display = rspca.plotting.StabilityDisplay.from_estimator(model, component=1, others=2)
    >>> len(display.bars_)
    6
    """

    def __init__(
        self, *, names: Sequence[Any], shares: Sequence[float], chosen: Sequence[bool], title: str = ""
    ) -> None:
        self.names, self.shares, self.chosen, self.title = list(names), list(shares), list(chosen), title
        if not len(self.names) == len(self.shares) == len(self.chosen):
            raise ValueError("names, shares and chosen must have one entry for each feature.")

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        *,
        component: int = 0,
        n: int | None = 20,
        others: int = 5,
        names: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the n largest features of a component and `others` that halves choose; `kwargs` go to ``Axes.barh``.

        The model needs its stability: ``model.stability(X)`` measures and keeps it.
        """
        known = getattr(model, "stability_", None)
        if known is None:
            raise ValueError("The model does not know its stability; call model.stability(X) first.")
        features = model.top_features(component, n, names)
        number = component % model.n_components_
        every = getattr(model, "feature_names_in_", None) if names is None else names
        more = known.runners_up(number, others)
        display = cls(
            names=[f.name for f in features] + [one.feature if every is None else every[one.feature] for one in more],
            shares=[f.share for f in features] + [one.share for one in more],
            chosen=[True] * len(features) + [False] * len(more),
            title=f"component {number + 1}",
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on these Axes, or on new ones."""
        ax = self._bars(ax, self.shares, [COLORS[0] if own else "0.7" for own in self.chosen], kwargs)
        grey = "" if all(self.chosen) else "; grey: not in the component"
        ax.set(xlabel=f"half-samples that choose it{grey}", xlim=(0.0, 1.0))
        percent_axis(ax.xaxis)
        return self._drawn_on(ax)


class CertificateDisplay(_NamedBars):
    """How much of the proven bound each component reaches, and all together where that was proven.

    Parameters
    ----------
    names : sequence of str
        What each proof is of.
    reached : sequence of float
        Variance reached, over the proven bound: 1 is proven optimal.
    title : str
        What stands above.

    Attributes
    ----------
    ax_, figure_ : Axes and Figure
        Where it was drawn.
    bars_ : BarContainer
        One bar for each proof.

    Examples
    --------
    >>> import rspca
    >>> model = rspca.SparsePCA(2, k=5, certify=True).fit(rspca.GramOperator(rspca.datasets.load_pitprops()))
    >>> display = rspca.plotting.CertificateDisplay.from_estimator(model)
    >>> display.names, display.reached
    (['component 1', 'component 2'], [1.0, 1.0])
    """

    def __init__(self, *, names: Sequence[str], reached: Sequence[float], title: str = "") -> None:
        self.names, self.reached, self.title = list(names), [float(value) for value in reached], title

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the certificates of a SparsePCA that was fitted with certify=True; `kwargs` go to ``Axes.barh``."""
        proofs = {f"component {j + 1}": one for j, one in enumerate(getattr(model, "certificates_", None) or [])}
        joint = getattr(model, "joint_certificate_", None)
        proofs |= {} if joint is None else {"all together": joint}
        if not proofs:
            raise ValueError("The model has no certificates; fit it with certify=True.")
        reached = [1.0 if one.status == "optimal" else 1.0 / (1.0 + one.gap) for one in proofs.values()]
        return cls(names=list(proofs), reached=reached).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on these Axes, or on new ones."""
        ax = self._bars(ax, self.reached, [COLORS[2] if value == 1.0 else COLORS[0] for value in self.reached], kwargs)
        words = ["proven optimal" if value == 1.0 else f"{100.0 * value:.3g} %" for value in self.reached]
        ax.bar_label(self.bars_, words, padding=-4, fontsize=8, color="white", label_type="center")
        ax.axvline(1.0, color=COLORS[1], linestyle="--")
        ax.set(xlabel="variance reached, of the proven bound", xlim=(0.0, 1.02))
        percent_axis(ax.xaxis)
        return self._drawn_on(ax)
