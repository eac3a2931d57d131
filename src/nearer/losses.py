"""Losses of one comparison as functions of ``near = |x_i - x_j|^2`` and ``far = |x_l - x_k|^2``.

All forms are safe for any finite distances: no exponential of a large positive number is ever formed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import entr

from nearer import kernels
from nearer.data import check_number
from nearer.data.validate import is_number
from nearer.registry import LOSSES, WITH_MODEL, find, names

__all__ = [
    "CKLLoss", "CustomLoss", "HingeLoss", "Loss", "SOELoss", "STELoss", "SoftplusLoss", "TSTELoss", "get_loss",
    "loss_names",
]  # fmt: skip


@dataclass(frozen=True)
class Loss:
    """A loss of the two squared distances of a comparison.

    A dataclass whose only field, if any, is its parameter; minus the log of a probability may also have a lapse rate
    `lapse`: an answer is a guess with this probability, so that an answer of probability p has
    ``(1 - lapse) p + lapse / 2``. If `heavy_tailed`, distant objects are plausible and a large map is no sign of
    overfitting: the default solver then regularises only if that is clearly better.
    """

    name: ClassVar[str] = ""  # as accepted by `get_loss`; of a built-in loss as in `nearer.registry`
    kind: ClassVar[int] = -1  # code in `nearer.kernels`
    convex_in_gram: ClassVar[bool] = False  # convex as a function of the Gram matrix
    has_model: ClassVar[bool] = False  # minus the log of a probability, so `probability` exists
    heavy_tailed: ClassVar[bool] = False
    tolerance: ClassVar[float] = 1.0  # factor on `tol` of the default solver; below 1 if small gains still matter

    def __init_subclass__(cls) -> None:
        for entry in LOSSES.values():
            if entry.path == f"{cls.__module__}:{cls.__name__}":
                cls.name, cls.has_model = entry.name, entry.has_model

    def __post_init__(self) -> None:
        lapse = getattr(self, "lapse", 0.0)
        if not is_number(lapse) or not 0.0 <= lapse < 1.0:
            raise ValueError(f"{self.name}: lapse: got {lapse!r}, expected a number >= 0 and below 1")

    @property
    def param(self) -> float:
        """The parameter; 0 for a loss without one."""
        values = [getattr(self, field.name) for field in fields(self) if field.name != "lapse"]
        return float(values[0]) if values else 0.0

    @property
    def parameters(self) -> dict[str, float]:
        """Parameters by name; the lapse rate only if there is one."""
        return {name: value for name, value in vars(self).items() if name != "lapse" or value}

    @property
    def code(self) -> tuple[int, float, float]:
        """The loss as the kernels get it."""
        return self.kind, self.param, float(getattr(self, "lapse", 0.0))

    def with_lapse(self, lapse: float) -> Loss:
        """The same loss with another lapse rate."""
        return replace(self, lapse=lapse)  # type: ignore[call-arg]

    @property
    def kernels(self) -> Any:
        """Module or namespace of the compiled kernels for this loss."""
        return kernels

    def resolve(self, n_components: int) -> Loss:
        """Fill in a parameter whose default depends on the dimension."""
        return self

    def smoothed(self, width: float = 1.0) -> Loss:
        """An easier loss: differentiable, at most ``width / 2`` below this one, without lapses; or the loss itself."""
        return self.with_lapse(0.0) if getattr(self, "lapse", 0.0) else self

    def dual(self, slope: np.ndarray) -> np.ndarray:
        """Minus the convex conjugate in ``near - far`` at slopes in [0, 1], for losses convex in the Gram matrix."""
        raise ValueError(f"loss {self.name!r} is not a convex function of near - far")

    def terms(self, near: Any, far: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Value, d value / d near and d value / d far at squared distances that broadcast, of their common shape."""
        both = np.broadcast_arrays(np.asarray(near, float), np.asarray(far, float))
        d_near, d_far = (np.array(distances, order="C") for distances in both)
        value = np.empty(d_near.shape)
        flat = (array.reshape(-1) for array in (d_near, d_far, value))
        self.kernels.tile_terms(*self.code, *flat, value.size, True)
        return value, d_near, d_far

    def probability(self, near: Any, far: Any) -> np.ndarray:
        """Probability of the answer "near is nearer" under the model of the loss; distances as in `terms`."""
        if not self.has_model:
            raise ValueError(f"loss {self.name!r} is not a probability model; use one of: {WITH_MODEL}")
        return np.exp(-self.terms(near, far)[0])


@dataclass(frozen=True)
class CustomLoss(Loss):
    """Base class of custom losses: a subclass is a frozen dataclass that defines `formula`.

    The kernels are compiled around the formula once in each process. Every solver takes such a loss, ``convex`` only if
    the class says ``convex_in_gram = True`` and defines `dual`. `name` defaults to the class name in lower case.
    """

    def __init_subclass__(cls) -> None:
        if "name" not in vars(cls):
            cls.name = cls.__name__.lower()
        if find(LOSSES, cls.name) is not None:
            raise ValueError(f"{cls.__name__}: got the name {cls.name!r} of a built-in loss, expected another")

    @staticmethod
    def formula(near: float, far: float, param: float) -> tuple[float, float, float]:
        """Return ``value, d_near, d_far`` at two squared distances; `param` is the one field of the class, or 0.

        Compiled by Numba: plain arithmetic and the functions of `math`.
        """
        raise NotImplementedError

    @property
    def kernels(self) -> Any:
        cls = type(self)
        if cls.formula is CustomLoss.formula:
            raise ValueError(f"{cls.__name__}: got no formula, expected a static method formula(near, far, param)")
        if "__dataclass_fields__" not in vars(cls):
            raise ValueError(f"{cls.__name__}: got a plain class, expected a dataclass; add @dataclass(frozen=True)")
        if len(fields(self)) > 1:
            names = ", ".join(field.name for field in fields(self))
            raise ValueError(f"{cls.__name__}: got the parameters {names}, expected at most one")
        return kernels.with_formula(cls.formula)


@dataclass(frozen=True)
class HingeLoss(Loss):
    """Hinge loss of generalised non-metric MDS.

    ``f = max(0, 1 + near - far)``

    References
    ----------
    Agarwal et al., "Generalized non-metric multidimensional scaling", AISTATS 2007.
    """

    kind: ClassVar[int] = kernels.HINGE
    convex_in_gram: ClassVar[bool] = True

    def smoothed(self, width: float = 1.0) -> Loss:
        return _SmoothHinge(width)

    def dual(self, slope: np.ndarray) -> np.ndarray:
        return slope


@dataclass(frozen=True)
class _SmoothHinge(Loss):
    """Hinge loss with its kink replaced by a parabola: ``margin^2 / (2 width)`` for ``0 < margin < width``."""

    width: float
    name: ClassVar[str] = "smooth-hinge"
    kind: ClassVar[int] = kernels.SMOOTH_HINGE
    convex_in_gram: ClassVar[bool] = True


@dataclass(frozen=True)
class CKLLoss(Loss):
    """Scale-invariant loss of crowd kernel learning.

    ``f = log(near + far + 2 delta) - log(far + delta)``

    Parameters
    ----------
    delta : float, default 0.05
        Positive; keeps the ratio defined when both distances vanish.
    lapse : float, default 0
        Probability of a guess; in [0, 1).

    References
    ----------
    Tamuz et al., "Adaptively learning the crowd kernel", ICML 2011.
    """

    delta: float = 0.05
    lapse: float = 0.0
    kind: ClassVar[int] = kernels.CKL
    tolerance: ClassVar[float] = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self.delta, "ckl: delta")


@dataclass(frozen=True)
class STELoss(Loss):
    """Logistic loss of stochastic triplet embedding.

    ``f = log(1 + exp(near - far))``

    Parameters
    ----------
    lapse : float, default 0
        Probability of a guess; in [0, 1).

    References
    ----------
    van der Maaten and Weinberger, "Stochastic triplet embedding", MLSP 2012.
    """

    lapse: float = 0.0
    kind: ClassVar[int] = kernels.STE
    convex_in_gram: ClassVar[bool] = True

    def dual(self, slope: np.ndarray) -> np.ndarray:
        return entr(slope) + entr(1.0 - slope)


@dataclass(frozen=True)
class TSTELoss(Loss):
    """Student-t loss of t-distributed stochastic triplet embedding.

    ``f = log(1 + exp(z))`` with ``z = (alpha + 1) / 2 * [log(1 + near / alpha) - log(1 + far / alpha)]``

    Parameters
    ----------
    alpha : float or None
        Degrees of freedom, positive; None means ``max(n_components - 1, 1)``.
    lapse : float, default 0
        Probability of a guess; in [0, 1).

    References
    ----------
    van der Maaten and Weinberger, "Stochastic triplet embedding", MLSP 2012.
    """

    alpha: float | None = None
    lapse: float = 0.0
    kind: ClassVar[int] = kernels.TSTE
    heavy_tailed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self.alpha, "tste: alpha", allow_none=True)

    @property
    def param(self) -> float:
        if self.alpha is None:
            raise ValueError("tste: alpha is not set; call resolve(n_components) or pass alpha")
        return super().param

    def resolve(self, n_components: int) -> Loss:
        return self if self.alpha is not None else replace(self, alpha=float(max(n_components - 1, 1)))


@dataclass(frozen=True)
class SOELoss(Loss):
    """Squared hinge of the distances themselves: soft ordinal embedding.

    ``f = max(0, 1 + sqrt(near) - sqrt(far))^2``; where a distance is zero its (undefined) direction counts as zero.

    References
    ----------
    Terada and von Luxburg, "Local ordinal embedding", ICML 2014.
    """

    kind: ClassVar[int] = kernels.SOE


@dataclass(frozen=True)
class SoftplusLoss(Loss):
    """Softened hinge of the distances themselves: like soe, but with a linear instead of a quadratic tail.

    ``f = log(1 + exp(margin + r(near) - r(far)))`` with ``r(s) = sqrt(s + 1e-6)``, a distance that is smooth at zero.
    Its force neither fades with the distance, as for ckl and tste, nor grows with it, as for hinge, ste and soe, so
    poor local minima are rare and single wrong answers weigh little.

    Parameters
    ----------
    margin : float, default 1
        Positive: by how much far should exceed near; it sets the scale of the map.
    """

    margin: float = 1.0
    kind: ClassVar[int] = kernels.SOFTPLUS

    def __post_init__(self) -> None:
        check_number(self.margin, "softplus: margin")


def loss_names() -> tuple[str, ...]:
    """Names of all built-in losses, without aliases."""
    return tuple(LOSSES)


def get_loss(loss: str | Loss, **params: float | None) -> Loss:
    """The loss of a given name or alias (see `nearer.registry.LOSSES`), or the loss itself.

    `params` are those of the loss, such as ``delta=0.05`` (ckl), ``alpha=3`` (tste), ``margin=1`` (softplus) or
    ``lapse=0.1`` (ckl, ste and tste).
    """
    if isinstance(loss, Loss):
        if params:
            raise ValueError(
                f"parameters {sorted(params)} were given together with a loss object; pass them when creating the loss"
            )
        return loss
    entry = find(LOSSES, loss)
    if entry is None:
        raise ValueError(f"unknown loss {loss!r}; expected one of: {', '.join(names(LOSSES))}, or a Loss")
    cls: type[Loss] = entry.load()
    known = [field.name for field in fields(cls)]
    unknown = sorted(set(params) - set(known))
    if unknown:
        own = ", ".join(known) or "none"
        raise ValueError(f"loss {loss!r} has no parameter {', '.join(unknown)}; its parameters: {own}")
    return cls(**params)


def loss_with(loss: str | Loss, params: Mapping[str, float | None] | None) -> Loss:
    """The loss of `get_loss` with parameters as an estimator holds them."""
    if params is not None and not isinstance(params, Mapping):
        raise ValueError(f"loss_params: got {params!r}, expected values by name, such as {{'alpha': 3}}")
    return get_loss(loss, **(params or {}))
