"""The files that commands read."""

from __future__ import annotations

import hashlib
import json
import shlex
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import nearer
from nearer.cli.options import OptionGroup
from nearer.cli.output import SUMMARY, Say, command_with
from nearer.warning_types import InputWarning

if TYPE_CHECKING:
    import numpy as np

    from nearer.io import ReadResult
    from nearer.tables import Layout
    from nearer.tables.table import Table

MODEL = "model.nearer"

READING = OptionGroup(
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


def _declared(path: str, reading: dict[str, Any]) -> tuple[tuple[Layout, ...], dict[str, Any], Path | None]:
    """Layouts from options and layout file; how to open the file; the layout file, given or next to it."""
    from nearer.io.read import layout_beside
    from nearer.tables.layout import Layout, load_layouts

    carrier = {name: reading[name] for name in ("sheet", "encoding", "delimiter")}
    declared = Layout.parse(**{name: reading[name] for name in ("columns", "answers", "where", "strict")})
    file = layout_beside(path) if reading["layout"] is None else Path(reading["layout"])
    layouts = (declared,) if file is None else tuple(one.updated(declared) for one in load_layouts(file))
    return layouts, carrier, file


def open_answers(path: str, reading: dict[str, Any]) -> tuple[Table, tuple[Layout, ...], Path | None]:
    from nearer.io.read import open_table

    layouts, carrier, file = _declared(path, reading)
    return open_table(path, layouts, **carrier), layouts, file


def read_answers(say: Say, path: str, reading: dict[str, Any]) -> ReadResult:
    """Read a file of answers, and report what was understood."""
    from nearer.io import FileFormatError, read_comparisons
    from nearer.tables import Layout, Refusal

    layouts, carrier, file = _declared(path, reading)
    is_array = path.lower().endswith((".npy", ".npz", ".mat"))
    if is_array and not any(layout.columns for layout in layouts) and open_answers(path, reading)[0].is_index:
        # In Python, the width of an array says what it is.
        raise ValueError(f"{path}: the array names no columns; declare them: --columns anchor,near,far or i,j,l,k")
    try:
        result = read_comparisons(path, layouts, **carrier)
    except Refusal as error:
        # Without strict, which would refuse it again.
        declared = Layout.parse(reading["columns"], reading["answers"], reading["where"])
        otherwise = f"a layout: nearer describe {shlex.quote(path)} -o" if file is None else file
        text = error.render(lambda layout: command_with(declared.updated(layout).options()), f"or complete {otherwise}")
        raise FileFormatError(text) from error
    if file is not None:
        notes = (*result.notes, f"layout: {file}")
        result = replace(result, understood=f"using {file}: {result.understood}", notes=notes)
    say.note(result.understood)
    return result


def open_map(path: str, loss: str | None = None, needs: str = "") -> nearer.OrdinalEmbedding:
    """Open a model, a folder of `nearer fit`, or coordinates; refused without the attribute that a command `needs`."""
    file = Path(path)
    if file.is_dir():
        if not (file / SUMMARY).is_file():
            text = f"{path}: has no {SUMMARY}: its files may come from different fits; run nearer fit again"
            warnings.warn(text, InputWarning, stacklevel=2)
        file /= MODEL if (file / MODEL).is_file() else "embedding.csv"
    if file.suffix.lower() != ".csv":
        if loss is not None:
            raise ValueError(f"{path}: knows its loss; --loss is for coordinates alone")
        return nearer.load(file)
    from nearer.coordinates import read_embedding

    model = nearer.OrdinalEmbedding.from_embedding(*read_embedding(file), loss)
    if needs and not hasattr(model, needs):
        raise ValueError(f"{path}: got coordinates alone, expected the folder or model that nearer fit wrote")
    return model


def as_names(labels: np.ndarray | None, n_objects: int) -> np.ndarray:
    """Labels (n_objects,), or numbers as text where there are none."""
    import numpy as np

    return np.arange(n_objects).astype(str) if labels is None else np.asarray(labels)


def read_for_map(
    say: Say, path: str, reading: dict[str, Any], model: nearer.OrdinalEmbedding
) -> tuple[nearer.Comparisons, dict[str, Any]]:
    """Answers about the objects of a map, and facts about their file."""
    from nearer.metrics.comparison import on_labels

    result = read_answers(say, path, reading)
    return on_labels(result.comparisons, model.labels_, named=True), result.facts()


def read_groups(say: Say, path: str | None, labels: np.ndarray | None, n_objects: int) -> list[str] | None:
    """The group of each object of a map, "" for none; warns of names that are not on it."""
    if path is None:
        return None
    on_map = as_names(labels, n_objects)
    from nearer.data.messages import listed, shown
    from nearer.io.objects import WORDS, read_objects, rows_on_map

    table = read_objects(path, WORDS)
    words, column = table.words()
    say.note(table.understood([column]))
    rows = rows_on_map(path, table.labels, on_map)
    group_of = dict(zip(rows.tolist(), words))
    groups = [group_of.get(row, "") for row in range(len(on_map))]
    if not any(groups):
        raise ValueError(f"{path}: got no group for any object of the map, such as {str(on_map[0])!r}")
    strange = table.labels[rows < 0].tolist()
    if strange:
        some = listed(map(shown, strange), 5)
        warnings.warn(f"{path}: {len(strange):,} of {len(rows):,} names are not on the map: {some}", stacklevel=2)
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
        figures_of(summary)  # refuses what is not a summary
        if dict(summary["result"]).get("map") == fingerprint(model):
            return summary
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{file}: is not a summary of nearer fit: {error}") from error
    warnings.warn(f"{file}: describes another map than {map_path}, and is ignored", InputWarning, stacklevel=2)
    return {}


def fingerprint(model: nearer.OrdinalEmbedding) -> str:
    import numpy as np

    X = np.asarray(model.embedding_, dtype="<f8")
    return hashlib.sha256(np.where(np.isnan(X), np.nan, X).tobytes()).hexdigest()[:16]


def read_numbers(say: Say, path: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Numbers (n_objects, n_columns) and labels, or None, from .npy or a table."""
    import numpy as np

    from nearer.io.arrays import open_numpy
    from nearer.io.objects import read_objects

    if path.lower().endswith(".npy"):
        return np.stack(open_numpy(path).columns, axis=1), None
    table = read_objects(path)
    values = table.numbers()
    say.note(table.understood())
    return values, None if table.names_at is None else table.labels
