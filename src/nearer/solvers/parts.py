"""Runs made of parts, which can be gone on with in any of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from nearer.solvers.base import SolverState

__all__ = ["RunParts", "arrived"]


class RunParts:
    """The parts of a run, one after the other; those that an earlier run had finished are not run again.

    What happens between the parts is done again, so it has to be cheap and to depend on the states alone. It may draw
    from the random generator of the run; a part draws nothing unless it is the last. `kept` is given of a state of the
    earlier run; the attribute is of the last state, as the part itself gave it.
    """

    def __init__(self, kept: dict[str, Any] | None = None):
        self._earlier: list[dict[str, Any]] = [] if kept is None else kept["parts"]
        self._done: list[dict[str, Any]] = []
        self.kept: dict[str, Any] = {}

    def follow(self, part: Callable[..., Iterator[SolverState]], *args: Any) -> Iterator[SolverState]:
        """Follow the next part, called as ``part(*args, kept=...)``.

        If an earlier run was in this part already, the last state it had there comes first, as `replayed`.
        """
        number, state = len(self._done), None
        earlier = self._earlier[number] if number < len(self._earlier) else None
        if earlier is not None:
            state = SolverState(**{**earlier, "replayed": True})
            yield self._with_others(state)
        if number >= len(self._earlier) - 1:
            for state in part(*args, kept=None if earlier is None else earlier["kept"]):
                yield self._with_others(state)
        self._done.append({} if state is None else vars(replace(state, kept=None)))

    def _with_others(self, state: SolverState) -> SolverState:
        self.kept = state.kept or {}
        return replace(state, kept={"parts": [*self._done, vars(state)]})


def arrived(state: SolverState, kept: dict[str, Any] | None = None) -> Iterator[SolverState]:
    """A part that is one state; `kept` is of an earlier run, which was there already."""
    if kept is None:
        yield replace(state, kept={})
