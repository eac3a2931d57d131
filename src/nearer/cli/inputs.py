"""The files that commands read."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shlex
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import nearer
from nearer.cli.files import SUMMARY
from nearer.cli.options import grouped
from nearer.cli.output import Say, command_with
from nearer.warning_types import InputWarning

if TYPE_CHECKING:
    import numpy as np

    from nearer.io import ReadResult
    from nearer.tables import Layout

MODEL = "model.nearer"

reading_options = grouped(
    "reading",
    click.option("--layout", type=click.Path(), metavar="FILE", help="TOML file that says what a row means; by default "
                 "answers.layout.toml next to answers.csv, see nearer describe."),
    click.option("--columns", metavar="ROLE=NAME,...", help="Which column is what: anchor=head,near=winner,far=loser; "
                 "or roles in the order of columns without names: anchor,near,far."),
    click.option("--answers", metavar="CELL=OPTION,...", help="What an answer means: f=a,j=b,none=skip."),
    click.option("--where", metavar="COLUMN=VALUE", multiple=True, help="Rows that count; may be repeated."),
    click.option("--strict", is_flag=True, help="Refuse a file with columns that are not used."),
    click.option("--sheet", metavar="NAME", help="Sheet of a workbook, or variable of a .npz, .mat or .json file."),
    click.option("--encoding", help="Encoding of a text file; UTF-8 if not given."),
    click.option("--delimiter", help="One character, 'tab' or 'whitespace'."),
)  # fmt: skip


def find_layouts(path: str, reading: dict[str, Any]) -> tuple[tuple[Layout, ...], Path | None]:
    """The layouts of a file: its layout file, given or next to it, updated by the options; and that file."""
    from nearer.io.read import layout_beside
    from nearer.tables.layout import Layout, load_layouts

    declared = Layout.parse(**{name: reading[name] for name in ("columns", "answers", "where", "strict")})
    file = layout_beside(path) if reading["layout"] is None else Path(reading["layout"])
    return (declared,) if file is None else tuple(one.updated(declared) for one in load_layouts(file)), file


def carrier_options(reading: dict[str, Any]) -> dict[str, Any]:
    """Options of `nearer.io.read.open_table`."""
    return {name: reading[name] for name in ("sheet", "encoding", "delimiter")}


def read_answers(say: Say, path: str, reading: dict[str, Any]) -> ReadResult:
    """Read a file of answers, and report what was understood."""
    from nearer.io import FileFormatError, read_comparisons
    from nearer.tables import Layout, Refusal

    with contextlib.suppress(ImportError):
        import pandas  # noqa: F401  pyarrow loads it where it is installed, and swallows a ctrl-C that comes meanwhile
    layouts, file = find_layouts(path, reading)
    try:
        if not any(layout.columns for layout in layouts):
            _refuse_bare_array(path, carrier_options(reading))
        result = read_comparisons(path, layouts, **carrier_options(reading))
    except Refusal as error:
        declared = Layout.parse(
            reading["columns"], reading["answers"], reading["where"]
        )  # strict would refuse it again
        otherwise = f"a layout: nearer describe {shlex.quote(path)} -o" if file is None else file
        text = error.render(lambda layout: command_with(declared.updated(layout).options()), f"or complete {otherwise}")
        raise FileFormatError(text) from error
    if file is not None:
        notes = (*result.notes, f"layout: {file}")
        result = replace(result, understood=f"using {file}: {result.understood}", notes=notes)
    say.note(result.understood)
    return result


def _refuse_bare_array(path: str, carrier: dict[str, Any]) -> None:
    """Refuse an array without column names: only in Python its width says what it is."""
    from nearer.io.read import find_format, open_table
    from nearer.tables import Layout, Refusal

    if path == "-" or path.lower().endswith(".zip") or find_format(path) not in ("numpy", "matlab"):
        return
    table = open_table(path, **carrier)
    if table.is_index:
        remedies = [Layout(anchor=1, near=2, far=3), Layout("odd-one-out", a=1, b=2, odd=3)]
        if len(table.names) == 4:
            remedies = [Layout(i=1, j=2, l=3, k=4), Layout(anchor=1, a=2, b=3, near=4)]
        raise Refusal(replace(table, names=[""] * len(table.names)), "the array names no columns", remedies)


def open_map(path: str, loss: str | None = None, needs: str = "") -> nearer.OrdinalEmbedding:
    """Open a model file, embedding.csv (whose loss is `loss`), or the folder that `nearer fit` wrote.

    If a command `needs` a "loss" or a "fit", coordinates without it are refused.
    """
    file = Path(path)
    if file.is_dir():
        there = [file / name for name in (MODEL, "embedding.csv") if (file / name).is_file()]
        if not there:
            both = f"neither {MODEL} nor embedding.csv"
            raise ValueError(f"{path}: got a folder with {both}, expected what nearer fit wrote")
        if not (file / SUMMARY).is_file():
            text = f"{path}: has no {SUMMARY}: its files may come from different fits; run nearer fit again"
            warnings.warn(text, InputWarning, stacklevel=2)
        file = there[0]
    if not file.exists():
        raise ValueError(f"{path}: no such file")
    if file.suffix.lower() != ".csv":
        if loss is not None:
            raise ValueError(f"{path}: knows its loss; --loss is for coordinates alone")
        return nearer.load(file)
    if needs == "fit":
        raise ValueError(f"{path}: got coordinates alone, expected the folder or model that nearer fit wrote")
    if needs == "loss" and loss is None:
        raise ValueError(f"{path}: got coordinates alone, expected a loss too; say --loss")
    import numpy as np

    from nearer.coordinates import read_embedding

    embedding, labels = read_embedding(str(file))
    if not np.isfinite(embedding).all(axis=1).any():
        raise ValueError(f"{file}: got no object with a place, expected a map")
    return nearer.OrdinalEmbedding.from_embedding(embedding, labels, loss)


def as_names(labels: np.ndarray | None, n_objects: int) -> np.ndarray:
    """Labels (n_objects,), or numbers as text where there are none."""
    import numpy as np

    return np.arange(n_objects).astype(str) if labels is None else np.asarray(labels)


def read_for_map(
    say: Say, path: str, reading: dict[str, Any], model: nearer.OrdinalEmbedding
) -> tuple[nearer.Comparisons, dict[str, Any]]:
    """Answers about the objects of a map, and facts about their file; both must have names, or both numbers."""
    result = read_answers(say, path, reading)
    found, on_map = result.comparisons, model.labels_
    own = found.labels
    if on_map is None and own is not None and not _are_numbers(own):
        raise ValueError(f"{path}: names its objects, such as {str(own[0])!r}, but the map has numbers only")
    if on_map is not None and own is None:
        if not _are_numbers(on_map):
            raise ValueError(f"{path}: calls its objects by numbers, but the map by names, such as {str(on_map[0])!r}")
        found = found.relabelled(on_map)
    return found, result.facts()


def _are_numbers(labels: Any) -> bool:
    return all(str(label).isdecimal() for label in labels)


def read_groups(say: Say, path: str | None, on_map: np.ndarray) -> list[str] | None:
    """The group of each object of a map, "" for none; warns of names that do not match."""
    if path is None:
        return None
    from nearer.data.messages import listed, shown
    from nearer.io.objects import WORDS, read_objects, rows_on_map

    table = read_objects(path, WORDS)
    words, column = table.words(empty=True)
    say.note(table.understood([column]))
    names = table.labels
    rows = rows_on_map(path, names, on_map)
    strange = names[rows < 0].tolist()
    if len(strange) == len(names):
        first = f"{path}: got objects such as {shown(strange[0])}"
        raise ValueError(f"{first}, expected those of the map: {str(on_map[0])!r}")
    group_of = dict(zip(rows.tolist(), words))
    groups = [group_of.get(row, "") for row in range(len(on_map))]
    if not any(groups):
        raise ValueError(f"{path}: got no group for any object of the map, expected one for some of them")
    without = [label for label, group in zip(on_map.tolist(), groups) if not group]
    faults = (
        (strange, len(names), "names are not on the map"),
        (without, len(on_map), "objects have no group"),
    )
    found = [f"{len(some):,} of {n:,} {what}: {listed(map(shown, some), 5)}" for some, n, what in faults if some]
    if found:
        warnings.warn(f"{path}: {'; '.join(found)}", stacklevel=2)
    return groups


def read_summary(map_path: str, model: nearer.OrdinalEmbedding) -> dict[str, Any]:
    """The summary.json next to a map; {} if there is none, or (with a warning) if it describes another map."""
    from nearer.selection.evaluate import figures_of

    path = Path(map_path)
    file = (path if path.is_dir() else path.parent) / SUMMARY
    if path.suffix.lower() == ".csv" or not file.is_file():
        return {}
    try:
        summary = json.loads(file.read_text(encoding="utf-8"))
        result = summary["result"]
        if "map" in result:
            is_other = result["map"] != fingerprint(model)
        else:  # of an earlier version
            is_other = result["objective"] != getattr(model, "objective_", result["objective"])
        if is_other:
            text = f"{file}: describes another map than {map_path}, and is ignored"
            warnings.warn(text, InputWarning, stacklevel=2)
            return {}
        figures_of(summary)  # refuses what is not a summary
        return summary
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{file}: is not a summary of nearer fit: {error}") from error


def fingerprint(model: nearer.OrdinalEmbedding) -> str:
    """A digest of the coordinates of a map."""
    import numpy as np

    X = np.asarray(model.embedding_, dtype="<f8")
    return hashlib.sha256(np.where(np.isnan(X), np.nan, X).tobytes()).hexdigest()[:16]


def read_numbers(say: Say, path: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Numbers (n_objects, n_columns) and labels, or None, from .npy or a table."""
    from nearer.io.objects import read_objects

    if path.lower().endswith(".npy"):
        return _npy(path), None
    table = read_objects(path)
    values = table.numbers()
    say.note(table.understood())
    return values, None if table.names_at is None else table.labels


def read_distances(path: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Distances (n, n) and labels, from .npy or a table with them in the first row and optionally the first column."""
    from nearer.io.objects import read_cells

    if path.lower().endswith(".npy"):
        return _npy(path), None
    cells = read_cells(path)
    titles, below = [cell.strip() for cell in cells.rows[0]], cells.rows[1:]
    first = int(len(titles) == len(below) + 1)  # whether there is a column of names
    if not first and len(titles) != len(below):
        many = f"{len(below)} rows and {len(titles)} columns"
        raise ValueError(f"{path}: got {many} below names of columns, expected a square of distances")
    if first and titles[1:] != [row[0].strip() for row in below]:
        raise ValueError(f"{path}: the names in the first line are not those in the first column, in the same order")
    labels = cells.labels_of(titles[first:], [0] * len(below))
    return cells.numbers_at(range(first, len(titles))), labels


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
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values).all(axis=1)))
        raise ValueError(f"{path}: got {values[row].tolist()} in row {row + 1}, expected finite numbers")
    return values.astype(float)
