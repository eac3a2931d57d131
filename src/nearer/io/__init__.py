"""Readers and writers of comparison files and embeddings."""

from __future__ import annotations

from .atomic import atomic_write
from .embeddings import read_embedding, write_embedding
from .errors import FileFormatError
from .read import ReadResult, read_comparisons
from .streams import IndexSource, open_index
from .write import write_comparisons

__all__ = [
    "FileFormatError",
    "IndexSource",
    "ReadResult",
    "atomic_write",
    "open_index",
    "read_comparisons",
    "read_embedding",
    "write_comparisons",
    "write_embedding",
]
