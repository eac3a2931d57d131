"""The first look at a text file: encoding, delimiter, header."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .aliases import role_of
from .errors import FileFormatError, shown
from .roles import FORMS, is_header

HEAD_BYTES = 1 << 20
SAMPLE_ROWS = 200
DELIMITERS = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar", " ": "space"}
_CALLED = {name: mark for mark, name in DELIMITERS.items()} | {"pipe": "|", "\\t": "\t"}
WHITESPACE = "whitespace"
_BINARY = (
    (b"PK\x03\x04", "a zip archive or a spreadsheet (.xlsx): save it as CSV first"),
    (b"\xd0\xcf\x11\xe0", "an old spreadsheet (.xls): save it as CSV first"),
    (b"PAR1", "a Parquet file: give it the ending .parquet or say format='parquet'"),
    (b"\x93NUMPY", "a NumPy file: give it the ending .npy or say format='numpy'"),
    (b"\x89HDF", "an HDF5 file: if MATLAB wrote it, give it the ending .mat or say format='matlab'"),
    (b"MATLAB", "a MATLAB file: give it the ending .mat or say format='matlab'"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"\x1f\x8b", "compressed by gzip: give it the ending .gz"),
)
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


@dataclass(frozen=True)
class Look:
    """What a first look found.

    Parameters
    ----------
    encoding : str
    delimiter : str
        One character, or ``"whitespace"`` for runs of blanks.
    header : bool
    names : list of str
        Column names (``""`` for none).
    skip : int
        Lines before the first row of data.
    rows : list of list of str
        The first rows of data.
    only_cr : bool
        Whether lines end with a carriage return alone.
    """

    encoding: str
    delimiter: str
    header: bool
    names: list[str]
    skip: int
    rows: list[list[str]]
    only_cr: bool = False


def split(text: Iterable[str], delimiter: str) -> Iterator[tuple[int, int, list[str]]]:
    """Yield (first line, last line, cells) of each row that is not blank; lines are counted from 1."""
    if delimiter == WHITESPACE:
        for number, line in enumerate(text, 1):
            if line.strip():
                yield number, number, line.split()
        return
    reader = csv.reader(text, delimiter=delimiter)
    last = 0
    for cells in reader:
        first, last = last + 1, reader.line_num
        if cells:
            yield first, last, cells


def decode_head(path: str, head: bytes, whole: bool, encoding: str | None) -> tuple[str, str]:
    """Return the text of `head` (without its last, perhaps cut, line unless it is the whole file) and the encoding."""
    for mark, reason in _BINARY:
        if head.startswith(mark):
            raise FileFormatError(f"{path}: is not text but {reason}")
    if encoding is None:
        encoding = next((name for bom, name in _BOMS if head.startswith(bom)), "utf-8")
        if encoding != "utf-16" and b"\0" in head:
            raise FileFormatError(f"{path}: is not text (binary data at byte {head.index(0) + 1:,})")
    elif head.startswith(codecs.BOM_UTF8) and codecs.lookup(encoding).name == "utf-8":
        encoding = "utf-8-sig"
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(head, final=whole)
    except UnicodeDecodeError as error:
        raise FileFormatError(encoding_problem(path, encoding, head, error.start)) from error
    if not whole:
        text = text[: text.rfind("\n") + 1] or text
    return text, encoding


def encoding_problem(path: str, encoding: str, data: bytes, at: int, line: int | None = None) -> str:
    """Say where text cannot be decoded, and what to try."""
    line = line if line is not None else data.count(b"\n", 0, at) + 1
    name = "UTF-8" if encoding.startswith("utf-8") else encoding
    return (
        f"{path}, line {line}: byte 0x{data[at]:02x} is not {name} text; if an older program saved the file, "
        "try encoding='latin-1' or encoding='cp1252'"
    )


def look(path: str, head: bytes, whole: bool, delimiter: str | None, header: bool | None, encoding: str | None) -> Look:
    """Find encoding, delimiter and header of a table from its first bytes."""
    text, encoding = decode_head(path, head, whole, encoding)
    if not text.strip():
        raise FileFormatError(f"{path}: is empty")
    if text.startswith("#"):  # as numpy.savetxt writes a header
        text = text[1:].lstrip(" \t")
    delimiter = _CALLED.get(delimiter, delimiter) if delimiter else _find_delimiter(path, text)
    if delimiter != WHITESPACE and len(delimiter) != 1:
        raise ValueError(f"delimiter: got {delimiter!r}, expected one character, or 'tab', 'space', 'whitespace'")
    rows = []
    for row in split(io.StringIO(text, newline=""), delimiter):
        rows.append(row)
        if len(rows) > SAMPLE_ROWS:
            break
    only_cr = "\r" in text and "\n" not in text
    first, last, cells = rows[0]
    cells = [cell.strip() for cell in cells]
    sample = [row[2] for row in rows[1:]]
    if header is None:
        header = is_header(cells) or _only_top_is_text(cells, sample)
    if header:
        if not sample:
            raise FileFormatError(f"{path}: has a header but no rows")
        return Look(encoding, delimiter, True, cells, last, sample, only_cr)
    return Look(encoding, delimiter, False, [""] * len(cells), first - 1, [rows[0][2], *sample], only_cr)


def _find_delimiter(path: str, text: str) -> str:
    """Choose the delimiter by which most rows split alike, into as many cells as a comparison needs."""
    best, score = None, (0.0, 0)
    for delimiter in (*DELIMITERS, WHITESPACE):
        rows = []
        try:
            for _, _, cells in split(io.StringIO(text, newline=""), delimiter):
                rows.append(cells)
                if len(rows) >= SAMPLE_ROWS:
                    break
        except csv.Error:
            continue
        width = len(rows[0])
        if width < 3 or (delimiter == " " and any("" in cells for cells in rows)):
            continue
        found = {role_of(cell) for cell in rows[0]}
        if any(set(form.roles) <= found for form in FORMS) and delimiter != WHITESPACE:
            return delimiter
        alike = sum(len(cells) == width for cells in rows) / len(rows)
        # Blanks also occur inside labels: they separate only if nothing else does.
        if (alike, width) > score and not (delimiter in (" ", WHITESPACE) and score[0] > 0.9 and best != " "):
            best, score = delimiter, (alike, width)
    if best is None or score[0] < 0.5:
        line = shown(text.lstrip("\r\n").split("\n", 1)[0].rstrip("\r"))
        raise FileFormatError(
            f"{path}, line 1: cannot split {line} into the 3 or more columns of a comparison; "
            "say delimiter= if it is none of comma, tab, semicolon, bar, space"
        )
    return best


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _only_top_is_text(cells: list[str], sample: list[list[str]]) -> bool:
    """Tell whether the first row is text over columns of numbers: names, even if unknown ones."""
    if not sample or any(_is_number(cell) for cell in cells):
        return False
    return all(_is_number(cell) for row in sample for cell in row if cell.strip())
