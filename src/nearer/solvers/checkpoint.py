"""A file from which runs that were cut off go on as if nothing had happened."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import nearer
from nearer.io import FileFormatError, atomic_write
from nearer.io.files import Arrays, as_json, from_json, read_archive, refuse_dangling, refuse_irregular, write_archive
from nearer.solvers.base import Solver

__all__ = ["Checkpoint"]

_KIND = "checkpoint"
_FORMAT = 1
_CONTENT = ("about", "setting", "runs")
# Writing takes no more than this part of the time.
_SHARE = 0.1
# A run may be given more of them.
_LIMITS = ("max_epochs", "max_seconds")
# Other processors and other orders of rows show in the last digits of the objective, other comparisons before.
_SAME = 1e-10


class Checkpoint:
    """The state of every start of a fit, in a file that is replaced whole after an epoch.

    Epochs that follow so fast that writing would take more than a tenth of the time are left out.

    Parameters
    ----------
    path : path-like
    resume : bool, default False
        Go on from the file, if there is one.

    Raises
    ------
    FileExistsError
        The file exists, and is not to be gone on from.
    FileFormatError
        It is not a checkpoint of this version, or is damaged.
    """

    def __init__(self, path: str | os.PathLike[str], resume: bool = False):
        self.path = os.fspath(path)
        refuse_irregular(path)
        refuse_dangling(path)
        if not Path(path).absolute().parent.is_dir():
            raise FileNotFoundError(f"checkpoint: {self.path}: the folder {Path(path).parent} does not exist")
        self.about: dict[str, Any] = {}  # what makes a fit the same fit
        self.setting: dict[str, Any] = {}  # what an objective wants to have again; it may put it there before `begin`
        self.runs: list[dict[str, Any]] = []  # one for each start
        self._lock = threading.Lock()
        self._not_before = 0.0
        if os.path.exists(path):
            if not resume:
                raise FileExistsError(
                    f"checkpoint: {self.path} exists already: go on from it with resume=True, or remove it"
                )
            self.about, self.setting, self.runs = _read(self.path)

    @property
    def found(self) -> bool:
        """Whether there is something to go on from."""
        return bool(self.runs)

    def begin(
        self,
        objective: Any,
        solver: Solver,
        starts: Sequence[np.ndarray],
        generators: Sequence[np.random.Generator],
        others: dict[str, Any],
    ) -> list[np.ndarray]:
        """Take the starts down, or see that those in the file are of the same fit; gives the starts to go on with.

        The generators, one for each start, are set to what the file says; `others` is what else must be the same.
        """
        about = {
            "n_components": objective.n_components, "loss": repr(objective.loss), "n_init": len(starts), **others,
            "objects in comparisons": objective.n_objects, "comparisons": objective.n_comparisons,
            "solver": type(solver).__name__,
        }  # fmt: skip
        own = solver.get_params(deep=False)
        about |= {f"solver: {name}": repr(value) for name, value in own.items() if name not in _LIMITS}
        if not self.found:
            self.about = {**about, "objective at the start": objective.value(starts[0])}
            self.runs = [
                {"X0": X0, "rng_at_start": rng.bit_generator.state} for X0, rng in zip(starts, generators, strict=True)
            ]
            self._write()
            return list(starts)
        for name, expected in about.items():
            if self.about.get(name) != expected:
                self._refuse(f"{name}: got {self.about.get(name)}, expected {expected}")
        at_start, value = self.about["objective at the start"], objective.value(self.runs[0]["X0"])
        if not abs(at_start - value) <= _SAME * abs(value):
            self._refuse(f"objective at the start: got {at_start!r}, expected {value!r}: the comparisons are others")
        if at_start != value:
            warnings.warn(
                f"checkpoint: {self.path}: the objective differs in its last digits, as on another processor or with "
                "rows in another order; the end will not be the same bit for bit",
                stacklevel=5,
            )
        for rng, run in zip(generators, self.runs, strict=True):
            rng.bit_generator.state = run["rng_at_start"]
        return [run["X0"] for run in self.runs]

    def keeper(self, number: int) -> _Keeper:
        """Return what keeps one start."""
        return _Keeper(self, number)

    def remove(self) -> None:
        """Remove the file."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)

    def _refuse(self, difference: str) -> None:
        raise ValueError(
            f"checkpoint: {self.path} is of another fit: {difference}. Give the same data and parameters as then, or "
            "another file"
        )

    def _write(self) -> None:
        started = time.perf_counter()
        arrays: Arrays = {}
        header = {name: as_json(getattr(self, name), arrays) for name in _CONTENT}
        try:
            with atomic_write(self.path, force=True) as file:
                write_archive(file, _KIND, _FORMAT, header, arrays)
        except OSError as error:
            raise OSError(error.errno, f"checkpoint cannot be written: {error.strerror}", self.path) from error
        now = time.perf_counter()
        self._not_before = now + (now - started) * (1 / _SHARE - 1)


class _Keeper:
    """A start in a checkpoint."""

    def __init__(self, checkpoint: Checkpoint, number: int):
        self._checkpoint = checkpoint
        self._number = number

    @property
    def kept(self) -> dict[str, Any] | None:
        run = self._checkpoint.runs[self._number]
        return run if "state" in run else None

    @property
    def due(self) -> bool:
        return time.perf_counter() >= self._checkpoint._not_before

    def keep(self, run: dict[str, Any]) -> None:
        with self._checkpoint._lock:
            runs = self._checkpoint.runs
            runs[self._number] = {"X0": runs[self._number]["X0"], **run}
            self._checkpoint._write()


def _read(path: str) -> list[Any]:
    try:
        with open(path, "rb") as file:
            header, arrays = read_archive(file, _KIND, _FORMAT)
        written, here = header["written_by"], f"nearer {nearer.__version__}"
        if written != here:
            raise FileFormatError(f"was written by {written}, and this is {here}, which may compute otherwise")
        return [from_json(header[name], arrays) for name in _CONTENT]
    except FileFormatError as error:
        raise FileFormatError(f"checkpoint: {path}: {error}") from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise FileFormatError(f"checkpoint: {path}: does not hold what a checkpoint must ({reason})") from error
