"""What all ordinal embeddings share: parameters, fit, further fits, saving."""

from __future__ import annotations

import importlib
import numbers
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from nearer.data import Comparisons, as_comparisons, as_generator, joined, renumbered
from nearer.fitted import FittedMap
from nearer.losses import Loss, get_loss
from nearer.objective import LocalObjective, StreamedObjective, resolve_jobs
from nearer.placement import extended
from nearer.solvers import Callback, Result, Solver, get_solver
from nearer.starts import best_of_starts, keeping_start

__all__ = ["BaseOrdinalEmbedding"]


Start = Callable[[np.random.Generator], np.ndarray]
"""Makes a starting point (n_objects, n_components)."""


class BaseOrdinalEmbedding(FittedMap, TransformerMixin, BaseEstimator):
    """All of an ordinal embedding but the choice of loss, which subclasses make; see `OrdinalEmbedding`."""

    loss: Any

    def __init__(
        self,
        n_components: int = 2,
        *,
        loss_params: dict[str, float] | None = None,
        solver: str | Solver = "auto",
        n_init: int = 1,
        init: Any = "random",
        n_objects: int | None = None,
        max_seconds: float | None = None,
        warm_start: bool = False,
        callbacks: Sequence[Callback] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.loss_params = loss_params
        self.solver = solver
        self.n_init = n_init
        self.init = init
        self.n_objects = n_objects
        self.max_seconds = max_seconds
        self.warm_start = warm_start
        self.callbacks = callbacks
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        client: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        resume: str | os.PathLike[str] | None = None,
    ) -> BaseOrdinalEmbedding:
        """Find the map.

        Parameters
        ----------
        X : Comparisons, int array (N, 3) anchor, near, far or (N, 4) i, j, l, k, or a table of labels
            Also a path to comparisons by object number, .npy or Parquet (a file, folder or pattern), which are read
            block by block in every pass and never held in memory. On a cluster also a Dask array or dataframe; without
            `client` those are fitted on the current Dask client, or on workers on this machine.
        y : answers (N,) to X taken as questions: +1 or True means X is right as it stands, -1 or False the opposite
        sample_weight : (N,), optional
        client : distributed.Client, or an address such as "tcp://host:8786" or "local:4", optional
            Fit on this Dask cluster. Needs the extra ``nearer[dask]``.
        checkpoint : path-like ending in .npz, optional
            On a cluster: file that keeps the point of the last epoch.
        resume : path-like, optional
            On a cluster: checkpoint to start from.
        """
        solver = self._solver_of_fit()
        if client is not None or hasattr(X, "__dask_graph__"):
            return self._fit_on_cluster(X, y, sample_weight, solver, client, checkpoint, resume)
        if checkpoint is not None or resume is not None:
            raise ValueError("checkpoint and resume are for a fit on a cluster: give client=, for example 'local:2'")
        if isinstance(X, (str, os.PathLike)):
            return self._fit_from_file(X, y, sample_weight, solver)
        comparisons = as_comparisons(X, y, sample_weight, self.n_objects)
        _warn_unseen(comparisons.seen, comparisons.labels)
        n_init = 1 if not isinstance(self.init, str) else int(self.n_init)
        shape = (comparisons.n_objects, int(self.n_components))
        self._solve(comparisons, solver, [lambda rng: self._starting_point(rng, shape)] * n_init)
        self.n_comparisons_at_start_ = len(comparisons)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> BaseOrdinalEmbedding:
        """Take in further comparisons, which may name new objects; without an earlier fit, the same as `fit`.

        Earlier comparisons are not forgotten: they are kept in `comparisons_` (equal ones merged, without who answered)
        and the map is solved again for all of them, starting from where it is, with new objects first placed as by
        `place`. A map that began with few answers may sit in a poor place, so once there are twice as many
        comparisons as at the last random start, `n_init` new random starts compete with the present map.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
            With labels, if the map has labels; numbers from `n_objects_` on are new objects.
        """
        if not hasattr(self, "embedding_"):
            return self.fit(X, y, sample_weight)
        solver = self._check_parameters()
        if not hasattr(self, "comparisons_"):
            raise ValueError(
                "partial_fit: the map is here without its comparisons (they were not saved with it, or stayed in a "
                "file or on a cluster), so it cannot be fitted further"
            )
        if self.embedding_.shape[1] != self.n_components:
            raise ValueError(
                f"partial_fit: the map has {self.embedding_.shape[1]} dimensions, "
                f"n_components is now {self.n_components}"
            )
        _, further = self._on_map(X, y, sample_weight)
        self._refuse_nameless(further, "partial_fit")
        comparisons = joined(self.comparisons_, further)
        if self.n_objects is not None and comparisons.n_objects > self.n_objects:
            raise ValueError(
                f"partial_fit: the comparisons are over {comparisons.n_objects:,} objects, "
                f"n_objects is {self.n_objects:,}"
            )
        _warn_unseen(comparisons.seen, comparisons.labels)
        shape = (comparisons.n_objects, int(self.n_components))
        loss = self.loss_  # that of the present map
        starts: list[Start] = [lambda rng: extended(self.embedding_, further, loss, shape, rng, self.n_jobs)]
        if len(comparisons) >= 2 * self.n_comparisons_at_start_:
            starts += [lambda rng: rng.normal(size=shape)] * int(self.n_init)
            self.n_comparisons_at_start_ = len(comparisons)
        self._solve(comparisons, [keeping_start(solver), *[solver] * (len(starts) - 1)], starts)
        return self

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        force: bool = False,
        feature_map: Any = None,
        with_comparisons: bool = True,
    ) -> None:
        """Write the fitted map to a file that `nearer.load` reads: arrays and JSON, no code.

        Parameters
        ----------
        path : path-like
            By custom ends in ``.nearer``.
        force : bool
            Replace an existing file.
        feature_map : FeatureMap, optional
            Saved in the same file, found again as ``feature_map_``; default: the ``feature_map_`` of a loaded model.
        with_comparisons : bool
            Also save the comparisons, which `partial_fit` needs.
        """
        from nearer.io.model import save_model

        save_model(self, path, force=force, feature_map=feature_map, with_comparisons=with_comparisons)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Find the map and return it, (n_objects, n_components)."""
        return self.fit(X, y, sample_weight).embedding_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def _check_parameters(self) -> Solver:
        for name in ("n_components", "n_init"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1:
                raise ValueError(f"{name} must be a whole number >= 1, got {value!r}")
        if isinstance(self.init, str) and self.init != "random":
            raise ValueError(f"init must be 'random' or an array (n_objects, n_components), got {self.init!r}")
        solver = get_solver(self.solver)
        if self.max_seconds is not None:
            solver = replace(solver, max_seconds=self.max_seconds)
        return solver

    def _solver_of_fit(self) -> Solver:
        """The solver for the starting points of `fit`."""
        solver = self._check_parameters()
        given = not isinstance(self.init, str) or (self.warm_start and hasattr(self, "embedding_"))
        return keeping_start(solver) if given else solver

    def _solve(self, comparisons: Comparisons, solver: Solver | list[Solver], starts: list[Start]) -> None:
        """Solve from every start and take over the best result."""
        loss = get_loss(self.loss, **(self.loss_params or {})).resolve(self.n_components)
        seen = np.flatnonzero(comparisons.seen)
        n_jobs = resolve_jobs(self.n_jobs)
        # Starts side by side use one thread each; a single start uses them all.
        compact = comparisons if len(seen) == comparisons.n_objects else renumbered(comparisons, seen)
        objective = LocalObjective(compact, loss, self.n_components, n_jobs if len(starts) == 1 else 1)
        generators = as_generator(self.random_state).spawn(len(starts))
        points = [start(rng)[seen] for start, rng in zip(starts, generators)]
        result = best_of_starts(objective, solver, points, generators, n_jobs, self.callbacks or (), self.verbose)
        self._take_over(result, loss, seen, comparisons.n_objects, comparisons.labels, comparisons.index.shape[1])
        self.comparisons_ = comparisons

    def _fit_from_file(self, path: Any, y: Any, sample_weight: Any, solver: Solver) -> BaseOrdinalEmbedding:
        """`fit`, with the comparisons read block by block."""
        if y is not None or sample_weight is not None:
            raise ValueError("fit: y and sample_weight go with comparisons in memory, not with a file")
        # By name: files are a layer above this one.
        source = importlib.import_module("nearer.io").open_index(path)
        loss = get_loss(self.loss, **(self.loss_params or {})).resolve(self.n_components)
        seen = source.seen(self.n_objects)
        _warn_unseen(seen)
        objective = StreamedObjective(source, loss, self.n_components, len(seen), self.n_jobs)
        n_init = 1 if not isinstance(self.init, str) else int(self.n_init)
        generators = as_generator(self.random_state).spawn(n_init)
        points = [self._starting_point(rng, (len(seen), int(self.n_components))) for rng in generators]
        # One start after the other: side by side they would read the file against each other.
        result = best_of_starts(objective, solver, points, generators, 1, self.callbacks or (), self.verbose)
        result = replace(result, embedding=result.embedding[seen])
        self._take_over(result, loss, np.flatnonzero(seen), len(seen), None, source.n_columns)
        if hasattr(self, "comparisons_"):
            del self.comparisons_  # of an earlier fit; those of this one stay in the file
        self.n_comparisons_at_start_ = source.n_comparisons
        return self

    def _fit_on_cluster(
        self, X: Any, y: Any, sample_weight: Any, solver: Solver, client: Any, checkpoint: Any, resume: Any
    ) -> BaseOrdinalEmbedding:
        """`fit`, with the objective on a Dask cluster."""
        # By name: the cluster is a layer above this one, and Dask is optional.
        cluster = importlib.import_module("nearer.distributed.fit")
        in_memory = not isinstance(X, (str, os.PathLike)) and not hasattr(X, "__dask_graph__")
        if in_memory:
            X, y, sample_weight = as_comparisons(X, y, sample_weight, self.n_objects), None, None
        loss = get_loss(self.loss, **(self.loss_params or {})).resolve(self.n_components)
        n_init = 1 if not isinstance(self.init, str) else int(self.n_init)
        solved = cluster.solve_on_cluster(
            X, y, sample_weight, client=client, solver=solver, loss=loss, n_components=int(self.n_components),
            n_objects=self.n_objects, starts=[self._starting_point] * n_init,
            generators=as_generator(self.random_state).spawn(n_init), callbacks=self.callbacks or (),
            verbose=self.verbose, checkpoint=checkpoint, resume=resume,
        )  # fmt: skip
        self._take_over(solved.result, loss, solved.seen, solved.n_all, solved.labels, solved.n_columns)
        if in_memory:
            self.comparisons_ = X
        elif hasattr(self, "comparisons_"):
            del self.comparisons_  # of an earlier fit; those of this one stay where they are
        self.n_comparisons_at_start_ = solved.n_comparisons
        return self

    def _take_over(
        self, result: Result, loss: Loss, seen: np.ndarray, n_objects: int, labels: np.ndarray | None, n_columns: int
    ) -> None:
        """Make a result over the objects `seen` this estimator's own."""
        embedding = np.full((n_objects, self.n_components), np.nan)
        embedding[seen] = result.embedding - result.embedding.mean(axis=0)
        self.embedding_ = embedding
        self.labels_ = labels
        self.n_objects_ = n_objects
        self.n_features_in_ = n_columns
        self.loss_ = loss
        self.result_ = result
        self.objective_ = result.objective
        self.n_iter_ = result.n_iter
        self.history_ = result.history

    def _starting_point(self, rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
        if not isinstance(self.init, str):
            X0 = np.asarray(self.init, dtype=float)
            if X0.shape != shape:
                raise ValueError(f"init has shape {X0.shape}, expected {shape}")
            return X0
        X0 = rng.normal(size=shape)
        if self.warm_start and hasattr(self, "embedding_") and self.embedding_.shape[1] == shape[1]:
            known = self.embedding_[: shape[0]]
            X0 *= np.nanstd(known)
            X0[: len(known)] = np.where(np.isnan(known), X0[: len(known)], known)
        return X0


def _warn_unseen(seen: np.ndarray, labels: np.ndarray | None = None) -> None:
    unseen = np.flatnonzero(~seen)
    if len(unseen):
        first = int(unseen[0])
        name = first if labels is None else repr(str(labels[first]))
        warnings.warn(
            f"{len(unseen):,} of {len(seen):,} objects occur in no comparison (first: {name}); "
            "their rows of embedding_ are NaN",
            stacklevel=3,
        )
