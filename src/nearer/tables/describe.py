"""A layout file to complete: every column with its first cells, and what is understood of it already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from nearer.data.messages import FileFormatError, plain, shown_cell
from nearer.tables.decode import decode
from nearer.tables.layout import BLANK, FORMS, OPTIONAL, Layout
from nearer.tables.refusal import Refusal
from nearer.tables.resolve import Plan, positions_of, resolve, role_names
from nearer.tables.table import Table

_CELLS, _SAMPLE = 3, 200  # rows shown, and rows whose cells are looked at
_HEAD = """\
# What a row of {name} says. Give each role of a row its column, by its name or its position from 1; the others may
# stay blank. Positions mean that the first row is data; if it is not, set header_row = 1.
#
# Columns and their first cells:
{columns}
#
# Kinds of rows and their roles (kind = "..." is needed only where the roles leave a choice):
{kinds}
"""
_ANSWERS = '\n# What a cell stands for: "a", "b" or "c", the option of that role, or "skip" for no answer.'


def describe(table: Table, layout: Layout | None = None) -> str:
    """Write a layout file for a table: what its names and a layout say is filled in, the rest is blank."""
    layout = layout or Layout()
    if table.is_index:  # its names come from its width, which says nothing about what a row means
        table = replace(table, names=[""] * len(table.names))
    try:
        plan = resolve(table, layout)
        layout = plan.layout.updated(Layout(plan.form.kind)).with_columns(_titled(table, plan.at))
        layout = layout.updated(_codes(table, plan))
        roles: dict[str, Any] = {}
    except Refusal as error:
        known = {role_names().get(plain(name)): at for at, name in enumerate(table.names)}
        roles = _agreed(error.remedies) | _titled(table, {role: known[role] for role in OPTIONAL if role in known})
    filled = roles | layout.columns
    columns = {role: column for role, column in filled.items() if role not in OPTIONAL}
    columns |= {role: filled.get(role, BLANK) for role in OPTIONAL}
    said = layout.declared() | {"columns": {}, "answers": {}, "where": {}}
    text = Layout(**columns, **{name: value for name, value in said.items() if value}).dumps()
    parts = [_introduction(table), text.replace(f' = "{BLANK}"\n', ' = ""\n')]
    if layout.answers:
        parts.append(f"{_ANSWERS}\n{Layout(answers=layout.answers).dumps()}")
    if layout.where:
        parts.append(f"\n{Layout(where=layout.where).dumps()}")
    return "".join(parts)


def _titled(table: Table, at: Mapping[str, int]) -> dict[str, str | int]:
    return {role: table.names[position] or position + 1 for role, position in at.items()}


def _agreed(remedies: Sequence[Layout]) -> dict[str, str | int]:
    found: dict[str, set[str | int]] = {}
    for one in remedies:
        for role, column in one.columns.items():
            found.setdefault(role, set()).add(column)
    return {role: next(iter(columns)) if len(columns) == 1 else BLANK for role, columns in found.items()}


def _codes(table: Table, plan: Plan) -> Layout:
    cells = dict(enumerate(map(list, zip(*table.head(_SAMPLE)))))
    try:
        decode(table, [plan], {at: cells[at] for at in positions_of([plan])})
    except Refusal as error:
        return error.remedies[0]
    except FileFormatError:
        pass  # reading the file will report the error
    return Layout()


def _introduction(table: Table) -> str:
    head = table.head(_CELLS)
    names = [shown_cell(name) for name in table.names]
    width = max(map(len, names))
    cells = [" | ".join(shown_cell(row[at]) for row in head) for at in range(len(names))]
    columns = [f"#   {at:>3}  {name:<{width}}  {some}" for at, (name, some) in enumerate(zip(names, cells), 1)]
    kinds = [f"#   {form.kind}: {', '.join(form.roles)}" for form in FORMS]
    kinds.append("#   rankings: anchor, rank_1, rank_2, ... and, where not all are ranked, n_chosen, ordered")
    return _HEAD.format(name=table.name, columns="\n".join(map(str.rstrip, columns)), kinds="\n".join(kinds)) + "\n"
