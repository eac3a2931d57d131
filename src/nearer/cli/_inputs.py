"""What commands are given: options that several of them share, files of answers, maps made before, and side tables.

An option is called as the parameter of the library that it sets.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

import nearer
from nearer import registry
from nearer.cli._output import Say, finish_moving
from nearer.warning_types import InputWarning

if TYPE_CHECKING:
    import numpy as np

    from nearer.io import ReadResult

MODEL = "model.nearer"
FORMATS = ("table", "csv", "tsv", "json", "jsonl", "parquet", "numpy", "matlab", "excel")
KINDS = ("triplets", "quadruplets", "answers", "votes", "odd-one-out", "most-central", "rankings")
_DROP_OR_RAISE = click.Choice(["drop", "raise"])


def dimensions(value: str) -> tuple[int, ...]:
    """Type of an option: dimensions to try, ascending, from "1-6" or "2,3,5"."""
    found: set[int] = set()
    for part in value.split(","):
        first, _, last = part.strip().partition("-")
        if not first.isdecimal() or not (last or first).isdecimal() or not 1 <= int(first) <= int(last or first):
            raise click.BadParameter(f"got {value!r}, expected dimensions such as 1-6 or 2,3,5")
        found.update(range(int(first), int(last or first) + 1))
    return tuple(sorted(found))


MAP = click.argument("map_path", metavar="MAP", type=click.Path())
FORCE = click.option("--force", is_flag=True, is_eager=True, help="Replace files that exist.")
GROUPS = click.option("--groups", type=click.Path(), help="Table with the columns label, group; colours the map.")
IMAGES = click.option(
    "--images", type=click.Path(exists=True, file_okay=False), help="Folder of pictures named as the labels."
)
LOSS_OF_COORDINATES = click.option(
    "--loss", type=click.Choice(registry.names(registry.LOSSES)), help="For coordinates alone: the loss they come from."
)
CV_BY = click.option(
    "--cv-by", type=click.Choice(("question", "participant")), default="question", show_default=True,
    help="What stays together in cross-validation: all answers to a question, or all of a person.",
)  # fmt: skip
N_JOBS = click.option("--n-jobs", type=int, help="Threads; all cores if not given.")
RANDOM_STATE = click.option(
    "--random-state", type=click.IntRange(0), default=0, show_default=True, help="Seed: same number, same result."
)

_READING = (
    click.option("--format", type=click.Choice(FORMATS), help="Format of the file, if its name does not tell."),
    click.option("--kind", type=click.Choice(KINDS), help="What a row is, if the columns do not tell."),
    click.option(
        "--columns", metavar="ROLE=NAME,...", help="Which column is what: anchor=head,near=winner,far=loser."
    ),
    click.option("--delimiter", help="One character, 'tab' or 'whitespace'."),
    click.option("--header/--no-header", default=None, help="Whether the first line holds names of columns."),
    click.option("--weight", metavar="COLUMN", help="Column of weights; '' for none."),
    click.option("--participant", metavar="COLUMN", help="Column of who answered; '' for none."),
    click.option(
        "--answers", metavar="HOW",
        help="What an answer says: f=a,j=b,equal=skip, or one of object, sign, bool, index0, index1.",
    ),
    click.option("--n-objects", type=int, metavar="N", help="Objects are 0 to N - 1, also those left out."),
    click.option("--index-base", type=click.IntRange(0, 1), help="Objects are counted from 0 or from 1."),
    click.option("--encoding", help="Of a text file; UTF-8 if not given."),
    click.option("--variable", metavar="NAME", help="The array of a .npz, .mat or .json file, or the sheet, to read."),
    click.option(
        "--on-degenerate", type=_DROP_OR_RAISE, default="drop", show_default=True,
        help="Rows that compare an object with itself: leave out and count, or refuse the file.",
    ),
    click.option(
        "--on-missing", type=_DROP_OR_RAISE, default="raise", show_default=True, help="The same for missing cells."
    ),
    click.option("--keep-na", is_flag=True, help="Take NA, None, null and the like as names, not as missing."),
    click.option("--fold-names", is_flag=True, help="Join names that differ only by case, blanks or form."),
)  # fmt: skip

_FITTING = (
    click.option(
        "--loss", type=click.Choice(registry.names(registry.LOSSES)), default="tste", show_default=True,
        help="What is minimised.",
    ),
    click.option("--alpha", type=float, help="Degrees of freedom of tste.  [default: n_components - 1, at least 1]"),
    click.option("--delta", type=float, help="Regularisation of ckl.  [default: 0.05]"),
    click.option("--solver", type=click.Choice(list(registry.SOLVERS)), default="auto", show_default=True, help="How."),
    click.option(
        "--n-init", type=click.IntRange(1), default=1, show_default=True, help="Random starts; the best is kept."
    ),
    RANDOM_STATE,
    click.option("--max-seconds", type=click.FloatRange(0, min_open=True), help="Time limit of the fit."),
    click.option("--max-epochs", type=click.IntRange(1), help="Most epochs of each start."),
    click.option("--tol", type=click.FloatRange(0), help="Precision at which the solver stops; 0: never."),
    N_JOBS,
    click.option("--reliability", is_flag=True, help="Weigh answers by how often each participant seems to guess."),
)  # fmt: skip


def _gathered(options: tuple, into: str) -> Callable[[Callable], Callable]:
    """A decorator that adds options to a command, which gets them as one dict."""
    holder = click.Command(into)
    for option in options:
        option(holder)
    names = [str(parameter.name) for parameter in holder.params]

    def decorate(function: Callable) -> Callable:
        @functools.wraps(function)
        def gathering(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **{into: {name: kwargs.pop(name) for name in names}}, **kwargs)

        for option in reversed(options):
            gathering = option(gathering)
        return gathering

    return decorate


reading_options = _gathered(_READING, "reading")
"""Adds how to read a file; the command gets a dict `reading`, keywords of `nearer.io.read_comparisons`."""

fitting_options = _gathered(_FITTING, "fitting")
"""Adds what to fit and how; the command gets a dict `fitting` for `make_estimator`."""


def were_given(names: Iterable[str]) -> list[str]:
    """Which options of a command were given, of those that set some parameters, as the user would write them."""
    ctx = click.get_current_context()
    return [
        max(parameter.opts, key=len)
        for parameter in ctx.command.params
        if parameter.name in names and ctx.get_parameter_source(parameter.name) is not ParameterSource.DEFAULT
    ]


def refuse_given(names: Iterable[str], why: str) -> None:
    """Refuse options that were given where nothing would come of them."""
    for option in were_given(names):
        raise click.UsageError(f"{option}: {why}")


def read_answers(say: Say, path: str, reading: dict[str, Any]) -> ReadResult:
    """Read a file of answers, and say what was understood."""
    from nearer.io import read_comparisons

    with contextlib.suppress(ImportError):
        import pandas  # noqa: F401  pyarrow loads it where it is installed, and swallows a ctrl-C that comes meanwhile
    result = read_comparisons(path, **reading)
    say.note(result.understood.removesuffix("; " + "; ".join(result.alarms)))
    for alarm in result.alarms:  # said of even if quiet
        warnings.warn(f"{result.path}: {alarm}", stacklevel=2)
    return result


def make_estimator(
    fitting: dict[str, Any], n_components: int | str = 2, callbacks: Any = None
) -> nearer.OrdinalEmbedding:
    """Make the estimator that the options gathered by `fitting_options` describe."""
    from nearer.losses import get_loss
    from nearer.solvers import get_solver

    loss_params = {name: fitting[name] for name in ("alpha", "delta") if fitting[name] is not None}
    get_loss(fitting["loss"], **loss_params)  # refuse a parameter that the loss does not have before any work
    limits = {name: fitting[name] for name in ("max_epochs", "tol") if fitting[name] is not None}
    return nearer.OrdinalEmbedding(
        n_components,
        loss=fitting["loss"],
        loss_params=loss_params or None,
        solver=replace(get_solver(fitting["solver"]), **limits) if limits else fitting["solver"],
        callbacks=callbacks,
        **{name: fitting[name] for name in ("n_init", "max_seconds", "n_jobs", "random_state", "reliability")},
    )


def open_map(path: str, loss: str | None = None) -> nearer.OrdinalEmbedding:
    """Open a fitted map: a model file, embedding.csv, or the folder that `nearer fit` wrote.

    `loss` is for coordinates alone, which do not say what loss they come from.
    """
    file = Path(path)
    if file.is_dir():
        finish_moving(file)
        there = [file / name for name in (MODEL, "embedding.csv") if (file / name).is_file()]
        if not there:
            raise ValueError(
                f"{path}: got a folder with neither {MODEL} nor embedding.csv, expected what nearer fit wrote"
            )
        file = there[0]
    if not file.exists():
        raise ValueError(f"{path}: no such file")
    if file.suffix.lower() != ".csv":
        if loss is not None:
            raise ValueError(f"{path}: knows its loss; --loss is for coordinates alone")
        return nearer.load(file)
    import numpy as np

    from nearer.io import read_embedding
    from nearer.losses import get_loss

    embedding, labels = read_embedding(str(file))
    if not np.isfinite(embedding).all(axis=1).any():
        raise ValueError(f"{file}: got no object with a place, expected a map")
    model = nearer.OrdinalEmbedding(embedding.shape[1], loss=loss or "tste")
    model.embedding_, model.labels_, model.n_objects_ = embedding, labels, len(embedding)
    if loss is not None:
        model.loss_ = get_loss(loss).resolve(embedding.shape[1])
    return model


def as_names(labels: np.ndarray | None, n_objects: int) -> np.ndarray:
    """Labels, str (n_objects,), or numbers where there are none."""
    import numpy as np

    return np.arange(n_objects).astype(str) if labels is None else np.asarray(labels)


def read_for_map(say: Say, path: str, reading: dict[str, Any], model: nearer.OrdinalEmbedding) -> nearer.Comparisons:
    """Read answers about the objects of a map; both must call them by names, or both by numbers."""
    found = read_answers(say, path, reading).comparisons
    own, on_map = found.labels, model.labels_
    if on_map is None:
        if own is not None and not _are_numbers(own):
            raise ValueError(f"{path}: names its objects, such as {str(own[0])!r}, but the map has numbers only")
        return found
    if own is None:
        if not _are_numbers(on_map):
            raise ValueError(f"{path}: calls its objects by numbers, but the map by names, such as {str(on_map[0])!r}")
        return found.relabelled(on_map)
    if not reading["fold_names"]:
        return found
    from nearer.data.doubts import told_alike, told_otherwise, written_otherwise
    from nearer.data.values import check_objects

    doubt = told_alike(on_map)
    if doubt:
        raise ValueError(f"{path}: names cannot be folded onto this map, which has {doubt}")
    other = written_otherwise(own, on_map)
    if not other:
        return found
    say.note(f"{path}: {told_otherwise(own, on_map)}; joined")
    _, labels = check_objects(None, [other.get(label, label) for label in own.tolist()])
    return found._with(labels=labels)


def _are_numbers(labels: Any) -> bool:
    return all(str(label).isdecimal() for label in labels)


def read_groups(say: Say, path: str | None, on_map: np.ndarray) -> list[str] | None:
    """The group of each object of a map, "" for none, from a table of names and groups; what does not match is told."""
    if path is None:
        return None
    from nearer.data.errors import listed, shown
    from nearer.io.objects import WORDS, read_objects, rows_on_map

    table = read_objects(path, WORDS, on_map.tolist())
    words, column = table.words(empty=True)
    say.note(table.understood([column]))
    names = table.labels
    rows = rows_on_map(path, names, on_map)
    strange = names[rows < 0].tolist()
    if len(strange) == len(names):
        raise ValueError(
            f"{path}: got objects such as {shown(strange[0])}, expected those of the map: {str(on_map[0])!r}"
        )
    group_of = dict(zip(rows.tolist(), words))
    groups = [group_of.get(row, "") for row in range(len(on_map))]
    if not any(groups):
        raise ValueError(f"{path}: got no group for any object of the map, expected one for some of them")
    told = []
    if strange:
        told.append(f"{len(strange):,} of {len(names):,} names are not on the map: {listed(map(shown, strange), 5)}")
    without = [label for label, group in zip(on_map.tolist(), groups) if not group]
    if without:
        told.append(f"{len(without):,} of {len(on_map):,} objects have no group: {listed(map(shown, without), 5)}")
    if told:
        warnings.warn(f"{path}: {'; '.join(told)}", stacklevel=2)
    return groups


def read_summary(map_path: str, model: nearer.OrdinalEmbedding) -> dict[str, Any]:
    """What stands in the summary.json beside a map, with `cross_validation` as a CrossValidation; {} without one.

    A summary of another map, which lies beside this one because the model file was replaced or brought there, is left
    alone, with a warning.
    """
    from nearer.reporting import CrossValidation

    path = Path(map_path)
    file = (path if path.is_dir() else path.parent) / "summary.json"
    if path.suffix.lower() == ".csv" or not file.is_file():
        return {}
    try:
        summary = json.loads(file.read_text(encoding="utf-8"))
        told = summary["result"]
        if "map" in told:
            is_other = told["map"] != fingerprint(model)
        else:  # written before it told this
            is_other = told["objective"] != getattr(model, "objective_", told["objective"])
        if is_other:
            told = f"{file}: describes another map than {map_path}, and is ignored"
            warnings.warn(told, InputWarning, stacklevel=2)
            return {}
        if summary["cross_validation"] is not None:
            summary["cross_validation"] = CrossValidation(**summary["cross_validation"])
        return summary
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{file}: is not a summary of nearer fit: {error}") from error


def fingerprint(model: nearer.OrdinalEmbedding) -> str:
    """A short text that tells a map from all others, by its coordinates to the bit."""
    import numpy as np

    X = np.asarray(model.embedding_, dtype="<f8")
    return hashlib.sha256(np.where(np.isnan(X), np.nan, X).tobytes()).hexdigest()[:16]


def read_numbers(say: Say, path: str, on_map: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray | None]:
    """Numbers (n_objects, n_columns) and labels, or None, from .npy or a table; `on_map` are names to look for."""
    from nearer.io.objects import read_objects

    if path.lower().endswith(".npy"):
        return _npy(path), None
    table = read_objects(path, known=None if on_map is None else on_map.tolist())
    values = table.numbers()
    say.note(table.understood())
    return values, None if table.names_at is None else table.labels


def read_distances(path: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Distances (n, n) and labels from a table with them in the first row, and in the first column or not; or .npy."""
    from nearer.data.cells import number_in
    from nearer.io import objects

    if path.lower().endswith(".npy"):
        return _npy(path), None
    cells = objects.read_cells(path)
    titles, below = [cell.strip() for cell in cells.rows[0]], cells.rows[1:]
    first = int(len(titles) == len(below) + 1)  # whether there is a column of names
    if not first and len(titles) != len(below):
        many = f"{len(below)} rows and {len(titles)} columns"
        raise ValueError(f"{path}: got {many} below names of columns, expected a square of distances")
    if first and number_in(titles[0]) is not None:
        raise cells.refusal(f"got the numbers {', '.join(titles[:4])}, expected the names of the objects")
    if first and titles[1:] != [row[0].strip() for row in below]:
        raise ValueError(f"{path}: the names in the first line are not those in the first column, in the same order")
    labels = objects.make_labels(cells, titles[first:], [0] * len(below))
    return objects.read_numbers(cells, 1, titles, range(first, len(titles))), labels


def _npy(path: str) -> np.ndarray:
    """A table of numbers from a .npy file, float64 (n, m)."""
    import numpy as np

    try:
        values = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise ValueError(f"{path}: no such file") from None
    except ValueError as error:
        raise ValueError(f"{path}: is not a NumPy file of numbers: {error}") from error
    if values.ndim != 2 or values.dtype.kind not in "biuf":
        raise ValueError(f"{path}: got {values.dtype} of shape {values.shape}, expected numbers in 2 dimensions")
    return values.astype(float)
