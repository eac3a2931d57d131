"""Comma-, tab- or otherwise separated text, read by pyarrow in blocks with dictionary-encoded columns."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from .columns import Column, Source
from .csvblocks import CsvBlocks
from .errors import SHOWN, FileFormatError, counted, listed, shown
from .sniff import DELIMITERS, HEAD_BYTES, WHITESPACE, Look, encoding_problem, look, split

SCAN_BYTES = 1 << 20


@dataclass
class TextSource(Source):
    """A delimited text file; `seen` is what a first look found."""

    seen: Look = field(default_factory=lambda: Look("utf-8", ",", True, [], 0, []))
    compressed: bool = False
    _n_rows: int = -1
    _plain: bool | None = None

    def read(self, positions: Sequence[int]) -> list[Column]:
        import pyarrow as pa

        encoding = self.seen.encoding.removesuffix("-sig")
        delimiter = " " if self.seen.delimiter == WHITESPACE else self.seen.delimiter
        blocks = CsvBlocks(len(self.names), list(positions), delimiter, encoding)
        try:
            if self._is_plain_utf8():
                columns = blocks.read_file(self.path, self.seen.skip)
            else:
                columns = blocks.read_stream(self._stream(), self.seen.skip)
        except (pa.ArrowInvalid, UnicodeDecodeError) as error:
            raise self._diagnose(error) from error
        self._n_rows = len(columns[0])
        return columns

    def _is_plain_utf8(self) -> bool:
        is_utf8 = self.seen.encoding.startswith("utf-8") and not self.compressed
        return is_utf8 and self.seen.delimiter != WHITESPACE and not self.seen.only_cr

    def sample(self, position: int) -> list[str]:
        return [row[position].strip() for row in self.seen.rows if position < len(row)]

    def place(self, row: int) -> str:
        if self._is_plain():
            return f"line {row + self.seen.skip + 1}"
        with self._text() as text:
            data = (cells for cells in split(text, self.seen.delimiter) if self._is_data(cells))
            return next((f"line {first}" for spot, (first, _, _) in enumerate(data) if spot == row), f"row {row + 1}")

    def _is_data(self, row: tuple[int, int, list[str]]) -> bool:
        return row[0] > self.seen.skip

    def _is_plain(self) -> bool:
        """Tell whether every line is one row: no quoted cells, no blank lines."""
        if self._plain is None:
            self._plain = self._is_plain_utf8() and self._n_lines() == self._n_rows
        return self._plain

    def _n_lines(self) -> int:
        """Count the lines after those skipped at the top; -1 if cells are quoted."""
        count, last = -self.seen.skip, b"\n"
        with open(self.path, "rb") as file:
            while block := file.read(SCAN_BYTES):
                if b'"' in block:
                    return -1
                count += block.count(b"\n")
                last = block[-1:]
        return count + (last != b"\n")

    def _stream(self) -> Any:
        import pyarrow as pa

        if self.seen.delimiter != WHITESPACE:
            return pa.input_stream(self.path, compression="detect", buffer_size=None)
        with self._text() as text:
            squeezed = re.sub(r"[ \t]+", " ", text.read())
        squeezed = re.sub(r"^ | $", "", squeezed, flags=re.MULTILINE)
        return pa.BufferReader(squeezed.encode(self.seen.encoding.removesuffix("-sig")))

    def _text(self) -> IO[str]:
        import pyarrow as pa

        raw = pa.input_stream(self.path, compression="detect")
        return io.TextIOWrapper(raw, encoding=self.seen.encoding, newline="")

    def _diagnose(self, error: Exception) -> FileFormatError:
        """Find out which lines pyarrow could not read; only ever run once reading has failed."""
        width, delimiter = len(self.names), self.seen.delimiter
        bad, shown_lines = 0, []
        try:
            with self._text() as text:
                for row in split(text, delimiter):
                    if self._is_data(row) and len(row[2]) != width:
                        bad += 1
                        if bad <= SHOWN:
                            shown_lines.append(row)
        except UnicodeDecodeError:
            return self._undecodable()
        if not bad:
            return FileFormatError(f"{self.path}: cannot be read as a table: {str(error).splitlines()[0]}")
        first, last, cells = shown_lines[0]
        message = (
            f"{self.path}, line {first}: {counted(len(cells), 'cell')} where "
            f"{'the header' if self.header else 'the first row'} has {width}: {shown(_joined(cells, delimiter))}"
        )
        other = next(
            (mark for mark in DELIMITERS if mark != delimiter and _width(cells, delimiter, mark) == width), None
        )
        if other:
            message += f"; this line looks separated by {DELIMITERS[other]}, the file by {_called(delimiter)}"
        elif last - first > 20:
            message += "; is a quotation mark not closed?"
        if bad > 1:
            lines = listed(f"line {row[0]}" for row in shown_lines)
            message += f" ({bad:,} such rows: {lines}{', ...' if bad > SHOWN else ''})"
        return FileFormatError(message)

    def _undecodable(self) -> FileFormatError:
        import pyarrow as pa

        encoding = self.seen.encoding
        with pa.input_stream(self.path, compression="detect") as raw:
            for number, line in enumerate(io.BufferedReader(raw), 1):
                try:
                    line.decode(encoding)
                except UnicodeDecodeError as error:
                    return FileFormatError(encoding_problem(self.path, encoding, line, error.start, number))
        return FileFormatError(f"{self.path}: is not {encoding} text; say encoding=")


def _joined(cells: list[str], delimiter: str) -> str:
    return (" " if delimiter == WHITESPACE else delimiter).join(cells)


def _width(cells: list[str], delimiter: str, other: str) -> int:
    return len(_joined(cells, delimiter).split(other))


def _called(delimiter: str) -> str:
    return DELIMITERS.get(delimiter, delimiter)


def open_table(
    path: str | Path, *, delimiter: str | None = None, header: bool | None = None, encoding: str | None = None
) -> TextSource:
    """Open a delimited text file (also compressed: .gz, .bz2, .zst).

    Parameters
    ----------
    delimiter : str, optional
        One character or its name (``"tab"``), ``"whitespace"`` for runs of blanks; found out if not given.
    header : bool, optional
        Whether the first line holds column names; found out if not given.
    encoding : str, optional
        UTF-8 (or what a byte order mark says) if not given.

    Returns
    -------
    TextSource
    """
    import pyarrow as pa

    name = str(path)
    with pa.input_stream(name, compression="detect") as stream:
        head = stream.read(HEAD_BYTES)
        whole = len(head) < HEAD_BYTES or not stream.read(1)
    seen = look(name, head, whole, delimiter, header, encoding)
    form = f"{_called(seen.delimiter)}-separated"
    if not seen.encoding.startswith("utf-8"):
        form += f", {seen.encoding}"
    return TextSource(
        path=name,
        form=form,
        names=seen.names,
        header=seen.header,
        numbers_are_text=True,
        header_line=seen.skip if seen.header else None,
        seen=seen,
        compressed=Path(name).suffix.lower() in (".gz", ".bz2", ".zst", ".lz4"),
    )
