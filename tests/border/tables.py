"""Tables for hypothesis: a meaning is drawn first, then one of the many ways to write it down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from carriers import Outcome, Sheet, counting
from hypothesis import strategies as st

from nearer.data.cells import MISSING, NO_ANSWER, is_whole, normalise
from nearer.data.roles import ALIASES
from nearer.io import read_comparisons

KINDS = ("triplets", "letters", "quadruplets", "answers", "votes", "odd-one-out", "most-central", "rankings")
# How an answer may be written: the object, the side, the role, a position, a word that must be told.
ANSWERS = ("object", "left/right", "a/b", "1/2", "told", "told index0")
LABELS = ("text", "digits", "padded", "gaps", "from 0")
# Who answers: numbers in one block of a stream may stand beside names in another.
PEOPLE = {
    "words": ["p1", "p 2", "ÿ", "2024-01-31", None],
    "numbers": [7, 12, 100, 0],
    "digits": ["7", "12", "100"],
    "digits and words": ["7", "12", "100", "p1"],
}

_OBJECT_ROLES = ("anchor", "near", "far", "a", "b", "c", "i", "j", "k", "l", *(f"rank_{n}" for n in range(1, 9)))
_LETTERS = "abcxyzÄéß中Ωж🎵19 _-,;|\"'."
_WORDS = st.text(_LETTERS, min_size=1, max_size=6).filter(
    lambda text: (
        text == text.strip() and text not in MISSING and normalise(text) not in NO_ANSWER and text[0] not in "'-"
    )
)
_PLAIN_ALIASES = {
    # Left out: names that mean more than one thing in some layout, which is tested on its own.
    role: [alias for alias in aliases if alias not in ("choice", "pick")]
    for role, aliases in ALIASES.items()
}


@dataclass(frozen=True)
class Case:
    """A sheet and what it says; `objects` are all of them in their order."""

    sheet: Sheet
    meant: Outcome


@st.composite
def _names(draw: Any, kind: str, size: int) -> list[Any]:
    """Distinct objects, as cells."""
    if kind == "from 0":
        return list(range(size))
    if kind in ("gaps", "digits"):
        numbers = draw(st.lists(st.integers(0, 10**6), min_size=size, max_size=size, unique=True))
        return numbers if kind == "gaps" else list(map(str, numbers))
    if kind == "padded":
        return [f"{number:03d}" for number in draw(st.permutations(range(size)))]
    return draw(st.lists(_WORDS, min_size=size, max_size=size, unique=True))


@st.composite
def _alias(draw: Any, role: str) -> str:
    """One of the names of a role, in some spelling."""
    if role.startswith("rank_"):
        return draw(st.sampled_from(["rank_", "Rank ", "ranked", "nearest_"])) + role[5:]
    name = draw(st.sampled_from(_PLAIN_ALIASES[role]))
    name = draw(st.sampled_from([str.lower, str.upper, str.title]))(name)
    cut = draw(st.integers(0, len(name)))
    return name[:cut] + draw(st.sampled_from(["", "_", " ", "-"])) + name[cut:] if 0 < cut < len(name) else name


@st.composite
def cases(draw: Any, kinds: tuple[str, ...] = KINDS, answers: tuple[str, ...] = ANSWERS, told: bool = True) -> Case:
    """A table that can be read, in some order of columns, with some names of theirs."""
    kind = draw(st.sampled_from(kinds))
    style = draw(st.sampled_from(answers if told else [style for style in answers if not style.startswith("told")]))
    size = draw(st.integers(5, 7))
    objects = draw(_names(draw(st.sampled_from(LABELS)), size))
    n_rows = draw(st.integers(3, 7))
    weighted, with_people = draw(st.booleans()), draw(st.booleans())
    called = draw(st.sampled_from(list(PEOPLE.values())))
    n_candidates = draw(st.integers(2, 3))
    chosen_said = kind == "rankings" and draw(st.booleans())
    roles = {
        "triplets": ["anchor", "near", "far"],
        "letters": ["i", "j", "k"],
        "quadruplets": ["i", "j", "l", "k"],
        "answers": ["anchor", "a", "b", "answer"],
        "votes": ["anchor", "a", "b", "votes_a", "votes_b"],
        "odd-one-out": ["a", "b", "c", "odd"],
        "most-central": ["a", "b", "c", "central"],
        "rankings": [
            "anchor", *(f"rank_{number}" for number in range(1, n_candidates + 1)),
            *["n_chosen", "ordered"] * chosen_said,
        ],
    }[kind]  # fmt: skip
    rows: list[dict[str, Any]] = []
    said: list[tuple[str, ...]] = []
    weights: list[float] = []
    people: list[str] = []
    dropped: dict[str, int] = {}
    options: dict[str, Any] = {}
    for number in range(n_rows):
        # The first two rows answer differently and count, so that no reading is left open.
        # The last one is not empty: a spreadsheet ends before it.
        fates = ["said"] * 6 + ["degenerate", "silent"] + ["empty"] * (number < n_rows - 1)
        fate = draw(st.sampled_from(fates)) if number > 1 else "said"
        picked = draw(st.permutations(objects))[: max(4, n_candidates + 1)]
        if number == 0:
            known = picked[0]
        elif rows[-1][roles[0]] is None:  # after a gap, names that stand in no other row may be those of another table
            picked = list(dict.fromkeys([known, *picked]))[: len(picked)]
        weight = 1.0 if not weighted else draw(st.sampled_from([0.5, 1.0, 2.5, 0.0])) if number else 1.5
        person = draw(st.sampled_from(called))
        first = (True, False)[number] if number < 2 else draw(st.booleans())
        row, given = _written(kind, style, roles, picked, first, fate, draw, number)
        if fate == "silent" and kind not in ("answers", "odd-one-out", "most-central"):
            fate = "said"
        reason = {
            "degenerate": _reason(kind),
            "empty": "no objects",
            "silent": "no answer",
        }.get(fate)
        rows.append(row | ({"weight": weight} if weighted else {}) | ({"participant": person} if with_people else {}))
        if reason:
            dropped[reason] = dropped.get(reason, 0) + 1
            continue
        for names, factor in given:
            said.append(tuple(map(str, names)))
            weights.append(weight * factor)
            people.append("unknown" if person is None else person)
    if kind == "answers" and style.startswith("told"):
        options["answers"] = "index0" if style == "told index0" else {"f": "a", "J": "b"}
    order = draw(
        st.permutations([*roles, *(["weight"] if weighted else []), *(["participant"] if with_people else [])])
    )
    aliases = {role: draw(_alias(role)) for role in order}
    if kind in ("letters", "quadruplets"):
        aliases |= {role: draw(st.sampled_from([role, role.upper()])) for role in roles}
    names = [aliases[role] for role in order]
    sheet = Sheet(names, [[row[role] for role in order] for row in rows], options)
    has_weights = weighted or kind == "votes"
    # Objects are those of answered rows, numbers by size and names by code point.
    answered = [row for row in rows if None not in (row[role] for role in roles)]
    shown = {str(row[role]) for row in answered for role in roles if role in _OBJECT_ROLES}
    labels = sorted(shown, key=int) if all(map(is_whole, shown)) else sorted(shown)
    # People are called by numbers if all are who are in rows that say something, if only about one object.
    written = [row["participant"] for row in answered] if with_people else []
    numbers = all(name is not None and is_whole(str(name)) for name in written)
    people = [int(name) if numbers else str(name) for name in people] if with_people else []
    meant = counting(said, weights if has_weights else None, people, labels, dropped)
    return Case(sheet, meant)


def _reason(kind: str) -> str:
    return {
        "odd-one-out": "the three objects of a set must differ",
        "most-central": "the three objects of a set must differ",
        "rankings": "the query (first) cannot be among its own candidates",
    }.get(kind, "an object cannot be compared with itself")


def _written(
    kind: str, style: str, roles: list[str], picked: list[Any], first: bool, fate: str, draw: Any, number: int
) -> tuple[dict[str, Any], list[tuple[tuple[Any, ...], float]]]:
    """Cells of a row by role, and the comparisons it gives with the factor of each."""
    if fate == "degenerate":
        picked = [picked[0], picked[0], *picked[1:]]
    a, b, c, d = picked[:4]
    row: dict[str, Any]
    if kind in ("triplets", "letters"):
        row, given = dict(zip(roles, (a, b, c))), [((a, b, c), 1.0)]
    elif kind == "quadruplets":
        row, given = dict(zip(roles, (a, b, c, d))), [((a, b, c, d), 1.0)]
    elif kind == "answers":
        words = {
            "object": (b, c), "left/right": ("Left", "right"), "a/b": ("a", "B"), "1/2": (1, 2), "told": ("f", "J"),
            "told index0": (0, 1),
        }[style]  # fmt: skip
        row = {"anchor": a, "a": b, "b": c, "answer": words[0] if first else words[1]}
        given = [((a, b, c) if first else (a, c, b), 1.0)]
    elif kind == "votes":
        votes = draw(st.sampled_from([(2, 0), (1, 3), (0, 1), (0, 0)])) if number else (2, 1)
        row = {"anchor": a, "a": b, "b": c, "votes_a": votes[0], "votes_b": votes[1]}
        given = [(names, float(count)) for names, count in zip(((a, b, c), (a, c, b)), votes) if count]
    elif kind in ("odd-one-out", "most-central"):
        place = (0, 2)[number] if number < 2 else draw(st.integers(0, 2))
        chosen, (one, two) = (a, b, c)[place], [name for spot, name in enumerate((a, b, c)) if spot != place]
        words = {"left/right": ("first", "second", "third"), "a/b": ("a", "b", "c"), "1/2": (1, 2, 3)}.get(style)
        row = {"a": a, "b": b, "c": c, roles[3]: words[place] if words else chosen}
        pairs = (
            ((one, two, chosen), (two, one, chosen)) if roles[3] == "odd" else ((one, chosen, two), (two, chosen, one))
        )
        given = [(names, 1.0) for names in pairs]
    else:
        row = dict(zip([role for role in roles if role in _OBJECT_ROLES], picked))
        ranked = picked[1 : len(row)]
        count, ordered = len(ranked) - 1, True
        if "n_chosen" in roles:
            count, ordered = draw(st.integers(1, count)), draw(st.booleans())
            row |= {"n_chosen": count, "ordered": ordered}
        pairs = [(spot, far) for spot in range(count) for far in range(spot + 1 if ordered else count, len(ranked))]
        given = [((a, ranked[near], ranked[far]), 1.0) for near, far in pairs]
    if fate == "empty":
        row |= {role: None for role in roles if role in (*_OBJECT_ROLES, "answer", "odd", "central")}
    if fate == "silent" and roles[-1] in ("answer", "odd", "central"):
        row[roles[-1]] = None
    return row, given


# ---- tables that must be refused -----------------------------------------------------------------------------------

FAULTS = (
    "unknown name", "no such column", "role twice", "missing cell", "missing word", "negative weight",
    "weight in words", "0/1 untold", "no such option", "name not among labels", "degenerate not allowed",
    "nothing left",
)  # fmt: skip
# These need options, which a cluster does not take.
TOLD_FAULTS = ("name not among labels", "degenerate not allowed")


@st.composite
def refused(draw: Any, fault: str) -> Sheet:
    """A table with one fault, for which every carrier must have the same words."""
    kinds = (
        ("answers",) if fault in ("0/1 untold", "no such option") else ("triplets", "quadruplets", "answers", "votes")
    )
    style = "object" if fault == "no such option" else "left/right"
    if fault in ("unknown name", "no such column"):
        kinds = ("answers", "votes")  # i, j, k are complete without l; text of two columns has no delimiter
    sheet = draw(cases(kinds=kinds, answers=(style,), told=False)).sheet
    names, rows, options = list(sheet.names), [list(row) for row in sheet.rows], dict(sheet.options)
    roles = [_role(name) for name in names]
    objects = [spot for spot, role in enumerate(roles) if role in _OBJECT_ROLES]
    spot = draw(st.sampled_from(objects))
    if fault == "unknown name":
        names[spot] = draw(st.sampled_from(["foil", "näher", "Zeile 7", "x,y"]))
    elif fault == "no such column":
        names.pop(spot)
        rows = [row[:spot] + row[spot + 1 :] for row in rows]
    elif fault == "role twice":
        names.insert(0, names[spot].swapcase() + "_")
        rows = [[row[spot], *row] for row in rows]
    elif fault in ("missing cell", "missing word"):
        rows[1][spot] = None if fault == "missing cell" else "NA"
        if fault == "missing word":
            rows = [[cell if cell is None or at != spot else str(cell) for at, cell in enumerate(row)] for row in rows]
    elif fault in ("negative weight", "weight in words"):
        names, rows = [*names, "caseweight"], [[*row, 1.5] for row in rows]
        names = [
            name if _role(name) != "weight" or place == len(names) - 1 else "zzz" for place, name in enumerate(names)
        ]
        cells = [-2.0 if place == 1 else 1.5 for place in range(len(rows))]
        if fault == "weight in words":
            cells = ["heavy" if place == 1 else "1.5" for place in range(len(rows))]
        rows = [[*row[:-1], cell] for row, cell in zip(rows, cells)]
    elif fault == "0/1 untold":
        at = roles.index("answer")
        for number, row in enumerate(rows):
            row[at] = number % 2
    elif fault == "no such option":
        rows = [[cell if cell is None else str(cell) for cell in row] for row in rows]
        rows[1][roles.index("answer")] = "nobody"
    elif fault == "name not among labels":
        options["labels"] = ["p", "q", "r", "s"]
    elif fault == "degenerate not allowed":
        options["on_degenerate"] = "raise"
        other = objects[(objects.index(spot) + 1) % len(objects)]
        first, second = (spot, other) if "i" not in roles else (roles.index("i"), roles.index("j"))
        rows[1][first] = rows[1][second]
    else:
        for row in rows:
            for at in objects:
                row[at] = rows[0][spot]
    return Sheet(names, rows, options)


def _role(name: str) -> str | None:
    from nearer.data.roles import role_of

    return role_of(name)


def alarms(frame, tmp_path, **told):
    """The alarms of a frame, which must be those of the same table as a file."""
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    found = read_comparisons(frame, **told).alarms
    assert read_comparisons(tmp_path / "a.csv", **told).alarms == found
    assert read_comparisons(tmp_path / "a.parquet", **told).alarms == found
    return found
