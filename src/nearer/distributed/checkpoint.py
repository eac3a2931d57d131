"""A file with the last point of a run, from which another run can go on."""

from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass
from typing import Any

import numpy as np

from nearer.io import FileFormatError, atomic_write
from nearer.solvers.base import HistoryRow, SolverState

__all__ = ["Checkpoint", "SavedPoint", "load_checkpoint"]

_FORMAT = "nearer-checkpoint-1"


@dataclass(frozen=True)
class SavedPoint:
    """What a checkpoint holds.

    Attributes
    ----------
    X : float64 (n, d), the points of the objects that occur in comparisons
    epoch, n_gradients : done when it was written
    objective : F at X
    step_size : of the epoch that led to X, or None
    loss : name
    n_comparisons : int
    """

    X: np.ndarray
    epoch: int
    n_gradients: int
    objective: float
    step_size: float | None
    loss: str
    n_comparisons: int


class Checkpoint:
    """Callback that writes the point of every epoch to a file, whole or not at all.

    Parameters
    ----------
    path : path-like, ending in .npz
    objective : the objective of the run
    done : the checkpoint that this run goes on from, so that epochs and work count on
    """

    def __init__(self, path: str | os.PathLike[str], objective: Any, done: SavedPoint | None = None) -> None:
        self.path = os.fspath(path)
        if not self.path.endswith(".npz"):
            raise ValueError(f"checkpoint: got {self.path!r}, expected a file name that ends in .npz")
        self._objective = objective
        self._done = done

    def __call__(self, row: HistoryRow, state: SolverState) -> None:
        done = self._done
        step_size = None if state.provisional else row.step_size  # a first phase has steps of another kind
        point = SavedPoint(
            state.X,
            row.epoch + (done.epoch if done else 0),
            row.n_gradients + (done.n_gradients if done else 0),
            row.objective,
            step_size if step_size is not None or done is None else done.step_size,
            self._objective.loss.name,
            self._objective.n_comparisons,
        )
        try:
            with atomic_write(self.path, force=True) as file:
                step = np.nan if point.step_size is None else point.step_size
                np.savez(
                    file, format=_FORMAT, X=point.X, epoch=point.epoch, n_gradients=point.n_gradients,
                    objective=point.objective, step_size=step, loss=point.loss, n_comparisons=point.n_comparisons,
                )  # fmt: skip
        except OSError as error:
            raise OSError(error.errno, f"checkpoint cannot be written: {error.strerror}", self.path) from error


def load_checkpoint(path: str | os.PathLike[str]) -> SavedPoint:
    """Read a checkpoint back."""
    path = os.fspath(path)
    try:
        with np.load(path, allow_pickle=False) as saved:
            if str(saved["format"]) != _FORMAT:
                raise FileFormatError(f"{path}: is not a checkpoint of this version, got {str(saved['format'])!r}")
            step = float(saved["step_size"])
            return SavedPoint(
                saved["X"], int(saved["epoch"]), int(saved["n_gradients"]), float(saved["objective"]),
                None if np.isnan(step) else step, str(saved["loss"]), int(saved["n_comparisons"]),
            )  # fmt: skip
    except FileFormatError:
        raise
    except FileNotFoundError:
        raise FileFormatError(f"{path}: no such checkpoint") from None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise FileFormatError(f"{path}: is not a readable checkpoint ({error})") from error
