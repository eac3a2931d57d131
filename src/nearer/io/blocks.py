"""Files that hold rows in blocks: Parquet, and arrays of NumPy.

Parquet (a file, a folder, a pattern, or groups of their rows) is read as a table. Comparisons are read a block at a
time, for data that need not fit in memory: on this machine, or by workers.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from nearer.data import Comparisons, FileFormatError
from nearer.data.carriers import counts_beside, index_of_pandas, numbers_of
from nearer.data.cells import are_numbered
from nearer.data.columns import (
    INEXACT,
    Coding,
    Column,
    MemoryTable,
    Table,
    column_from_arrow,
    column_of,
    distinct,
    exact_below,
    is_text,
)
from nearer.data.doubts import told_of_people
from nearer.data.errors import counted, listed
from nearer.data.roles import Roles, find_roles, refuse_told_header
from nearer.data.rows import Rows, joined_counts, named_as_columns
from nearer.data.tables import ONE_TYPE, Facts, Meaning, nothing_left, resolve, rows_to_parts, scan, warn_of
from nearer.data.values import Options, check_objects
from nearer.io.files import is_pattern, refuse_irregular
from nearer.io.formats import open_matrix

logger = logging.getLogger(__name__)
_SCAN_ROWS = 1 << 20
_BLOCK_ENDINGS = (".npy", ".parquet", ".pq")

# ---- Parquet -------------------------------------------------------------------------------------------------------

META_KEY = b"nearer"


@contextlib.contextmanager
def _told_by(url: str) -> Iterator[None]:
    """Turn errors of the Parquet reader into one that names the file."""
    import pyarrow as pa

    try:
        yield
    except FileFormatError:
        raise
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FileFormatError(f"{url}: cannot be read as Parquet: {reason}") from error


@dataclass
class RowGroups(Table):
    """Some row groups of a Parquet file, at a path or an fsspec URL; small, so that workers can be told of it."""

    row_groups: tuple[int, ...] = ()
    lengths: tuple[int, ...] = ()  # rows of all row groups of the file
    has_text: bool = False  # whether a column holds text
    # Columns that the file itself lacks: an index of pandas (a range), or what a folder is called (a text or None).
    beside: dict[str, range | str | None] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Rows of these row groups."""
        return sum(self.lengths[group] for group in self.row_groups)

    @property
    def first_row(self) -> int:
        """Rows of the file before these."""
        return sum(self.lengths[: self.row_groups[0]]) if self.row_groups else 0

    def pieces(self, size: int, shuffled: bool) -> list[RowGroups]:
        """Give what is read one after the other: all of it, or each row group if these are to be shuffled."""
        return [replace(self, row_groups=(group,)) for group in self.row_groups] if shuffled else [self]

    def place(self, row: int) -> str:
        return f"row {self.first_row + row + 1}"

    def read(self, positions: Sequence[int]) -> list[Column]:
        return self._table(self.arrays(positions)).read(positions)

    def arrays(self, positions: Sequence[int], use_threads: bool = False) -> dict[str, Any]:
        """Read the columns at some positions, as Arrow arrays by name."""
        names = self._own(positions)
        with _open_file(self.name, names) as file, _told_by(self.name):
            data = file.read_row_groups(list(self.row_groups), columns=names, use_threads=use_threads)
            data.validate(full=True)  # text that is not UTF-8 would fail later, anywhere
        return self._with_beside(data, self.first_row)

    def head(self, n_rows: int, n_columns: int | None = None) -> list[list[str]]:
        rows: list[list[str]] = []
        once = [spot for spot, name in enumerate(self.names[:n_columns]) if self.names.count(name) == 1]
        for table in self.batches(n_rows, once):
            rows += table.head(n_rows - len(rows), n_columns)
            if len(rows) == n_rows:
                break
        return rows

    def batches(self, size: int, positions: Sequence[int]) -> Iterator[Table]:
        """Yield tables of at most `size` rows that hold the columns at some positions."""
        names, start = self._own(positions), self.first_row
        with _open_file(self.name, names) as file, _told_by(self.name):
            for batch in file.iter_batches(batch_size=size, row_groups=list(self.row_groups), columns=names):
                batch.validate(full=True)
                yield replace(self._table(self._with_beside(batch, start)), first_row=start)
                start += batch.num_rows

    def _own(self, positions: Sequence[int]) -> list[str]:
        """Names of the columns at some positions that the file itself has; they must tell the columns apart."""
        names = [self.names[position] for position in positions]
        twice = next((name for name in names if self.names.count(name) > 1), None)
        if twice is not None:
            raise FileFormatError(f"{self.name}: two columns are called {twice!r}, expected a name for each")
        return [name for name in names if name not in self.beside]

    def _with_beside(self, data: Any, start: int) -> dict[str, Any]:
        """The columns of a part of the file that begins at row `start`, by name, and those beside it."""
        import pyarrow as pa

        found = dict(zip(data.schema.names, data.columns))
        for name, cells in self.beside.items():
            if isinstance(cells, range):
                array = pa.array(numbers_of(cells[start : start + data.num_rows]))
            else:
                array = pa.repeat(pa.scalar(cells, pa.string()), data.num_rows)
            found[name] = pa.chunked_array([array])
        return found

    def _table(self, columns: dict[str, Any]) -> MemoryTable:
        import pyarrow as pa

        unread = pa.nulls(len(next(iter(columns.values()), ())))
        return MemoryTable(
            self.name, self.form, self.names, self.header, labels=self.labels, n_objects=self.n_objects,
            columns=[columns.get(name, unread) for name in self.names],
        )  # fmt: skip


def open_row_groups(path: str, found: Sequence[RowGroups], left_out: Sequence[str] = ()) -> list[RowGroups]:
    """Parquet files that were looked into, called `path` together; all must have the same columns."""
    found = [_with_folders(path, table) for table in found]
    first = found[0]
    for table in found:
        if sorted(table.names) != sorted(first.names):
            differ = f"columns {listed(table.names)} differ from {listed(first.names)} of {first.name}"
            raise FileFormatError(f"{table.name}: {differ}")
    if not any(table.n_rows for table in found):
        raise FileFormatError(f"{path}: has no rows")
    alarms = [f"{counted(len(left_out), 'file')} left out, not read as Parquet: {listed(left_out)}"] if left_out else []
    together = _stored_together(path, found)
    return [replace(table, names=first.names, header=first.header, alarms=alarms, **together) for table in found]


_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def _with_folders(path: str, table: RowGroups) -> RowGroups:
    """Add the columns that folders below `path` stand for, as in weight=2/a.parquet, unless the file has them."""
    given, parts = (
        Path(one if "://" in one else os.path.abspath(one)).parts for one in (path, os.path.dirname(table.name))
    )
    pairs = (part.partition("=") for part in parts if part not in given)
    keys = {
        unquote(key): None if value == _NO_VALUE else unquote(value) for key, equals, value in pairs if key and equals
    }
    keys = {key: text for key, text in keys.items() if key not in table.names and counts_beside(key, table.names)}
    names = [*table.names, *keys]
    return replace(table, names=names, header=not are_numbered(names), beside={**table.beside, **keys})


def _stored_together(path: str, found: Sequence[RowGroups]) -> dict[str, Any]:
    """The objects stored with Parquet files, put together where they differ."""
    first = found[0]
    stored = [None if table.labels is None else tuple(table.labels.tolist()) for table in found]
    if len(set(stored)) > 1:
        if not all(table.has_text for table in found):
            raise FileFormatError(
                f"{path}: the files store different lists of objects, and their numbers count them; "
                "write them with the names of the objects"
            )
        labels = list(dict.fromkeys(label for part in stored for label in part or ()))
        return {"labels": np.array(labels, dtype=str), "n_objects": len(labels)}
    sizes = [table.n_objects for table in found if table.n_objects is not None]
    return {"labels": first.labels, "n_objects": max(sizes) if len(sizes) == len(found) else first.n_objects}


def look_into(url: str) -> RowGroups:
    """Read the footer of a Parquet file."""
    with _open_file(url) as file:
        lengths = tuple(file.metadata.row_group(number).num_rows for number in range(file.metadata.num_row_groups))
        schema = file.schema_arrow
    stored = _stored_objects(url, schema.metadata)
    ranges, groups = index_of_pandas(url, schema, sum(lengths)), tuple(range(len(lengths)))
    names = [*schema.names, *ranges]
    return RowGroups(
        url, "Parquet", names, not are_numbered(names), row_groups=groups, lengths=lengths,
        has_text=any(is_text(field.type) for field in schema), beside=dict(ranges), **stored,
    )  # fmt: skip


@contextlib.contextmanager
def _open_file(url: str, names: Sequence[str] = ()) -> Iterator[Any]:
    """Open a Parquet file at a path or fsspec URL; columns `names` that hold text are read as codes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with contextlib.ExitStack() as stack:
        with _told_by(url):
            stream: Any = url
            if "://" in url:
                import fsspec  # type: ignore[import-untyped]

                stream = stack.enter_context(fsspec.open(url, "rb"))
            schema = pq.read_schema(stream)
            missing = [name for name in names if name not in schema.names]
            if missing:
                raise FileFormatError(f"{url}: no column {missing[0]!r}, the columns are {schema.names}")
            text = [field.name for field in schema if field.name in names and pa.types.is_string(field.type)]
            if stream is not url:
                stream.seek(0)
            # pyarrow would otherwise fetch all row groups at once
            file = stack.enter_context(pq.ParquetFile(stream, read_dictionary=text, pre_buffer=False))
        yield file


def _is_void(part: Any) -> bool:
    """Tell whether no cell of a column holds anything; its type then says nothing."""
    return part.null_count == len(part)


@dataclass
class ParquetTable(Table):
    """One or more Parquet files with the same columns, read one after the other."""

    files: list[RowGroups] = field(default_factory=list)

    def read(self, positions: Sequence[int]) -> list[Column]:
        parts = [file.arrays(positions, use_threads=True) for file in self.files]
        return [self._column(position, [part[self.names[position]] for part in parts]) for position in positions]

    def _column(self, position: int, parts: list[Any]) -> Column:
        import pyarrow as pa

        kind = self._common_type(position, parts)
        chunks = []
        for file, part in zip(self.files, parts):
            try:
                if part.type != kind:
                    # A narrow float could not tell apart what a wide one, which it becomes, could.
                    if pa.types.is_floating(part.type) and (np.abs(old := part.to_numpy()) >= exact_below(old)).any():
                        raise ValueError(INEXACT)
                    # No text becomes a number here: what has another type is a number too, or empty.
                    part = pa.chunked_array([pa.nulls(len(part), kind)]) if _is_void(part) else part.cast(kind)
                chunks += part.chunks
            except (ValueError, pa.ArrowException) as error:
                raise FileFormatError(f"{file.name}: {self.title(position)}: {str(error).splitlines()[0]}") from error
        try:
            return column_from_arrow(pa.chunked_array(chunks, kind))
        except (TypeError, pa.ArrowException) as error:
            raise FileFormatError(f"{self.name}: {self.title(position)}: {str(error).splitlines()[0]}") from error

    def _common_type(self, position: int, parts: list[Any]) -> Any:
        """The type that holds a column of every file as it is; parts without a cell have no say."""
        import pyarrow as pa

        types: dict[Any, str] = {}  # type -> the first file that has it
        for file, part in zip(self.files, parts):
            if not _is_void(part):
                types.setdefault(part.type, file.name)
        kinds = list(types)
        if len(kinds) < 2:
            return kinds[0] if kinds else parts[0].type
        if all(pa.types.is_integer(kind) for kind in kinds):
            return pa.int64()
        if all(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) for kind in kinds):
            return pa.float64()
        if all(map(is_text, kinds)):
            return pa.string()
        texts = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in kinds]
        held = listed(f"{kind} in {file}" for kind, file in zip(texts, types.values()))
        raise FileFormatError(
            f"{self.name}: {self.title(position)}: the files hold it as different types: {held}; {ONE_TYPE}"
        )

    def head(self, n_rows: int, n_columns: int | None = None) -> list[list[str]]:
        return next(file for file in self.files if file.n_rows).head(n_rows, n_columns)

    def place(self, row: int) -> str:
        if len(self.files) == 1:
            return super().place(row)
        for file in self.files:
            if row < file.n_rows:
                return f"{Path(file.name).name} row {row + 1}"
            row -= file.n_rows
        return super().place(row)


def parquet_files(path: str | Path) -> tuple[list[str], list[str]]:
    """List the Parquet files that `path` (a file, a folder or a pattern such as ``data/*.parquet``) stands for.

    The second list holds the files of a folder that are left out and should be told.
    """
    import glob

    path = Path(path)
    left_out: list[str] = []
    if path.is_dir():
        files, left_out = parquet_among(str(path), (str(file) for file in path.rglob("*") if file.is_file()))
    elif path.exists():
        return [str(path)], []
    else:
        files = sorted(glob.glob(str(path), recursive=True))
    if not files:
        raise FileFormatError(f"{path}: no such file")
    refuse_versions(map(os.path.abspath, files), lambda folder, mark: glob.glob(f"{glob.escape(folder)}/{mark}"))
    return files, left_out


# What stands beside the Parquet files of a table that has versions -> whose table it is, and how to get one of them.
_LOGS = {
    "_delta_log": ("Delta Lake", "DeltaTable(folder).to_pandas()"),
    ".hoodie": ("Hudi", "spark.read.format('hudi').load(folder).toPandas()"),
    "metadata/*.metadata.json": ("Iceberg", "table.scan().to_pandas()"),
}


def refuse_versions(files: Iterable[str], find: Callable[[str, str], Any]) -> None:
    """Refuse files of which a log beside them says which still count; `find` looks for a pattern in a folder."""
    folders = dict.fromkeys(str(folder) for file in files for folder in Path(file).parents if "=" not in folder.name)
    for folder, (mark, (whose, how)) in itertools.product(folders, _LOGS.items()):
        if find(folder, mark):
            raise FileFormatError(
                f"{folder}: is a table of {whose}, whose log ({mark}) says which of its files still count, expected "
                f"plain Parquet files; export the current version, such as {how}, and read that"
            )


def parquet_among(folder: str, files: Iterable[str]) -> tuple[list[str], list[str]]:
    """Sort the files below a folder into those to read, known by their endings, and those left out.

    Hidden files are left out, and told only if they may be data; other programs keep their notes in them.
    """
    read, left_out = [], []
    for file in sorted(files):
        inside = os.path.relpath(file, folder)
        is_parquet = Path(file).suffix.lower() in (".parquet", ".pq")
        hidden = any(part[0] in "._" for part in Path(inside).parts)
        if is_parquet and not hidden:
            read.append(file)
        elif is_parquet or not hidden:
            left_out.append(inside)
    if not read:
        raise FileFormatError(f"{folder}: is a directory without Parquet files; expected a file")
    return read, left_out


def _stored_objects(url: str, metadata: Mapping[bytes, bytes] | None) -> dict[str, Any]:
    """Read what this package wrote beside the columns of a Parquet file: `labels`, `n_objects`."""
    try:
        known = json.loads((metadata or {}).get(META_KEY, b"{}"))
        labels, n_objects = known.get("labels"), known.get("n_objects")
        if labels is not None and not (isinstance(labels, list) and all(isinstance(label, str) for label in labels)):
            raise ValueError("labels")
        labels = check_objects(None, labels)[1]
        if n_objects is not None and not (isinstance(n_objects, int) and n_objects > 0):
            raise ValueError("n_objects")
    except (ValueError, AttributeError, UnicodeDecodeError, RecursionError) as error:
        raise FileFormatError(f"{url}: the stored list of objects is damaged ({error})") from error
    return {"labels": labels, "n_objects": n_objects}


def open_parquet(path: str, *, header: bool | None = None) -> ParquetTable:
    """Open Parquet files far enough to know their columns."""
    names, left_out = parquet_files(path)
    files = open_row_groups(path, list(map(look_into, names)), left_out)
    first = files[0]
    form = "Parquet" if len(files) == 1 else f"{len(files):,} Parquet files"
    if first.header or header:
        refuse_told_header(path, header)
    return ParquetTable(
        path, form, first.names, first.header, labels=first.labels, n_objects=first.n_objects,
        alarms=first.alarms, files=files,
    )  # fmt: skip


# ---- what all block readers share ----------------------------------------------------------------------------------


@dataclass
class Counts:
    """What a block gives, once its names are coded."""

    n_comparisons: int = 0
    weight: float = 0.0  # of all of them
    width: int = 0  # 3 or 4, 0 if there are none
    seen: Coding = field(default_factory=lambda: Coding.of([]))  # names that occur in them
    weighted: bool = False  # whether they have weights of their own
    n_counting: int = 0  # those of a weight above 0: the others are lost where a block holds nothing else
    dropped: dict[str, tuple[int, str]] = field(default_factory=dict)  # reason -> rows left out, where the first is
    people: Coding = field(default_factory=lambda: Coding.of([]))  # who gave them, where that is known

    def join(self, other: Counts) -> Counts:
        """Put what two blocks give together."""
        if self.width and other.width and self.width != other.width:
            raise ValueError("comparisons: some parts hold triplets and some quadruplets, expected one kind")
        return Counts(
            self.n_comparisons + other.n_comparisons, self.weight + other.weight, self.width or other.width,
            Coding.union([self.seen, other.seen]), self.weighted or other.weighted,
            self.n_counting + other.n_counting, joined_counts(self.dropped, other.dropped),
            Coding.union([self.people, other.people]),
        )  # fmt: skip


@dataclass
class Scanned:
    """What a first look at a block found; `counts` is None where they depend on what other blocks hold."""

    facts: Facts
    counts: Counts | None

    def join(self, other: Scanned) -> Scanned:
        """Put what two blocks say together."""
        counts = None if self.counts is None or other.counts is None else self.counts.join(other.counts)
        return Scanned(self.facts.join(other.facts), counts)


@dataclass(frozen=True)
class Recipe:
    """How a block becomes comparisons: the same for every block, decided once."""

    roles: Roles
    options: Options
    meaning: Meaning
    people: np.ndarray | None = None  # names of all who answered, once they are known

    def comparisons(self, table: Table) -> Comparisons | None:
        """Read a block; None if no row of it counts."""
        return self._made(Rows.of(table, self.roles, self.options, known=True))

    def without_people(self, table: Table) -> Recipe:
        """The same, but who answered is not read, unless that tells answers from names of columns among the rows.

        `table` is one of the blocks, for names of columns.
        """
        at = {role: spot for role, spot in self.roles.at.items() if role != "participant"}
        if self.people is None or named_as_columns(self.meaning.names, table, self.roles):
            return self
        return replace(self, roles=replace(self.roles, at=at), people=None)

    def _made(self, rows: Rows) -> Comparisons | None:
        parts = rows_to_parts(rows, self.meaning, self.options)
        return None if parts is None else Comparisons._make(replace(parts, details=None, dropped={}))

    def counts(self, table: Table) -> Counts:
        """Read a block for what it gives, and what is left out of it."""
        return self._counts(Rows.of(table, self.roles, self.options, known=True))

    def _counts(self, rows: Rows, names: Coding | None = None) -> Counts:
        """Count what rows give; objects are called by their numbers, or by the `names` these stand for."""
        made = self._made(rows)
        if made is None:
            return Counts(dropped=rows.dropped)
        numbers = np.flatnonzero(made.seen)
        seen = Coding(numbers if names is None else names.values.take(numbers))
        people = Coding.of([]) if made.people is None else Coding.of([column_of(made.people.names)])
        return Counts(
            len(made), total_weight(made), made.index.shape[1], seen, made.weights is not None, _n_counting(made),
            rows.dropped, people,
        )  # fmt: skip


def total_weight(made: Comparisons) -> float:
    """Weight of all comparisons; each counts one where they have none."""
    return float(len(made)) if made.weights is None else float(made.weights.sum())


def _n_counting(made: Comparisons) -> int:
    return len(made) if made.weights is None else int(np.count_nonzero(made.weights))


def scan_block(table: Table, roles: Roles, options: Options) -> Scanned:
    """Look at a block: which names occur in it, and where that tells, what it gives."""
    rows = Rows.of(table, roles, options)
    facts = scan(rows)
    names = facts.objects
    if roles.layout.extra:  # what answers say hangs on all of them
        return Scanned(facts, None)
    if not len(names):
        return Scanned(facts, Counts(dropped=rows.dropped))
    own = Recipe(roles, options, Meaning(names, np.arange(len(names), dtype=np.int32), None, len(names)))
    return Scanned(facts, own._counts(rows, names))


def settle(
    name: str,
    scanned: Scanned,
    table: Table,
    roles: Roles,
    options: Options,
    tables: Callable[[], Iterable[Table]],
    count: Callable[[Recipe], Iterable[Counts]],
) -> tuple[Recipe, Counts]:
    """Decide how blocks become comparisons; what is left out or doubtful is warned about.

    Gives that, and what all blocks give together, the objects that occur by their numbers.

    Parameters
    ----------
    name : str
        What the blocks are called together, for messages.
    scanned : Scanned
        Of all blocks.
    table : Table
        One of them, for names of columns.
    roles, options : Roles, Options
    tables : callable
        Gives the blocks again, to find the place of what is refused.
    count : callable
        Counts the blocks anew by a recipe, where `scanned` could not tell what they give.
    """
    meaning = resolve(
        scanned.facts, roles, table, options, lambda: (Rows.of(one, roles, options, True) for one in tables())
    )
    recipe, total = Recipe(roles, options, meaning), scanned.counts
    if total is not None and meaning.is_injective:
        # The objects that have these names, by number.
        codes = meaning.names.encode(total.seen.as_column(), meaning.numbers)
        total = replace(total, seen=Coding(distinct(codes)))
    else:
        total = reduce(Counts.join, count(recipe))
    if not total.n_comparisons:
        raise FileFormatError(f"{name}: {nothing_left(total.dropped, 'weight' in roles.at)}")
    if "participant" in roles.at:
        names = np.sort(total.people.names().astype(np.int64 if meaning.people_are_numbers else object))
        recipe = replace(recipe, people=names)
        meaning.notes.append(f"{counted(len(names), 'participant')} ({table.title(roles.at['participant'])})")
        if not meaning.people_are_numbers:
            meaning.alarms += told_of_people(names, options.keep_na or table.n_objects is not None)
    warn_of(name, meaning.alarms, total.dropped)
    for note in (*roles.notes, *meaning.notes):
        logger.info("%s: %s", name, note)
    return recipe, total


# ---- blocks on this machine ----------------------------------------------------------------------------------------


def in_blocks(path: str | os.PathLike[str]) -> bool:
    """Tell whether a path is read block by block: a .npy file, Parquet, a folder, a pattern or a URL of Parquet."""
    name = os.fspath(path)
    return "://" in name or is_pattern(name) or os.path.isdir(name) or Path(name).suffix.lower() in _BLOCK_ENDINGS


def open_blocks(path: str | os.PathLike[str], *, n_objects: int | None = None, **options: Any) -> BlockReader:
    """Open comparisons for reading block by block.

    The file is read once to know its objects and to check every row; what is then read again is checked each time.

    Parameters
    ----------
    path : path-like
        A .npy file, or Parquet: a file, a folder or a pattern.
    n_objects : int, optional
        Says that whole numbers are object numbers 0..n_objects-1.
    **options : Any
        As in `nearer.io.read_comparisons`.
    """
    name = os.fspath(path)
    refuse_irregular(name)
    if os.path.isfile(name) and not in_blocks(name):
        raise FileFormatError(f"{name}: can be read in blocks only as .npy or Parquet; convert it first")
    said = Options(n_objects=n_objects, **options)
    if Path(name).suffix.lower() == ".npy":
        array = _open_array(name)
        return BlockReader(name, [array], next(replace(array, rows=array.rows[:3]).batches(3, ())), said)
    files, left_out = parquet_files(name)
    tables = open_row_groups(name, list(map(look_into, files)), left_out)
    return BlockReader(name, tables, next(table for table in tables if table.n_rows), said)


class BlockReader:
    """Comparisons that stay on disk.

    Attributes
    ----------
    path : str
    n_comparisons : int
        Rows that count.
    n_columns : int
        3 or 4.
    n_objects : int
    labels : ndarray of str, shape (n_objects,), or None
    participants : ndarray of str objects or int64, shape (n_people,), or None
        Who answered, each once, sorted; None if that is not known.
    seen : ndarray of bool, shape (n_objects,)
        Which objects occur.
    total_weight : float
    has_weights : bool
    dropped : dict of str to (int, str)
        Reason -> rows left out, and where the first is.
    notes, alarms : list of str
    """

    def __init__(self, path: str, files: Sequence[RowGroups | _NumpyRows], first: Table, options: Options) -> None:
        self.path = path
        self._files = files
        self._states = {file.name: _state(file.name) for file in files}
        self._only: list[Comparisons] | None = None
        roles = find_roles(first, options).without_details()
        self._first, self._positions = first, roles.positions

        def tables() -> Iterator[Table]:
            return self._tables(_SCAN_ROWS)

        blocks = (scan_block(table, roles, options) for table in tables())
        scanned = next(blocks, None)
        if scanned is None:  # older readers give nothing of a damaged file that says it has rows
            raise FileFormatError(f"{path}: has no rows")
        scanned = reduce(Scanned.join, blocks, scanned)
        self._recipe, counts = settle(
            self.path, scanned, first, roles, options, tables, lambda recipe: map(recipe.counts, tables())
        )
        meaning, self.participants = self._recipe.meaning, self._recipe.people
        self.n_comparisons, self.n_columns = counts.n_comparisons, counts.width
        self._n_counting = counts.n_counting
        self.total_weight, self.has_weights = counts.weight, counts.weighted
        self.n_objects, self.labels, self.dropped = meaning.n_objects, meaning.labels, counts.dropped
        self.seen = np.zeros(self.n_objects, dtype=bool)
        self.seen[counts.seen.values] = True
        self.notes, self.alarms = [*roles.notes, *meaning.notes], meaning.alarms

    def without_participants(self) -> BlockReader:
        """The same, but who answered is not read, which takes a part of the time of a pass."""
        bare = copy.copy(self)
        bare._recipe = self._recipe.without_people(self._first)
        bare._positions, bare.participants, bare._only = bare._recipe.roles.positions, bare._recipe.people, None
        return bare

    def blocks(self, size: int = 1 << 18) -> Iterator[Comparisons]:
        """Yield the comparisons in order with who gave them, `size` at a time; the last block may be shorter."""
        if size < 1:
            raise ValueError(f"size: got {size}, expected at least 1")
        return self._passed(size)

    def shuffled_blocks(self, size: int, rng: np.random.Generator) -> Iterator[Comparisons]:
        """Yield all comparisons once, in blocks of about `size` whose order is random.

        Parquet files are shuffled by row group, so a block mixes distant parts of the data if row groups are smaller.
        """
        return self._passed(size, rng)

    def _passed(self, size: int, rng: np.random.Generator | None = None) -> Iterator[Comparisons]:
        """Yield all comparisons in blocks; if there is but one block, it is kept for the next pass."""
        if self.n_comparisons > size:
            yield from self._read(size, rng)
            return
        if self._only is None:
            self._only = list(self._read(size, rng))
        for file in self._states:
            self._refuse_changed(file)
        yield from self._only

    def _tables(self, size: int, rng: np.random.Generator | None = None) -> Iterator[Table]:
        """Yield tables of at most `size` rows with the columns needed, in order or, by `rng`, in none."""
        pieces = [piece for file in self._files for piece in file.pieces(size, rng is not None)]
        if rng is not None:
            pieces = [pieces[number] for number in rng.permutation(len(pieces)).tolist()]
        for piece in pieces:
            self._refuse_changed(piece.name)
            yield from piece.batches(size, self._positions)

    def _refuse_changed(self, file: str) -> None:
        if _state(file) != self._states[file]:
            raise FileFormatError(f"{file}: has changed since it was first read")

    def _read(self, size: int, rng: np.random.Generator | None) -> Iterator[Comparisons]:
        """Yield blocks of `size` rows, of which only the last may be shorter; a pass must give what was there first."""
        kept: list[Comparisons] = []
        count = n_counting = 0
        for part in map(self._recipe.comparisons, self._tables(size, rng)):
            n_counting += 0 if part is None else _n_counting(part)
            start, length = 0, 0 if part is None else len(part)
            while part is not None and start < length:
                cut = min(start + size - count, length)
                kept.append(part._rows(slice(start, cut)))
                count, start = count + cut - start, cut
                if count == size:
                    yield Comparisons.concat(kept) if len(kept) > 1 else kept[0]
                    kept, count = [], 0
        if kept:
            yield Comparisons.concat(kept) if len(kept) > 1 else kept[0]
        if n_counting != self._n_counting:
            raise FileFormatError(
                f"{self.path}: gave {counted(n_counting, 'comparison')}, and {self._n_counting:,} when it was first "
                "read; it has changed since"
            )


def _state(file: str) -> tuple[int, int, int]:
    try:
        status = os.stat(file)
    except OSError as error:
        raise FileFormatError(f"{file}: no such file") from error
    return status.st_ino, status.st_size, status.st_mtime_ns


@dataclass
class _NumpyRows:
    """Rows of a .npy array of integers, read by plain reads: a file cut short gives an error, not a crash."""

    name: str
    shape: tuple[int, int]  # of the whole array
    fortran: bool  # whether column stands after column
    dtype: np.dtype
    offset: int  # bytes before the first number
    rows: range

    def pieces(self, size: int, shuffled: bool) -> list[_NumpyRows]:
        """Give what is read one after the other, `size` rows at a time."""
        return [replace(self, rows=self.rows[start : start + size]) for start in range(0, len(self.rows), size)]

    def batches(self, size: int, positions: Sequence[int]) -> Iterator[Table]:
        """Yield one table of these rows."""
        (n_rows, width), start, count = self.shape, self.rows.start, len(self.rows)
        firsts = range(start, n_rows * width, n_rows) if self.fortran else [start * width]
        length, found = width * count // len(firsts), []
        with open(self.name, "rb", buffering=0) as file:
            for first in firsts:
                file.seek(self.offset + first * self.dtype.itemsize)
                found.append(np.fromfile(file, self.dtype, length))
                if len(found[-1]) != length:
                    raise FileFormatError(f"{self.name}: is cut short, expected {n_rows:,} rows")
        rows = np.stack(found, axis=1).reshape(-1, width).astype(self.dtype.newbyteorder("="), order="F")
        yield replace(open_matrix(self.name, "NumPy array", rows), first_row=start)


def _open_array(path: str) -> _NumpyRows:
    """Open a .npy file, of which an array of integers (n, 3) or (n, 4) is expected."""
    _state(path)  # refuses a file that is not there
    try:
        with open(path, "rb") as file:
            version = np.lib.format.read_magic(file)
            header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, fortran, dtype = header(file)
            offset = file.tell()
    except Exception as error:  # NumPy raises many kinds for a damaged header
        raise FileFormatError(f"{path}: is not a readable NumPy array: {error}") from error
    if len(shape) != 2 or shape[1] not in (3, 4) or dtype.kind not in "iu":
        raise FileFormatError(f"{path}: got {dtype} of shape {shape}, expected integers (n, 3) or (n, 4)")
    if not shape[0]:
        raise FileFormatError(f"{path}: the array has no rows")
    return _NumpyRows(path, shape, fortran, dtype, offset, range(shape[0]))
