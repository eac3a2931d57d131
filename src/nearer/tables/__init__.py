"""What a table means: its columns, by name or as declared, and from its cells to answers."""

from __future__ import annotations

from nearer.tables.layout import Layout
from nearer.tables.refusal import Refusal
from nearer.tables.table import MemoryTable, Table

__all__ = ["Layout", "MemoryTable", "Refusal", "Table"]
