"""One estimator for each loss of the literature, `OrdinalEmbedding` with the loss in its name; and `load`."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nearer.estimator import OrdinalEmbedding, set_map, set_result
from nearer.io import FileFormatError
from nearer.io.files import refuse_irregular
from nearer.model_file import FORMAT, read_model

__all__ = ["CKL", "GNMDS", "SOE", "STE", "TSTE", "load"]


@dataclass(eq=False, repr=False)
class _NamedLoss(OrdinalEmbedding):
    """An `OrdinalEmbedding` whose class says which loss it has."""

    loss: str = field(init=False)
    loss_params: Any = field(init=False, default=None)


class GNMDS(_NamedLoss):
    """Generalised non-metric MDS: `OrdinalEmbedding` with the hinge loss; takes no `loss` or `loss_params`."""

    loss = "hinge"


class STE(_NamedLoss):
    """Stochastic triplet embedding: `OrdinalEmbedding` with the ste loss; takes no `loss` or `loss_params`."""

    loss = "ste"


class SOE(_NamedLoss):
    """Soft ordinal embedding: `OrdinalEmbedding` with the soe loss; takes no `loss` or `loss_params`."""

    loss = "soe"


@dataclass(eq=False, repr=False)
class CKL(_NamedLoss):
    """Crowd kernel learning: `OrdinalEmbedding` with the ckl loss.

    Takes the parameters of `OrdinalEmbedding`, except `loss` and `loss_params`, and one more.

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

    Takes the parameters of `OrdinalEmbedding`, except `loss` and `loss_params`, and one more.

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


def load(path: str | os.PathLike[str]) -> OrdinalEmbedding:
    """Read a fitted estimator that `OrdinalEmbedding.save` wrote; it can be fitted further.

    A feature map saved with it is its ``feature_map_``. A file that is not a model, is damaged or is from a newer
    version raises a ValueError.
    """
    path = Path(path)
    refuse_irregular(path)
    classes = {one.__name__: one for one in (OrdinalEmbedding, CKL, GNMDS, SOE, STE, TSTE)}
    try:
        name, parameters, of_map, of_result, fitted = read_model(path)
        if name != "OrdinalEmbedding":
            parameters |= parameters.pop("loss_params", None) or {}  # version 0.1.0 had them apart for every class
        estimator = classes[name](**parameters)
        set_map(estimator, *of_map)
        set_result(estimator, *of_result)
    except FileFormatError as error:
        raise FileFormatError(f"{path}: {error}") from error
    except (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError) as error:
        # The checksums were right, so the file was written wrong.
        reason = f"{type(error).__name__}: {error}"
        raise FileFormatError(f"{path}: is not a complete model of format {FORMAT} ({reason})") from error
    estimator.__dict__.update(fitted)
    return estimator
