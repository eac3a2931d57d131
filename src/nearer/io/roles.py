"""What the columns of a file mean, found by their names or told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .aliases import ALIASES, ROLE_OF, normalise, role_of
from .errors import FileFormatError, closest, listed

COLUMNS_HINT = "say which is which, e.g. columns={'anchor': 'head', 'near': 'winner', 'far': 'loser'}"


@dataclass(frozen=True)
class Form:
    """A way to write a comparison.

    Parameters
    ----------
    kind : str
        What the user calls it.
    objects : tuple of str
        Roles of the columns that hold objects, in the order the constructor wants them.
    extra : tuple of str
        Roles of the columns that say what was answered.
    """

    kind: str
    objects: tuple[str, ...]
    extra: tuple[str, ...] = ()

    @property
    def roles(self) -> tuple[str, ...]:
        return self.objects + self.extra


_QUAD, _TRIPLET, _LETTERS, _OPTIONS, _SET = (
    ("i", "j", "l", "k"),
    ("anchor", "near", "far"),
    ("i", "j", "k"),
    (
        "anchor",
        "a",
        "b",
    ),
    ("a", "b", "c"),
)
_VOTES = ("votes_a", "votes_b")
# The first complete form wins: those that ask for more columns come first.
FORMS = (
    Form("votes", _QUAD, _VOTES),
    Form("answers", _QUAD, ("answer",)),
    Form("quadruplets", _QUAD),
    Form("votes", _OPTIONS, _VOTES),
    Form("triplets", _TRIPLET),
    Form("answers", _OPTIONS, ("answer",)),
    Form("answers", _OPTIONS, ("near",)),
    Form("odd-one-out", _SET, ("odd",)),
    Form("most-central", _SET, ("central",)),
    Form("odd-one-out", ("a", "b", "odd")),
    Form("most-central", ("a", "b", "central")),
    Form("votes", _LETTERS, _VOTES),
    Form("answers", _LETTERS, ("answer",)),
    Form("triplets", _LETTERS),
)
KINDS = tuple(dict.fromkeys(form.kind for form in FORMS))
# What the columns of a file without names are, by their number.
_UNNAMED: dict[str, dict[int, tuple[str, ...]]] = {
    "triplets": {3: _TRIPLET},
    "quadruplets": {4: _QUAD},
    "answers": {4: (*_OPTIONS, "answer"), 5: (*_QUAD, "answer")},
    "votes": {5: (*_OPTIONS, *_VOTES), 6: (*_QUAD, *_VOTES)},
    "odd-one-out": {4: (*_SET, "odd")},
    "most-central": {4: (*_SET, "central")},
}
_NAME_SUFFIXES = ("_filename", "_name", "_label", "_html")


@dataclass
class Roles:
    """The columns chosen: `at` maps each role of `form` (and participant, weight) to a column position."""

    form: Form
    at: dict[str, int]
    names_at: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def is_header(names: Sequence[str]) -> bool:
    """Tell whether a first row of cells reads as column names: one is known, or at least two nearly so."""
    if any(role_of(name) for name in names if len(normalise(name)) > 1):
        return True
    if _complete({role for name in names if (role := role_of(name))}, None):
        return True
    words = [normalise(name) for name in names]
    near_misses = [word for word in words if len(word) > 3 and closest(word, list(ROLE_OF))]
    return len(near_misses) > 1


def parse_columns(text: str) -> dict[str, str] | list[str]:
    """Read ``"anchor=head,near=winner,far=loser"`` (roles to names) or ``"anchor,near,far"`` (roles in file order)."""
    parts = [part.strip() for part in text.split(",")]
    if not any("=" in part for part in parts):
        return parts
    chosen: dict[str, str] = {}
    for part in parts:
        role, equals, name = part.partition("=")
        if not equals or not role.strip() or not name.strip():
            raise ValueError(f"columns: got {part!r}, expected role=name as in anchor=head")
        chosen[role.strip()] = name.strip()
    return chosen


def _complete(roles: set[str], kind: str | None) -> Form | None:
    for form in FORMS:
        if (kind is None or form.kind == kind) and set(form.roles) <= roles:
            return form
    return None


def _known_role(role: str) -> str:
    known = role_of(str(role)) or (str(role) if role in ALIASES else None)
    if known is None:
        near = closest(normalise(str(role)), list(ALIASES))
        hint = f"; did you mean {near!r}?" if near else ""
        raise ValueError(f"columns: unknown role {role!r}{hint} Known roles: {listed(ALIASES, 99)}")
    return known


def _position(path: str, names: Sequence[str], wanted: str | int, option: str) -> int:
    """Find a column by its name, or by its number counted from 1."""
    if isinstance(wanted, int) and not isinstance(wanted, bool):
        if 1 <= wanted <= len(names):
            return wanted - 1
        raise FileFormatError(f"{path}: {option} asks for column {wanted}, the file has columns 1 to {len(names)}")
    for match in (lambda name: name == wanted, lambda name: normalise(name) == normalise(str(wanted))):
        found = [position for position, name in enumerate(names) if name and match(name)]
        if len(found) == 1:
            return found[0]
        if found:
            raise FileFormatError(f"{path}: {option} asks for column {wanted!r}, which occurs {len(found)} times")
    if str(wanted).isdigit() and 1 <= int(wanted) <= len(names):
        return int(wanted) - 1
    near = closest(str(wanted), [name.casefold() for name in names if name])
    hint = f"; did you mean {near!r}?" if near else ""
    have = listed(map(repr, names)) if any(names) else f"{len(names)} columns without names"
    raise FileFormatError(f"{path}: {option} asks for column {wanted!r}; the file has {have}{hint}")


def find_roles(
    path: str,
    names: Sequence[str],
    header: bool,
    *,
    columns: Mapping[str, str | int] | Sequence[str] | str | None = None,
    kind: str | None = None,
    participant: str | int | None = None,
    weight: str | int | None = None,
    last_is_answer: bool = False,
    where: str | None = None,
) -> Roles:
    """Decide which column is what.

    Parameters
    ----------
    path : str
        For messages.
    names : sequence of str
        The column names, ``""`` for none.
    header : bool
        Whether the file names its columns.
    columns, kind, participant, weight
        As in `read_comparisons`.
    last_is_answer : bool
        Whether the last column holds only answers such as -1 and 1 (matters without names).
    where : str, optional
        Where the names are, for messages; `path` if not given.

    Returns
    -------
    Roles
    """
    if kind is not None and kind not in KINDS:
        raise ValueError(f"kind: got {kind!r}, expected one of {listed(KINDS)}")
    notes: list[str] = []
    if columns is not None:
        at = _told(path, names, columns)
    elif header:
        at = _by_name(path, names, kind)
    else:
        at, note = _by_number(path, names, kind, last_is_answer)
        notes.append(note)
    for role, option, wanted in (("participant", "participant", participant), ("weight", "weight", weight)):
        if wanted is not None and wanted != "":
            at[role] = _position(path, names, wanted, option)
        elif wanted == "":
            at.pop(role, None)
        elif role not in at and header:
            found = [spot for spot, name in enumerate(names) if role_of(name) == role and spot not in at.values()]
            if len(found) > 1:
                found = [spot for spot in found if normalise(names[spot]) == role]
            if len(found) == 1:
                at[role] = found[0]
    form = _complete(set(at), kind)
    if form is None:
        raise FileFormatError(_incomplete(where or path, names, at, kind, header))
    if columns is None and kind is None and header:
        _refuse_two_meanings(where or path, names, at, form)
    used = {*form.roles, "participant", "weight"}
    at = {role: spot for role, spot in at.items() if role in used}
    _refuse_shared(path, names, at)
    return Roles(form, at, _name_columns(names, at, form) if header else [], notes)


def _told(path: str, names: Sequence[str], columns: Mapping[str, str | int] | Sequence[str] | str) -> dict[str, int]:
    columns = parse_columns(columns) if isinstance(columns, str) else columns
    if isinstance(columns, Mapping):
        return {_known_role(role): _position(path, names, name, "columns") for role, name in columns.items()}
    if len(columns) != len(names):
        raise FileFormatError(f"{path}: columns names {len(columns)} columns, the file has {len(names)}")
    return {_known_role(role): spot for spot, role in enumerate(columns) if role not in ("", "-", "_")}


def _by_name(path: str, names: Sequence[str], kind: str | None) -> dict[str, int]:
    found: dict[str, list[int]] = {}
    for spot, name in enumerate(names):
        role = role_of(name)
        if role and role not in ("participant", "weight"):
            found.setdefault(role, []).append(spot)
    needed = _complete(set(found), kind)
    at = {}
    for role, spots in found.items():
        # Several columns may carry the same role; the earliest word in the list of names is the plainest.
        spots.sort(key=lambda spot, role=role: ALIASES[role].index(normalise(names[spot])))  # type: ignore[misc]
        words = [normalise(names[spot]) for spot in spots]
        if len(set(words)) < len(words) and needed and role in needed.roles:
            raise FileFormatError(f"{path}: two columns are called {names[spots[0]]!r}; {COLUMNS_HINT}")
        if len(spots) > 1 and words[0] != ALIASES[role][0] and needed and role in needed.roles:
            both = listed(repr(names[spot]) for spot in spots)
            raise FileFormatError(f"{path}: columns {both} could each be the {role}; {COLUMNS_HINT}")
        at[role] = spots[0]
    return at


def _by_number(path: str, names: Sequence[str], kind: str | None, last_is_answer: bool) -> tuple[dict[str, int], str]:
    width = len(names)
    if kind is None:
        kind = {3: "triplets", 4: "answers" if last_is_answer else "quadruplets"}.get(width)
    roles = _UNNAMED.get(kind or "", {}).get(width)
    if roles is None:
        what = f"{kind} with " if kind else ""
        raise FileFormatError(
            f"{path}: {what}{width} columns without names: cannot tell which is which; "
            "say so, e.g. columns='anchor,a,b,votes_a,votes_b'"
        )
    return dict(zip(roles, range(width))), f"no header: columns taken as {', '.join(roles)}"


def _incomplete(where: str, names: Sequence[str], at: Mapping[str, int], kind: str | None, header: bool) -> str:
    """Say which columns are missing, and which unknown name was perhaps meant."""
    forms = [form for form in FORMS if kind is None or form.kind == kind]
    best = max(forms, key=lambda form: (len(set(form.roles) & set(at)), -len(form.roles)))
    missing = [role for role in best.roles if role not in at]
    typos = []
    for spot, name in enumerate(names):
        word = normalise(name)
        if spot not in at.values() and word and word not in ROLE_OF:
            near = closest(word, [alias for role in missing for alias in ALIASES[role]] or list(ROLE_OF))
            if near:
                typos.append(f"did you mean {near!r} for {name!r}?")
    have = "columns " + listed(map(repr, names)) if header else f"{len(names)} columns"
    what = f" for {best.kind}" if at or kind else ""
    lacking = f"no column for {listed(missing)}{what}" if at else "no column name is known"
    return f"{where}: {have}: {lacking}; " + " ".join([*typos, COLUMNS_HINT])


def _refuse_two_meanings(where: str, names: Sequence[str], at: Mapping[str, int], form: Form) -> None:
    """Refuse a file that holds both an ordered comparison and an answer, unless told which counts."""
    unused = [role for role in ("answer", "odd", "central", *_VOTES) if role in at and role not in form.roles]
    if unused and not form.extra:
        column = names[at[unused[0]]]
        raise FileFormatError(
            f"{where}: columns {listed(repr(names[at[role]]) for role in form.roles)} say what is nearer, "
            f"and so may {column!r}; say kind={form.kind!r} to leave {column!r} out, or columns=... to use it"
        )


def _refuse_shared(path: str, names: Sequence[str], at: Mapping[str, int]) -> None:
    seen: dict[int, str] = {}
    for role, spot in at.items():
        if spot in seen:
            raise FileFormatError(f"{path}: column {names[spot] or spot + 1!r} cannot be both {seen[spot]} and {role}")
        seen[spot] = role


def _name_columns(names: Sequence[str], at: Mapping[str, int], form: Form) -> list[int]:
    """Find columns that name the numbered objects, such as head_filename beside head; one per object column."""
    for suffix in _NAME_SUFFIXES:
        wanted = [names[at[role]] + suffix for role in form.objects]
        if all(names.count(name) == 1 for name in wanted):
            return [names.index(name) for name in wanted]
    return []
