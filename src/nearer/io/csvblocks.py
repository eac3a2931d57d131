"""Columns of delimited text, read by pyarrow piece by piece and kept as codes into their distinct texts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import IO, Any

from .columns import Column, column_from_arrow

# Text in memory at a time; what stays is four bytes a cell.
PIECE_BYTES = 64 << 20
# Large enough that few dictionaries have to be merged, small enough to keep several cores busy.
BLOCK_BYTES = 4 << 20
SCAN_BYTES = 256 << 10


class CsvBlocks:
    """Reads chosen columns of a delimited text.

    Parameters
    ----------
    n_columns : int
        Columns of the file.
    positions : list of int
        Columns to read.
    delimiter : str
    encoding : str
    """

    def __init__(self, n_columns: int, positions: list[int], delimiter: str, encoding: str = "utf-8") -> None:
        self._names = [f"c{position}" for position in range(n_columns)]
        self._wanted = [self._names[position] for position in positions]
        self._delimiter, self._encoding = delimiter, encoding

    def read_file(self, path: str, skip: int) -> list[Column]:
        """Read a plain UTF-8 file after its first `skip` lines."""
        with open(path, "rb") as file:
            for _ in range(skip):
                file.readline()
            return self._encoded(self._pieces(path, file))

    def read_stream(self, stream: Any, skip: int) -> list[Column]:
        """Read anything that has to be decoded or unpacked first, after its first `skip` lines."""
        return self._encoded(self._stream_pieces(stream, skip))

    def _encoded(self, pieces: Iterator[Any]) -> list[Column]:
        """Encode piece after piece, so that the text of only one is held."""
        import pyarrow as pa

        encoded: list[list[Any]] = [[] for _ in self._wanted]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for piece in pieces:
                columns = [piece[name] for name in self._wanted]
                firsts = list(pool.map(lambda chunks: chunks[0].dictionary_encode(), columns))
                tasks = [_encode_rest(pool, first, chunks[1:]) for first, chunks in zip(firsts, columns)]
                for done, first, waiting in zip(encoded, firsts, tasks):
                    done += [first, *(chunk for task in waiting for chunk in task.result())]
        kind = pa.dictionary(pa.int32(), pa.string())
        read = [column_from_arrow(pa.chunked_array(chunks, kind)) for chunks in encoded]
        for column in read:
            if column.values is not None:
                column.values.validate(full=True)
        return read

    def _pieces(self, path: str, file: IO[bytes]) -> Iterator[dict[str, list[Any]]]:
        """Yield columns of text, a piece of whole lines at a time, up to the first quotation mark; then as a stream."""
        import pyarrow as pa
        import pyarrow.csv as pacsv

        start, size = file.tell(), os.fstat(file.fileno()).st_size
        while start < size:
            end = _piece_end(file, start)
            if end is None:
                # A quoted cell may hold line ends, so lines no longer tell where rows end.
                file.seek(start)
                yield from self._stream_pieces(file, 0)
                return
            # Mapped anew for each piece, so that pages already read do not pile up.
            with pa.memory_map(path) as mapped:
                mapped.seek(start)
                piece = mapped.read_buffer(end - start)
            start = end
            table = pacsv.read_csv(pa.BufferReader(piece), **self._options(0, quoted=False))
            del piece
            yield {name: table.column(name).chunks for name in self._wanted}

    def _stream_pieces(self, stream: Any, skip: int) -> Iterator[dict[str, list[Any]]]:
        import pyarrow.csv as pacsv

        with pacsv.open_csv(stream, **self._options(skip, quoted=True)) as reader:
            for batch in reader:
                yield {name: [batch.column(name)] for name in self._wanted}

    def _options(self, skip: int, quoted: bool) -> dict[str, Any]:
        import pyarrow as pa
        import pyarrow.csv as pacsv

        return {
            "read_options": pacsv.ReadOptions(
                block_size=BLOCK_BYTES, column_names=self._names, skip_rows=skip, encoding=self._encoding
            ),
            "parse_options": pacsv.ParseOptions(delimiter=self._delimiter, newlines_in_values=quoted),
            "convert_options": pacsv.ConvertOptions(
                include_columns=self._wanted,
                column_types=dict.fromkeys(self._wanted, pa.string()),
                check_utf8=False,  # the distinct texts are checked instead
                null_values=[""],
                strings_can_be_null=True,
            ),
        }


def _encode_rest(pool: ThreadPoolExecutor, first: Any, chunks: list[Any]) -> list[Future[list[Any]]]:
    """Encode the other chunks of a piece; where texts recur, looking them up is cheaper than collecting them anew."""
    known = first.dictionary
    if len(known) * 4 > len(first):
        return [pool.submit(lambda chunk=chunk: [chunk.dictionary_encode()]) for chunk in chunks]  # type: ignore[misc]
    half = (len(chunks) + 1) // 2
    return [pool.submit(_look_up, part, known) for part in (chunks[:half], chunks[half:]) if part]


def _look_up(chunks: list[Any], known: Any) -> list[Any]:
    """Encode chunks of text by the texts `known`, or each by itself if they hold others."""
    import pyarrow as pa
    import pyarrow.compute as pc

    codes = pc.index_in(pa.chunked_array(chunks), value_set=known)
    if codes.null_count > sum(chunk.null_count for chunk in chunks):
        return [chunk.dictionary_encode() for chunk in chunks]
    # The codes need not come in the same chunks as the texts.
    return [pa.DictionaryArray.from_arrays(chunk, known, safe=False) for chunk in codes.chunks]


def _piece_end(file: IO[bytes], start: int) -> int | None:
    """Return where the piece from `start` ends: after the last line end within reach, at the end of the file, or
    None if it holds a quotation mark or no line end."""
    file.seek(start)
    block = bytearray(SCAN_BYTES)
    at, line_end = start, None
    while at < start + PIECE_BYTES:
        count = file.readinto(block)  # type: ignore[attr-defined]
        if not count:
            return at
        if block.find(b'"', 0, count) >= 0:
            return None
        last = block.rfind(b"\n", 0, count)
        line_end = at + last + 1 if last >= 0 else line_end
        at += count
    return line_end
