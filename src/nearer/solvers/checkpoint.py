"""The file from which a fit is resumed."""

from __future__ import annotations

import math
import os
import threading
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import nearer
from nearer.archive import Arrays, as_json, from_json, read_archive, write_archive
from nearer.io import FileFormatError, atomic_write
from nearer.io.files import refuse_irregular, refuse_unwritable
from nearer.solvers.solver import History, HistoryRow, Run, Solver, State
from nearer.warning_types import ReproducibilityWarning

_KIND = "checkpoint"
_FORMAT = 2
_CONTENT = ("about", "setting", "starts", "runs")
_SHARE = 0.1  # most of the time that writing may take
_LIMITS = ("max_epochs", "max_seconds")  # may differ in a resumed run
_VALUE, _SAME = "objective at the start", 1e-10  # its last digits depend on the processor and the order of rows


class Checkpoint:
    """The state of every start of a fit, in a file that is replaced after an epoch.

    Not every epoch is written, so that writing takes at most a tenth of the time. An existing file raises
    FileExistsError unless `resume` is set, and FileFormatError if it is damaged or of another version.
    """

    def __init__(self, path: str | os.PathLike[str], resume: bool = False):
        self.path = os.fspath(path)
        refuse_irregular(path)
        refuse_unwritable(path, force=True)
        self.about: dict[str, Any] = {}  # identifies the fit
        self.setting: dict[str, Any] = {}  # of the objective, set before `begin`
        self.starts: list[np.ndarray] = []
        self.runs: list[Run] = []  # one for each start
        self._lock = threading.Lock()
        self._not_before = 0.0
        if os.path.exists(path):
            if not resume:
                raise FileExistsError(f"checkpoint: {path} already exists: continue with resume=True, or remove it")
            self.about, self.setting, self.starts, self.runs = _read(self.path)

    @property
    def found(self) -> bool:
        """Whether there is something to resume."""
        return bool(self.runs)

    def begin(
        self,
        objective: Any,
        solver: Solver,
        starts: Sequence[np.ndarray],
        generators: Sequence[np.random.Generator],
        others: dict[str, Any],
    ) -> list[np.ndarray]:
        """Record the starts, or check that the file is of the same fit; returns the starts, and sets the generators."""
        about = {
            "n_components": objective.n_components, "loss": repr(objective.loss), "n_init": len(starts), **others,
            "objects in comparisons": objective.n_objects, "comparisons": objective.n_comparisons,
            "solver": type(solver).__name__,
        }  # fmt: skip
        own = solver.get_params(deep=False)
        about |= {f"solver: {name}": repr(value) for name, value in own.items() if name not in _LIMITS}
        if not self.found:
            self.about, self.starts = {**about, _VALUE: objective.value(starts[0])}, list(starts)
            self.runs = [Run(rng.bit_generator.state) for rng in generators]
            self._write()
            return self.starts
        other = next((name for name, expected in about.items() if self.about.get(name) != expected), "")
        if not other:
            about[_VALUE] = objective.value(self.starts[0])
            other = "" if math.isclose(self.about[_VALUE], about[_VALUE], rel_tol=_SAME) else _VALUE
        if other:
            raise ValueError(
                f"checkpoint: {self.path} is of another fit: {other}: got {self.about.get(other)}, expected "
                f"{about[other]}. Use the same data and parameters, or another file"
            )
        if self.about[_VALUE] != about[_VALUE]:
            warnings.warn(
                f"checkpoint: {self.path}: the objective differs in its last digits, as on another processor or "
                "with reordered rows; the result will not be the same bit for bit",
                ReproducibilityWarning,
                stacklevel=5,
            )
        for rng, run in zip(generators, self.runs, strict=True):
            rng.bit_generator.state = run.rng_at_start
        return self.starts

    def keep(self, number: int, run: Run, always: bool) -> None:
        """Update the run of a start, and write the file: always, or if enough time has passed."""
        with self._lock:
            self.runs[number] = run
            if always or time.perf_counter() >= self._not_before:
                self._write()

    def _write(self) -> None:
        started = time.perf_counter()
        arrays: Arrays = {}
        runs = [_plain(run) for run in self.runs]
        header = {name: as_json({**vars(self), "runs": runs}[name], arrays) for name in _CONTENT}
        try:
            with atomic_write(self.path, force=True) as file:
                write_archive(file, _KIND, _FORMAT, header, arrays)
        except OSError as error:
            raise OSError(error.errno, f"checkpoint cannot be written: {error.strerror}", self.path) from error
        now = time.perf_counter()
        self._not_before = now + (now - started) * (1 / _SHARE - 1)


def _plain(run: Run) -> dict[str, Any]:
    """A run as nested dicts and lists."""
    return {**vars(run), "state": run.state and vars(run.state), "history": run.history.to_dict()}


def _run_from(plain: dict[str, Any]) -> Run:
    """The inverse of `_plain`."""
    columns, state = plain["history"], plain["state"]
    history = History(HistoryRow(**dict(zip(columns, row))) for row in zip(*columns.values()))
    return Run(**{**plain, "state": state and State(**state), "history": history})


def _read(path: str) -> tuple[dict[str, Any], dict[str, Any], list[np.ndarray], list[Run]]:
    try:
        with open(path, "rb") as file:
            header, arrays = read_archive(file, _KIND, _FORMAT)
        written, here = header["written_by"], f"nearer {nearer.__version__}"
        if written != here:
            raise FileFormatError(f"was written by {written}, but this is {here}, whose results may differ")
        about, setting, starts, runs = (from_json(header[name], arrays) for name in _CONTENT)
        return about, setting, starts, [_run_from(run) for run in runs]
    except FileFormatError as error:
        raise FileFormatError(f"checkpoint: {path}: {error}") from error
    except (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise FileFormatError(f"checkpoint: {path}: is not a complete checkpoint ({reason})") from error
