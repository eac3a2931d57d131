"""What is minimised: losses of one comparison as functions of two squared distances.

A loss sees ``near = |x_i - x_j|^2`` and ``far = |x_l - x_k|^2`` and nothing else. All forms are safe for any finite
distances: no exponential of a large positive number is ever formed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy as np
from scipy.special import entr

from nearer import kernels

__all__ = ["CKLLoss", "HingeLoss", "Loss", "SOELoss", "STELoss", "SoftplusLoss", "TSTELoss", "get_loss", "loss_names"]


@dataclass(frozen=True)
class Loss:
    """A loss of the two squared distances of a comparison.

    Attributes
    ----------
    name : short name, as accepted by `get_loss`.
    kind : code of the loss in `nearer.kernels`.
    convex_in_gram : whether the loss is convex as a function of the Gram matrix.
    has_model : whether the loss is minus the log of a probability, so that `probability` exists.
    """

    name: ClassVar[str] = ""
    kind: ClassVar[int] = -1
    convex_in_gram: ClassVar[bool] = False
    has_model: ClassVar[bool] = False

    @property
    def param(self) -> float:
        """The one parameter the kernels get; 0 for losses without one."""
        return 0.0

    def resolve(self, n_components: int) -> Loss:
        """Fill in a parameter whose default depends on the dimension."""
        return self

    def smoothed(self, width: float) -> Loss:
        """A differentiable loss at most ``width / 2`` below this one; the loss itself if it is differentiable."""
        return self

    def dual(self, slope: np.ndarray) -> np.ndarray:
        """Minus the convex conjugate in ``near - far`` at slopes in [0, 1]; for losses convex in the Gram matrix."""
        raise ValueError(f"loss {self.name!r} is not a convex function of near - far")

    def terms(self, near, far) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Value and both derivatives.

        Parameters
        ----------
        near, far : array-like of the same shape, squared distances (>= 0).

        Returns
        -------
        value, d_near, d_far : float64 arrays of that shape.
        """
        near, far = (np.array(a) for a in np.broadcast_arrays(np.asarray(near, float), np.asarray(far, float)))
        shape = near.shape
        value, d_near, d_far = (np.empty(near.size) for _ in range(3))
        kernels.loss_terms_many(self.kind, self.param, near.ravel(), far.ravel(), value, d_near, d_far)
        return value.reshape(shape), d_near.reshape(shape), d_far.reshape(shape)

    def probability(self, near, far) -> np.ndarray:
        """Probability, under the model of the loss, that a person answers "near is nearer"."""
        if not self.has_model:
            known = ", ".join(name for name, loss in _LOSSES.items() if loss.has_model)
            raise ValueError(f"loss {self.name!r} is not a probability model; use one of: {known}")
        return np.exp(-self.terms(near, far)[0])


@dataclass(frozen=True)
class HingeLoss(Loss):
    """Hinge loss of generalised non-metric MDS.

    ``f = max(0, 1 + near - far)``

    References
    ----------
    Agarwal et al., "Generalized non-metric multidimensional scaling", AISTATS 2007.
    """

    name: ClassVar[str] = "hinge"
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

    @property
    def param(self) -> float:
        return self.width


@dataclass(frozen=True)
class CKLLoss(Loss):
    """Scale-invariant loss of crowd kernel learning.

    ``f = log(near + far + 2 delta) - log(far + delta)``

    Parameters
    ----------
    delta : positive float, default 0.05. Keeps the ratio defined when both distances vanish.

    References
    ----------
    Tamuz et al., "Adaptively learning the crowd kernel", ICML 2011.
    """

    delta: float = 0.05
    name: ClassVar[str] = "ckl"
    kind: ClassVar[int] = kernels.CKL
    has_model: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_positive("ckl", "delta", self.delta)

    @property
    def param(self) -> float:
        return float(self.delta)


@dataclass(frozen=True)
class STELoss(Loss):
    """Logistic loss of stochastic triplet embedding.

    ``f = log(1 + exp(near - far))``

    References
    ----------
    van der Maaten and Weinberger, "Stochastic triplet embedding", MLSP 2012.
    """

    name: ClassVar[str] = "ste"
    kind: ClassVar[int] = kernels.STE
    convex_in_gram: ClassVar[bool] = True
    has_model: ClassVar[bool] = True

    def dual(self, slope: np.ndarray) -> np.ndarray:
        return entr(slope) + entr(1.0 - slope)


@dataclass(frozen=True)
class TSTELoss(Loss):
    """Student-t loss of t-distributed stochastic triplet embedding.

    ``f = log(1 + exp(z))`` with ``z = (alpha + 1) / 2 * [log(1 + near / alpha) - log(1 + far / alpha)]``

    Parameters
    ----------
    alpha : positive float or None, degrees of freedom; None means ``max(n_components - 1, 1)``.

    References
    ----------
    van der Maaten and Weinberger, "Stochastic triplet embedding", MLSP 2012.
    """

    alpha: float | None = None
    name: ClassVar[str] = "tste"
    kind: ClassVar[int] = kernels.TSTE
    has_model: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.alpha is not None:
            _check_positive("tste", "alpha", self.alpha)

    @property
    def param(self) -> float:
        if self.alpha is None:
            raise ValueError("tste: alpha is not set; call resolve(n_components) or pass alpha")
        return float(self.alpha)

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

    name: ClassVar[str] = "soe"
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
    margin : positive float, default 1. By how much far should exceed near; it sets the scale of the map.
    """

    margin: float = 1.0
    name: ClassVar[str] = "softplus"
    kind: ClassVar[int] = kernels.SOFTPLUS

    def __post_init__(self) -> None:
        _check_positive("softplus", "margin", self.margin)

    @property
    def param(self) -> float:
        return float(self.margin)


_LOSSES: dict[str, type[Loss]] = {
    cls.name: cls for cls in (HingeLoss, CKLLoss, STELoss, TSTELoss, SOELoss, SoftplusLoss)
}
_ALIASES = {"gnmds": "hinge", "logistic": "ste"}


def loss_names() -> tuple[str, ...]:
    """Names of all losses, without aliases."""
    return tuple(_LOSSES)


def get_loss(loss: str | Loss, **params: float | None) -> Loss:
    """The loss of a given name, or the loss itself.

    Parameters
    ----------
    loss : name (hinge or gnmds, ckl, ste or logistic, tste, soe, softplus) or a `Loss`.
    **params : parameters of the loss, such as ``delta=0.05`` (ckl), ``alpha=3`` (tste) or ``margin=1`` (softplus).
    """
    if isinstance(loss, Loss):
        if params:
            raise ValueError(
                f"parameters {sorted(params)} given beside a ready-made loss; build the loss with them instead"
            )
        return loss
    if not isinstance(loss, str) or _ALIASES.get(loss, loss) not in _LOSSES:
        raise ValueError(f"unknown loss {loss!r}; expected one of: {', '.join([*_LOSSES, *_ALIASES])}")
    cls = _LOSSES[_ALIASES.get(loss, loss)]
    known = [field.name for field in fields(cls)]
    unknown = sorted(set(params) - set(known))
    if unknown:
        names = ", ".join(known) or "none"
        raise ValueError(f"loss {loss!r} has no parameter {', '.join(unknown)}; its parameters: {names}")
    return cls(**params)


def _check_positive(loss: str, name: str, value: float) -> None:
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float, np.number))
        or not math.isfinite(value)
        or value <= 0
    ):
        raise ValueError(f"{loss}: {name} must be a positive number, got {value!r}")
