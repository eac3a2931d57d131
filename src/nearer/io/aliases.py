"""Column names that are understood without being told."""

from __future__ import annotations

_ITEMS = ("option", "object", "image", "stimulus", "stim", "item", "choice")


def _item(letter: str, number: str, *more: str) -> tuple[str, ...]:
    return (letter, *(item + letter for item in _ITEMS), *(item + number for item in _ITEMS), *more)


# role -> names that mean it, lower case, letters and digits only; the first is the role's own name
ALIASES: dict[str, tuple[str, ...]] = {
    "anchor": (
        "anchor",
        "head",
        "reference",
        "ref",
        "query",
        "center",
        "centre",
        "target",
        "pivot",
        "probe",
        "standard",
    ),
    "near": (
        "near",
        "nearer",
        "closer",
        "closest",
        "winner",
        "chosen",
        "selected",
        "positive",
        "similar",
        "moresimilar",
    ),
    "far": ("far", "farther", "further", "loser", "other", "unchosen", "negative", "different", "lesssimilar"),
    "i": ("i", "near1", "neara", "nearfirst"),
    "j": ("j", "near2", "nearb", "nearsecond"),
    "l": ("l", "far1", "fara", "farfirst"),
    "k": ("k", "far2", "farb", "farsecond"),
    "a": _item("a", "1", "left", "first"),
    "b": _item("b", "2", "right", "second"),
    "c": _item("c", "3", "third"),
    "answer": ("answer", "response", "responses", "answers", "decision", "judgement", "judgment", "selection"),
    "votes_a": ("votesa", "votes1", "votesleft", "votesfirst", "counta", "count1", "na"),
    "votes_b": ("votesb", "votes2", "votesright", "votessecond", "countb", "count2", "nb"),
    "odd": ("odd", "oddoneout", "oddone", "outlier"),
    "central": ("central", "mostcentral", "centralobject", "median"),
    "participant": (
        *(
            "participant",
            "participants",
            "participantid",
            "puid",
            "user",
            "userid",
            "subject",
            "subjectid",
            "worker",
            "workerid",
        ),
        *("rater", "raterid", "annotator", "annotatorid", "observer", "respondent", "respondentid"),
    ),
    "weight": ("weight", "weights", "sampleweight", "count", "counts", "frequency", "multiplicity"),
}
ROLE_OF = {alias: role for role, aliases in ALIASES.items() for alias in aliases}


def normalise(name: str) -> str:
    """Reduce a column name to lower-case letters and digits."""
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def role_of(name: str) -> str | None:
    """Return the role that a column name means, or None."""
    return ROLE_OF.get(normalise(name))
