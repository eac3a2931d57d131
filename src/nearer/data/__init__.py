"""Comparisons, the form in which all other packages take answers."""

from __future__ import annotations

from nearer.data.answers import Answers, Flow, LeftOut
from nearer.data.comparisons import Comparisons, renumbered
from nearer.data.messages import FileFormatError
from nearer.data.validate import (
    as_generator,
    check_bool,
    check_fraction,
    check_integer,
    check_number,
    check_numbers,
    in_order_of,
    is_number,
    row_names,
)

__all__ = [
    "Answers", "Comparisons", "FileFormatError", "Flow", "LeftOut", "as_generator", "check_bool", "check_fraction",
    "check_integer", "check_number", "check_numbers", "in_order_of", "is_number", "renumbered", "row_names",
]  # fmt: skip
