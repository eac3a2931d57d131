"""Delimited text: a first look (encoding, delimiter, header), then columns read by pyarrow in blocks."""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import itertools
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np

from nearer.data.cells import are_numbered, is_whole, number_in
from nearer.data.columns import Column, Table, column_from_arrow
from nearer.data.errors import SHOWN, FileFormatError, counted, listed, shown
from nearer.data.roles import find_header, layout_of

HEAD_BYTES = 1 << 20
SAMPLE_ROWS = 200
MOST_COLUMNS = 10_000
DELIMITERS = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar", " ": "space"}
_CALLED = {name: mark for mark, name in DELIMITERS.items()} | {"pipe": "|", "\\t": "\t"}
WHITESPACE = "whitespace"
COMPRESSED = (".gz", ".bz2", ".zst", ".lz4")
_BINARY = (
    (b"PK\x03\x04", "a zip archive or a spreadsheet: give it the ending .xlsx or .npz"),
    (b"\xd0\xcf\x11\xe0", "an old spreadsheet: give it the ending .xls"),
    (b"PAR1", "a Parquet file: give it the ending .parquet or say format='parquet'"),
    (b"\x93NUMPY", "a NumPy file: give it the ending .npy or say format='numpy'"),
    (b"\x89HDF", "an HDF5 file: if MATLAB wrote it, give it the ending .mat or say format='matlab'"),
    (b"MATLAB", "a MATLAB file: give it the ending .mat or say format='matlab'"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"\x1f\x8b", "compressed by gzip: give it the ending .gz"),
)
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # starts as that of UTF-16 does
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_QUOTED_OR_BLANKS = re.compile(r'(?<![^ \t\r\n])"(?:[^"\r\n]|"")*"(?![^ \t\r\n])|[ \t]+')
_END = "END OF FILE"  # a line of its own, as Gorilla writes it
_LONGEST_CELL = 1 << 26  # Python's own limit is 131,072 characters
_SEP_LINE = re.compile(r'"?sep=([^\r\n"]|\\t)"?[\t ,;]*\r?\n', re.IGNORECASE)

# ---- text that a spreadsheet shows rather than runs ----------------------------------------------------------------

# A cell that starts with one of these may be taken for a formula (the last four are full-width forms).
_RISKY = "=+\\-@\t\r\n＝＋－＠"
_NEEDS_GUARD = re.compile(f"'*[{_RISKY}]")
_GUARDED = re.compile(f"'+[{_RISKY}]")


def guard(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet could take for a formula.

    Text that already starts with apostrophes before such a character gets one more, so that `unguard` undoes it.
    """
    return "'" + text if _NEEDS_GUARD.match(text) else text


def unguard(text: str) -> str:
    """Undo `guard`."""
    return text[1:] if _GUARDED.match(text) else text


def text_cells(texts: Iterable[str], what: str, delimiter: str = ",") -> list[str]:
    """Write texts as cells of a delimited file; refuse what such a file cannot carry, naming what it is and where.

    A cell is guarded, and quoted where it holds a delimiter, a quotation mark or a line end, or starts or ends blank.
    """
    cells = []
    for spot, text in enumerate(texts):
        if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
            raise ValueError(f"{what} {spot} is {text!r}: a text file cannot carry NUL or half a character")
        text = guard(text)
        if any(mark in text for mark in (delimiter, ";", '"', "\n", "\r")) or text != text.strip():
            text = '"' + text.replace('"', '""') + '"'
        cells.append(text)
    return cells


# ---- the first look ------------------------------------------------------------------------------------------------


def split(text: Iterable[str], delimiter: str, padded: bool = False) -> Iterator[tuple[int, int, list[str]]]:
    """Yield (first line, last line, cells) of each row that is not blank; lines are counted from 1.

    If cells are `padded`, blanks may stand between a delimiter and a cell in quotes.
    """
    if delimiter == WHITESPACE:
        for number, line in enumerate(text, 1):
            if line.strip():
                quoted = '"' in line
                yield number, number, next(csv.reader([_squeezed(line)], delimiter=" ")) if quoted else line.split()
        return
    reader = csv.reader(text, delimiter=delimiter, skipinitialspace=padded)
    last, blank = 0, True  # lines of blanks may stand above the first row
    limit = csv.field_size_limit(_LONGEST_CELL)
    try:
        for cells in reader:
            first, last = last + 1, reader.line_num
            blank = blank and not "".join(cells).strip() and len(cells) < 2
            if cells and not blank and cells != [_END]:
                yield first, last, cells
    finally:
        csv.field_size_limit(limit)


def _squeezed(text: str) -> str:
    """Leave one blank of those between cells, and none at the ends of lines; cells in quotes stay as they are."""
    text = _QUOTED_OR_BLANKS.sub(lambda found: found[0] if found[0][0] == '"' else " ", text)
    return re.sub(r"^ | $", "", text, flags=re.MULTILINE)


def decode_head(path: str, head: bytes, whole: bool, encoding: str | None) -> tuple[str, str]:
    """Decode the first bytes of a file: text, without the last, perhaps cut, line unless this is all; and encoding."""
    for mark, reason in _BINARY:
        if head.startswith(mark):
            raise FileFormatError(f"{path}: is not text but {reason}")
    if encoding is None:
        encoding = next((name for bom, name in _BOMS if head.startswith(bom)), "utf-8")
        if encoding not in ("utf-16", "utf-32") and b"\0" in head:
            raise FileFormatError(f"{path}: is not text (binary data at byte {head.index(0) + 1:,})")
    else:
        try:
            "".encode(encoding)  # refuses codecs that are not for text, such as hex
            known = codecs.lookup(encoding).name
        except (LookupError, ValueError):
            raise ValueError(f"encoding: got {encoding!r}, expected a name such as 'utf-8' or 'latin-1'") from None
        if head.startswith(codecs.BOM_UTF8) and known == "utf-8":
            encoding = "utf-8-sig"
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(head, final=whole)
    except UnicodeError as error:
        at = getattr(error, "start", 0)
        raise FileFormatError(encoding_problem(path, encoding, head, at)) from error
    if not whole:
        text = text[: text.rfind("\n") + 1] or text
    return text, encoding


def encoding_problem(path: str, encoding: str, data: bytes, at: int, line: int | None = None) -> str:
    """Say where text cannot be decoded, and what to try."""
    line = line if line is not None else data.count(b"\n", 0, at) + 1
    name = "UTF-8" if encoding.startswith("utf-8") else encoding
    return (
        f"{path}, line {line}: byte 0x{data[at]:02x} is not {name} text; if an older program saved the file, say the "
        "encoding it was saved in, such as encoding='cp1252' (Western Europe), 'cp1251' (Cyrillic) or 'shift_jis'"
    )


def open_text(
    path: str, *, delimiter: str | None = None, header: bool | None = None, encoding: str | None = None
) -> TextTable:
    """Open a delimited text file, also compressed; parameters as in `nearer.io.read_comparisons`.

    Encoding, delimiter and header are found from the first bytes.
    """
    with open_bytes(path) as file:
        head = file.read(HEAD_BYTES)
        whole = len(head) < HEAD_BYTES or not file.read(1)
    told = encoding is not None
    text, encoding = decode_head(path, head, whole, encoding)
    if text.startswith("#"):  # as numpy.savetxt writes a header
        text = text[1:].lstrip(" \t")
    if not text.strip():
        raise FileFormatError(f"{path}: is empty")
    sep_line = _SEP_LINE.match(text)  # Excel's own way to say what separates
    if sep_line and delimiter is None:
        delimiter = sep_line[1]
    delimiter = _find_delimiter(path, text) if delimiter is None else _CALLED.get(delimiter, delimiter)
    if delimiter != WHITESPACE and (len(delimiter) != 1 or delimiter in '\r\n"'):
        raise ValueError(f"delimiter: got {delimiter!r}, expected one character, or 'tab', 'space', 'whitespace'")
    above = 1 if sep_line else 0
    may_be = '"' in text and delimiter not in (WHITESPACE, " ")  # a first look, since a search takes milliseconds
    padded = may_be and re.search(re.escape(delimiter) + ' +"', text) is not None
    rows = _first_rows(path, text, delimiter, SAMPLE_ROWS + 1 + above, padded)[above:]
    if not rows:
        raise FileFormatError(f"{path}: has no rows below {shown(text.strip())}")
    if len(rows[0][2]) > MOST_COLUMNS:
        raise FileFormatError(f"{path}, line 1: {len(rows[0][2]):,} columns, expected at most {MOST_COLUMNS:,}")
    first, last, cells = rows[0]
    names, sample = [cell.strip() for cell in cells], [row[2] for row in rows[1:]]
    hint = ""
    if header is None:

        def below(n_rows: int) -> list[list[str]]:
            if n_rows <= SAMPLE_ROWS:
                return sample[:n_rows]
            return [row[2] for row in _first_rows(path, text, delimiter, None, padded)[above + 1 :]]

        header, hint = find_header(path, names, below, lambda spot: f"line {rows[spot + 1][0]}")
    table = TextTable(
        name=path,
        form=f"{_called(delimiter)}-separated" + ("" if encoding.startswith("utf-8") else f", {encoding}"),
        names=[""] * len(cells),
        header=False,
        notes=["blanks before cells in quotes left out"] if padded else [],
        encoding=encoding,
        told=told,
        delimiter=delimiter,
        skip=first - 1,
        rows=[cells, *sample],
        lone_cr="\r" in text and re.search(r"\r(?!\n)", text) is not None,
        padded=padded,
    )
    if not header:
        table.notes += [hint] if hint else []
        return table
    if not sample and not whole:
        raise FileFormatError(f"{path}, line {last + 1}: is longer than {HEAD_BYTES:,} bytes, expected a row of cells")
    if not sample:
        raise FileFormatError(f"{path}: has a header but no rows")
    if all(len(row) == len(names) + 1 and not row[-1].strip() for row in sample):
        table.notes.append("each row ends with a delimiter, which the header does not")
        table.spare = True
        names.append("")
    elif not names[-1] and all(len(row) == len(names) - 1 for row in sample):
        table.notes.append("the header ends with a delimiter, which the rows do not")
        names.pop()
    elif all(len(row) == len(names) + 1 for row in sample) and len({row[0] for row in sample}) == len(sample):
        lines = io.StringIO(text, newline="").readlines()
        if not _are_row_names(sample, [lines[row[0] - 1] for row in rows[1:]], table.mark):
            raise FileFormatError(
                f"{path}, line {first}: {counted(len(names), 'name')} for {len(names) + 1} columns, and the first "
                f"cells, {listed(shown(row[0]) for row in sample[:SHOWN])}, need not be the names of the rows, as R "
                f"writes them; the last cells are {listed(shown(row[-1]) for row in sample[:SHOWN])}: write a name for "
                "each column in the header"
            )
        table.notes.append("the header is one name short: the first cell of each row is its name, as R writes it")
        names.insert(0, "")
    named = not are_numbered(names)
    return replace(
        table, names=names, header=named, header_line=last if named else None, hint=hint, skip=last, rows=sample
    )


def _are_row_names(rows: list[list[str]], lines: list[str], mark: str) -> bool:
    """Tell whether the first cells, all distinct, are the names of rows, as R writes them, and no objects.

    R quotes them, and counts up where there are no others. `lines` are the rows as written.
    """
    named = [row[0].strip() for row in rows]
    others = {cell.strip() for row in rows for cell in row[1:]}
    counted_up = all(map(is_whole, named)) and all(int(low) < int(high) for low, high in itertools.pairwise(named))
    quoted = all(line.startswith('"') for line in lines)
    if counted_up:
        # Objects may be numbers too; then the quotation marks tell the two apart.
        marked = re.compile(f'"[0-9]+"{re.escape(mark)}[^"]')
        return all(map(marked.match, lines)) or (
            others.isdisjoint(named) and any(number_in(row[1]) is None for row in rows)
        )
    return quoted and others.isdisjoint(named) and any(number_in(row[-1]) is None for row in rows)


def _first_rows(
    path: str, text: str, delimiter: str, count: int | None, padded: bool
) -> list[tuple[int, int, list[str]]]:
    rows: list[tuple[int, int, list[str]]] = []
    try:
        rows += itertools.islice(split(io.StringIO(text, newline=""), delimiter, padded), count)
    except csv.Error as error:
        raise FileFormatError(f"{path}, line {len(rows) + 1}: cannot be split into cells: {error}") from error
    return rows


def _find_delimiter(path: str, text: str) -> str:
    """Choose the delimiter by which most rows split alike, into as many cells as a comparison needs."""
    best, score = None, (0.0, 0)
    others: list[str] = []  # marks by which every row splits alike as well
    for delimiter in (*DELIMITERS, WHITESPACE):
        try:
            rows = [cells for _, _, cells in _first_rows(path, text, delimiter, SAMPLE_ROWS, delimiter != " ")]
        except FileFormatError:
            continue  # a cell longer than any should be
        if not rows:
            continue
        width = max(len(rows[0]), len(rows[-1]) if len(rows[-1]) == len(rows[0]) + 1 else 0)
        if width < 3 or (delimiter == " " and any("" in cells for cells in rows)):
            continue
        if delimiter != WHITESPACE and layout_of(rows[0]):
            return delimiter
        alike = sum(len(cells) == width for cells in rows) / len(rows)
        others += [delimiter] if alike == 1 and delimiter not in (" ", WHITESPACE) else []
        # Blanks also occur inside labels: they separate only if nothing else does.
        if (alike, width) > score and not (delimiter in (" ", WHITESPACE) and score[0] > 0.9 and best != " "):
            best, score = delimiter, (alike, width)
    if best is None or score[0] < 0.5:
        line = shown(text.lstrip("\r\n").split("\n", 1)[0].rstrip("\r"))
        raise FileFormatError(
            f"{path}, line 1: cannot split {line} into the 3 or more columns of a comparison; "
            "say delimiter= if it is none of comma, tab, semicolon, bar, space"
        )
    if len(others) > 1:
        raise FileFormatError(
            f"{path}: every row can be split by {' and by '.join(map(_called, others))}; say which with delimiter="
        )
    return best


@contextlib.contextmanager
def open_bytes(path: str) -> Iterator[IO[bytes]]:
    """Open a file to read its bytes, unpacked if its ending says that it is compressed."""
    import pyarrow as pa

    if Path(path).suffix.lower() not in COMPRESSED:
        with open(path, "rb") as file:
            yield file
        return
    try:
        with pa.input_stream(path, compression="detect") as raw:
            yield io.BufferedReader(raw)
    except (OSError, pa.ArrowException) as error:
        raise FileFormatError(f"{path}: cannot be unpacked: {str(error).splitlines()[0]}") from error


# ---- the table -----------------------------------------------------------------------------------------------------


@dataclass
class TextTable(Table):
    """A delimited text file, as a first look found it."""

    encoding: str = "utf-8"
    told: bool = False  # whether the user said the encoding
    delimiter: str = ","  # one character, or "whitespace" for runs of blanks
    skip: int = 0  # lines before the first row of data
    rows: list[list[str]] = field(default_factory=list)  # the first rows of data
    lone_cr: bool = False  # whether a line ends with a carriage return alone
    padded: bool = False  # whether blanks stand between a delimiter and a cell in quotes
    spare: bool = False  # whether each row ends with a delimiter, and the header does not
    _n_rows: int = -1

    @property
    def mark(self) -> str:
        """The character between two cells."""
        return " " if self.delimiter == WHITESPACE else self.delimiter

    def read(self, positions: Sequence[int]) -> list[Column]:
        return self.read_beside(positions, ())[0]

    def read_beside(self, positions: Sequence[int], others: Sequence[int]) -> tuple[list[Column], dict[int, Column]]:
        import pyarrow as pa
        import pyarrow.csv as pacsv

        positions = [*positions, len(self.names) - 1] if self.spare else positions
        others = [spot for spot in others if spot not in positions]
        watched = None if self._is_plain else _Watched(self._stream(), self.mark)
        held = watched is None and os.path.getsize(self.name) <= _HELD_BYTES
        n_ends = 0

        def without_end(row: Any) -> str:
            """Leave out a line END OF FILE; any other of another width is an error."""
            nonlocal n_ends
            is_end = row.actual_columns == 1 and row.text.strip('"\r\n') == _END
            n_ends += is_end
            return "skip" if is_end else "error"

        names = [f"c{position}" for position in range(len(self.names))]
        wanted = [names[position] for position in (*positions, *others)]
        options = {
            "read_options": pacsv.ReadOptions(
                block_size=_BLOCK_BYTES // 4 if held else _BLOCK_BYTES,
                column_names=names,
                skip_rows=self.skip,
                encoding=self.encoding.removesuffix("-sig"),
            ),
            "parse_options": pacsv.ParseOptions(
                delimiter=self.mark, newlines_in_values=not self._is_plain, invalid_row_handler=without_end
            ),
            "convert_options": pacsv.ConvertOptions(
                include_columns=wanted,
                # Codes of texts: of the text itself, only what is being read is held, where it is much.
                column_types=dict.fromkeys(wanted, pa.string() if held else pa.dictionary(pa.int32(), pa.string())),
                check_utf8=False,  # the distinct texts are checked instead
                null_values=[""],
                strings_can_be_null=True,
            ),
        }
        try:
            if watched is None:
                found = pacsv.read_csv(pa.OSFile(self.name), **options)
            else:
                with pacsv.open_csv(watched, **options) as reader:
                    found = reader.read_all()
            with ThreadPoolExecutor(min(_MOST_THREADS, len(wanted))) as pool:
                columns = [replace(column, all_occur=True) for column in pool.map(column_from_arrow, found.columns)]
        except (pa.ArrowInvalid, UnicodeDecodeError) as error:
            raise self._diagnose(error) from error
        self._n_rows = len(columns[0])
        beside = dict(zip(others, columns[len(positions) :]))
        columns = columns[: len(positions)]
        if watched is not None and watched.doubtful:
            self._refuse_loose_quotes()
        if n_ends:
            self.notes.append(f"{counted(n_ends, 'line')} {_END} left out")
        if self.spare and len(filled := np.flatnonzero(~columns.pop().empty())):
            row = int(filled[0])
            raise FileFormatError(f"{self.name}, {self.place(row)}: a cell more than the header has names")
        self._refuse_escapes(columns, positions)
        return self._without_marks(columns), beside

    def _refuse_loose_quotes(self) -> None:
        """Refuse text after the quotation mark that closes a cell: the marks would be lost, and the cell another."""
        mark = self.delimiter
        if mark == WHITESPACE:
            return
        closed = re.compile(rf'" +(?=[{re.escape(mark)}\r\n]|$)')
        with self._text() as text:
            reader = csv.reader(
                (closed.sub('"', line) for line in text), delimiter=mark, strict=True, skipinitialspace=self.padded
            )
            limit = csv.field_size_limit(_LONGEST_CELL)
            try:
                for _ in reader:
                    pass
            except csv.Error as error:
                if "expected after" in str(error):
                    raise FileFormatError(
                        f"{self.name}, line {reader.line_num}: text follows the quotation mark that closes a cell, "
                        "expected a delimiter; put the whole cell in quotes and write each mark within it twice, or, "
                        "if the marks of this file are text, give the table that pandas.read_csv(..., quoting=3) reads"
                    ) from None
            finally:
                csv.field_size_limit(limit)

    def _refuse_escapes(self, columns: list[Column], positions: Sequence[int]) -> None:
        """Refuse cells that hold an escape character, as text in a Japanese encoding does, unless one was told."""
        import pyarrow.compute as pc

        doubtful = not self.told and Column.some_may_hold(columns, "\x1b")
        for column, position in zip(columns, positions) if doubtful else ():
            found = pc.indices_nonzero(pc.match_substring_regex(column.values, "\x1b[$(]")).to_numpy()
            if len(found):
                why = "is not text (holds an escape character); if it was saved so, say encoding='iso2022_jp'"
                cell = shown(column.texts()[found[0]])
                row = int(np.argmax(column.cells == found[0]))
                raise self.refusal(f"{cell} {why}, or encoding='utf-8' to keep it", position, row)

    def _without_marks(self, columns: list[Column]) -> list[Column]:
        """Take off what belongs to the file and not to the cells: guarding apostrophes, blanks after each delimiter."""
        import pyarrow.compute as pc

        def some(pattern: str) -> int:
            return sum(pc.sum(pc.match_substring_regex(column.values, pattern)).as_py() or 0 for column in columns)

        guarded = some(f"^'+[{_RISKY}]") if Column.some_may_hold(columns, "'") else 0
        if guarded and not some(f"^[{_RISKY}]"):
            self.notes.append(
                f"{counted(guarded, 'cell')} read without the apostrophe that guards it from a spreadsheet"
            )
            pattern = f"^'('*[{_RISKY}])"
            columns = [
                replace(column, values=pc.replace_substring_regex(column.values, pattern, r"\1")) for column in columns
            ]
        blank = [False]
        if Column.some_may_hold(columns, " "):
            blank = [pc.all(pc.starts_with(column.values, " ")).as_py() is True for column in columns]
        if any(blank):
            self.notes.append(f"blanks after the delimiter left out in {counted(sum(blank), 'column')}")
            columns = [
                replace(column, values=_unquoted(pc.utf8_ltrim(column.values, characters=" "))) if cut else column
                for column, cut in zip(columns, blank)
            ]
        return columns

    def head(self, n_rows: int, n_columns: int | None = None) -> list[list[str]]:
        return [row[:n_columns] for row in self.rows[:n_rows]]

    def place(self, row: int) -> str:
        if self._lines_are_rows:
            return f"line {row + self.skip + 1}"
        first, _, _ = next(itertools.islice(self._data(), row, None), (None, 0, []))
        return f"row {row + 1}" if first is None else f"line {first}"

    def follows_gap(self, row: int) -> bool:
        if self._lines_are_rows:
            return False
        two = list(itertools.islice(self._data(), max(row - 1, 0), row + 1))
        return len(two) == 2 and two[1][0] > two[0][1] + 1

    def _data(self) -> Iterator[tuple[int, int, list[str]]]:
        """The rows of data, as `split` gives them."""
        with self._text() as text:
            rows = split(text, self.delimiter, self.padded)
            yield from (row for row in rows if row[0] > self.skip)

    @cached_property
    def _is_plain(self) -> bool:
        """Tell whether it can be read as it is, by lines: UTF-8 without quoted cells."""
        is_utf8 = self.encoding.startswith("utf-8") and Path(self.name).suffix.lower() not in COMPRESSED
        if not is_utf8 or self.delimiter == WHITESPACE or self.lone_cr or self.padded:
            return False
        return not any(b'"' in block for block in self._blocks())

    @cached_property
    def _lines_are_rows(self) -> bool:
        """Tell whether every line is one row: no quoted cells, no blank lines."""
        if not self._is_plain:
            return False
        n_lines, last = -self.skip, b"\n"
        for block in self._blocks():
            n_lines += block.count(b"\n")
            last = block[-1:]
        return n_lines + (last != b"\n") == self._n_rows

    def _blocks(self) -> Iterator[bytes]:
        with open(self.name, "rb") as file:
            yield from iter(lambda: file.read(_SCAN_BYTES), b"")

    def _stream(self) -> Any:
        import pyarrow as pa

        if self.delimiter != WHITESPACE and not self.padded:
            return pa.input_stream(self.name, compression="detect")
        with self._text() as text:
            squeezed = _unpadded(text.read(), self.delimiter) if self.padded else _squeezed(text.read())
        return pa.BufferReader(squeezed.encode(self.encoding.removesuffix("-sig")))

    def _text(self) -> IO[str]:
        import pyarrow as pa

        raw = pa.input_stream(self.name, compression="detect")
        return io.TextIOWrapper(raw, encoding=self.encoding, newline="")

    def _diagnose(self, error: Exception) -> FileFormatError:
        """Find out which lines pyarrow could not read; only ever run once reading has failed."""
        width = len(self.names)
        bad, shown_lines = 0, []
        try:
            for row in self._data():
                if len(row[2]) != width:
                    bad += 1
                    if bad <= SHOWN:
                        shown_lines.append(row)
        except UnicodeDecodeError:
            return self._undecodable()
        except csv.Error as problem:
            return FileFormatError(f"{self.name}: cannot be split into cells: {problem}")
        if not bad:
            return FileFormatError(f"{self.name}: cannot be read as a table: {str(error).splitlines()[0]}")
        first, last, cells = shown_lines[0]
        line = self.mark.join(cells)
        message = (
            f"{self.name}, line {first}: {counted(len(cells), 'cell')} where "
            f"{'the header' if self.header else 'the first row'} has {width}: {shown(line)}"
        )
        others = (mark for mark in DELIMITERS if mark != self.delimiter and len(line.split(mark)) == width)
        other = next(others, None)
        if other:
            message += f"; this line looks separated by {DELIMITERS[other]}, the file by {_called(self.delimiter)}"
        elif last - first > 20:
            message += "; is a quotation mark not closed?"
        if bad > 1:
            lines = listed(f"line {row[0]}" for row in shown_lines)
            message += f" ({bad:,} such rows: {lines}{', ...' if bad > SHOWN else ''})"
        return FileFormatError(message)

    def _undecodable(self) -> FileFormatError:
        with open_bytes(self.name) as file:
            for number, line in enumerate(file, 1):
                try:
                    line.decode(self.encoding)
                except UnicodeDecodeError as error:
                    return FileFormatError(encoding_problem(self.name, self.encoding, line, error.start, number))
        return FileFormatError(f"{self.name}: is not {self.encoding} text; say encoding=")


def _unpadded(text: str, delimiter: str) -> str:
    """Take out blanks between a delimiter and a cell in quotes; cells in quotes stay as they are."""
    mark = re.escape(delimiter)
    return re.sub(rf'(?:(?<![^{mark}\r\n])|(?<={mark}) +)("(?:[^"]|"")*")', r"\1", text)


def _unquoted(values: Any) -> Any:
    """Take the quotation marks off texts that had blanks before them."""
    import pyarrow.compute as pc

    quoted = pc.match_substring_regex(values, r'^"(?:[^"]|"")*" *$')
    inner = pc.replace_substring(pc.replace_substring_regex(values, r'^"|" *$', ""), '""', '"')
    return pc.if_else(quoted, inner, values)


def _called(delimiter: str) -> str:
    return DELIMITERS.get(delimiter, delimiter)


# Large enough that few dictionaries have to be merged, small enough to keep several cores busy.
_BLOCK_BYTES = 16 << 20
_SCAN_BYTES = 256 << 10
_MOST_THREADS = 8  # that code columns; each of them has helpers if it is long
_HELD_BYTES = 256 << 20  # of texts that are coded after they were read, which is faster


class _Watched(io.RawIOBase):
    """A stream that notices quotation marks after and before other text, which may be within a cell."""

    def __init__(self, raw: Any, delimiter: str) -> None:
        self._raw, self._mark, self._last, self.doubtful = raw, ord(delimiter), b"\n\n", False

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Read some bytes, and look at them."""
        data = self._raw.read(size)
        for start in range(0, len(data), _SCAN_BYTES) if not self.doubtful else ():
            some = self._last + data[start : start + _SCAN_BYTES]
            letters = np.frombuffer(some, np.uint8)
            quotes = letters == ord('"')
            others = letters != self._mark
            others &= letters != ord("\n")
            others &= letters != ord("\r")
            within = quotes[1:-1] & others[:-2]
            within &= others[2:] & ~quotes[2:]
            self.doubtful |= bool(within.any())
            self._last = some[-2:]
        return data
