"""The only meaning of columns: which holds what, found by name or told, and what an answer says."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nearer.data.beside import COUNTED, columns_beside, first_cells, told_beside, told_wrong
from nearer.data.cells import are_numbered, normalise, number_in, pairs_in, side_word, side_words, word_of, yes_or_no
from nearer.data.columns import MemoryTable, Table
from nearer.data.errors import SHOWN, FileFormatError, closest, listed, shown, shown_cell
from nearer.data.values import Options

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
        "participant", "participants", "participantid", "participantprivateid",
        "prolificpid", "prolificid", "prolificparticipantid", "workerid", "mturkworkerid", "jatosworkerid", "worker",
        "puid", "pid", "subject",
        "subjectid", "subjectnr", "subjectnumber", "subjectno", "subid", "subj", "subjid", "sub", "participantno",
        "participantnumber", "participantnr", "ppt", "ppid", "vp", "vpn", "vpnr", "vpnum", "vpcode", "versuchsperson",
        "probandid", "agentid", "panelist", "assessor", "judge", "judgeid", "rater", "raterid", "annotator",
        "annotatorid", "respondent", "respondentid", "observer", "observerid", "person", "personid", "userid", "user",
        "username", "turkleusername", "sonaid", "participantpublicid", "participantcode", "subjectcode", "proband",
        "sujeto", "participante", "listener", "coder", "labeler", "labeller", "turker",
        "subjnr", "subjno", "teilnehmer", "player", "pp", "uid", "sujet",
    ),
    "weight": ("weight", "weights", "sampleweight", "sampleweights", "caseweight", "count", "counts", "frequency",
               "multiplicity"),
}  # fmt: skip


def _further_item(*ends: str) -> tuple[str, ...]:
    items = ("opt", "obj", "text", "doc", "document", "sound", "face", "photo", "video", "clip")
    return tuple(item + end for item in items for end in ends)


# Names that often mean something else: taken only where those above leave a table without a meaning.
_SECOND: dict[str, tuple[str, ...]] = {
    "anchor": ("référence", "referencia", "referência", "riferimento", "referentie"),
    "near": ("pos", "näher"),
    "far": ("neg", "notselected", "ferner"),
    "a": ("top", "links", "gauche", "izquierda", "sinistra", "esquerda", *_further_item("a", "1", "left")),
    "b": ("bottom", "rechts", "droite", "derecha", "destra", "direita", *_further_item("b", "2", "right")),
    "c": ("middle", "mitte", *_further_item("c", "3")),
    "answer": ("picked", "clicked", "antwort", "réponse", "respuesta", "risposta", "antwoord", "resposta"),
    "votes_a": ("avotes", "winsa", "awins"),
    "votes_b": ("bvotes", "winsb", "bwins"),
}
SECOND_ROLE_OF = {alias: role for role, aliases in _SECOND.items() for alias in aliases}
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
OPTIONS_SHOWN = ("shown_a", "shown_b")
# The first that a table has is read; they tell the same.
TIMES = ("seconds", "milliseconds", "response_time")
# Followed by 1, 2, ...: candidates, the chosen first; the latter only where the number chosen is said.
_RANKED = ("rank", "ranked", "nearest")
_SELECTED = ("reference", "ref", "option", "candidate", "select")
_BESIDE = ("participant", "weight")


def role_of(name: str) -> str | None:
    """Give the role that a column name means, or None."""
    return ROLE_OF.get(word_of(name))


def roles_of(names: Iterable[str]) -> list[str | None]:
    """Give the roles that column names mean, None for one that means none."""
    return [ROLE_OF.get(word) for word in map(word_of, names)]


def detail_of(name: str) -> str | None:
    """Give the detail of an answer that a column name means, or None."""
    return DETAIL_OF.get(word_of(name))


@dataclass(frozen=True)
class Layout:
    """A way to write a comparison: what the user calls it, and the roles of its columns."""

    kind: str
    objects: tuple[str, ...]  # that hold objects, in the order that `Comparisons` takes them
    extra: tuple[str, ...] = ()  # that say what was answered
    roles: tuple[str, ...] = field(init=False)  # all that must be there
    answer: str | None = field(init=False)  # of the column that says which option was chosen, if there is one
    options: tuple[str, ...] = field(init=False)  # that an answer chooses from; none where an option is a pair

    def __post_init__(self) -> None:
        in_sets = self.kind in ("odd-one-out", "most-central")
        answered = self.extra and (in_sets or self.kind == "answers")
        options = self.objects[1:] if self.kind == "answers" and len(self.objects) == 3 else ()
        object.__setattr__(self, "roles", self.objects + self.extra)
        object.__setattr__(self, "answer", self.extra[0] if answered else None)
        object.__setattr__(self, "options", self.objects if in_sets else options)


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
    Layout("answers", _OPTIONS, ("far",)),
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
_SUFFIXES = ("id", "idx", "index", "name", "label", "filename", "file", "image", "img")
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
    says_objects: bool = False  # whether the user named columns of objects or answers; of these there is no doubt
    beside: list[int] = field(default_factory=list)  # columns not used that have few values, to be read too
    doubts: list[str] | None = None  # what their first cells tell; None if nobody is to hear of it

    def without_details(self) -> Roles:
        """The same for readers that keep comparisons, weights and people alone; a note says what they leave out."""
        left = [role for role in self.at if role in (*DETAILS, *OPTIONS_SHOWN)]
        if not left:
            return replace(self, beside=[])
        told = [role for role in left if role not in OPTIONS_SHOWN]
        note = f"not kept when read in blocks: {listed(told or ['side'])}"
        return replace(self, at={role: spot for role, spot in self.at.items() if role not in left},
                       notes=[*self.notes, note], beside=[])  # fmt: skip

    @property
    def positions(self) -> list[int]:
        """All columns that must be read."""
        return list(dict.fromkeys([*self.at.values(), *self.names_at]))


def is_header(names: Sequence[str]) -> bool:
    """Tell whether a first row of cells reads as column names: one is known, or at least two nearly so."""
    roles = roles_of(names)
    known = (name for role, name in zip(roles, names) if role)
    second = (SECOND_ROLE_OF.get(word_of(name)) for name in names)
    if any(sum(map(str.isalnum, name)) > 1 for name in known) or complete_layout({*filter(None, (*roles, *second))}):
        return True
    words = list(map(normalise, names[:_COMPARED_COLUMNS]))
    return sum(len(word) > 3 and closest(word, list(ROLE_OF)) is not None for word in words) > 1


def parse_columns(text: str) -> dict[str, str] | list[str]:
    """Read "anchor=head,near=winner,far=loser" (roles to names) or "anchor,near,far" (roles in the table's order)."""
    parts = [part.strip() for part in text.split(",")]
    return pairs_in(parts, "columns", "anchor=head") if any("=" in part for part in parts) else parts


def layout_of(names: Iterable[str]) -> Layout | None:
    """Find the layout that column names complete, None if they complete none."""
    return complete_layout({role for role in roles_of(names) if role})


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
    near = closest(str(wanted), [name for name in names if name])
    hint = f"; did you mean {near!r}?" if near else ""
    have = listed(map(repr, names)) if any(names) else f"{len(names)} columns without names"
    raise FileFormatError(f"{table.name}: {option} asks for column {wanted!r}, there are {have}{hint}")


def find_roles(table: Table, options: Options) -> Roles:
    """Decide which column of a table is what."""
    refuse_header(table)
    columns, kind, asked = options.columns, options.kind, options.asked
    if kind is not None and kind not in KINDS:
        raise ValueError(f"kind: got {kind!r}, expected one of {listed(KINDS)}")
    names, header = table.names, table.header
    words = [word_of(name) for name in names] if header else []
    notes: list[str] = []
    alarms: list[str] = []
    told: frozenset[str] = frozenset()
    if columns is not None:
        at = _told(table, columns)
        told = frozenset(at)
        if header and at and told <= {*_BESIDE, *DETAILS}:  # the objects are to be found as ever
            at = _by_name(table, words, kind, set(at.values())) | at
            columns = None
    elif header:
        at = _by_name(table, words, kind)
    else:
        at = _by_number(table, kind)
        notes.append(f"no header: columns taken as {', '.join(at)}")
    for role, wanted in (("participant", options.participant), ("weight", options.weight)):
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
                told_of = alarms if role == "weight" else notes  # people often have several names
                told_of += [f"{role} read from {names[found[0]]!r}, not from {names[spot]!r}" for spot in found[1:]]
    if header:
        _add_details(names, words, at, notes)
    layout = complete_layout(set(at), kind)
    if asked and layout is not None:
        refuse_answered(layout.kind)
    if asked and layout is None and {"a", "b"} <= at.keys() and not {"near", "far", "c"} & at.keys():
        at |= {"near": at.pop("a"), "far": at.pop("b")}
        layout = complete_layout(set(at), kind)
    if layout is not None and layout.answer == "far" and "far" not in told and not _names_option(table, at):
        del at["far"]  # a mark of answers, say, or of people
        layout = complete_layout(set(at), kind)
    if layout is None:
        raise _refusal(table, _lacking(table, at, kind), at, kind)
    untold = columns is None and kind is None and header
    if untold:
        _refuse_two_meanings(table, at, layout)
        _refuse_left_over(table, at, layout)
    if not asked and layout.objects == _TRIPLET and "side" not in at and {"a", "b"} <= at.keys():
        at |= dict(zip(OPTIONS_SHOWN, (at["a"], at["b"])))
    options_shown = tuple(names[at[role]] for role in ("a", "b") if layout.objects == _TRIPLET and role in at)
    spare = [role for role, spot in at.items() if role in told and spot not in _used(at, layout)]
    if spare and kind is None:
        raise FileFormatError(
            f"{table.name}: columns says which is the {listed(spare)}, but {layout.kind} ({', '.join(layout.roles)}) "
            f"would leave that out; say kind={layout.kind!r} to do so"
        )
    at = {role: spot for role, spot in at.items() if role in (*layout.roles, *_BESIDE, *DETAILS, *OPTIONS_SHOWN)}
    _refuse_shared(table, at)
    alarms += _left_out(words, names, at, layout) if untold else []
    says_objects = not options.columns_found and bool(told & {*layout.roles})
    by_name = _name_columns(names, at, layout) if header else []
    roles = Roles(layout, at, by_name, notes, alarms, told, options_shown, says_objects)
    if header and (len(roles.positions) < len(names) or {"correct", *COUNTED} & {*at}):
        cells = first_cells(table)
        roles.beside, others = columns_beside(table, roles, cells)
        if not says_objects and kind is None:
            alarms += told_beside(table, roles, ROLE_OF, cells, others)
            alarms += told_wrong(table, roles, cells)
            roles.doubts = told_beside(table, roles, ROLE_OF, cells, roles.beside)
    if options.answers is not None and layout.answer is None:
        raise FileFormatError(
            f"{table.name}: got answers={options.answers!r}, but {layout.kind} ({', '.join(layout.roles)}) have no "
            "column of answers, expected one"
        )
    return roles


def _names_option(table: Table, at: Mapping[str, int]) -> bool:
    """Tell whether the column of what is far names one of the options, or a side, in every row looked at."""
    words = {*side_words(2), *(normalise(table.names[at[role]]) for role in ("a", "b"))}
    rows = [row for row in table.head(_ROWS_LOOKED_AT) if len(row) == len(table.names) and row[at["far"]].strip()]
    options = [{row[at["a"]].strip(), row[at["b"]].strip()} for row in rows]
    said = [row[at["far"]].strip() for row in rows]
    return bool(rows) and all(cell in shown or side_word(cell) in words for cell, shown in zip(said, options))


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


def _by_name(table: Table, words: Sequence[str], kind: str | None, taken: Collection[int] = ()) -> dict[str, int]:
    """Find columns by their names, reduced to `words`, but for those taken."""
    names = table.names
    found: dict[str, list[int]] = {}
    for spot, word in enumerate(words):
        role = ROLE_OF.get(word)
        if role and role not in _BESIDE and spot not in taken:
            found.setdefault(role, []).append(spot)
    needed = complete_layout(set(found), kind)
    if needed is None or (not needed.extra and needed.objects[-1] in ("odd", "central")):  # two of three options
        more: dict[str, list[int]] = {}
        for spot, word in enumerate(words):
            if (role := SECOND_ROLE_OF.get(word)) and role not in found and spot not in taken:
                more.setdefault(role, []).append(spot)
        further = complete_layout({*found, *more}, kind)
        if further is not None:
            found, needed = found | more, further
    if needed is None and (suffixed := _with_suffix(words, kind, taken)):
        return suffixed
    if needed is None:
        stems = (*_RANKED, *_SELECTED) if "n_chosen" in found else _RANKED
        ranked: dict[str, list[int]] = {}
        for spot, name in enumerate(names):
            if (role := _ranked_role(name, stems)) and spot not in taken:
                ranked.setdefault(role, []).append(spot)
        needed = complete_layout({*found, *ranked}, kind)
        if needed is not None and needed.kind == "rankings":
            found |= ranked
    for role, spots in found.items():
        own = {words[spot] for spot in spots}
        bare = [spot for spot in spots if {words[spot] + suffix for suffix in _SUFFIXES} >= own - {words[spot]}]
        found[role] = bare if len(bare) == 1 else spots  # anchor_id beside anchor numbers what that names
    at = {role: spots[0] for role, spots in found.items()}
    for role, spots in found.items():
        if len(spots) > 1 and needed and role in needed.roles:
            both = listed(repr(names[spot]) for spot in spots)
            del at[role]
            raise _refusal(table, f"columns {both} could each be the {role}", at, kind)
    return at


def _with_suffix(words: Sequence[str], kind: str | None, taken: Collection[int]) -> dict[str, int]:
    """Find the objects where all of their columns end alike, as anchor_id, near_id and far_id; {} if they do not."""
    free = {spot: word for spot, word in enumerate(words) if spot not in taken}
    says = [(ROLE_OF.get(word), spot) for spot, word in free.items() if ROLE_OF.get(word) in ("answer", *_VOTES)]
    beside = {role: spot for role, spot in says if role and [other for other, _ in says].count(role) == 1}
    for suffix in _SUFFIXES:
        ending = [
            (ROLE_OF.get(word.removesuffix(suffix)), spot) for spot, word in free.items() if word.endswith(suffix)
        ]
        known = [(role, spot) for role, spot in ending if role and role not in _BESIDE]
        at = beside | dict(known)
        layout = complete_layout(set(at), kind) if len(at) == len(known) + len(beside) else None  # each once
        if layout is not None and set(layout.objects) <= {role for role, _ in known}:
            return at
    return {}


def _by_number(table: Table, kind: str | None) -> dict[str, int]:
    width, rows = len(table.names), table.head(200)
    while width > 3 and rows and not any("".join(row[width - 1 : width]).strip() for row in rows):
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
            typos += [f"did you mean {near!r} for {name!r}?"] if near and not near.startswith(word) else []
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
    elif (proposal := _proposal(table, at, best, kind))[0]:
        lines += [f"  as proposed below, a row says: {proposal[1]}"] if proposal[1] else []
        lines.append(f"  say which is which, for example: {proposal[0]}")
    else:
        missing = listed(role for role in best.roles if role not in at)
        lines.append(f"  no column is left that could be the {missing}; one more is needed")
    return FileFormatError("\n".join(lines))


def _shown_row(cells: Sequence[str], width: int) -> str:
    more = [f"... ({width:,} columns)"] if width > _SHOWN_COLUMNS else []
    return " | ".join([*map(shown_cell, cells[:_SHOWN_COLUMNS]), *more])


# What a row says, by its roles.
_SAYS = {
    _TRIPLET: "{anchor} is nearer to {near} than to {far}",
    _QUAD: "{i} and {j} are nearer to each other than {l} and {k}",
    (*_OPTIONS, "answer"): "asked which of {a} and {b} is nearer to {anchor}, somebody answered {answer}",
    (*_OPTIONS, "far"): "asked which of {a} and {b} is farther from {anchor}, somebody answered {far}",
    (*_SET, "odd"): "of {a}, {b} and {c}, {odd} is the odd one",
    (*_SET, "central"): "of {a}, {b} and {c}, {central} is in the middle",
}


def _proposal(table: Table, at: Mapping[str, int], best: Layout, kind: str | None) -> tuple[str, str]:
    """Give the argument that would make a table readable, and what a row says then; "" if no column is left.

    A column keeps the role that its name means, unless that is an option or an answer, which can be of many kinds. What
    means nothing is proposed if its cells may be such. Where that leaves too much open, only the roles are given.
    """
    names, width, rows = table.names, len(table.names), table.head(_ROWS_LOOKED_AT, _SHOWN_COLUMNS)
    if not table.header:
        examples = {
            4: "columns='anchor,a,b,answer' or columns='participant,anchor,near,far' or kind='quadruplets'",
            5: "columns='anchor,a,b,votes_a,votes_b' or columns='participant,anchor,a,b,answer'",
        }
        rest = ",".join(["anchor", "near", "far", *["-"] * max(width - 3, 0)])
        return examples.get(width, f"columns='{rest}' ('-' leaves a column out)"), ""
    meant = {
        spot: role_of(name)
        for spot, name in enumerate(names[:_SHOWN_COLUMNS])
        if name and role_of(name) not in _BESIDE and detail_of(name) is None
    }
    cells = {spot: {row[spot].strip() for row in rows if spot < len(row)} - {""} for spot in meant}
    meant = {spot: role for spot, role in meant.items() if cells[spot] or not rows}
    unknown = [spot for spot, role in meant.items() if role is None]
    worded = {spot for spot in meant if any(number_in(cell) is None for cell in cells[spot])}
    named = worded if len(worded) >= len(_TRIPLET) else {*meant}  # beside words, numbers are no objects
    named = {spot for spot in named if not all(yes_or_no(cell) is not None for cell in cells[spot])}
    least = 2 if len(rows) > 3 else 1
    shared = {spot for spot in named if any(len(cells[spot] & cells[one]) >= least for one in named if one != spot)}
    enough = len(shared & {*unknown}) >= len(_TRIPLET)

    def fits(spot: int, role: str, roles: tuple[str, ...]) -> bool:
        if meant[spot] == "answer":
            return role in ("answer", "near", "odd", "central")
        if meant[spot] is None and role in _VOTES:
            return not {*_VOTES} & {*meant.values()} and all(number_in(cell) is not None for cell in cells[spot])
        if meant[spot] is None and role == roles[-1] and role in ("answer", "far") and "a" in roles:
            turned = any(part in normalise(names[spot]) for part in _TURNED)
            return turned == (role == "far") and (spot in shared or _may_choose(cells[spot], names))
        return meant[spot] in (role, *_SET) or (meant[spot] is None and spot in (shared if enough else named))

    def filled(roles: tuple[str, ...]) -> dict[str, int] | None:
        found = {role: at[role] for role in roles if role in at}
        answer = next((spot for spot, role in meant.items() if role == "answer"), None)
        for role in roles:
            if answer is not None and answer not in found.values() and role not in found and fits(answer, role, roles):
                found[role] = answer  # what was answered is what is nearer, if there is nothing else to choose from
        for role in roles:
            free = [spot for spot in meant if spot not in found.values() and fits(spot, role, roles)]
            if role not in found and free:
                found[role] = min(free, key=lambda spot: (meant[spot] != role, meant[spot] is not None))
        return {role: found[role] for role in roles} if len(found) == len(roles) else None

    in_sets = {*_SET, "answer"} <= at.keys() and "anchor" not in at
    objects = [spot for spot in unknown if spot in shared]
    full = [row for row in rows if all(spot < len(row) and row[spot].strip() for spot in objects)]
    picked = objects[-1] if len(objects) > 2 and len(full) > 1 else -1  # names, in each row, one of those before
    picks = picked >= 0 and all(row[picked] in [row[spot] for spot in objects[:-1]] for row in full)
    asked = [(*_OPTIONS, "answer")] if picks and len({*at, *objects}) == 4 and at.keys() <= {"anchor"} else []
    quads = [_QUAD] if len(unknown) == len(meant) == 4 and not picks else []
    turned = [(*_OPTIONS, "far")] if best.roles == (*_OPTIONS, "answer") else []
    tried = [(*_SET, "odd"), (*_SET, "central")] if in_sets else [*asked, *quads, best.roles, *turned, _TRIPLET]
    tried = tried if kind is None else [best.roles]
    given = {roles: spots for roles in tried if (spots := filled(roles)) is not None}
    if not given:
        return "", ""
    roles, spots = next(iter(given.items()))
    others = [spot for spot in meant if spot not in spots.values()]
    left = [spot for spot in others if spot in shared or _may_tell(cells[spot], rows)]
    held = {spot for role, spot in spots.items() if role not in ("answer", *_VOTES) and spot in meant}
    mixed = bool(held & worded) and not held <= worded  # numbers beside words
    apart = len(rows) > 3 and bool(shared) and not held <= shared
    stems = [re.sub("[0-9]+", "", normalise(names[spot])) for spot in unknown]
    repeated = len([stem for stem in {*stems} if stems.count(stem) > 1]) > 1  # T1_ref, T1_a, ..., T2_ref, T2_a, ...
    if left or repeated or mixed or apart or (len(unknown) > len(roles) + 3 and not shared & {*spots.values()}):
        also = f"; {listed(repr(names[spot]) for spot in left[:SHOWN])} may tell more" if left else ""
        also = "; a row for each question is expected" if repeated else also
        roles = (*_OPTIONS, "answer") if left and roles == _TRIPLET else roles
        return f"columns={{{', '.join(f'{role!r}: ...' for role in roles)}}} with the names of your columns{also}", ""
    told = []
    for some in given if in_sets and kind is None else [roles]:
        called = {role: names[spot] for role, spot in given[some].items()}
        plain = [role for role, name in called.items() if names.count(name) == 1 and not {*name} & {*",\r\n"}]
        pairs = {role: called[role] if role in plain else spot + 1 for role, spot in given[some].items()}
        told.append(f"columns={pairs}")
    whole = (row for row in rows if all(spot < len(row) and row[spot].strip() for spot in spots.values()))
    says = (_SAYS[roles].format(**{role: shown_cell(row[spot]) for role, spot in spots.items()}) for row in whole)
    return " or ".join(told), next(says, "") if roles in _SAYS else ""


# Parts of the names of columns that say which option is farther.
_TURNED = ("discard", "eliminat", "remov", "worst", "distant", "farth", "furth", "reject", "least", "less", "unlike",
           "differ", "dissim", "unchosen", "notchosen", "loser", "éloign", "entfern", "unähnlich")  # fmt: skip


def _may_choose(cells: Collection[str], names: Sequence[str]) -> bool:
    """Tell whether cells may be answers: sides, names of columns, yes or no, or a few small numbers."""
    words = {*side_words(3), *map(normalise, names)}
    return len(cells) > 1 and all(
        side_word(cell) in words or yes_or_no(cell) is not None or number_in(cell) in (-1, 2) for cell in cells
    )


def _may_tell(cells: Collection[str], rows: Sequence[Sequence[str]]) -> bool:
    """Tell whether a column that a proposal leaves out may say what was answered: few values, or many numbers."""
    numbers = all(number_in(cell) is not None for cell in cells)
    return len(cells) > 1 and (len(cells) <= 3 or (numbers and len(cells) < len(rows)))


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
    words = {*side_words(3), *map(normalise, table.names), *("012" if layout.kind == "most-central" else "")}
    rows = [row for row in table.head(_ROWS_LOOKED_AT) if len(row) == len(table.names)]  # others are refused later

    def chooses(spot: int) -> bool:
        said = [(row[spot], [row[place] for place in objects]) for row in rows if row[spot].strip()]
        several = len({cell for cell, _ in said}) > 1
        return several and all(cell in shown or side_word(cell) in words for cell, shown in said)

    return [spot for spot in range(len(table.names)) if spot not in used and chooses(spot)]


def _used(at: Mapping[str, int], layout: Layout) -> set[int]:
    return {at[role] for role in (*layout.roles, *_BESIDE, *DETAILS, *OPTIONS_SHOWN) if role in at}


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
    if layout.objects == _QUAD:  # near_1, far_1, near_2 and far_2 are no two pairs beside anchor_1
        stems = {name: word_of(name).rstrip("0123456789") for name in table.names if role_of(name) is None}
        left += [name for name, stem in stems.items() if ROLE_OF.get(stem) == "anchor"]
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

    numbered = {words[spot] + suffix for spot in used for suffix in _SUFFIXES}  # anchor_id beside anchor
    free = [(words[spot], name) for spot, name in enumerate(names) if spot not in at.values()]
    left = [name for word, name in free if means(word) and word not in numbered]
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


# ---- names of columns in the first row, one rule for every carrier -------------------------------------------------

_ROWS_BELOW_FIRST = 10_000
_ROWS_BELOW = 200  # enough to see whether names of columns are objects too
_MOST_ABOVE = 10  # rows above the names of columns: a title, a date, remarks

Cells = Sequence[Sequence[str]]


def find_header(
    name: str,
    cells: Sequence[str],
    below: Callable[[int], Cells],
    place: Callable[[int], str],
    only_known: bool = False,
) -> tuple[bool, str]:
    """Tell whether a first row of cells is a header; refuse a table with a title or a remark above one.

    It is if a name is known, or if none of its words occurs in any other row, or if it numbers columns of words.

    Parameters
    ----------
    name : str
        Of the table, for messages.
    cells : sequence of str
    below : callable
        Gives so many of the rows below, and is called only if the names do not tell.
    place : callable
        Says where a row of those below is.
    only_known : bool
        Take known names alone. Rows made by a program seldom start with names, so words that occur once are objects.

    Returns
    -------
    bool
    str
        What to say in case that is wrong, "" if it is sure.
    """
    if is_header(cells):
        return not only_known or _are_no_objects(cells, below), ""
    _refuse_lines_above(name, cells, below(_ROWS_BELOW), place)
    words = {cell for cell in cells if cell}
    if only_known:
        return False, ""
    if are_numbered(cells):
        others = below(_ROWS_BELOW_FIRST)
        if not others:
            return False, ""
        if not cells[0] or any(all(number_in(cell) is None for cell in column) for column in zip(*others)):
            return True, ""
        return False, f"the first row, {', '.join(cells)}, is taken as data; if it numbers the columns, say header=True"
    if not words or any(number_in(word) is not None for word in words):
        return False, ""
    others = below(_ROWS_BELOW_FIRST)
    if not others or any(cell.strip() in words for row in others for cell in row):
        return False, ""
    return True, "the first row is taken as names, since its words occur nowhere else; if it is data, say header=False"


def _refuse_lines_above(name: str, cells: Sequence[str], rows: Cells, place: Callable[[int], str]) -> None:
    """Refuse a table with a title or a remark above the names of its columns: they would be read as a comparison.

    Names are known by their roles, and stand in no other row.
    """
    for spot, row in enumerate(rows[:_MOST_ABOVE]):
        if not layout_of(row):
            continue
        words = {cell.strip() for cell in row if cell.strip()}
        others = {cell.strip() for other in (cells, *rows) if list(other) != list(row) for cell in other}
        # i, j, k are no sign where other objects are letters too.
        letters = min(map(len, words)) == 1 and any(len(cell) == 1 and cell.isalpha() for cell in others)
        if letters or words & others:
            continue
        raise FileFormatError(
            f"{name}, {place(spot)}: {listed(map(shown, row))} are names of columns, but above them stands "
            f"{listed(map(shown, cells))}; remove what stands above the names, or say header=False if every row is data"
        )


def refuse_told_header(name: str, header: bool | None) -> None:
    """Refuse what was said about the first row of a table whose columns are known without it."""
    if header is not None:
        raise FileFormatError(f"{name}: got header={header}, but no row of this table could hold names of columns")


def with_header(table: Table, header: bool | None = None, *, only_known: bool = False) -> Table:
    """Take the names of columns from the first row of a table in memory that has none, where it holds them.

    Parameters
    ----------
    table : Table
    header : bool, optional
        As told by the user.
    only_known : bool
        Take known names alone. Rows made by a program seldom start with names, so words that occur once are objects.
    """
    if table.header:
        refuse_told_header(table.name, header)
    if table.header or header is False or not isinstance(table, MemoryTable) or not table.columns:
        return table
    first = [_first_cell(column) for column in table.columns]
    texts = ["" if cell is None else str(cell).strip() for cell in first]
    hint = ""
    if header is None:
        if not all(cell is None or isinstance(cell, str) for cell in first):
            return table

        header, hint = _found_header(table, texts, only_known)
    if not header:
        return table
    columns = [column.iloc[1:] if hasattr(column, "iloc") else column[1:] for column in table.columns]
    if not len(columns[0]):
        raise FileFormatError(f"{table.name}: has a header but no rows")
    return replace(
        table, names=texts, header=not are_numbered(texts), columns=columns, first_row=table.first_row + 1, hint=hint,
        notes=[*table.notes, f"the first {table.row_word} is taken as the names of the columns"],
    )  # fmt: skip


def refuse_header(table: Table) -> None:
    """Refuse known names in the first row of a table without names that is read in parts: none could leave it out."""
    if table.header or table.first_is_data or isinstance(table, MemoryTable):
        return  # in memory, `with_header` uses them
    first = [cell.strip() for row in table.head(1) for cell in row]
    if _found_header(table, first, only_known=True)[0]:
        raise FileFormatError(
            f"{table.name}, {table.place(0)}: {listed(map(shown, first))} are names of columns, but the columns are "
            f"called {listed(table.names)}; write the table with these names and without this row"
        )


def _found_header(table: Table, first: Sequence[str], only_known: bool) -> tuple[bool, str]:
    def below(n_rows: int) -> Cells:
        return table.head(n_rows + 1)[1:]

    return find_header(table.name, first, below, lambda spot: table.place(spot + 1), only_known)


def _are_no_objects(cells: Sequence[str], below: Callable[[int], Cells]) -> bool:
    """Tell whether known names of columns are no objects too: they say all, or stand in no other row."""
    if layout_of(cell for cell in cells if len(normalise(cell)) > 1):
        return True
    words = {cell for cell in cells if cell}
    return not any(cell.strip() in words for row in below(_ROWS_BELOW_FIRST) for cell in row)


def _first_cell(column: Any) -> Any:
    if isinstance(column, (str, Mapping)):
        return 0
    try:
        cell = column.iloc[0] if hasattr(column, "iloc") else column[0]
    except (TypeError, LookupError):
        return 0  # what is no column is refused when it is read
    cell = cell.as_py() if hasattr(cell, "as_py") else cell
    return None if isinstance(cell, float) and cell != cell else cell
