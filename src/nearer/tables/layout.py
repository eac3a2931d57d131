"""`Layout`: what the columns of a table mean, the same words in Python, in TOML and on the command line."""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nearer.data.messages import FileFormatError, did_you_mean, listed, shown
from nearer.data.validate import check_bool, check_integer

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

BLANK, NONE = "?", "-"  # a column that is still to be filled in; a role that no column has
SKIP = "skip"  # stands for an answer code that chooses nothing
OPTIONAL = ("participant", "weight", "seconds", "milliseconds", "order", "side", "catch", "correct", "chosen_by")
_QUAD, _OPTIONS, _SET, _VOTES = ("i", "j", "l", "k"), ("anchor", "a", "b"), ("a", "b", "c"), ("votes_a", "votes_b")


@dataclass(frozen=True)
class Form:
    """One way to write an answer in a row: the columns of objects, and those that say what was answered."""

    kind: str
    objects: tuple[str, ...]
    said: tuple[str, ...] = ()
    declared: bool = False  # whether names alone do not suffice for it
    roles: tuple[str, ...] = field(init=False)  # all columns that must be there
    asked: str = field(init=False)  # answers and votes are two ways to write triplets or quadruplets
    answer: str | None = field(init=False)  # the column whose cell is a choice among options
    options: tuple[str, ...] = field(init=False)  # the objects that can be chosen; none where an option is a pair

    def __post_init__(self) -> None:
        in_sets, width = self.kind in ("odd-one-out", "most-central"), len(self.objects)
        in_pairs = "triplets" if width == 3 else "quadruplets"
        options = self.objects[1:] if self.kind == "answers" and width == 3 else ()
        vars(self).update(
            roles=self.objects + self.said,
            asked=in_pairs if self.kind in ("answers", "votes") else self.kind,
            answer=self.said[0] if self.said and (in_sets or self.kind == "answers") else None,
            options=self.objects if in_sets else options,
        )


FORMS = (
    Form("triplets", ("anchor", "near", "far")),
    Form("answers", _OPTIONS, ("answer",)),
    Form("answers", _OPTIONS, ("near",)),
    Form("answers", _OPTIONS, ("far",)),
    Form("votes", _OPTIONS, _VOTES),
    Form("odd-one-out", _SET, ("odd",)),
    Form("most-central", _SET, ("central",)),
    Form("odd-one-out", ("a", "b", "odd"), declared=True),
    Form("most-central", ("a", "b", "central"), declared=True),
    Form("quadruplets", _QUAD),
    Form("answers", _QUAD, ("answer",)),
    Form("votes", _QUAD, _VOTES),
)
KINDS = (*dict.fromkeys(form.kind for form in FORMS), "rankings")
CORE = (*dict.fromkeys(role for form in FORMS for role in form.roles), "n_chosen", "ordered")
# Columns that only files of this package have: which answer a comparison comes from, what was asked, how many said so;
# and what was left out, see `Flow`.
OWN = ("answer_number", "question_kind", "votes", "flow")


def is_rank(role: str) -> bool:
    return role.startswith("rank_") and role[5:].isdecimal()


def ranking(roles: Collection[str]) -> Form:
    n_ranks = 2
    while f"rank_{n_ranks + 1}" in roles:
        n_ranks += 1
    ranks = tuple(f"rank_{number}" for number in range(1, n_ranks + 1))
    return Form("rankings", ("anchor", *ranks), tuple(role for role in ("n_chosen", "ordered") if role in roles))


@dataclass(frozen=True, init=False, repr=False)
class Layout:
    """What a row of a table says. What is not declared is found by the names of the columns.

    Parameters
    ----------
    kind : {"triplets", "quadruplets", "answers", "votes", "odd-one-out", "most-central", "rankings"}, optional
        What a row is.
    answers : mapping of str to str, optional
        What a cell of an answer stands for: option ``"a"``, ``"b"`` or ``"c"`` (of two pairs, ``i, j`` is a and
        ``l, k`` is b), or ``"skip"`` for no answer. Needed for keys, 0 and 1, +1 and -1; not where a cell is the name
        of the chosen object or of its column.
    where : mapping of str to str or sequence of str, optional
        Rows that count: column -> its value, or values.
    header_row : int, optional
        Line of a text, or row of a sheet, that holds the names of the columns, counted from 1; 0 for none. Default: the
        first that is not blank, or 0 where columns are declared by their position.
    skip_rows : int
        Rows below the header that are not data.
    missing : sequence of str
        Cells that stand for a missing value besides empty ones, such as ``-99`` or ``NA``.
    decimal_comma : bool
        Whether numbers are written as 0,5.
    index_base : {0, 1}, optional
        Objects are numbers that count from here, so that a number that does not occur is an object too.
    on_bad_rows : {"raise", "drop"}
        Refuse the table if a row cannot be read, or drop and count such rows.
    strict : bool
        Whether to refuse a table with columns that are not used.
    **columns : str or int
        Role -> column, by its name or its position counted from 1: ``anchor="ref", near="picked", far="other"``; "-"
        if no column has the role, whatever its name.

    Examples
    --------
    >>> layout = Layout("answers", anchor="ref", a="left", b="right", answer="key", answers={"f": "a", "j": "b"})
    """

    kind: str | None
    columns: dict[str, str | int]
    answers: dict[str, str]
    where: dict[str, tuple[str, ...]]
    header_row: int | None
    skip_rows: int
    missing: tuple[str, ...]
    decimal_comma: bool
    index_base: int | None
    on_bad_rows: str
    strict: bool

    def __init__(
        self,
        kind: str | None = None,
        *,
        answers: Mapping[Any, str] | None = None,
        where: Mapping[str, Any] | None = None,
        header_row: int | None = None,
        skip_rows: int = 0,
        missing: Sequence[str] = (),
        decimal_comma: bool = False,
        index_base: int | None = None,
        on_bad_rows: str = "raise",
        strict: bool = False,
        **columns: Any,
    ) -> None:
        if kind is not None and kind not in KINDS:
            raise ValueError(f"kind: got {kind!r}, expected one of {listed(KINDS)}")
        for role, column in columns.items():
            if role not in (*CORE, *OPTIONAL, *OWN) and not is_rank(role):
                known = listed((*CORE, "rank_1, rank_2, ...", *OPTIONAL), 99)
                hint = did_you_mean(role, (*CORE, *OPTIONAL))
                raise ValueError(f"columns: got the role {role!r}, expected one of {known}{hint}")
            is_position = isinstance(column, int) and not isinstance(column, bool) and column > 0
            if not is_position and not (isinstance(column, str) and column):
                raise ValueError(f"columns: got {column!r} for {role!r}, expected a name or a position from 1")
        codes = {_composed(cell): str(option) for cell, option in (answers or {}).items()}
        wrong = next((option for option in codes.values() if option not in ("a", "b", "c", SKIP, BLANK)), None)
        if wrong is not None:
            raise ValueError(f"answers: got {wrong!r}, expected 'a', 'b', 'c' or 'skip'")
        for name, number in (("header_row", header_row), ("skip_rows", skip_rows), ("index_base", index_base)):
            if number is not None:
                check_integer(number, name, 0, 1 if name == "index_base" else None)
        if on_bad_rows not in ("raise", "drop"):
            raise ValueError(f"on_bad_rows: got {on_bad_rows!r}, expected 'raise' or 'drop'")
        for name, flag in (("decimal_comma", decimal_comma), ("strict", strict)):
            check_bool(flag, name)
        rows = {str(column): _values(kept) for column, kept in (where or {}).items()}
        vars(self).update(
            kind=kind, columns=columns, answers=codes, where=rows, header_row=header_row, skip_rows=skip_rows,
            missing=_values(missing), decimal_comma=decimal_comma, index_base=index_base, on_bad_rows=on_bad_rows,
            strict=strict,
        )  # fmt: skip

    @property
    def header(self) -> int:
        """The row that holds the names of the columns, 0 for none."""
        by_position = any(isinstance(column, int) for column in self.columns.values())
        return int(not by_position) if self.header_row is None else self.header_row

    def declared(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name, default in _DEFAULTS.items() if getattr(self, name) != default}

    def __repr__(self) -> str:
        found = self.declared()
        kind, columns = found.pop("kind", None), found.pop("columns", {})
        where = {name: kept[0] if len(kept) == 1 else kept for name, kept in found.pop("where", {}).items()}
        found = columns | found | ({"where": where} if where else {})
        parts = [repr(kind)] if kind else []
        return f"Layout({', '.join([*parts, *(f'{name}={value!r}' for name, value in found.items())])})"

    def with_columns(self, columns: Mapping[str, Any]) -> Layout:
        return self.updated(Layout(**columns))

    def updated(self, other: Layout) -> Layout:
        found = self.declared() | other.declared()
        for name in ("columns", "answers", "where"):
            found[name] = getattr(self, name) | getattr(other, name)
        return Layout(**found.pop("columns"), **found)

    @classmethod
    def parse(
        cls, columns: str | None = None, answers: str | None = None, where: Iterable[str] = (), strict: bool = False
    ) -> Layout:
        """Read options: ``anchor=head,near=winner``, or roles in order ``anchor,-,near``; ``f=a``; ``task=test``."""
        parts = [part.strip() for part in columns.split(",")] if columns else []
        found: dict[str, Any] = {}
        if any("=" in part for part in parts):
            found = {
                role: int(name) if name.isdecimal() else name for role, name in pairs(parts, "columns", "anchor=head")
            }
        else:
            found = {role: place for place, role in enumerate(parts, 1) if role != NONE}
        kind = found.pop("kind", None)
        codes = dict(pairs(answers.split(","), "answers", "f=a")) if answers else {}
        rows: dict[str, list[str]] = {}
        for condition in where:
            for column, value in pairs([condition], "where", "task=test"):
                rows.setdefault(column, []).append(value)
        return cls(kind, answers=codes, where=rows, strict=strict, **found)

    def options(self) -> str:
        """The command-line options that declare this; some parameters need a layout file instead."""
        found = []
        columns = ({"kind": self.kind} if self.kind else {}) | self.columns
        plain = not any(
            isinstance(name, str) and (name.isdecimal() or set(name) & set(",=")) for name in columns.values()
        )
        if columns and plain:
            found.append("--columns " + _quoted(",".join(f"{role}={name}" for role, name in columns.items())))
        if self.answers:
            found.append("--answers " + _quoted(",".join(f"{cell}={option}" for cell, option in self.answers.items())))
        found += ["--where " + _quoted(f"{name}={value}") for name, kept in self.where.items() for value in kept]
        found += ["--strict"] if self.strict else []
        others = self.declared().keys() - {"kind", "answers", "where", "strict"} - ({"columns"} if plain else set())
        rest = "; ".join(f"{name} = {_toml(getattr(self, name))}" for name in sorted(others))
        return " ".join([*found, *([f"--layout FILE, a file with {rest}"] if rest else [])])

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Layout:
        """Read a layout from a TOML file, which must hold one; see `load_layouts` for several."""
        found = load_layouts(path)
        if len(found) > 1:
            raise FileFormatError(f"{os.fspath(path)}: holds {len(found)} layouts, expected one")
        return found[0]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the layout to a TOML file, which is replaced if it exists."""
        Path(path).write_text(self.dumps(), encoding="utf-8")

    def dumps(self) -> str:
        found = self.declared()
        tables = {name: found.pop(name) for name in ("columns", "answers", "where") if name in found}
        lines = [f"{name} = {_toml(value)}" for name, value in found.items()]
        for name, table in tables.items():
            lines += ["", f"[{name}]", *(f"{_key(key)} = {_toml(value)}" for key, value in table.items())]
        return "\n".join(lines).strip() + "\n"


def load_layouts(path: str | os.PathLike[str]) -> tuple[Layout, ...]:
    """Read the layouts of a TOML file: one, or several ``[[layout]]`` blocks, each with its own ``where``."""
    name = os.fspath(path)
    try:
        found = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise FileFormatError(f"{name}: no such file") from None
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FileFormatError(f"{name}: is not a layout in TOML: {error}") from error
    blocks = found.pop("layout", None)
    if blocks is None:
        return (_made(name, found),)
    if not isinstance(blocks, list) or not blocks:
        raise FileFormatError(f"{name}: got layout = {shown(blocks)}, expected [[layout]] blocks")
    return tuple(_made(f"{name}, layout {number}", found | block) for number, block in enumerate(blocks, 1))


def _made(name: str, found: dict[str, Any]) -> Layout:
    try:
        strange = [key for key in found if key not in _DEFAULTS]
        if strange:
            hint = did_you_mean(strange[0], [*_DEFAULTS])
            raise ValueError(f"got {strange[0]!r}, expected one of {listed(_DEFAULTS, 99)}{hint}")
        rest = {key: value for key, value in found.items() if key != "columns"}
        columns = {role: column for role, column in found.get("columns", {}).items() if column not in ("", BLANK)}
        return Layout(**columns, **rest)
    except (ValueError, TypeError, AttributeError) as error:
        raise FileFormatError(f"{name}: {error}") from None


def pairs(parts: Iterable[str], option: str, example: str) -> list[tuple[str, str]]:
    """Read parts such as "f=a"; ValueError for what is no pair, and for what is said twice."""
    found: dict[str, str] = {}
    for part in parts:
        key, equals, value = (text.strip() for text in part.partition("="))
        if not equals or not key or not value:
            raise ValueError(f"{option}: got {part!r}, expected pairs such as {example}")
        if key in found:
            raise ValueError(f"{option}: got {key!r} twice, as {found[key]!r} and {value!r}")
        found[key] = value
    return list(found.items())


def _values(kept: Any) -> tuple[str, ...]:
    if isinstance(kept, bool):
        return str(kept), str(kept).lower()
    return tuple(map(_composed, kept if isinstance(kept, (list, tuple, set, frozenset)) else (kept,)))


def _composed(cell: Any) -> str:
    """Text in the form in which tables are read."""
    return unicodedata.normalize("NFC", str(cell))


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(key)} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, (tuple, list)):
        return _toml(value[0]) if len(value) == 1 else f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False)


def _key(name: str) -> str:
    plain = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if plain else json.dumps(name, ensure_ascii=False)


def _quoted(text: str) -> str:
    import shlex

    return shlex.quote(text).replace(f"'{BLANK}'", BLANK) if set(text) - set("?") else text


_DEFAULTS: dict[str, Any] = vars(Layout())
