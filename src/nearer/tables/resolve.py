"""Determine what every column means from the column names or a declaration; cells are never read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any

from nearer.data.messages import FileFormatError, did_you_mean, listed, plain
from nearer.tables.layout import BLANK, CORE, FORMS, NONE, OPTIONAL, OWN, Form, Layout, is_rank, ranking, tomllib
from nearer.tables.refusal import Refusal
from nearer.tables.table import Table

_LETTERS = ("i", "j", "l", "k", "a", "b", "c")
_RESHAPE = "A row must be one answer: if a row holds several, reshape the table first, for example with pandas.melt."
_FIRST = "If the first row is data, declare positions, such as anchor=1; if the names are in another line, header_row."
_HEAD = 200  # rows looked at


@dataclass(frozen=True)
class Plan:
    layout: Layout  # as declared, completed by the conventions of a known program
    declared: Layout
    form: Form
    at: dict[str, int]  # role -> position of its column
    also: dict[str, int] = field(default_factory=dict)  # the same trial coded a second time
    where: dict[int, tuple[str, ...]] = field(default_factory=dict)  # position -> values of the rows that count
    unused: tuple[int, ...] = ()  # positions of columns that are not used
    program: str = ""  # the program or dialect that was recognised
    called: dict[str, str] = field(default_factory=dict)  # role -> name of its column, as `plain` gives it

    def without(self, roles: Iterable[str]) -> Plan:
        kept = {role: position for role, position in self.at.items() if role not in roles}
        return replace(self, at=kept)


def positions_of(plans: Iterable[Plan]) -> list[int]:
    found = (position for plan in plans for position in (*plan.at.values(), *plan.also.values(), *plan.where))
    return list(dict.fromkeys(found))


@cache
def known() -> dict[str, Any]:
    text = resources.files("nearer.tables").joinpath("layouts.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def role_names() -> dict[str, str]:
    own = {role: role for role in (*CORE, *OPTIONAL)}
    return own | {plain(name): role for role, names in known()["names"].items() for name in names}


def resolve(table: Table, layout: Layout | None = None) -> Plan:
    """Find out what every column of a table means; `Refusal` if names and declaration do not say."""
    return _Resolving(table, layout or Layout()).plan()


class _Resolving:
    def __init__(self, table: Table, layout: Layout) -> None:
        self.table, self.declared = table, layout
        self.names = [plain(name) for name in table.names]
        columns = layout.columns.items()
        self.claimed = {role: self._position(column) for role, column in columns if column not in (BLANK, NONE)}
        self.settled = {role for role, column in columns if column != BLANK}
        self.core = {role for role in self.claimed if _is_core(role)}  # declared ones
        self.program = {} if self.core or layout.kind else self._recognised("program")
        self.also = self._present(self.program.get("also", {}))
        self.dialect = {} if self.program else self._recognised("dialect")
        for prefix in self.dialect.get("prefixes", ()):
            for position, name in enumerate(table.names):
                if name.casefold().startswith(prefix.casefold()):
                    self.names[position] = plain(name[len(prefix) :])

    def plan(self) -> Plan:
        named = self._named()
        at = {role: positions[0] for role, positions in named.items()} | self.claimed
        form = self._form(at, {role: positions for role, positions in named.items() if len(positions) > 1})
        if self.declared.answers and form.answer is None:
            raise FileFormatError(f"{self.table.name}: answers are declared, but {form.kind} have no column of answers")
        at = {role: at[role] for role in (*form.roles, *OPTIONAL, *OWN) if role in at}
        where = {
            self._position(int(column) if column.isdecimal() and column not in self.table.names else column): kept
            for column, kept in self.declared.where.items()
        }
        used = {*at.values(), *self.also.values(), *where}
        rest = [position for position in range(len(self.names)) if position not in used]
        bare = {position for position in rest if not self.table.names[position]}  # ignored if empty
        head = self.table.head(_HEAD) if bare else []
        unused = tuple(at for at in rest if at not in bare or any(row[at].strip() for row in head))
        if self.declared.strict and unused:
            titles = {role: self.table.names[position] or position + 1 for role, position in at.items()}
            problem = f"columns that are not used: {self._titles(unused)} (strict)"
            raise Refusal(self.table, problem, [Layout(form.kind).with_columns(titles)])
        source = self.program or self.dialect
        given = {key: source[key] for key in ("answers", "missing", "skip_rows") if key in source}
        layout = Layout(**given).updated(self.declared) if given else self.declared
        called = {role: self.names[position] for role, position in at.items()}
        return Plan(layout, self.declared, form, at, self.also, where, unused, source.get("name", ""), called)

    def _recognised(self, kind: str) -> dict[str, Any]:
        names = set(self.names)
        return next((one for one in known()[kind] if names.issuperset(map(plain, one["signature"]))), {})

    def _present(self, columns: Mapping[str, Any]) -> dict[str, int]:
        found = {}
        for role, name in columns.items():
            names = [plain(one) for one in ([name] if isinstance(name, str) else name)]
            at = next((self.names.index(one) for one in names if one in self.names), None)
            if at is not None:
                found[role] = at
        return found

    def _position(self, column: str | int) -> int:
        names, table = self.table.names, self.table
        if isinstance(column, int):
            if column > len(names):
                raise FileFormatError(f"{table.name}: got column {column}, expected 1 to {len(names)}")
            return column - 1
        exact = [position for position, name in enumerate(names) if name == column]
        found = exact or [position for position, name in enumerate(self.names) if name and name == plain(column)]
        if len(found) == 1:
            return found[0]
        if found:
            raise FileFormatError(f"{table.name}: {len(found)} columns are called {column!r}, expected one")
        hint = did_you_mean(column, [name for name in names if name])
        raise FileFormatError(f"{table.name}: no column is called {column!r}, there are {listed(names, 20)}{hint}")

    def _named(self) -> dict[str, list[int]]:
        """Role -> positions of the columns that are called so and not declared as something else."""
        fixed = self._present(self.program.get("columns", {}))
        if "ranks" in self.program:
            fixed |= self._ranks(plain(self.program["ranks"]))
        taken = {*self.claimed.values(), *fixed.values(), *self.also.values()}
        found = {role: [position] for role, position in fixed.items()}
        letters = self._letters()
        for position, name in enumerate(self.names):
            role = role_names().get(name) or (name if is_rank(name) else None)
            if role is None or position in taken or (name in _LETTERS and name not in letters):
                continue
            if role not in fixed or _is_core(role):
                found.setdefault(role, []).append(position)
        found = {role: positions for role, positions in found.items() if role not in self.settled}
        for role, position in self._present(self.dialect.get("columns", {})).items():
            if role not in self.settled and not self._own(role, found.get(role, [])):
                found[role] = [position]
        for role in [role for role in found if role in OPTIONAL]:
            own = self._own(role, found[role])
            if not own:
                remedies = [self.declared.with_columns({role: self.table.names[at]}) for at in found[role]]
                problem = f"columns {self._titles(found[role])} each could be the {role}"
                raise Refusal(self.table, problem, remedies)
            found[role] = own
        if "seconds" in found or "seconds" in self.claimed:
            found.pop("milliseconds", None)
        return found

    def _ranks(self, stem: str) -> dict[str, int]:
        """The ranks of a program that names their columns by a word and a number."""
        numbers = ((name.removeprefix(f"{stem}_"), position) for position, name in enumerate(self.names))
        return {f"rank_{number}": position for number, position in numbers if number.isdecimal()}

    def _own(self, role: str, positions: list[int]) -> list[int]:
        """The column of an optional role: the one that has the name of the role, else the only one, else none."""
        own = [position for position in positions if self.names[position] == role]
        return next((some for some in (own, positions) if len(some) == 1), [])

    def _letters(self) -> set[str]:
        there = set(self.names) & set(_LETTERS)
        whole = {"i", "j", "l", "k"} if there >= {"i", "j", "l", "k"} else set()
        roles = {role_names().get(name) for name in self.names} | self.claimed.keys()
        if there >= {"a", "b", "c"} or (there >= {"a", "b"} and "anchor" in roles):
            whole |= {"a", "b", "c"} & there
        return whole

    def _titles(self, positions: Iterable[int]) -> str:
        return listed(repr(self.table.names[position] or position + 1) for position in positions)

    def _form(self, at: Mapping[str, int], several: Mapping[str, list[int]]) -> Form:
        """The form whose columns are all there and which leaves no known name unused."""
        core = {role for role in at if _is_core(role)}
        kind = self.declared.kind or self.program.get("kind")
        ranks = ranking(core)
        forms = [*FORMS, ranks] if any(map(is_rank, core)) or kind == "rankings" else [*FORMS]
        forms = [form for form in forms if kind in (None, form.kind) and self.core <= {*form.roles}]
        if not forms:
            raise ValueError(f"columns: got {listed(sorted(self.core))}, expected those of {kind or 'one kind of row'}")
        whole = [form for form in forms if core.issuperset(form.roles)]
        whole = [form for form in whole if self._is_settled(form) or not form.declared]
        fewest = min((len(core - {*form.roles}) for form in whole), default=0)
        best = [form for form in whole if len(core - {*form.roles}) == fewest]
        settled = bool(best) and self._is_settled(best[0])
        for role, positions in several.items():
            if settled and role not in best[0].roles:
                continue
            form = (best or forms)[0]
            layouts = [self._declaring(form, {**at, role: position}) for position in positions]
            raise Refusal(self.table, f"columns {self._titles(positions)} each could be the {role}", layouts)
        if not whole:
            raise self._incomplete(forms, core, at)
        if fewest and not settled:
            raise self._ambiguous(best, whole, core, at)
        return best[0]

    def _is_settled(self, form: Form) -> bool:
        return self.declared.kind is not None or self.core.issuperset(form.roles)

    def _declaring(self, form: Form, at: Mapping[str, int]) -> Layout:
        """A layout that declares a form, with blanks for columns that are not known."""
        names, columns = self.table.names, {}
        for role in form.roles:
            unique = role in at and names[at[role]] and names.count(names[at[role]]) == 1
            columns[role] = BLANK if role not in at else names[at[role]] if unique else at[role] + 1
        kind = form.kind if form.declared or len({*columns.values()}) == 1 else None
        row = self.declared.header if any(isinstance(column, int) for column in columns.values()) else None
        return self.declared.updated(Layout(kind, header_row=row)).with_columns(columns)

    def _incomplete(self, forms: Sequence[Form], core: set[str], at: Mapping[str, int]) -> Refusal:
        """The refusal of a table that lacks columns; it names the forms that the table comes closest to."""
        hits = {form: len(core & {*form.roles}) for form in forms}
        most, width = max(hits.values()), len(self.table.names)
        near = [form for form in forms if hits[form] == most and len(form.roles) <= width] or [*forms]
        if not most:
            near = [form for form in near if form.said in ((), ("answer",), ("odd",), ("central",))] or near
        near = [form for form in near if not form.declared or width == 3] or near
        missing = listed(dict.fromkeys(role for role in near[0].roles if role not in at))
        problem = f"no column says the {missing}" if most else "no column has a name that says what a row means"
        note = f"{_FIRST} {_RESHAPE}" if not most else _RESHAPE
        return Refusal(self.table, problem, [self._declaring(form, at) for form in near[:5]], note)

    def _ambiguous(self, best: Sequence[Form], whole: Sequence[Form], core: set[str], at: Mapping[str, int]) -> Refusal:
        form = best[0]
        left = sorted(core - {*form.roles})
        titles = self._titles(at[role] for role in left)
        remedies = [self._declaring(one, at) for one in dict.fromkeys([*best, *whole])]
        if form.kind == "triplets" and "answer" in left:  # near and far may be the options shown
            shown = {"anchor": at["anchor"], "a": at["near"], "b": at["far"], "answer": at["answer"]}
            remedies.append(self._declaring(FORMS[1], shown))
        says = f"columns {self._titles(at[role] for role in form.roles)} make up a row"
        return Refusal(self.table, f"{says}, and {titles} may say something else", remedies)


def _is_core(role: str) -> bool:
    return role in CORE or is_rank(role)
