"""The comparisons: what comes in, what it means, and which rows count."""

from __future__ import annotations

from nearer.data.carriers import in_order_of, is_table, row_names
from nearer.data.comparisons import Comparisons, as_comparisons, joined, on_labels, renumbered
from nearer.data.errors import FileFormatError
from nearer.data.quality import CheckResult
from nearer.data.values import (
    Details,
    as_generator,
    check_bool,
    check_fraction,
    check_integer,
    check_number,
    check_numbers,
    is_number,
)

__all__ = [
    "CheckResult", "Comparisons", "Details", "FileFormatError", "as_comparisons", "as_generator", "check_bool",
    "check_fraction", "check_integer", "check_number", "check_numbers", "in_order_of", "is_number", "is_table",
    "joined", "on_labels", "renumbered", "row_names",
]  # fmt: skip
