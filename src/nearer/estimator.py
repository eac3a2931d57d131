"""`OrdinalEmbedding`: comparisons in, a map out, as a scikit-learn estimator."""

from __future__ import annotations

import hashlib
import itertools
import os
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from nearer.auto_dimension import choose_components
from nearer.auto_loss import FIXED, choose_loss
from nearer.data import Comparisons, as_generator, check_bool, check_integer, check_numbers
from nearer.data.splits import shares_of_answers
from nearer.data.validate import check_objects
from nearer.drawing import ShownMap
from nearer.io.coerce import as_comparisons, is_named
from nearer.lapse_rates import Reliability, weigh_answers
from nearer.losses import Loss, loss_with
from nearer.metrics import WorstComparisons, comparison_accuracy, comparison_distances, worst_comparisons
from nearer.metrics.comparison import filled, on_labels, require_model
from nearer.metrics.procrustes import check_map, principal_axes
from nearer.model_file import save_model
from nearer.notebook import data_frame
from nearer.placement import Placement, extended, place_objects
from nearer.solvers import Auto, Callback, Result, Solver, get_solver
from nearer.solvers.checkpoint import Checkpoint
from nearer.solvers.multistart import TimeSpent, best_of_starts, is_over, keeping_start
from nearer.sources import Found, Source, in_memory, source_of
from nearer.warning_types import ConvergenceWarning, InputWarning, UnplacedObjectsWarning, UnseenObjectsWarning

__all__ = ["OrdinalEmbedding"]

_MOST_ROUNDS = 15  # EM steps that estimate lapse rates

# Makes a starting point of a shape (n_objects, n_components).
Start = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]


@dataclass(eq=False, repr=False)
class OrdinalEmbedding(ShownMap, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Place objects as points so that comparisons of their distances hold.

    Parameters
    ----------
    n_components : int or "auto", default 2
        Dimension of the map. "auto": chosen by held-out likelihood, see `nearer.auto_dimension`; it takes about
        ten times as long and needs the answers in memory.
    loss : str or Loss, default "auto"
        A name such as "ste", "tste" or "soe" (all: `nearer.losses.loss_names`), or an instance. "auto": ste or tste,
        with a lapse rate and, for the default solver, a ridge penalty, chosen on held-out answers, see
        `nearer.auto_loss`; it takes two to three times as long. For more than 10,000 objects, and where fewer than
        about 150 answers can be held out, it is tste without lapses.
    loss_params : dict of str to float, optional
        Parameters of the loss, such as ``{"alpha": 1}`` for tste, or a lapse rate, ``{"lapse": 0.1}``. None for "auto".
    solver : str or Solver, default "auto"
        A name such as "auto" or "lbfgs" (all: `nearer.solvers.solver_names`), or an instance with its own parameters,
        which ``set_params`` and searches reach as ``solver__max_epochs`` and the like.
    n_init : int, default 1
        Number of random starts, run in parallel; the best is kept, by its objective or, if the solver holds out
        comparisons, by its held-out error.
    init : "random" or array-like of float, shape (n_objects, n_components), default "random"
        Starting point. An array is used as it is, once.
    n_objects : int, optional
        Number of objects; default: as the comparisons state, or the highest index plus one.
    max_seconds : float, optional
        Time limit of a fit, including all starts and the estimation of lapse rates; the map found by then is kept.
    reliability : bool, default False
        Estimate the lapse rate of each participant together with the map, so that likely guesses get less weight; see
        `nearer.lapse_rates`. Needs comparisons in memory with participants, and one of the losses ckl, ste and tste.
    warm_start : bool, default False
        Start from the last `embedding_`; objects that are new since then start at random.
    callbacks : sequence of callable, optional
        Called as ``callback(row, state)`` after every epoch; a true return value stops the fit.
    n_jobs : int, optional
        Threads; None or -1 means all cores. The result does not depend on it.
    random_state : int, Generator or RandomState, optional
        Same seed, same bits.
    verbose : int, default 0
        1 shows progress on standard error about twice a second, 2 every epoch.

    Attributes
    ----------
    embedding_ : ndarray of float64, shape (n_objects, n_components)
        The map, on its principal axes, see `nearer.metrics.principal_axes`; NaN for objects in no comparison.
    labels_ : ndarray of str, shape (n_objects,), or None
    objective_ : float
        Weighted mean loss of the comparisons.
    reliability_ : Reliability or None
        Lapse rate of each participant, with ``reliability=True``.
    n_components_, n_objects_, n_iter_, n_features_in_ : int
        Dimensions, objects, epochs done, and columns of the comparisons (3 or 4).
    comparisons_ : Comparisons
        What the map was fitted to; after `partial_fit` merged and without participants. Not set if the comparisons
        stayed in a file or on a cluster.
    n_comparisons_at_start_ : int
        Comparisons at the last random start.
    history_ : History
        One row per epoch, including the epochs of estimating lapse rates.
    result_ : Result
        What the solver returned; its embedding is not centred or rotated, and has no rows of NaN.
    loss_ : Loss
        With its parameters resolved: ``loss_.lapse`` is the lapse rate of ckl, ste and tste.
    penalty_, scale_ : float or None, float
        The ridge penalty that was chosen with the loss, and what the map was multiplied by, see `nearer.solvers.Auto`.
    """

    n_components: int | str = 2
    _: KW_ONLY
    loss: str | Loss = "auto"
    loss_params: dict[str, float] | None = None
    solver: str | Solver = "auto"
    n_init: int = 1
    init: Any = "random"
    n_objects: int | None = None
    max_seconds: float | None = None
    reliability: bool = False
    warm_start: bool = False
    callbacks: Sequence[Callback] | None = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    comparisons_: Comparisons = field(init=False)
    reliability_: Reliability | None = field(init=False)

    def set_params(self, **params: Any) -> OrdinalEmbedding:
        """Change parameters by name; parameters of the solver are ``solver__max_epochs`` and the like.

        If the solver is a name, setting its parameters makes it an instance.
        """
        if any(name.startswith("solver__") for name in params):
            params["solver"] = get_solver(params.get("solver", self.solver))
        return super().set_params(**params)

    # ---- fitting ---------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        client: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        resume: bool = False,
    ) -> OrdinalEmbedding:
        """Find the map.

        Parameters
        ----------
        X : Comparisons, array-like of int of shape (N, 3) or (N, 4), table, or path-like
            Rows anchor, near, far, or i, j, l, k for d(i, j) < d(l, k). Tables and files are read as by
            `nearer.read_comparisons`, which also takes a layout; .npy and Parquet (a file, folder or pattern) are read
            block by block in every pass and never held in memory. On a cluster also a Dask array or dataframe; without
            `client` those are fitted on the current Dask client, or on workers on this machine.
        y : array-like, shape (N,) or (N, 2), optional
            Answers to X taken as questions, as in `Comparisons.from_answers`: +1 or True means X is right as it stands,
            -1 or False the opposite. In a table the questions are anchor, a, b: +1 means a. Not for a file.
        sample_weight : array-like of float, shape (N,), optional
            Not for a file, which may have a column of weights.
        client : distributed.Client or str, optional
            Fit on this Dask cluster; an address is such as "tcp://host:8786" or "local:4". Needs the extra
            ``nearer[dask]``.
        checkpoint : path-like, optional
            File from which the fit can be resumed after the last epoch. It is kept when the fit is done.
        resume : bool, default False
            Go on from `checkpoint` if that file exists; the end is the same, bit for bit, as without a break. It is
            refused if it is of other data or other parameters; `max_seconds`, `max_epochs` and `n_jobs` may change.
        """
        solver = self._checked_solver()
        check_bool(resume, "resume")
        if resume and checkpoint is None:
            raise ValueError("resume: got True without checkpoint, expected the file to resume from as checkpoint")
        saved = None if checkpoint is None else Checkpoint(checkpoint, resume)
        given_start = not isinstance(self.init, str)
        if given_start or (self.warm_start and hasattr(self, "embedding_")):
            solver = keeping_start(solver)
        held, source = source_of(X, y, sample_weight, self.n_objects, client, saved)
        if self.reliability and (client is not None or held is None or held.people is None):
            what = "comparisons in memory, with participants, and no client"
            raise ValueError(f"reliability: who gave the answers is not known; give {what}")
        spent = TimeSpent()
        d = self._dimension(held, saved)
        loss = self._forget_choice()
        n_init = 1 if given_start else int(self.n_init)
        # Starts are made after the objective has checked that they fit into memory.
        starts = itertools.repeat(self._starting_point)
        found = self._solve(source, loss, d, n_init, solver, starts, saved, spent)
        self.n_comparisons_at_start_ = int(found.n_comparisons)
        _warn_unseen(found)
        if self.reliability and held is not None:
            self._estimate_lapse_rates(held, keeping_start(solver), spent)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> OrdinalEmbedding:
        """Take in further comparisons, which may name new objects; without an earlier fit, the same as `fit`.

        The map is solved again for these and the earlier comparisons, which are kept in `comparisons_`. It starts from
        where it is, with new objects first placed as by `place`. Once there are twice as many comparisons as at the
        last random start, ``loss="auto"`` chooses again, and `n_init` new random starts compete with it: a map of few
        answers may be a local minimum.

        Parameters
        ----------
        X, y, sample_weight : Any
            As in `fit`, in memory. New objects have labels if the map has labels, else numbers from `n_objects_` on.
        """
        if not hasattr(self, "embedding_"):
            return self.fit(X, y, sample_weight)
        solver = self._checked_solver()
        if self.reliability:
            raise ValueError("partial_fit: who gave earlier answers is not kept, so reliability=True needs fit")
        self._require_comparisons("partial_fit", "it cannot be fitted further")
        if self.n_components not in ("auto", self.n_components_):
            raise ValueError(f"n_components: got {self.n_components}, expected {self.n_components_}, as in the map")
        further = self.comparisons_on_map(X, y, sample_weight)
        self._refuse_nameless(further, "partial_fit")
        comparisons = _joined(self.comparisons_, further)
        if self.n_objects is not None and comparisons.n_objects > self.n_objects:
            raise ValueError(f"n_objects: got comparisons over {comparisons.n_objects:,}, expected {self.n_objects:,}")
        present = self.loss_
        starts: list[Start] = [lambda rng, shape: extended(self.embedding_, further, present, shape, rng, self.n_jobs)]
        begins_again = len(comparisons) >= 2 * self.n_comparisons_at_start_
        loss: Loss | None = self.loss_
        if begins_again:
            loss = self._forget_choice()
            starts += [lambda rng, shape: rng.normal(size=shape)] * int(self.n_init)
            self.n_comparisons_at_start_ = len(comparisons)
        solvers = [keeping_start(solver), *[solver] * (len(starts) - 1)]
        found = self._solve(partial(in_memory, comparisons), loss, self.n_components_, len(starts), solvers, starts)
        _warn_unseen(found)
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
            Usually ends in ``.nearer``.
        force : bool, default False
            Replace an existing file.
        feature_map : FeatureMap, optional
            Saved in the same file, found again as ``feature_map_``; default: the ``feature_map_`` of a loaded model.
        with_comparisons : bool, default True
            Also save the comparisons, which `partial_fit` needs.
        """
        save_model(self, path, force, feature_map, with_comparisons)

    @classmethod
    def from_embedding(
        cls, X: Any, labels: Any = None, loss: str | Loss | None = None, **parameters: Any
    ) -> OrdinalEmbedding:
        """Return an estimator with a map that is known already.

        Parameters
        ----------
        X : array-like of float, shape (n_objects, n_components)
            The map, kept as it is; a row of NaN is an object without a position.
        labels : sequence of str, shape (n_objects,), optional
        loss : str or Loss, optional
            The loss that the map was made with, which `predict_proba` and `place` need.
        **parameters : Any
            Other parameters of the estimator.
        """
        embedding = check_map(X, "X").copy()
        _, names = check_objects(len(embedding), labels)
        if loss is not None:
            parameters["loss"] = loss
        estimator = cls(embedding.shape[1], **parameters)
        if loss is not None:
            loss = loss_with(loss, estimator.loss_params).resolve(embedding.shape[1])
        set_map(estimator, embedding, names, loss)
        return estimator

    # ---- the fitted map --------------------------------------------------------------------------------------------

    def transform(self, X: Any = None) -> Any:
        """Return the map (n_objects, n_components), in the form chosen by `set_output`; X is ignored."""
        check_is_fitted(self, "embedding_")
        chosen = getattr(self, "_sklearn_output_config", {}).get("transform")
        form = chosen or get_config()["transform_output"]
        if form == "pandas":
            return self.to_frame()
        if form == "polars":
            import polars as pl

            return pl.DataFrame(self.embedding_, schema=list(self.get_feature_names_out()))
        return self.embedding_

    def set_output(self, *, transform: str | None = None) -> OrdinalEmbedding:
        """Choose what `transform` and `fit_transform` return: "default" is an array, "pandas" a frame as by `to_frame`.

        "polars" is possible too; None changes nothing. scikit-learn's own method would give the map the index of X.
        """
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}
        return self

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the coordinates, x1, x2, ..., as an array (n_components,); the argument is ignored."""
        return np.array([f"x{c + 1}" for c in range(self.n_components_)], dtype=object)

    def to_frame(self) -> Any:
        """Return the map as a pandas DataFrame: columns x1, x2, ..., indexed by label, or by number without labels."""
        return data_frame(self.embedding_, index=self.labels_, columns=self.get_feature_names_out())

    def predict(self, X: Any) -> np.ndarray:
        """Predict whether each comparison holds on the map, bool (N,); X is as in `fit`.

        False for ties and, with a warning, for comparisons with an object without a position.
        """
        near, far = comparison_distances(*self._placed(X, None, None, "False is predicted for them"))
        return near < far

    @available_if(lambda self: self.has_model)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities (N, 2) of "far is nearer" and "near is nearer" under the model of the loss.

        Only for losses that are probability models: ckl, ste and tste. X is as in `fit`; 1/2, with a warning, for
        comparisons with an object without a position.
        """
        self._require_loss("predict_proba")
        near, far = comparison_distances(*self._placed(X, None, None, "their probability is given as 1/2"))
        yes = np.nan_to_num(self.loss_.probability(near, far), nan=0.5)
        return np.column_stack([1.0 - yes, yes])

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the (weighted) fraction of comparisons that the map satisfies; X, y and sample_weight are as in `fit`.

        Comparisons with an object without a position count as not satisfied, with a warning.
        """
        return comparison_accuracy(*self._placed(X, y, sample_weight, "they count as not satisfied"))

    def worst_comparisons(
        self, n: int = 20, X: Any = None, y: Any = None, sample_weight: Any = None
    ) -> WorstComparisons:
        """Return the comparisons that the map violates most, at most `n`, the largest difference of distances first.

        X, y and sample_weight are as in `fit`; by default the comparisons that the map was fitted to.
        """
        check_is_fitted(self, "embedding_")
        if X is None:
            self._require_comparisons("worst_comparisons", "they have to be given as X")
            return worst_comparisons(self.embedding_, self.comparisons_, n)
        return worst_comparisons(*self._placed(X, y, sample_weight), n)

    def place(self, X: Any, y: Any = None, sample_weight: Any = None, *, n_init: int = 8) -> Placement:
        """Find places for objects that are not on the map; the map itself stays as it is.

        Parameters
        ----------
        X, y, sample_weight : Any
            As in `fit`: comparisons of new objects with known ones or with each other. New objects have labels if
            the map has labels, else numbers from `n_objects_` on. Comparisons of known objects alone are left out.
        n_init : int, default 8
            Number of starting positions; the best is kept for each group of new objects compared with each other.
        """
        self._require_loss("place")
        embedding, comparisons = self._placed(X, y, sample_weight)
        self._refuse_nameless(comparisons, "place")
        rng = as_generator(self.random_state)
        return place_objects(embedding, comparisons, self.loss_, n_init=n_init, rng=rng, n_jobs=self.n_jobs)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    # ---- how a fit goes --------------------------------------------------------------------------------------------

    def _checked_solver(self) -> Solver:
        """The solver that the parameters describe; wrong parameters are refused before any data are read."""
        loss = FIXED.loss if self._loss_is_open() else loss_with(self.loss, self.loss_params)
        if not isinstance(self.n_components, str):
            check_integer(self.n_components, "n_components", 1)
        elif self.n_components != "auto":
            raise ValueError(f"n_components: got {self.n_components!r}, expected a number >= 1 or 'auto'")
        elif not isinstance(self.init, str):
            raise ValueError("n_components: got 'auto' and a starting point in init, which fixes the dimension")
        check_integer(self.n_init, "n_init", 1)
        if isinstance(self.init, str) and self.init != "random":
            raise ValueError(f"init: got {self.init!r}, expected 'random' or an array (n_objects, n_components)")
        for name in ("reliability", "warm_start"):
            check_bool(getattr(self, name), name)
        given = self.callbacks
        if given is not None and not (isinstance(given, Sequence) and all(map(callable, given))):
            raise ValueError(f"callbacks: got {given!r}, expected a list of functions")
        if self.reliability:
            require_model(loss, "reliability")
            if lapse := getattr(loss, "lapse", 0.0):
                what = "the lapse rate of each participant is estimated instead"
                raise ValueError(f"reliability: got True and a loss with lapse = {lapse:g}, expected lapse = 0: {what}")
        solver = get_solver(self.solver)
        solver = solver if self.max_seconds is None else replace(solver, max_seconds=self.max_seconds)
        solver.check_parameters()
        return solver

    def _dimension(self, comparisons: Comparisons | None, checkpoint: Checkpoint | None) -> int:
        """The number of dimensions; "auto": as in the fit to resume, or chosen from comparisons in memory."""
        if not isinstance(self.n_components, str):
            return int(self.n_components)
        if checkpoint is not None and checkpoint.found:
            return int(checkpoint.about["n_components"])
        if comparisons is None:
            raise ValueError("n_components: got 'auto', which needs the comparisons in memory; give a number")
        return choose_components(comparisons, as_generator(self.random_state))

    @property
    def has_model(self) -> bool:
        """Whether the loss is a probability model, so that `predict_proba` exists."""
        return self._loss_is_open() or loss_with(self.loss, self.loss_params).has_model

    def _loss_is_open(self) -> bool:
        """Whether a loss is to be chosen."""
        is_open = isinstance(self.loss, str) and self.loss == "auto"
        if is_open and self.loss_params:
            raise ValueError(f"loss_params: got {self.loss_params!r} and loss='auto', which has none; name the loss")
        return is_open

    def _forget_choice(self) -> Loss | None:
        """The loss that is named; None if it is to be chosen."""
        self.penalty_, self.scale_ = FIXED.penalty, FIXED.scale
        return None if self._loss_is_open() else loss_with(self.loss, self.loss_params)

    def _choose(self, objective: Any, n_seen: int) -> Any:
        """The objective with a loss that is chosen; the penalty chosen with it is for a solver that has none."""
        chosen = choose_loss(objective, n_seen, self.n_jobs)
        solver = get_solver(self.solver)
        if isinstance(solver, Auto) and solver.penalty is None:
            self.penalty_, self.scale_ = chosen.penalty, chosen.scale
        loss = chosen.loss.with_lapse(0.0) if self.reliability else chosen.loss
        return objective.with_loss(loss, objective.n_components)

    def _penalised(self, solver: Solver) -> Solver:
        """The solver with the penalty that was chosen with the loss, if one was."""
        return solver if self.penalty_ is None else replace(solver, penalty=self.penalty_, scale=self.scale_)  # type: ignore[call-arg]

    def _solve(
        self,
        source: Source,
        loss: Loss | None,
        n_components: int,
        n_starts: int,
        solver: Solver | Sequence[Solver],
        starts: Iterable[Start],
        checkpoint: Checkpoint | None = None,
        spent: TimeSpent | None = None,
    ) -> Found:
        """Solve from every start, with one solver or one for each, and keep the best result; no loss: choose one."""
        with source(loss or FIXED.loss, n_components, self.n_jobs, n_starts) as (objective, found):
            if loss is None:
                started = time.monotonic()
                objective = self._choose(objective, int(found.seen.sum()))
                if spent is not None:
                    spent.seconds += time.monotonic() - started
            solver = self._penalised(solver) if isinstance(solver, Solver) else list(map(self._penalised, solver))
            shape = (len(found.seen), n_components)
            generators = as_generator(self.random_state).spawn(n_starts)
            points = [start(rng, shape)[found.rows] for start, rng in zip(starts, generators)]
            if checkpoint is not None:
                assert isinstance(solver, Solver)
                seed = self.random_state
                digest = hashlib.sha256(points[0].tobytes()).hexdigest()[:12]
                others = {
                    "random_state": str(seed) if isinstance(seed, int | np.integer | None) else type(seed).__name__,
                    "init": "random" if isinstance(self.init, str) else f"an array ({digest})",
                }
                points = checkpoint.begin(objective, solver, points, generators, others)
            result = best_of_starts(
                objective, solver, points, generators, found.n_parallel, self.callbacks or (), self.verbose,
                checkpoint, spent,
            )  # fmt: skip
        if result.trouble:
            warnings.warn(
                f"the map is not reliable: {result.trouble}; try a smaller step, other starting points or "
                "solver='auto'",
                ConvergenceWarning,
                stacklevel=3,
            )
        result = replace(result, embedding=result.embedding[found.seen[found.rows]])
        embedding = np.full(shape, np.nan)
        embedding[found.seen] = principal_axes(result.embedding)
        set_map(self, embedding, found.labels, objective.loss)
        set_result(self, result, found.n_columns)
        self.__dict__.pop("comparisons_", None)  # of an earlier fit
        if found.comparisons is not None:
            self.comparisons_ = found.comparisons
        return found

    def _estimate_lapse_rates(self, comparisons: Comparisons, solver: Solver, spent: TimeSpent) -> None:
        """Estimate the lapse rates given the map and the map given the lapse rates, in turn."""
        assert comparisons.people is not None
        shares, n_columns, rates = shares_of_answers(comparisons), comparisons.index.shape[1], None
        for _ in range(_MOST_ROUNDS):
            before, earlier = rates, self.result_
            chance = self.loss_.probability(*comparison_distances(self.embedding_, comparisons))
            weights, rates = weigh_answers(chance, comparisons.people, comparisons.weights, shares)
            if rates.settled(before):
                break
            if is_over(solver, spent.seconds):
                message = f"stopped: reached max_seconds = {solver.max_seconds:g}"
                set_result(self, replace(earlier, converged=False, message=message), n_columns)
                break
            weighted = partial(in_memory, comparisons.replaced(weights=np.maximum(weights, 1e-12)))
            starts = [lambda rng, shape: np.nan_to_num(self.embedding_)]
            self._solve(weighted, self.loss_, self.n_components_, 1, solver, starts, spent=spent)
            set_result(self, self.result_.after(earlier), n_columns)
        self.reliability_, self.comparisons_ = rates, comparisons

    def _starting_point(self, rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
        if not isinstance(self.init, str):
            X0 = check_numbers(self.init, "init")
            if X0.shape != shape:
                raise ValueError(f"init: got shape {X0.shape}, expected {shape}")
            return X0
        X0 = rng.normal(size=shape)
        if self.warm_start and hasattr(self, "embedding_") and self.embedding_.shape[1] == shape[1]:
            known = self.embedding_[: shape[0]]
            X0 *= np.nanstd(known)
            X0[: len(known)] = np.where(np.isnan(known), X0[: len(known)], known)
        return X0

    def comparisons_on_map(self, X: Any, y: Any = None, sample_weight: Any = None) -> Comparisons:
        """Return comparisons (X, y and sample_weight as in `fit`) with their objects numbered as on the map.

        Objects that are not on the map follow those that are: their numbers start at `n_objects_`. Numbers in an array
        are rows of the map; those in a table are labels, if the map has some.
        """
        check_is_fitted(self, "embedding_")
        comparisons = on_labels(as_comparisons(X, y, sample_weight), self.labels_, is_named(X))
        if not comparisons.seen[: self.n_objects_].any():
            found = f"none of the objects compared, {int(comparisons.seen.sum()):,} in all, is on the map"
            warnings.warn(found, InputWarning, stacklevel=3)
        return comparisons

    def _placed(self, X: Any, y: Any, sample_weight: Any, consequence: str = "") -> tuple[np.ndarray, Comparisons]:
        """The map, with rows of NaN for objects that it lacks, and X as comparisons of its rows.

        If comparisons name an object without a position, a warning states the `consequence`, if given.
        """
        comparisons = self.comparisons_on_map(X, y, sample_weight)
        embedding = filled(self.embedding_, comparisons.n_objects)
        unplaced = np.isnan(embedding).any(axis=1)
        if consequence and (n := int(unplaced[comparisons.index].any(axis=1).sum())):
            found = f"{n:,} of {len(comparisons):,} comparisons name an object without a place on the map"
            warnings.warn(f"{found}; {consequence}", UnplacedObjectsWarning, stacklevel=3)
        return embedding, comparisons

    def _refuse_nameless(self, comparisons: Comparisons, what: str) -> None:
        if self.labels_ is not None and comparisons.labels is None and comparisons.n_objects > self.n_objects_:
            raise ValueError(
                f"{what}: object {comparisons.n_objects - 1} is not on the map, whose {self.n_objects_:,} objects have "
                "labels; give comparisons with labels, so that new objects have a name"
            )

    def _require_loss(self, what: str) -> None:
        check_is_fitted(self, "embedding_")
        if not hasattr(self, "loss_"):
            raise ValueError(f"{what}: the loss of the map is not known; give it to from_embedding")

    def _require_comparisons(self, what: str, otherwise: str) -> None:
        if not hasattr(self, "comparisons_"):
            where = "not saved with it, or in a file or on a cluster"
            raise ValueError(f"{what}: the map comes without its comparisons ({where}), so {otherwise}")


def set_map(estimator: OrdinalEmbedding, embedding: np.ndarray, labels: np.ndarray | None, loss: Loss | None) -> None:
    """Set the map of an estimator; the loss is None if it is not known."""
    estimator.embedding_, estimator.labels_ = embedding, labels
    estimator.n_objects_, estimator.n_components_ = embedding.shape
    estimator.reliability_ = None
    if loss is not None:
        estimator.loss_ = loss


def set_result(estimator: OrdinalEmbedding, result: Result, n_columns: int) -> None:
    """Set the attributes that follow from what the solver returned."""
    estimator.result_ = result
    estimator.n_iter_ = result.n_iter
    estimator.history_ = result.history
    estimator.objective_ = result.objective
    estimator.n_features_in_ = n_columns


def _joined(earlier: Comparisons, further: Comparisons) -> Comparisons:
    """Earlier and further comparisons together, equal rows merged; quadruplets if either has them.

    The further comparisons must number the earlier objects first, in the same order.
    """
    kinds = {earlier.kind, further.kind}
    n_objects = max(earlier.n_objects, further.n_objects)
    labels = earlier.labels if further.labels is None else further.labels
    parts = []
    for part in (earlier, further):
        index = part.index if len(kinds) == 1 else part.quadruplets()
        parts.append(Comparisons(index, n_objects, part.weights, labels))
    return Comparisons.concat(parts).aggregate()


def _warn_unseen(found: Found) -> None:
    unseen = np.flatnonzero(~found.seen)
    if len(unseen):
        first = int(unseen[0])
        name = first if found.labels is None else repr(str(found.labels[first]))
        warnings.warn(
            f"{len(unseen):,} of {len(found.seen):,} objects occur in no comparison (first: {name}); "
            "their rows of embedding_ are NaN",
            UnseenObjectsWarning,
            stacklevel=3,
        )
