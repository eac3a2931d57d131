"""Delimited text: a first look (encoding, delimiter, names of columns), then columns read by pyarrow in blocks."""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import itertools
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from nearer.data.messages import FileFormatError, counted, shown
from nearer.data.validate import is_unicode
from nearer.tables.table import Table

HEAD_BYTES = 1 << 20
SAMPLE_ROWS = 200
DELIMITERS = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar"}
WHITESPACE = "whitespace"  # runs of blanks
_CALLED = {name: mark for mark, name in DELIMITERS.items()} | {"pipe": "|", "\\t": "\t", "space": " "}
COMPRESSED = (".gz", ".bz2", ".zst", ".lz4")
_BOMS = {  # UTF-32 first: its mark starts with the mark of UTF-16
    codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16",
}  # fmt: skip
_QUOTED_OR_BLANKS = re.compile(r'(?<![^ \t\r\n])"(?:[^"\r\n]|"")*"(?![^ \t\r\n])|[ \t]+')
_END = "END OF FILE"  # a separate line, as Gorilla writes it
_LONGEST_CELL = 1 << 26  # Python's own limit is 131,072 characters

# A cell that starts with one of these may be taken for a formula (the last four are full-width forms).
_RISKY = "=+-@\t\r\n＝＋－＠"


def guard(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet could run as a formula."""
    return "'" + text if text.lstrip("'")[:1] in {*_RISKY} else text


def unguard(text: str) -> str:
    return text[1:] if text[:1] == "'" and guard(text) != text else text


def text_cells(texts: Iterable[str], what: str, delimiter: str = ",") -> list[str]:
    """Write texts as cells, guarded, and quoted where necessary; `what` names them in messages."""
    cells = []
    for position, text in enumerate(texts):
        if "\0" in text or not is_unicode(text):
            raise ValueError(f"{what} {position} is {text!r}: a text file cannot hold NUL or half a character")
        text = guard(text)
        if any(mark in text for mark in (delimiter, ";", '"', "\n", "\r")) or text != text.strip():
            text = '"' + text.replace('"', '""') + '"'
        cells.append(text)
    return cells


def csv_text(table: Mapping[str, Sequence[Any]], spec: str = "") -> str:
    """A table as CSV, without formulas; floats are formatted by `spec`, NaN is empty."""

    def cell(value: Any) -> str:
        if isinstance(value, float):
            return "" if value != value else f"{value:{spec}}"
        return str(value)

    columns = []
    for name, values in table.items():
        texts = iter(text_cells([value for value in values if isinstance(value, str)], name))
        columns.append([next(texts) if isinstance(value, str) else cell(value) for value in values])
    return "".join(f"{','.join(row)}\n" for row in [tuple(table), *zip(*columns)])


_Row = tuple[int, int, list[str]]  # first line, last line (counted from 1), cells


def _split(path: str, text: Iterable[str], delimiter: str) -> Iterator[_Row]:
    if delimiter == WHITESPACE:
        text, delimiter = map(_squeezed, text), " "
    reader = csv.reader(text, delimiter=delimiter, strict=True)  # refuses text after a closing quotation mark
    last, blank = 0, True  # lines of blanks may stand above the first row
    limit = csv.field_size_limit(_LONGEST_CELL)
    try:
        for cells in reader:
            first, last = last + 1, reader.line_num
            blank = blank and not "".join(cells).strip() and len(cells) < 2
            if cells and not blank and cells != [_END]:
                yield first, last, cells
    except csv.Error as error:
        raise FileFormatError(f"{path}, line {last + 1}: cannot be split into cells: {error}") from error
    finally:
        csv.field_size_limit(limit)


def _first_rows(path: str, text: IO[str], delimiter: str, above: int, count: int = 1 + SAMPLE_ROWS) -> list[_Row]:
    text.seek(0)
    rows = (row for row in _split(path, text, delimiter) if row[0] > above)
    return list(itertools.islice(rows, count))


def _squeezed(text: str) -> str:
    """Leave one blank between cells and none at the ends of lines; quoted cells stay as they are."""
    text = _QUOTED_OR_BLANKS.sub(lambda found: found[0] if found[0][0] == '"' else " ", text)
    return re.sub(r"^ | (?=\r?$)", "", text, flags=re.MULTILINE)


def decode_head(path: str, head: bytes, whole: bool, encoding: str | None) -> tuple[str, str]:
    """Decode the first bytes of a file, up to the last complete line unless `whole`; also gives the encoding."""
    if encoding is None:
        encoding = next((name for bom, name in _BOMS.items() if head.startswith(bom)), "utf-8")
        if encoding not in ("utf-16", "utf-32") and b"\0" in head:
            raise FileFormatError(
                f"{path}: is not text: binary data at byte {head.index(0) + 1:,}; is its ending right?"
            )
    try:
        "".encode(encoding)  # refuses codecs that are not for text, such as hex
        if codecs.lookup(encoding).name == "utf-8":
            encoding = "utf-8-sig"  # with or without a byte order mark
    except (LookupError, ValueError):
        raise ValueError(f"encoding: got {encoding!r}, expected a name such as 'utf-8' or 'latin-1'") from None
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(head, final=whole)
    except UnicodeError as error:
        at = getattr(error, "start", 0)
        raise _undecodable(path, encoding, head[at], head.count(b"\n", 0, at) + 1) from error
    return text if whole else text[: text.rfind("\n") + 1] or text, encoding


def decoded_lines(path: str, encoding: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file, numbered from 1; one that cannot be decoded is refused."""
    with open_bytes(path) as file:
        for number, line in enumerate(file, 1):
            try:
                yield number, line.decode(encoding)
            except UnicodeDecodeError as error:
                raise _undecodable(path, encoding, line[error.start], number) from None


def _undecodable(path: str, encoding: str, byte: int, line: int) -> FileFormatError:
    hint = "give the option `encoding`, such as cp1252 (Western Europe), cp1251 or shift_jis"
    name = encoding.removesuffix("-sig").upper()
    return FileFormatError(f"{path}, line {line}: byte 0x{byte:02x} is not {name} text; {hint}")


def open_text(
    path: str, *, delimiter: str | None = None, encoding: str | None = None, header_row: int = 1
) -> TextTable:
    """Open a delimited text file, also compressed; `header_row` is the line of the names of the columns, 0 for none."""
    with open_bytes(path) as file:
        head = file.read(HEAD_BYTES)
        whole = len(head) < HEAD_BYTES or not file.read(1)
    text, encoding = decode_head(path, head, whole, encoding)
    if header_row and text.startswith("# "):  # as numpy.savetxt writes a header
        text = text[2:].lstrip()
    if not text.strip():
        raise FileFormatError(f"{path}: is empty")
    lines = io.StringIO(text, newline="")
    above = max(header_row - 1, 0)  # lines
    if delimiter is None:
        delimiter = _find_delimiter(path, lines, above)
    delimiter = _CALLED.get(delimiter, delimiter)
    if delimiter != WHITESPACE and (len(delimiter) != 1 or delimiter in '\r\n"'):
        raise ValueError(f"delimiter: got {delimiter!r}, expected one character, or 'tab', 'space', 'whitespace'")
    rows = _first_rows(path, lines, delimiter, above)
    if not rows:
        raise FileFormatError(f"{path}: ends before line {header_row}, expected the names of the columns there")
    first, last, cells = rows[0]
    called = "space" if delimiter == " " else DELIMITERS.get(delimiter, delimiter)
    form = f"{called}-separated" + ("" if encoding[:5] == "utf-8" else f", {encoding}")
    names = [cell.strip() if header_row else "" for cell in cells]
    data = [row[2] for row in rows[1 if header_row else 0 :]]
    if not data:
        raise FileFormatError(f"{path}: has a header but no rows{'' if whole else f' within {HEAD_BYTES:,} bytes'}")
    notes = []
    if delimiter == WHITESPACE and {*map(len, data)} == {len(names) + 1}:
        names.insert(0, "")
        notes.append("each row has one cell more than the header: the first, as in a table of R")
    skip = last if header_row else first - 1
    return TextTable(
        path, form, names, notes=notes, encoding=encoding, delimiter=delimiter, skip=skip, rows=data
    )  # fmt: skip


def _find_delimiter(path: str, text: IO[str], above: int) -> str:
    endings = [ending for ending in map(str.lower, Path(path).suffixes) if ending not in COMPRESSED]
    if endings[-1:] in ([".tsv"], [".tab"]):
        return "\t"
    found = []
    for mark in DELIMITERS:
        with contextlib.suppress(FileFormatError):  # quotation marks that belong to another delimiter
            first, *below = [len(cells) for _, _, cells in _first_rows(path, text, mark, above, 2)] or [0]
            if first > 1 and max(below, default=first) - first in (0, 1):
                found.append(mark)
    if len(found) > 1:
        ways = " and by ".join(DELIMITERS[mark] for mark in found)
        raise FileFormatError(f"{path}: the first rows can be split by {ways}; give the option `delimiter`")
    if not found:  # blanks also occur in cells: they separate only where nothing else does
        first, *below = [len(cells) for _, _, cells in _first_rows(path, text, WHITESPACE, above)] or [0]
        if len({*below}) == 1 and below[0] > 2 and below[0] - first in (0, 1):
            return WHITESPACE
    return found[0] if found else ","


@contextlib.contextmanager
def open_bytes(path: str) -> Iterator[IO[bytes]]:
    try:
        with pa.input_stream(path, compression="detect") as raw:
            yield io.BufferedReader(raw, 1 << 20)
    except (OSError, pa.ArrowException) as error:
        raise FileFormatError(f"{path}: cannot be read or decompressed: {str(error).splitlines()[0]}") from error


# Large enough that few dictionaries have to be merged; smaller where text is coded afterwards, to use all cores.
_BLOCK_BYTES, _HELD_BLOCK = 16 << 20, 4 << 20
_SCAN_BYTES = 1 << 20
_MOST_THREADS = 8  # that look texts up
_MANY = 1 << 19  # rows
_HELD_BYTES = 256 << 20  # of texts that are coded after they were read, which is faster


def _coded(columns: Sequence[Any]) -> list[Any]:
    """Each chunked column of text, dictionary-encoded as one array."""

    def encoded(column: Any) -> Any:
        return column.dictionary_encode().unify_dictionaries().combine_chunks()

    starts = range(0, len(columns[0]), _MANY)
    if len(starts) < 2 or pa.types.is_dictionary(columns[0].type):
        return list(map(encoded, columns))
    # Looking texts up among the texts of the first rows is faster, if there are no others.
    with ThreadPoolExecutor(min(_MOST_THREADS, pa.cpu_count())) as pool:
        texts = list(pool.map(lambda column: pc.unique(column.slice(0, _MANY // 4)), columns))
        tasks = [(column.slice(start, _MANY), known) for column, known in zip(columns, texts) for start in starts]
        looked_up = pool.map(lambda task: pc.index_in(task[0], value_set=task[1]).chunks, tasks)
        codes = [pa.chunked_array(itertools.chain(*itertools.islice(looked_up, len(starts)))) for _ in columns]
    coded = (pa.DictionaryArray.from_arrays(found.combine_chunks(), known) for known, found in zip(texts, codes))
    return [encoded(column) if made.null_count else made for column, made in zip(columns, coded)]


def _may_hold(texts: Any, letter: str) -> bool:
    """Whether some text may hold an ASCII letter: one look at all bytes is much faster than one at each text."""
    return letter.encode() in memoryview(texts.buffers()[2] or b"").tobytes()


@dataclass
class TextTable(Table):
    """A delimited text file, with what its first bytes show."""

    encoding: str = "utf-8"
    delimiter: str = ","  # one character, or "whitespace"
    skip: int = 0  # lines before the first row of data
    rows: list[list[str]] = field(default_factory=list)  # the first rows of data

    def read(self, positions: Sequence[int]) -> dict[int, Any]:
        held = self._is_plain and os.path.getsize(self.name) <= _HELD_BYTES
        names = [f"c{position}" for position in range(len(self.names))]
        wanted = list(dict.fromkeys(names[position] for position in positions)) or names[:1]
        read_options = pacsv.ReadOptions(
            block_size=_HELD_BLOCK if held else _BLOCK_BYTES, column_names=names, skip_rows=self.skip,
            encoding=self.encoding.removesuffix("-sig"),
        )  # fmt: skip
        parse_options = pacsv.ParseOptions(
            delimiter=" " if self.delimiter == WHITESPACE else self.delimiter, newlines_in_values=not self._is_plain,
            invalid_row_handler=lambda row: "skip" if row.text.strip('"\r\n') == _END else "error",
        )  # fmt: skip
        # Texts are read as codes: only the current block of a large file is held as text, and only the distinct texts
        # are checked to be UTF-8.
        kind = pa.string() if held else pa.dictionary(pa.int32(), pa.string())
        convert_options = pacsv.ConvertOptions(
            include_columns=wanted, column_types=dict.fromkeys(wanted, kind), check_utf8=False,
            strings_can_be_null=False,  # an empty cell is an empty text, which costs less
        )  # fmt: skip
        try:
            with self._stream() as stream:
                found = pacsv.read_csv(stream, read_options, parse_options, convert_options)
            read = dict(zip(wanted, _coded(found.columns)))
            for column in read.values():
                column.dictionary.validate(full=True)  # that text is UTF-8
        except (pa.ArrowInvalid, UnicodeDecodeError) as error:
            raise self._diagnose(error) from error
        return {position: self._cleaned(read[names[position]], position) for position in positions}

    def _cleaned(self, column: Any, position: int) -> Any:
        """Remove leading blanks, if every cell has some, and the apostrophes of `guard`, if every cell has one."""
        texts = column.dictionary
        if _may_hold(texts, " "):
            quoted = pc.match_substring_regex(texts, '^ +"')
            if pc.any(quoted).as_py():
                where = f"{self.place(pc.index(quoted.take(column.indices), True).as_py())}, {self.title(position)}"
                why = "got a blank before a quotation mark, expected none: the cell would keep its marks"
                raise FileFormatError(f"{self.name}, {where}: {why}")
            if pc.all(pc.starts_with(texts, " ")).as_py():
                texts = pc.utf8_ltrim(texts, characters=" ")
        if _may_hold(texts, "'"):
            cells = texts.to_pylist()
            if not any(cell[:1] in {*_RISKY} for cell in cells):
                texts = pa.array(map(unguard, cells))
        return pa.DictionaryArray.from_arrays(column.indices, texts, safe=False)

    def head(self, n_rows: int) -> list[list[str]]:
        width = len(self.names)  # a row of another width is refused when it is read
        return [[*row, *[""] * width][:width] for row in self.rows[:n_rows]]

    def place(self, row: int) -> str:
        return f"line {next(itertools.islice(self._data('replace'), row, None))[0]}"

    def _data(self, errors: str = "strict") -> Iterator[_Row]:
        with self._text(errors) as text:
            yield from (row for row in _split(self.name, text, self.delimiter) if row[0] > self.skip)

    @cached_property
    def _is_plain(self) -> bool:
        """Whether it can be read as it is, by lines: UTF-8 without quoted cells."""
        is_utf8 = self.encoding.startswith("utf-8") and Path(self.name).suffix.lower() not in COMPRESSED
        if not is_utf8 or self.delimiter == WHITESPACE:
            return False
        with open(self.name, "rb") as file:
            return not any(b'"' in block for block in iter(lambda: file.read(_SCAN_BYTES), b""))

    def _stream(self) -> Any:
        if self.delimiter != WHITESPACE:
            return pa.OSFile(self.name) if self._is_plain else pa.input_stream(self.name, compression="detect")
        with self._text() as text:
            return pa.BufferReader(_squeezed(text.read()).encode(self.encoding.removesuffix("-sig")))

    def _text(self, errors: str = "strict") -> IO[str]:
        raw = pa.input_stream(self.name, compression="detect")
        return io.TextIOWrapper(raw, encoding=self.encoding, errors=errors, newline="")

    def _diagnose(self, error: Exception) -> FileFormatError:
        width = len(self.names)
        try:
            wrong = (row for row in self._data() if len(row[2]) != width)
            bad, n_more = next(wrong, None), sum(1 for _ in wrong)
        except UnicodeDecodeError:
            for _ in decoded_lines(self.name, self.encoding):  # refuses the line
                pass
            return FileFormatError(f"{self.name}: is not {self.encoding} text; give the option `encoding`")
        if bad is None:
            return FileFormatError(f"{self.name}: cannot be read as a table: {str(error).splitlines()[0]}")
        first, _, cells = bad
        hint = "is a quotation mark not closed, does a cell hold the delimiter, or is it another line than header_row?"
        hint += f" ({n_more + 1:,} such rows)" if n_more else ""
        why = f"{counted(len(cells), 'cell')}, expected {width}: {shown(', '.join(cells))}; {hint}"
        return FileFormatError(f"{self.name}, line {first}: {why}")
