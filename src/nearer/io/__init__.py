"""Files: carriers of comparisons in and out, whole or not at all."""

from __future__ import annotations

from nearer.data.messages import FileFormatError
from nearer.io.blocks import BlockReader, open_blocks
from nearer.io.files import atomic_write
from nearer.io.read import ReadResult, read_comparisons
from nearer.io.write import write_comparisons

__all__ = [
    "BlockReader", "FileFormatError", "ReadResult", "atomic_write", "open_blocks",
    "read_comparisons", "write_comparisons",
]  # fmt: skip
