"""One estimator for each loss of the literature: `OrdinalEmbedding` with the loss in its name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from nearer.estimator import OrdinalEmbedding

__all__ = ["CKL", "GNMDS", "SOE", "STE", "TSTE"]


@dataclass(eq=False, repr=False)
class _NamedLoss(OrdinalEmbedding):
    """An `OrdinalEmbedding` whose class says which loss it has."""

    loss: str = field(init=False)
    loss_params: Any = field(init=False, default=None)


class GNMDS(_NamedLoss):
    """Generalised non-metric MDS: `OrdinalEmbedding` with the hinge loss and without `loss` and `loss_params`."""

    loss = "hinge"


class STE(_NamedLoss):
    """Stochastic triplet embedding: `OrdinalEmbedding` with the ste loss and without `loss` and `loss_params`."""

    loss = "ste"


class SOE(_NamedLoss):
    """Soft ordinal embedding: `OrdinalEmbedding` with the soe loss and without `loss` and `loss_params`."""

    loss = "soe"


@dataclass(eq=False, repr=False)
class CKL(_NamedLoss):
    """Crowd kernel learning: `OrdinalEmbedding` with the ckl loss.

    Parameters are those of `OrdinalEmbedding`, without `loss` and `loss_params`, and one more.

    Parameters
    ----------
    delta : float, default 0.05
        Positive; keeps the loss defined where both distances vanish, see `nearer.losses.CKLLoss`.
    """

    loss = "ckl"
    delta: float = field(default=0.05, kw_only=True)

    @property  # type: ignore[misc]
    def loss_params(self) -> dict[str, Any]:  # type: ignore[override]
        return {"delta": self.delta}


@dataclass(eq=False, repr=False)
class TSTE(_NamedLoss):
    """t-distributed stochastic triplet embedding: `OrdinalEmbedding` with the tste loss.

    Parameters are those of `OrdinalEmbedding`, without `loss` and `loss_params`, and one more.

    Parameters
    ----------
    alpha : float, optional
        Positive, the degrees of freedom; by default ``max(n_components - 1, 1)``, see `nearer.losses.TSTELoss`.
    """

    loss = "tste"
    alpha: float | None = field(default=None, kw_only=True)

    @property  # type: ignore[misc]
    def loss_params(self) -> dict[str, Any]:  # type: ignore[override]
        return {"alpha": self.alpha}
