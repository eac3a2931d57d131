"""The only meaning of columns: which holds what, found by name or told, and what an answer says."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from nearer.data.columns import Column, Table, number_in
from nearer.data.errors import FileFormatError, closest, listed, shown

_ITEMS = (
    "option", "object", "image", "stimulus", "stim", "item", "choice", "candidate", "alternative", "comparison",
    "picture", "img", "word",
)  # fmt: skip


def _item(letter: str, number: str, side: str, *more: str) -> tuple[str, ...]:
    """Names of the option called `letter`, `number` or by its `side`."""
    ends = (letter, number, side)
    return (letter, *(item + end for item in _ITEMS for end in ends), *(side + item for item in _ITEMS), side, *more)


def _kinds_of(*words: str) -> tuple[str, ...]:
    return tuple(word + item for word in words for item in ("object", "image", "stimulus", "item", "id"))


# role -> names that mean it, lower case, letters and digits only; the first is the role's own name
ALIASES: dict[str, tuple[str, ...]] = {
    "anchor": (
        "anchor", "head", "reference", "ref", "query", "center", "centre", "target", "pivot", "probe", "standard",
        "sample", "cue", "referenz", "anker", *_kinds_of("anchor", "reference", "query", "center", "target", "head"),
    ),
    "near": (
        "near", "nearer", "nearest", "closer", "closest", "winner", "chosen", "selected", "positive", "similar",
        "moresimilar", "mostsimilar", *_kinds_of("chosen", "selected", "closer", "nearer", "winner"),
    ),
    "far": (
        "far", "farther", "further", "farthest", "furthest", "loser", "other", "unchosen", "notchosen", "unselected",
        "rejected", "negative", "different", "dissimilar", "lesssimilar", "leastsimilar",
        *_kinds_of("unchosen", "unselected", "farther", "loser"),
    ),
    "i": ("i", "near1", "neara", "nearfirst"),
    "j": ("j", "near2", "nearb", "nearsecond"),
    "l": ("l", "far1", "fara", "farfirst"),
    "k": ("k", "far2", "farb", "farsecond"),
    "a": _item("a", "1", "left", "first"),
    "b": _item("b", "2", "right", "second"),
    "c": _item("c", "3", "third"),
    "answer": (
        "answer", "response", "responses", "answers", "decision", "judgement", "judgment", "selection", "choice",
        "pick", "resp", "chosenoption", "chosenside", "selectedoption", "selectedside", "sidechosen", "keyrespkeys",
        "respkeys", "responsekeys", "keyresponse", "responsekey", "keypressed", "buttonpressed", "userchoice",
        "useranswer", "userresponse", "participantresponse", "mostsimilarside",
    ),
    "votes_a": (
        "votesa", "votes1", "votesleft", "votesfirst", "votesoptiona", "nvotesa", "counta", "count1", "countleft",
    ),
    "votes_b": (
        "votesb", "votes2", "votesright", "votessecond", "votesoptionb", "nvotesb", "countb", "count2", "countright",
    ),
    # Of a third option: no layout takes them, and none may leave them out unsaid.
    "votes_c": ("votesc", "votes3", "votesthird", "votesoptionc", "nvotesc", "countc", "count3", "countthird"),
    "odd": ("odd", "oddoneout", "oddone", "ooo", "outlier", "mostdifferent", "oddoneoutobject", *_kinds_of("odd")),
    "central": ("central", "mostcentral", "centralobject", "mostcentralobject", "median"),
    "n_chosen": ("nchosen", "nselect", "nselected"),
    "ordered": ("ordered", "isranked", "ranked"),
    # In order of preference, where a table has several.
    "participant": (
        "participant", "participants", "participantid", "participantprivateid", "prolificpid", "prolificid",
        "prolificparticipantid", "workerid", "mturkworkerid", "jatosworkerid", "worker", "puid", "pid", "subject",
        "subjectid", "subjectnr", "subjectnumber", "subjectno", "subid", "subj", "subjid", "sub", "participantno",
        "participantnumber", "participantnr", "ppt", "ppid", "vp", "vpn", "vpnum", "vpcode", "versuchsperson",
        "probandid", "agentid", "judge", "judgeid", "rater", "raterid", "annotator", "annotatorid", "respondent",
        "respondentid", "observer", "observerid", "person", "personid", "userid", "user", "username", "turkleusername",
        "sonaid", "participantpublicid",
    ),
    "weight": ("weight", "weights", "sampleweight", "sampleweights", "caseweight", "count", "counts", "frequency",
               "multiplicity"),
}  # fmt: skip
ROLE_OF = {alias: role for role, aliases in ALIASES.items() for alias in aliases}


def _times(unit: str, *more: str) -> tuple[str, ...]:
    stems = ("rt", "responsetime", "reactiontime", "responselatency", "latency", "answertime", "decisiontime")
    return tuple(stem + unit for stem in stems) + more


# What else a table may tell of an answer; see `Details`. Never needed, and never taken for the sign of a header. A
# column of times whose name does not say its unit (jsPsych's `rt` holds milliseconds, salmon's `response_time` seconds)
# has a role of its own: its cells must tell.
DETAILS: dict[str, tuple[str, ...]] = {
    "side": ("side", "position", "chosenposition", "positionchosen", "responseside", "responseposition"),
    "seconds": (
        "seconds", *_times("seconds"), *_times("sec"), *_times("secs"), *_times("inseconds"), "keyresprt", "keyrt",
    ),
    "milliseconds": (
        "milliseconds", *_times("ms"), *_times("msec"), *_times("millis"), *_times("milliseconds"), *_times("inms"),
    ),
    "response_time": _times("") + _times("s"),
    "order": (
        "order", "trialorder", "presentationorder", "trialnumber", "trialno", "trialnr", "trialnum", "trialindex",
        "trial", "trialsthisn", "questionnumber", "questionindex", "answernumber",
    ),
    "catch": (
        "catch", "iscatch", "catchtrial", "iscatchtrial", "catchquestion", "iscatchquestion", "attentioncheck",
        "isattentioncheck",
    ),
    "correct": ("correct", "iscorrect", "corr", "keyrespcorr", "passed", "catchpassed", "catchcorrect"),
    "chosen_by": (
        "chosenby", "strategy", "questionstrategy", "samplingstrategy", "sampler", "algident", "alglabel", "samplealg",
    ),
}  # fmt: skip
DETAIL_OF = {alias: role for role, aliases in DETAILS.items() for alias in aliases}
# The options that were shown, in a table that also says which is near: together they tell the side.
SHOWN = ("shown_a", "shown_b")
# The first that a table has is read; they tell the same.
TIMES = ("seconds", "milliseconds", "response_time")
# Followed by 1, 2, ...: candidates, the chosen first; the latter only where the number chosen is said.
_RANKED = ("rank", "ranked", "nearest")
_SELECTED = ("reference", "ref", "option", "candidate", "select")
_PREFIXES = ("input.", "answer.", "spreadsheet: ")
_BESIDE = ("participant", "weight")


def normalise(name: str) -> str:
    """Reduce a name to lower-case letters and digits."""
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def role_of(name: str) -> str | None:
    """Give the role that a column name means, or None."""
    return ROLE_OF.get(_word(name))


def detail_of(name: str) -> str | None:
    """Give the detail of an answer that a column name means, or None."""
    return DETAIL_OF.get(_word(name))


def _word(name: str) -> str:
    plain = name.casefold()
    for prefix in _PREFIXES:
        plain = plain.removeprefix(prefix)
    return normalise(plain)


@dataclass(frozen=True)
class Layout:
    """A way to write a comparison: what the user calls it, and the roles of its columns."""

    kind: str
    objects: tuple[str, ...]  # that hold objects, in the order that `Comparisons` takes them
    extra: tuple[str, ...] = ()  # that say what was answered

    @property
    def roles(self) -> tuple[str, ...]:
        """All roles that must be there."""
        return self.objects + self.extra

    @property
    def answer(self) -> str | None:
        """Role of the column that says which option was chosen, if there is one."""
        return self.extra[0] if self.extra and self.kind in ("answers", "odd-one-out", "most-central") else None

    @property
    def options(self) -> tuple[str, ...]:
        """Roles of the objects that an answer chooses from; none where an option is a pair."""
        if self.kind == "answers":
            return () if len(self.objects) == 4 else self.objects[1:]
        return self.objects if self.kind in ("odd-one-out", "most-central") else ()


_QUAD, _TRIPLET, _LETTERS = ("i", "j", "l", "k"), ("anchor", "near", "far"), ("i", "j", "k")
_OPTIONS, _SET, _VOTES = ("anchor", "a", "b"), ("a", "b", "c"), ("votes_a", "votes_b")
# What the columns of an array of object numbers are, by their number.
INDEX_COLUMNS = {3: _TRIPLET, 4: _QUAD}
# The first complete layout wins: those that ask for more columns come first.
LAYOUTS = (
    Layout("votes", _QUAD, _VOTES),
    Layout("answers", _QUAD, ("answer",)),
    Layout("quadruplets", _QUAD),
    Layout("votes", _OPTIONS, _VOTES),
    Layout("triplets", _TRIPLET),
    Layout("answers", _OPTIONS, ("answer",)),
    Layout("answers", _OPTIONS, ("near",)),
    Layout("odd-one-out", _SET, ("odd",)),
    Layout("most-central", _SET, ("central",)),
    Layout("odd-one-out", ("a", "b", "odd")),
    Layout("most-central", ("a", "b", "central")),
    Layout("votes", _LETTERS, _VOTES),
    Layout("answers", _LETTERS, ("answer",)),
    Layout("triplets", _LETTERS),
)
PLAIN_NAMES = {role for layout in LAYOUTS for role in layout.roles}
KINDS = (*dict.fromkeys(layout.kind for layout in LAYOUTS), "rankings")
# What the columns of a table without names are, by their number, once the kind is told.
_UNNAMED: dict[str, dict[int, tuple[str, ...]]] = {
    "triplets": {3: _TRIPLET},
    "quadruplets": {4: _QUAD},
    "answers": {4: (*_OPTIONS, "answer"), 5: (*_QUAD, "answer")},
    "votes": {5: (*_OPTIONS, *_VOTES), 6: (*_QUAD, *_VOTES)},
    "odd-one-out": {3: ("a", "b", "odd"), 4: (*_SET, "odd")},
    "most-central": {3: ("a", "b", "central"), 4: (*_SET, "central")},
}
_SHOWN_KINDS = (
    "triplets (anchor, near, far); answers (anchor, a, b, answer); votes (anchor, a, b, votes_a, votes_b); "
    "quadruplets (i, j, l, k: i and j are the nearer pair; also with answer or votes); odd-one-out (a, b, c, odd); "
    "most-central (a, b, c, central); rankings (anchor, rank_1, rank_2, ...); beside any of them participant, weight"
)
_SHOWN_COLUMNS = 50
_COMPARED_COLUMNS = 500  # a name is slowly compared with all that are known: 10,000 would take seconds
_ROWS_LOOKED_AT = 200
_NAME_SUFFIXES = ("_filename", "_name", "_label", "_html")


@dataclass
class Roles:
    """The columns chosen."""

    layout: Layout
    at: dict[str, int]  # role of `layout` (and participant, weight, details) -> position of its column
    names_at: list[int] = field(default_factory=list)  # columns that name numbered objects, one for each of theirs
    notes: list[str] = field(default_factory=list)
    alarms: list[str] = field(default_factory=list)
    told: frozenset[str] = frozenset()  # roles the user named: what cannot be read there is refused, not left out
    options: tuple[str, ...] = ()  # names of the columns of options, where others say what is near and far

    def without_details(self) -> Roles:
        """The same for readers that keep no more than comparisons and weights; a note says what they leave out."""
        left = [role for role in self.at if role in (*DETAILS, *SHOWN, "participant")]
        if not left:
            return self
        told = [role for role in left if role not in SHOWN]
        note = f"not kept when read in blocks: {listed(told or ['side'])}"
        return replace(self, at={role: spot for role, spot in self.at.items() if role not in left},
                       notes=[*self.notes, note])  # fmt: skip

    @property
    def positions(self) -> list[int]:
        """All columns that must be read."""
        return list(dict.fromkeys([*self.at.values(), *self.names_at]))


def is_header(names: Sequence[str]) -> bool:
    """Tell whether a first row of cells reads as column names: one is known, or at least two nearly so."""
    if any(role_of(name) for name in names if len(normalise(name)) > 1):
        return True
    if complete_layout({role for name in names if (role := role_of(name))}):
        return True
    words = [normalise(name) for name in names[:_COMPARED_COLUMNS]]
    return sum(len(word) > 3 and closest(word, list(ROLE_OF)) is not None for word in words) > 1


def parse_columns(text: str) -> dict[str, str] | list[str]:
    """Read "anchor=head,near=winner,far=loser" (roles to names) or "anchor,near,far" (roles in the table's order)."""
    parts = [part.strip() for part in text.split(",")]
    return _pairs(parts, "columns", "anchor=head") if any("=" in part for part in parts) else parts


def parse_answers(text: str) -> str | dict[str, str]:
    """Read "f=a,j=b,equal=skip" (what a cell says), or the name of a coding such as "index0"."""
    return _pairs([part.strip() for part in text.split(",")], "answers", "f=a") if "=" in text else text


def _pairs(parts: list[str], option: str, example: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in parts:
        key, equals, value = part.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise ValueError(f"{option}: got {part!r}, expected pairs such as {example}")
        if key.strip() in found:
            raise ValueError(f"{option}: {key.strip()!r} is said twice, {found[key.strip()]!r} and {value.strip()!r}")
        found[key.strip()] = value.strip()
    return found


def complete_layout(roles: set[str], kind: str | None = None) -> Layout | None:
    """Find the layout whose roles are all there."""
    ranked = sorted((role for role in roles if role.startswith("rank_")), key=_rank)
    if kind in (None, "rankings") and "anchor" in roles and len(ranked) > 1:
        extra = tuple(role for role in ("n_chosen", "ordered") if role in roles)
        return Layout("rankings", ("anchor", *ranked), extra)
    for layout in LAYOUTS:
        if (kind is None or layout.kind == kind) and set(layout.roles) <= roles:
            return layout
    return None


def _rank(role: str) -> int:
    return int(role[5:])


def _ranked_role(name: str, stems: tuple[str, ...] = _RANKED) -> str | None:
    word = normalise(name)
    stem = word.rstrip("0123456789")
    return f"rank_{int(word[len(stem) :])}" if stem in stems and stem != word and len(word) - len(stem) < 4 else None


def _known_role(role: str) -> str:
    all_roles = (*ALIASES, *DETAILS)
    known = str(role) if role in all_roles else _ranked_role(str(role)) or role_of(str(role)) or detail_of(str(role))
    if known is None:
        near = closest(normalise(str(role)), list(all_roles))
        hint = f"did you mean {near!r}? " if near else ""
        raise ValueError(
            f"columns: got the role {role!r}, expected one of {listed(all_roles, 99)}; {hint}".rstrip("; ")
        )
    return known


def _position(table: Table, wanted: str | int, option: str) -> int:
    """Find a column by its name, or by its number counted from 1."""
    names = table.names
    if isinstance(wanted, int) and not isinstance(wanted, bool):
        if 1 <= wanted <= len(names):
            return wanted - 1
        raise FileFormatError(f"{table.name}: {option} asks for column {wanted}, there are columns 1 to {len(names)}")
    for match in (lambda name: name == wanted, lambda name: normalise(name) == normalise(str(wanted))):
        found = [position for position, name in enumerate(names) if name and match(name)]
        if len(found) == 1:
            return found[0]
        if found:
            raise FileFormatError(f"{table.name}: {option} asks for column {wanted!r}, which occurs {len(found)} times")
    if str(wanted).isdecimal() and 1 <= int(wanted) <= len(names):
        return int(wanted) - 1
    near = closest(str(wanted), [name.casefold() for name in names if name])
    hint = f"; did you mean {near!r}?" if near else ""
    have = listed(map(repr, names)) if any(names) else f"{len(names)} columns without names"
    raise FileFormatError(f"{table.name}: {option} asks for column {wanted!r}, there are {have}{hint}")


def find_roles(
    table: Table,
    *,
    columns: Mapping[str, str | int] | Sequence[str] | str | None = None,
    kind: str | None = None,
    participant: str | int | None = None,
    weight: str | int | None = None,
    asked: bool = False,
) -> Roles:
    """Decide which column is what; parameters as in `nearer.io.read_comparisons`.

    `asked` if the answers come beside the table: its rows are questions, with the first option in the place of near.
    """
    if kind is not None and kind not in KINDS:
        raise ValueError(f"kind: got {kind!r}, expected one of {listed(KINDS)}")
    names, header = table.names, table.header
    words = [_word(name) for name in names] if header else []
    notes: list[str] = []
    told: frozenset[str] = frozenset()
    if columns is not None:
        at = _told(table, columns)
        told = frozenset(at)
        if header and at and told <= {*_BESIDE, *DETAILS}:  # the objects are to be found as ever
            at = _by_name(table, kind, set(at.values())) | at
            columns = None
    elif header:
        at = _by_name(table, kind)
    else:
        at = _by_number(table, kind)
        notes.append(f"no header: columns taken as {', '.join(at)}")
    for role, wanted in (("participant", participant), ("weight", weight)):
        if wanted is not None and role in told and (wanted == "" or _position(table, wanted, role) != at[role]):
            raise ValueError(f"{role}: got {wanted!r}, but columns says it is {names[at[role]] or at[role] + 1!r}")
        if wanted is not None and wanted != "":
            at[role] = _position(table, wanted, role)
        elif wanted == "":
            at.pop(role, None)
        elif role not in at and header:
            found = _columns_for(words, role, ALIASES, at)
            if len(found) > 1 and normalise(names[found[0]]) == normalise(names[found[1]]):
                raise _refusal(table, f"two columns are called {names[found[0]]!r}", at, kind)
            if found:
                at[role] = found[0]
                notes += [f"{role} read from {names[found[0]]!r}, not from {names[spot]!r}" for spot in found[1:]]
    if header:
        _add_details(names, words, at, notes)
    layout = complete_layout(set(at), kind)
    if asked and layout is not None:
        refuse_answered(layout.kind)
    if asked and layout is None and {"a", "b"} <= at.keys() and not {"near", "far", "c"} & at.keys():
        at |= {"near": at.pop("a"), "far": at.pop("b")}
        layout = complete_layout(set(at), kind)
    if layout is None:
        raise _refusal(table, _lacking(table, at, kind), at, kind)
    untold = columns is None and kind is None and header
    if untold:
        _refuse_two_meanings(table, at, layout)
        _refuse_left_over(table, at, layout)
    if not asked and layout.objects == _TRIPLET and "side" not in at and {"a", "b"} <= at.keys():
        at |= dict(zip(SHOWN, (at["a"], at["b"])))
    options = tuple(names[at[role]] for role in ("a", "b") if layout.objects == _TRIPLET and role in at)
    spare = [role for role, spot in at.items() if role in told and spot not in _used(at, layout)]
    if spare and kind is None:
        raise FileFormatError(
            f"{table.name}: columns says which is the {listed(spare)}, but {layout.kind} ({', '.join(layout.roles)}) "
            f"would leave that out; say kind={layout.kind!r} to do so"
        )
    at = {role: spot for role, spot in at.items() if role in (*layout.roles, *_BESIDE, *DETAILS, *SHOWN)}
    _refuse_shared(table, at)
    alarms = _left_out(words, names, at, layout) if untold else []
    return Roles(layout, at, _name_columns(names, at, layout) if header else [], notes, alarms, told, options)


def refuse_answered(kind: str) -> None:
    """Refuse answers given beside a table of a kind that holds them already."""
    if kind not in ("triplets", "quadruplets"):
        raise ValueError(f"y: given, but the table holds {kind} already")


def _columns_for(words: Sequence[str], role: str, known: Mapping[str, Sequence[str]], at: Mapping[str, int]) -> list:
    """Find the free columns that mean a role; the plainest name, the first in the list of aliases, comes first."""
    place = {alias: number for number, alias in enumerate(known[role])}
    found = [spot for spot, word in enumerate(words) if word in place and spot not in at.values()]
    return sorted(found, key=lambda spot: place[words[spot]])


def _add_details(names: Sequence[str], words: Sequence[str], at: dict[str, int], notes: list[str]) -> None:
    """Find the columns that tell more of the answers."""
    for role in DETAILS:
        if role in at or (role in TIMES and any(time in at for time in TIMES)):
            continue
        found = _columns_for(words, role, DETAILS, at)
        if found:
            at[role] = found[0]
            notes += [f"{role} read from {names[found[0]]!r}, not from {names[spot]!r}" for spot in found[1:]]


def _told(table: Table, columns: Mapping[str, str | int] | Sequence[str] | str) -> dict[str, int]:
    columns = parse_columns(columns) if isinstance(columns, str) else columns
    if isinstance(columns, Mapping):
        return _each_once((role, _position(table, name, "columns")) for role, name in columns.items())
    names = table.names
    if not isinstance(columns, Sequence):
        raise ValueError(f"columns: got {columns!r}, expected roles with their columns, or roles in order")
    if len(columns) in (3, 4) and set(columns) <= set(names) and list(columns) != list(names):
        pairs = dict(zip(_TRIPLET if len(columns) == 3 else _QUAD, columns))
        raise FileFormatError(
            f"{table.name}: columns lists names in another order than the table has; say what each is: columns={pairs}"
        )
    if len(columns) != len(names):
        raise FileFormatError(f"{table.name}: columns names {len(columns)} columns, there are {len(names)}")
    return _each_once((role, spot) for spot, role in enumerate(columns) if role not in ("", "-", "_"))


def _each_once(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Collect what was told; ValueError for a role told twice."""
    at: dict[str, int] = {}
    for role, spot in pairs:
        known = _known_role(role)
        if known in at:
            raise ValueError(
                f"columns: two columns are said to be the {known}, {at[known] + 1} and {spot + 1} of the table; "
                "expected one, '-' leaves a column out"
            )
        at[known] = spot
    return at


def _by_name(table: Table, kind: str | None, taken: Collection[int] = ()) -> dict[str, int]:
    names = table.names
    found: dict[str, list[int]] = {}
    for spot, name in enumerate(names):
        role = role_of(name)
        if role and role not in _BESIDE and spot not in taken:
            found.setdefault(role, []).append(spot)
    stems = (*_RANKED, *_SELECTED) if "n_chosen" in found else _RANKED
    ranked: dict[str, list[int]] = {}
    for spot, name in enumerate(names):
        if (role := _ranked_role(name, stems)) and spot not in taken:
            ranked.setdefault(role, []).append(spot)
    needed = complete_layout(set(found), kind) or complete_layout({*found, *ranked}, kind)
    if needed is not None and needed.kind == "rankings":
        found |= ranked
    at = {role: spots[0] for role, spots in found.items()}
    for role, spots in found.items():
        if len(spots) > 1 and needed and role in needed.roles:
            both = listed(repr(names[spot]) for spot in spots)
            del at[role]
            raise _refusal(table, f"columns {both} could each be the {role}", at, kind)
    return at


def _by_number(table: Table, kind: str | None) -> dict[str, int]:
    width, rows = len(table.names), table.head(200)
    while width > 3 and rows and not any(row[width - 1].strip() for row in rows):
        width -= 1  # a delimiter at the end of each line
    roles = _UNNAMED.get(kind or ("triplets" if width == 3 else ""), {}).get(width)
    if kind == "rankings" and width > 3:
        roles = ("anchor", *(f"rank_{number}" for number in range(1, width)))
    if roles is None:
        raise _refusal(table, f"{width} columns without names: which is what cannot be told", {}, kind)
    if kind is None and len(rows) > 1 and (odd := _measured(rows)) is not None:
        what = f"{width} columns without names, and column {odd + 1} holds numbers that are no objects' names"
        raise _refusal(table, what, {}, kind)
    return dict(zip(roles, range(width)))


def _measured(rows: Sequence[Sequence[str]]) -> int | None:
    """Find a column of measurements: numbers beside a column of names, or numbers throughout that are not whole."""
    columns = [[number_in(cell) for cell in column if cell.strip()] for column in zip(*rows)]
    named = any(column and all(number is None for number in column) for column in columns)
    measured = [spot for spot, column in enumerate(columns) if column and None not in column]
    if not named and len(measured) == len(columns):
        measured = [spot for spot in measured if any(number % 1 for number in columns[spot] if number is not None)]
    elif not named:
        measured = []
    return measured[0] if measured else None


def _lacking(table: Table, at: Mapping[str, int], kind: str | None) -> str:
    """Say which columns are missing."""
    have = "columns " + listed(map(repr, table.names)) if table.header else f"{len(table.names)} columns"
    best = _nearest_layout(at, kind)
    if not at:
        return f"{have}: none of these names is known"
    missing = [role for role in best.roles if role not in at]
    return f"{have}: no column for {listed(missing)} of {best.kind}"


def _nearest_layout(at: Mapping[str, int], kind: str | None) -> Layout:
    layouts = [layout for layout in LAYOUTS if kind is None or layout.kind == kind] or [Layout("rankings", _TRIPLET)]
    plain = {layout: -number for number, layout in enumerate((Layout("triplets", _TRIPLET),))}
    return max(
        layouts,
        key=lambda layout: (len(set(layout.roles) & set(at)), plain.get(layout, -1), -len(layout.roles)),
    )


def _refusal(table: Table, what: str, at: Mapping[str, int], kind: str | None) -> FileFormatError:
    """Refuse a table whose columns are not understood: what is there, what is known, and what to say."""
    names = table.names
    where = f"{table.name}, line {table.header_line}" if table.header_line else table.name
    lines = [f"{where}: {what}"]
    if table.header:
        lines.append("  names:      " + _shown_row(names, len(names)))
    for number, row in enumerate(table.head(3, _SHOWN_COLUMNS)):
        lines.append(("  first rows: " if not number else "              ") + _shown_row(row, len(names)))
    understood = [f"{role} = {names[spot] or spot + 1!r}" for role, spot in at.items()]
    lines.append(f"  understood: {listed(understood, 9) or 'nothing'}")
    best = _nearest_layout(at, kind)
    typos = []
    for spot, name in enumerate(names[:_SHOWN_COLUMNS]):
        if spot not in at.values() and (word := normalise(name)) and word not in ROLE_OF:
            near = closest(word, [alias for role in best.roles if role not in at for alias in ALIASES.get(role, ())])
            typos += [f"did you mean {near!r} for {name!r}?"] if near else []
    hint = table.hint
    if (
        not hint
        and table.header_line
        and {cell for row in table.head(200, _SHOWN_COLUMNS) for cell in row} & {*filter(None, names)}
    ):
        hint = "the first row is taken as names, but some stand in other rows too; if it is data, say header=False"
    lines += [f"  {text}" for text in (" ".join(typos), hint) if text]
    lines.append(f"  a row may be: {_SHOWN_KINDS}")
    if len(names) < 3:
        lines.append(f"  a comparison needs at least 3 columns, here {'is 1' if len(names) == 1 else 'are 2'}")
    elif proposal := _proposal(table, at, best):
        lines.append(f"  say which is which, for example: {proposal}")
    else:
        missing = listed(role for role in best.roles if role not in at)
        lines.append(f"  no column is left that could be the {missing}; one more is needed")
    return FileFormatError("\n".join(lines))


def _shown_row(cells: Sequence[str], width: int) -> str:
    more = [f"... ({width:,} columns)"] if width > _SHOWN_COLUMNS else []
    return " | ".join([*map(shown_cell, cells[:_SHOWN_COLUMNS]), *more])


def shown_cell(cell: str) -> str:
    """Show one cell of a row in a message, cut when long."""
    cell = " ".join(cell.split())
    return cell if len(cell) <= 24 else cell[:21] + "..."


def _proposal(table: Table, at: Mapping[str, int], best: Layout) -> str:
    """Give the argument that would make a table readable, the columns that are left taken in their order.

    A column keeps the role that its name means, unless that is an option or an answer, which can be of many kinds;
    "" if too few are left.
    """
    names, width = table.names, len(table.names)
    if not table.header:
        examples = {
            4: "columns='anchor,a,b,answer' or columns='participant,anchor,near,far' or kind='quadruplets'",
            5: "columns='anchor,a,b,votes_a,votes_b' or columns='participant,anchor,a,b,answer'",
        }
        rest = ",".join(["anchor", "near", "far", *["-"] * max(width - 3, 0)])
        return examples.get(width, f"columns='{rest}' ('-' leaves a column out)")
    beside = [at[role] for role in _BESIDE if role in at]
    free = [spot for spot in range(width) if spot not in beside and names[spot]]
    roles, taken = best.roles, {role: spot for role, spot in at.items() if role in best.roles}
    fixed = [spot for role, spot in at.items() if role not in (*_SET, "answer")]
    left = [spot for spot in free if spot not in taken.values() and spot not in fixed]
    left.sort(key=lambda spot: spot in at.values())  # those that mean nothing yet come first
    if len(taken) + len(left) < len(roles):
        roles, taken = _TRIPLET, {role: spot for role, spot in at.items() if role in _TRIPLET}
        left = [spot for spot in free if spot not in fixed]
    if len(taken) + len(left) < len(roles):
        return ""
    for role in roles:
        if role not in taken and left:
            taken[role] = left.pop(0)
    told = {role: names[spot] if names.count(names[spot]) == 1 else spot + 1 for role, spot in taken.items()}
    pairs = ", ".join(f"{role!r}: {told[role]!r}" for role in roles if role in told)
    return f"columns={{{pairs}}}"


def _refuse_two_meanings(table: Table, at: Mapping[str, int], layout: Layout) -> None:
    """Refuse a table with a second column that says what was answered, unless told which counts."""
    used = _used(at, layout)
    says = [at[role] for role in ("answer", "odd", "central", *_VOTES, "near") if role in at and at[role] not in used]
    says = says or _may_answer(table, at, layout)
    if says:
        column, by = table.names[says[0]], layout.extra or layout.objects
        names = listed(repr(table.names[at[role]]) for role in by)
        both = f"column {names} says" if len(by) == 1 else f"columns {names} say"
        what = f"{both} what is nearer, and so may {column!r}; say kind={layout.kind!r} to leave {column!r} out"
        raise _refusal(table, what, at, None)


def _may_answer(table: Table, at: Mapping[str, int], layout: Layout) -> list[int]:
    """Find unused columns whose cells choose among two options, where the third object is taken for the answer."""
    if layout.objects[:2] != ("a", "b") or layout.extra:
        return []
    objects, used = [at[role] for role in layout.objects], _used(at, layout)
    words = {*_side_words(3), *map(normalise, table.names), *("012" if layout.kind == "most-central" else "")}
    rows = [row for row in table.head(_ROWS_LOOKED_AT) if len(row) == len(table.names)]  # others are refused later

    def chooses(spot: int) -> bool:
        said = [(row[spot], [row[place] for place in objects]) for row in rows if row[spot].strip()]
        several = len({cell for cell, _ in said}) > 1
        return several and all(cell in shown or _side_word(cell) in words for cell, shown in said)

    return [spot for spot in range(len(table.names)) if spot not in used and chooses(spot)]


def _used(at: Mapping[str, int], layout: Layout) -> set[int]:
    return {at[role] for role in (*layout.roles, *_BESIDE, *DETAILS, *SHOWN) if role in at}


def _refuse_left_over(table: Table, at: Mapping[str, int], layout: Layout) -> None:
    """Refuse a table with an object or votes that its layout would leave out, unless told to."""
    # What is nearer than what is said in full: the options are those that were shown.
    shown_too = _SET if layout.kind == "triplets" else ()
    left = [
        table.names[spot]
        for role, spot in at.items()
        if (role in ("anchor", *_SET, *_VOTES, "votes_c") and role not in shown_too)
        or (role in _QUAD and len(normalise(table.names[spot])) > 1)  # a column i may count the rows
        if spot not in _used(at, layout)
    ]
    if left:
        what = (
            f"{listed(map(repr, left))} would be left out, if a row is taken as {layout.kind} "
            f"({', '.join(layout.roles)}); say kind={layout.kind!r} if that is meant"
        )
        raise _refusal(table, what, at, None)


def _left_out(words: Sequence[str], names: Sequence[str], at: Mapping[str, int], layout: Layout) -> list[str]:
    """Tell of columns that are not used although their names mean an object or an answer, or are further ones."""
    used = {at[role] for role in layout.roles}
    stems = {*_ITEMS, *(words[spot].rstrip("0123456789") for spot in used)} - {""}

    def means(word: str) -> bool:
        stem = word.rstrip("0123456789")
        further = stem != word and (stem in stems or _ranked_role(word) is not None)
        return len(word) > 1 and (ROLE_OF.get(word, "weight") not in _BESIDE or further)

    left = [names[spot] for spot, word in enumerate(words) if spot not in at.values() and means(word)]
    if not left:
        return []
    what = f"columns {listed(map(repr, left))} are" if len(left) > 1 else f"column {left[0]!r} is"
    return [f"{what} not used, if a row is taken as {layout.kind} ({', '.join(layout.roles)}); see columns="]


def _refuse_shared(table: Table, at: Mapping[str, int]) -> None:
    seen: dict[int, str] = {}
    for role, spot in at.items():
        if spot in seen:
            raise FileFormatError(f"{table.name}: {table.title(spot)} cannot be both {seen[spot]} and {role}")
        seen[spot] = role


def _name_columns(names: Sequence[str], at: Mapping[str, int], layout: Layout) -> list[int]:
    """Find columns that name the numbered objects, such as head_filename beside head; one per object column."""
    for suffix in _NAME_SUFFIXES:
        wanted = [names[at[role]] + suffix for role in layout.objects]
        if all(names.count(name) == 1 for name in wanted):
            return [names.index(name) for name in wanted]
    return []


# ---- what the details of an answer say -----------------------------------------------------------------------------

SIDES = ("first", "second", "third")  # how a position is written; beyond them "option4", ...
_YES_OR_NO = {"yes": 1, "no": 0, "y": 1, "n": 0, "true": 1, "false": 0, "t": 1, "f": 0}
_PASSED = {"pass": 1, "passed": 1, "correct": 1, "right": 1, "fail": 0, "failed": 0, "incorrect": 0, "wrong": 0}
# Nobody answers within 50 ms most of the time, and hardly anybody thinks for 200 s over each question.
_FASTEST_MS, _SLOWEST_S = 50.0, 200.0


def truth_of(cell: str) -> int | None:
    """Read a cell that says yes or no, or that a test was passed or not: 1, 0, or None if it says neither."""
    word = normalise(cell.removesuffix(".0"))
    return yes_or_no(word) if word not in _PASSED else _PASSED[word]


def yes_or_no(cell: str) -> int | None:
    """Read a cell that says yes or no, true or false, 1 or 0: 1, 0, or None if it says neither."""
    number = number_in(cell)
    return _YES_OR_NO.get(cell.casefold()) if number is None else int(number) if number in (0, 1) else None


def sides_of(cells: Sequence[str], size: int) -> dict[str, int | None]:
    """Read the distinct cells that say which of `size` positions was chosen, from 0; None for one that does not.

    Numbers are positions counted from 0 if one of them is 0, from 1 if not. Words may say a position beyond `size`: a
    triplet may come from a choice among more.
    """
    numbers = [number_in(cell) for cell in cells]
    base = 0 if 0 in numbers else 1
    known = {word: spot for spot, words in enumerate(_SIDES) for word in words}
    read: dict[str, int | None] = {}
    for cell, number in zip(cells, numbers):
        word, most = _side_word(cell), 128 if number is None else size
        count = word.removeprefix("option")
        if number is None and word != count and count.isdecimal():
            number = base + int(count) - 1.0
        spot = known.get(word) if number is None else number - base
        read[cell] = int(spot) if spot is not None and 0 <= spot < most and spot == int(spot) else None
    return read


def units_per_second(role: str, times: np.ndarray) -> tuple[float, str]:
    """Tell how many units of response times, as written and none missing, are a second; and what to say about it.

    The role is one of `TIMES`. The number is 1 or 1000, or NaN if that cannot be told.
    """
    median = float(np.median(times)) if len(times) else np.nan
    if role != "response_time":
        divisor = 1.0 if role == "seconds" else 1000.0
        if _FASTEST_MS / 1000 <= median / divisor <= _SLOWEST_S or not len(times):
            return divisor, ""
        return divisor, f"are {role} by name, but the median is {median:,.4g}: is that right?"
    if median < _FASTEST_MS:
        return 1.0, f"taken as seconds, since the median is {median:,.4g}"
    if median > _SLOWEST_S:
        return 1000.0, f"taken as milliseconds, since the median is {median:,.4g}"
    return np.nan, f"may be seconds or milliseconds (the median is {median:,.4g})"


# ---- what is no object --------------------------------------------------------------------------------------------

_SAMPLE = 1000  # cells; as good as always they hold a name
TRUTHS = "every cell says yes or no, true or false, 0 or 1: an answer, not an object"
_MEASURED = "holds numbers that are not whole beside columns of names: measurements, not objects"
_PLACES = "every cell is a number or a side, beside columns of names: a rank or a position, not an object"
FRACTION = "is not a whole number"


def kinds_of_cells(columns: Mapping[str, Column], options: Sequence[str]) -> dict[str, frozenset[str]]:
    """Tell for each column of objects, by role, which kinds of cells it has: name, truth, bit, whole, fraction, side.

    Only "name" is told if every column has one: then none of them is suspected. `options` are the names of columns
    that show the options of an answer.
    """
    if not any(column.is_text for column in columns.values()):
        return {role: frozenset(_number_kinds(column.cells)) for role, column in columns.items()}
    # Letters may be objects, unless options are shown beside.
    sides = {word for word in _side_words(3) if options or len(word) > 1} | _called(options).keys()
    first = [_kinds(column.take(np.arange(min(len(column), _SAMPLE))), sides) for column in columns.values()]
    if all("name" in kinds for kinds in first):
        return dict.fromkeys(columns, frozenset(["name"]))
    return {role: _kinds(column, sides) for role, column in columns.items()}


def _number_kinds(cells: np.ndarray) -> list[str]:
    """The kind of whole numbers, as has been made sure of: nothing but 0 and 1, or more."""
    if not len(cells):
        return []
    return ["bit" if cells.min() >= 0 and cells.max() <= 1 else "whole"]


def _kinds(column: Column, sides: Collection[str]) -> frozenset[str]:
    texts, numbered = column.spelled().occurring()
    kinds = {"bit" if number in ("0", "1") else "whole" for number in numbered}
    for text in map(str.strip, texts):
        number = number_in(text)
        if number is not None:
            kinds.add("bit" if number in (0, 1) else "fraction" if number % 1 else "whole")
        elif len(text) > 1 and yes_or_no(text) is not None:  # letters may be objects
            kinds.add("truth")
        else:
            kinds.add("side" if _side_word(text) in sides else "name")
    return frozenset(kinds)


def no_object(cells: Mapping[str, frozenset[str]], options: Sequence[str]) -> tuple[str, str] | None:
    """Find a column of objects that holds none, given the kinds of its cells by role: the role, and why.

    Where a kind of cell stands among names in another column, objects are called so. `options` as in `kinds_of_cells`.
    """
    numbers = {"bit", "whole", "fraction"}
    places = [role for role in cells if role in ("odd", "central") or role.startswith("rank_")]
    if options or "side" in cells.get("near", frozenset()) | cells.get("far", frozenset()):
        places += ["near", "far"]
    for role, kinds in cells.items():
        others = [other for key, other in cells.items() if key != role]
        named = [other for other in others if "name" in other]
        beside = set().union(*named)
        if not kinds or "name" in kinds:
            continue
        if "truth" in kinds and kinds <= {"truth", "bit"} and "truth" not in beside:
            return role, TRUTHS
        # 0 and 1 may be objects, but not beside names alone.
        if kinds == {"bit"} and len(named) == len(others) and not numbers & beside:
            return role, TRUTHS
        if "fraction" in kinds and kinds <= numbers and not numbers & beside:
            return role, _MEASURED if named else FRACTION
        given = set().union(*(cells.get(place, frozenset()) for place in places))
        if role in places and given <= {"side", *numbers} and named and not (kinds | numbers) & beside:
            return role, _PLACES
    return None


# ---- what an answer says -------------------------------------------------------------------------------------------

_SIDES = (
    ("a", "left", "first", "optiona", "option1", "leftarrow", "arrowleft", "keypressarrowleft"),
    ("b", "right", "second", "optionb", "option2", "rightarrow", "arrowright", "keypressarrowright"),
    ("c", "third", "optionc", "option3"),
)
_ARROWS = {"←": "left", "→": "right", "⬅": "left", "➡": "right"}
# Words in a column of answers that say there is none.
NO_ANSWER = ("timeout", "timedout", "noresponse", "noresp", "omission", "nokey", "[]")
_SKIP = "skip"
CODINGS = ("object", "sign", "bool", "index0", "index1")
ANSWERS_HINT = (
    "say which with answers=: 'object' (the cell names the object chosen), 'sign' (1 first option, -1 second), "
    "'bool' (1 first option, 0 second), 'index0' (0 first, 1 second), 'index1' (1 first, 2 second), "
    "or what each cell says, such as answers={'f': 'a', 'j': 'b', 'equal': 'skip'}"
)


@dataclass(frozen=True)
class Answers:
    """How to read the cells of an answer, and what to tell the user about it.

    The codes say what a cell means: for two options +n or -n (chosen n times the first or the second) or 0 (undecided);
    for three the position 0, 1 or 2; NaN: no answer. None: the cell names the object chosen.
    """

    codes: dict[str, float] | None
    note: str = ""


def read_answers(
    cells: Sequence[str],
    n_elsewhere: int | None,
    option_names: Sequence[str],
    told: str | Mapping[Any, str] | None,
) -> Answers | str:
    """Find out how answers are written; a text says why that cannot be told.

    Parameters
    ----------
    cells : sequence of str
        The distinct answers.
    n_elsewhere : int or None
        Answers that name none of the objects shown in their row; None where an option is a pair.
    option_names : sequence of str
        Names of the options' columns, in order; two or three.
    told : str, mapping or None
        One of `CODINGS`, or what each cell says; None: find out, and refuse if two readings are possible.
    """
    size = len(option_names)
    if isinstance(told, str):
        told = parse_answers(told)
    if told is not None:
        return _told_answers(cells, n_elsewhere, option_names, told)
    readings: list[Answers] = []
    if n_elsewhere == 0:
        readings.append(Answers(None))
    codes = _by_words(cells, option_names)
    if codes is not None:
        readings.append(Answers(codes))
    elif numbers := _by_numbers(cells, size):
        readings.append(numbers)
    if len(readings) == 1:
        return readings[0]
    if readings:
        return f"can be read in two ways, as names of objects and as positions; {ANSWERS_HINT}"
    return f"holds {listed(map(shown, cells), 5)}: cannot tell which option that is; {ANSWERS_HINT}"


def _told_answers(
    cells: Sequence[str], n_elsewhere: int | None, option_names: Sequence[str], told: str | Mapping[Any, str]
) -> Answers | str:
    size = len(option_names)
    if isinstance(told, Mapping):
        words, called = _side_words(size), _called(option_names)
        codes = {}
        for cell, option in told.items():
            option = normalise(str(option))
            if option != _SKIP and option not in words:
                raise ValueError(f"answers: {cell!r} is mapped to {option!r}, expected {listed('abc'[:size])} or skip")
            if option in called and called[option] != words[option]:
                raise ValueError(
                    f"answers: {cell!r} is mapped to {option!r}, which is the name of option {'abc'[called[option]]} "
                    f"and a word for option {'abc'[words[option]]}; rename the columns to tell them apart"
                )
            codes[str(cell).strip()] = np.nan if option == _SKIP else _signed(float(words[option]), size)
        read = Answers(codes, "answers read as told")
    else:
        if told not in CODINGS:
            raise ValueError(f"answers: got {told!r}, expected one of {listed(CODINGS)} or what each cell says")
        if told in ("sign", "bool") and size > 2:
            raise ValueError(f"answers: {told!r} tells two options apart, these answers choose one of {size}")
        if told == "object":
            if n_elsewhere is None:
                raise ValueError("answers: 'object' is for answers that name one object, here an option is a pair")
            return Answers(None, "answers read as 'object'")
        read = Answers(_by_coding(cells, told, size), f"answers read as {told!r}")
    unread = [cell for cell in cells if cell not in (read.codes or {})]
    return f"holds {listed(map(shown, unread), 5)}, which is no answer when read as {told!r}" if unread else read


def _by_coding(cells: Sequence[str], coding: str, size: int) -> dict[str, float]:
    codes: dict[str, float] = {}
    for cell in cells:
        number = number_in(cell)
        truth = yes_or_no(cell)
        if coding == "sign" and number is not None:
            codes[cell] = number
        elif coding == "bool" and truth is not None:
            codes[cell] = 1.0 if truth else -1.0
        elif coding.startswith("index") and number is not None and number - int(coding[-1]) in range(size):
            codes[cell] = _signed(number - int(coding[-1]), size)
    return codes


def _side_words(size: int) -> dict[str, int]:
    """Words for the first, second and third option -> its position."""
    return {word: spot for spot, words in enumerate(_SIDES[:size]) for word in words}


def _side_word(cell: str) -> str:
    """Reduce a cell that may say a side to the word for it."""
    return _ARROWS.get(cell.strip(" \ufe0f"), "") or normalise(cell)


def _called(option_names: Sequence[str]) -> dict[str, int]:
    """Names of the options' columns, also without the prefix of a program -> position."""
    return {word: spot for spot, name in enumerate(option_names) for word in (_word(name), normalise(name)) if word}


def _signed(spot: float, size: int) -> float:
    return 1.0 - 2.0 * spot if size == 2 else spot


def _by_words(cells: Sequence[str], option_names: Sequence[str]) -> dict[str, float] | None:
    """Read left and right and the like, or the names of the options' columns."""
    size, words, called = len(option_names), _side_words(len(option_names)), _called(option_names)
    # Where the option in column "right" is the first, "right" is that column, and no word for a side is sure.
    turned = any(words.get(name, spot) != spot for name, spot in called.items())
    known = called if turned else words | called
    spots = [known.get(_side_word(cell)) for cell in cells]
    if not cells or any(spot is None for spot in spots):
        return None
    return {cell: _signed(float(spot), size) for cell, spot in zip(cells, spots) if spot is not None}


def _by_numbers(cells: Sequence[str], size: int) -> Answers | None:
    """Read numbers where only one reading is possible; 0 and 1, or -1 and 1, may mean either option."""
    numbers = {cell: number for cell in cells if (number := number_in(cell)) is not None}
    if not cells or len(numbers) < len(cells):
        return None
    found = set(numbers.values())
    for base, sure in ((0, 0), (1, size)):
        whole = found <= set(range(base, base + size)) and len(found) > 1
        if sure in found and whole and not (size == 2 and base == 0):
            places = ", ".join(f"{base + spot} = {word}" for spot, word in enumerate(SIDES[:size]))
            codes = {cell: _signed(number - base, size) for cell, number in numbers.items()}
            return Answers(codes, f"answers read as positions: {places} option")
    return None
