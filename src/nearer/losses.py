"""What is minimised: losses of one comparison as functions of two squared distances.

A loss sees ``near = |x_i - x_j|^2`` and ``far = |x_l - x_k|^2`` and nothing else. All forms are safe for any finite
distances: no exponential of a large positive number is ever formed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import entr

from nearer import kernels
from nearer.data import check_number
from nearer.registry import LOSSES, WITH_MODEL, find, names

__all__ = [
    "CKLLoss", "CustomLoss", "HingeLoss", "Loss", "SOELoss", "STELoss", "SoftplusLoss", "TSTELoss", "get_loss",
    "loss_names",
]  # fmt: skip


@dataclass(frozen=True)
class Loss:
    """A loss of the two squared distances of a comparison.

    A dataclass: its field, if it has one, is its parameter.

    Attributes
    ----------
    name : str
        Short name, as accepted by `get_loss`; that of a built-in loss is in `nearer.registry`.
    kind : int
        Code of the loss in `nearer.kernels`.
    convex_in_gram : bool
        Whether the loss is convex as a function of the Gram matrix.
    has_model : bool
        Whether the loss is minus the log of a probability, so that `probability` exists.
    heavy_tailed : bool
        Whether the model of the loss leaves room for objects far out, so that a large map is not a sign of fitting too
        closely: the default solver then holds it down only if that is clearly better.
    tolerance : float
        Times that of the default solver where there are many comparisons: below 1 if the last small gains of the loss
        still show in comparisons not seen.
    """

    name: ClassVar[str] = ""
    kind: ClassVar[int] = -1
    convex_in_gram: ClassVar[bool] = False
    has_model: ClassVar[bool] = False
    heavy_tailed: ClassVar[bool] = False
    tolerance: ClassVar[float] = 1.0

    def __init_subclass__(cls) -> None:
        for entry in LOSSES.values():
            if entry.path == f"{cls.__module__}:{cls.__name__}":
                cls.name, cls.has_model = entry.name, entry.has_model

    @property
    def param(self) -> float:
        """The parameter as the kernels get it; 0 for a loss without one."""
        values = [getattr(self, field.name) for field in fields(self)]
        return float(values[0]) if values else 0.0

    @property
    def kernels(self) -> Any:
        """Where the compiled kernels for this loss are found: a module or a namespace."""
        return kernels

    def resolve(self, n_components: int) -> Loss:
        """Fill in a parameter whose default depends on the dimension."""
        return self

    def smoothed(self, width: float) -> Loss:
        """A differentiable loss at most ``width / 2`` below this one; the loss itself if it is differentiable."""
        return self

    def dual(self, slope: np.ndarray) -> np.ndarray:
        """Minus the convex conjugate in ``near - far``; for losses that are convex in the Gram matrix.

        Parameters
        ----------
        slope : ndarray of float64
            In [0, 1].

        Returns
        -------
        ndarray of float64, of the same shape
        """
        raise ValueError(f"loss {self.name!r} is not a convex function of near - far")

    def terms(self, near: Any, far: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Value and both derivatives.

        Parameters
        ----------
        near, far : array-like of float
            Squared distances (>= 0), of shapes that broadcast.

        Returns
        -------
        value, d_near, d_far : ndarray of float64, of the common shape
        """
        both = np.broadcast_arrays(np.asarray(near, float), np.asarray(far, float))
        d_near, d_far = (np.array(distances, order="C") for distances in both)
        value = np.empty(d_near.shape)
        flat = (array.reshape(-1) for array in (d_near, d_far, value))
        self.kernels.tile_terms(self.kind, self.param, *flat, value.size, True)
        return value, d_near, d_far

    def probability(self, near: Any, far: Any) -> np.ndarray:
        """Probability, under the model of the loss, that a person answers "near is nearer".

        Parameters
        ----------
        near, far : array-like of float
            As in `terms`; the probabilities are of their common shape.
        """
        if not self.has_model:
            raise ValueError(f"loss {self.name!r} is not a probability model; use one of: {WITH_MODEL}")
        return np.exp(-self.terms(near, far)[0])


@dataclass(frozen=True)
class CustomLoss(Loss):
    """Base of a user's own loss: subclass it, as a frozen dataclass, and define `formula`.

    The kernels are compiled around the formula once in each process. Every solver takes such a loss, ``convex`` only if
    the class says ``convex_in_gram = True`` and defines `dual`.

    Attributes
    ----------
    name : str
        Default: the name of the class, in lower case.
    """

    def __init_subclass__(cls) -> None:
        if "name" not in vars(cls):
            cls.name = cls.__name__.lower()
        if find(LOSSES, cls.name) is not None:
            raise ValueError(f"{cls.__name__}: got the name {cls.name!r} of a built-in loss, expected one of its own")

    @staticmethod
    def formula(near: float, far: float, param: float) -> tuple[float, float, float]:
        """The loss of one comparison; compiled by Numba, so plain arithmetic and the functions of `math`.

        Parameters
        ----------
        near, far : float
            Squared distances.
        param : float
            The value of the one field of the class; 0 if it has none.

        Returns
        -------
        value, d_near, d_far : float
            The loss and its derivatives in near and in far.
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

    def smoothed(self, width: float) -> Loss:
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

    References
    ----------
    Tamuz et al., "Adaptively learning the crowd kernel", ICML 2011.
    """

    delta: float = 0.05
    kind: ClassVar[int] = kernels.CKL
    tolerance: ClassVar[float] = 0.5

    def __post_init__(self) -> None:
        check_number(self.delta, "ckl: delta")


@dataclass(frozen=True)
class STELoss(Loss):
    """Logistic loss of stochastic triplet embedding.

    ``f = log(1 + exp(near - far))``

    References
    ----------
    van der Maaten and Weinberger, "Stochastic triplet embedding", MLSP 2012.
    """

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

    References
    ----------
    van der Maaten and Weinberger, "Stochastic triplet embedding", MLSP 2012.
    """

    alpha: float | None = None
    kind: ClassVar[int] = kernels.TSTE
    heavy_tailed: ClassVar[bool] = True

    def __post_init__(self) -> None:
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
    """Softened hinge of the distances themselves: it pulls with a steady force however far an object has strayed.

    ``f = log(1 + exp(margin + r(near) - r(far)))`` with ``r(s) = sqrt(s + 1e-6)``, a distance that is smooth at zero.
    It is soe with a linear tail in place of a squared one. Its pull neither fades with the distance, as that of ckl
    and tste, nor grows with it, as that of hinge, ste and soe, so few maps are stuck in poor places and single wrong
    answers weigh little.

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
    """The loss of a given name, or the loss itself.

    Parameters
    ----------
    loss : str or Loss
        A name or alias in `nearer.registry.LOSSES`, or a loss, such as your own `CustomLoss`.
    **params : float or None
        Parameters of the loss, such as ``delta=0.05`` (ckl), ``alpha=3`` (tste) or ``margin=1`` (softplus).
    """
    if isinstance(loss, Loss):
        if params:
            raise ValueError(
                f"parameters {sorted(params)} given beside a ready-made loss; build the loss with them instead"
            )
        return loss
    entry = find(LOSSES, loss)
    if entry is None:
        raise ValueError(f"unknown loss {loss!r}; expected one of: {', '.join(names(LOSSES))}, or a Loss")
    cls: type[Loss] = globals()[entry.class_name]
    known = [field.name for field in fields(cls)]
    unknown = sorted(set(params) - set(known))
    if unknown:
        own = ", ".join(known) or "none"
        raise ValueError(f"loss {loss!r} has no parameter {', '.join(unknown)}; its parameters: {own}")
    return cls(**params)


def loss_with(loss: str | Loss, params: Mapping[str, float | None] | None) -> Loss:
    """The loss of `get_loss` with parameters as an estimator holds them: by name, or None."""
    if params is not None and not isinstance(params, Mapping):
        raise ValueError(f"loss_params: got {params!r}, expected values by name, such as {{'alpha': 3}}")
    return get_loss(loss, **(params or {}))
