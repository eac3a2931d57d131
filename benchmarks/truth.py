"""Is every printed sentence true? From the raw file to the methods paragraph, and every number recomputed.

    python -m benchmarks.truth [cars] [faces] [music] [material] [--keep FOLDER] [--all]

For each data set under ``NEARER_DATA``, the commands check, people, dims, fit and methods are run as a user would. Then
code that shares nothing with nearer reads the raw file and embedding.csv, recomputes every number in every printed
sentence, and compares at the printed precision. Prints a line for each sentence (with ``--all`` also for those that are
right), and exits with 1 if one differs.

An answer with several comparisons (which of three is the most central) is satisfied if all of them hold. Collected are
all answers in the raw file; a row in which an option equals the reference is an attention check. What depends on maps
of parts of the answers is compared in two ways: with the fold accuracies in summary.json (mean, standard error,
Student's interval), and within `PLAUSIBLE` points with maps of folds made here, which nearer fits and this file scores.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import nearer

PLAUSIBLE = 1.5  # points by which accuracies of other folds may differ
PERSON = 15.0  # the same for the agreement of one person, who gave few answers
STUDENT = {3: 3.182446, 4: 2.776445, 9: 2.262157}  # two-sided 95 %, by degrees of freedom
NUMBER = r"\d[\d,]*(?:\.\d+)*"
N_FOLDS = 5


class Answer(NamedTuple):
    """What one person (or, with votes, several) answered to one question; an attention check says nothing."""

    person: str | None
    question: Any  # equal for equal questions
    said: tuple[tuple[str, str, str], ...]  # anchor, near, far
    votes: int = 1
    seconds: float = math.nan
    side: int | None = None  # of the chosen option
    passed: bool | None = None  # of an attention check


@dataclass(frozen=True)
class Case:
    """A data set: its file, how to read it, and what its layout file says."""

    file: Path
    read: Callable[[list[dict[str, str]]], Iterator[Answer]]
    people: bool = False
    layout: str = ""


def read_central(rows: list[dict[str, str]]) -> Iterator[Answer]:
    for row in rows:
        shown, central = [row[f"triplet_object_{k}"] for k in (1, 2, 3)], row["chosen_center"]
        one, other = (name for name in shown if name != central)
        said, side = ((one, central, other), (other, central, one)), shown.index(central)
        yield Answer(row["survey_round"], frozenset(shown), said, 1, float(row["response_time"]), side)


def read_faces(rows: list[dict[str, str]]) -> Iterator[Answer]:
    for row in rows:
        anchor, shown, near = row["Center"], (row["Left"], row["Right"]), row["Answer"]
        side = shown.index(near)
        known = {"seconds": float(row["rt"]) / 1000, "side": side}
        yield _triplet(row["worker_id"], anchor, near, shown[1 - side], **known)


def read_triplets(rows: list[dict[str, str]]) -> Iterator[Answer]:
    for row in rows:
        yield _triplet(row.get("participant"), row["anchor"], row["near"], row["far"])


def read_votes(rows: list[dict[str, str]]) -> Iterator[Answer]:
    for row in rows:
        for near, far in (("a", "b"), ("b", "a")):
            if votes := int(row[f"votes_{near}"]):
                yield _triplet(None, row["anchor"], row[f"option_{near}"], row[f"option_{far}"], votes=votes)


def _triplet(person: str | None, anchor: str, near: str, far: str, **known: Any) -> Answer:
    if anchor in (near, far):
        return Answer(person, None, (), passed=near == anchor, **known)
    return Answer(person, (anchor, frozenset((near, far))), ((anchor, near, far),), **known)


CARS_LAYOUT = """kind = "most-central"
[columns]
a = "triplet_object_1"
b = "triplet_object_2"
c = "triplet_object_3"
central = "chosen_center"
participant = "survey_round"
seconds = "response_time"
"""
DATA = Path(os.environ.get("NEARER_DATA", ""))
CASES = {
    "cars": Case(DATA / "cars/survey_data.csv", read_central, people=True, layout=CARS_LAYOUT),
    "faces": Case(DATA / "faces/triplets.csv", read_faces, people=True),
    "music": Case(DATA / "music.csv", read_triplets),
    "material": Case(DATA / "material_train_votes.csv", read_votes),
}


# What is printed


@dataclass
class Printed:
    """What the commands printed and wrote."""

    text: dict[str, str]  # by command; that of the report is made of its page
    summary: dict[str, Any]
    data: dict[str, Any]  # the data in the report
    embedding: dict[str, list[float]]


class Page(HTMLParser):
    """The text of a page: a line for each paragraph, row and fact, without the scripts."""

    def __init__(self, page: str):
        super().__init__()
        self.lines, self.inside = [""], 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.inside += tag in ("script", "style", "pre")
        if tag in ("p", "li", "h1", "h2", "dt", "tr", "summary", "figure"):
            self.lines.append("")
        if tag in ("td", "th", "dd"):
            self.lines[-1] += " | "
        label = dict(attrs).get("aria-label")
        if tag == "div" and label:
            self.lines.append(label)

    def handle_endtag(self, tag: str) -> None:
        self.inside -= tag in ("script", "style", "pre")

    def handle_data(self, data: str) -> None:
        if not self.inside:
            self.lines[-1] += data

    def text(self) -> str:
        return "\n".join(re.sub(r"\s+", " ", line.replace("\u00a0", " ")).strip(" |") for line in self.lines)


def walk(case: Case, folder: Path) -> Printed:
    """Run the commands on a copy of the file, and collect what they print and write."""
    file, out = folder / case.file.name, folder / "out"
    shutil.copyfile(case.file, file)
    if case.layout:
        file.with_suffix(".layout.toml").write_text(case.layout)
    commands = {"check": [file.name, "-d", "2"], "people": [file.name], "dims": [file.name]}
    commands |= {"fit": [file.name, "--dims", "1-6", "-o", "out"], "methods": ["out"]}
    if not case.people:
        del commands["people"]
    text = {}
    for name, words in commands.items():
        command = [sys.executable, "-m", "nearer", name, *words]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        text[name] = done.stdout if name in ("people", "dims", "methods") else done.stderr + done.stdout
    page = (out / "report.html").read_text(encoding="utf-8")
    text["report"] = Page(page).text()
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
    with open(out / "embedding.csv", encoding="utf-8", newline="") as table:
        _, *rows = csv.reader(table)
    embedding = {name: [float(cell or "nan") for cell in cells] for name, *cells in rows}
    return Printed(text, json.loads((out / "summary.json").read_text()), json.loads(data[1]) if data else {}, embedding)


def sentences(text: str) -> list[str]:
    """Lines, cut into sentences at full stops and semicolons."""
    ends = r"(?<=[.;])(?<!\b[A-Z]\.)(?<!et al\.)\s+(?=[A-Z]|(?<=;\s))"
    return [part.strip().rstrip(";") for line in text.splitlines() for part in re.split(ends, line) if part.strip()]


# What is true


class Truth:
    """Figures by name, recomputed from the raw file, the coordinates and the fold accuracies.

    A figure is a number, bounds (low, high), or a list of both; percentages are from 0 to 100.
    """

    def __init__(self, case: Case, printed: Printed):
        with open(case.file, encoding="utf-8-sig", newline="") as file:
            self.rows = list(csv.DictReader(file))
        self.printed, self.file = printed, case.file
        self.collected = list(case.read(self.rows))
        self.answers = [answer for answer in self.collected if answer.said]
        self.checks = [answer for answer in self.collected if not answer.said]
        self.names = sorted({name for answer in self.answers for said in answer.said for name in said})
        code = {name: k for k, name in enumerate(self.names)}
        self.index = np.array([[code[name] for name in said] for answer in self.answers for said in answer.said])
        self.owner = np.array([k for k, answer in enumerate(self.answers) for _ in answer.said])
        self.votes = np.array([float(answer.votes) for answer in self.answers])
        self.points = np.array([printed.embedding[name] for name in self.names])
        self.statements = Counter()
        for answer in self.answers:
            for said in answer.said:
                self.statements[said] += answer.votes
        self.several = len(self.index) > len(self.answers)
        self.figure: dict[str, Any] = {}
        self._count()
        self._agree()
        self._fit()
        self.people = self._people() if case.people else {}
        self.figure["inverted"] = len(self.inverted)
        self._hold_out()

    def _count(self) -> None:
        known, questions = self.figure, Counter()
        self.responses: dict[Any, Counter] = defaultdict(Counter)
        naming, asked = Counter(), defaultdict(set)
        for answer in self.answers:
            questions[answer.question] += answer.votes
            self.responses[answer.question][answer.said[0][1]] += answer.votes
            for name in set(answer.said[0]):
                naming[name] += answer.votes
                asked[name].add(answer.question)
        self.naming, self.n_questions_of = naming, {name: len(found) for name, found in asked.items()}
        repeated = {question for question, count in questions.items() if count > 1}
        people = {answer.person for answer in self.collected}
        failed = sum(not check.passed for check in self.checks)
        n_answers = self.votes.sum()
        known |= {
            "collected": n_answers + len(self.checks), "answers": n_answers, "comparisons": len(self.index),
            "objects": len(self.names), "questions": len(questions), "repeated": len(repeated),
            "both_ways": sum(len(found) > 1 for found in self.responses.values()),
            "repeated_answers": sum(questions[question] for question in repeated),
            "checks": len(self.checks), "failed": failed, "participants": len(people),
            "groups": self._groups(), "unseen": 0, "few": sum(n < 3 for n in self.n_questions_of.values()),
            "folds": N_FOLDS, "dimensions": self.points.shape[1], "level": 95, "need": self.points.shape[1] + 1,
            "starts": self.printed.summary["options"]["n_init"], "seed": self.printed.summary["options"]["random_state"],
            "percent_guessing": 100 / 3 if self.several else 50, "inverted": 0,
            "alpha": max(self.points.shape[1] - 1, 1),
        }  # fmt: skip
        each = Counter(answer.person for answer in self.answers)
        known |= {"fewest": min(each.values()), "most": max(each.values())}

    def _groups(self) -> int:
        """Groups of objects never compared with each other."""
        group = np.arange(len(self.names))
        while True:
            lowest = np.minimum.reduce(group[self.index], axis=1)
            new = group.copy()
            for column in self.index.T:
                np.minimum.at(new, column, lowest)
            if (new == group).all():
                return len(set(group.tolist()))
            group = new

    def _agree(self) -> None:
        """Agreement with the majority: of all answers to a repeated question, and of the others only."""
        more = rest = total = 0.0
        for found in self.responses.values():
            n = sum(found.values())
            if n > 1:
                total += n
                more += max(found.values())
                for response, count in found.items():
                    others = found - Counter([response])
                    top = [one for one, votes in others.items() if votes == max(others.values())]
                    rest += count * (response in top) / len(top)
        self.figure |= {"ceiling": 100 * more / total, "ceiling_low": 100 * rest / total} if total else {}
        pairs = Counter((said[0], frozenset(said[1:])) for said in self.statements)
        self.figure["both_ways_comparisons"] = sum(count == 2 for count in pairs.values())

    def satisfied(self, points: np.ndarray) -> np.ndarray:
        """How many comparisons of each answer hold on a map, as a fraction; NaN if an object has no position."""
        anchor, near, far = (points[column] for column in self.index.T)
        size = ((anchor - near) ** 2).sum(axis=1), ((anchor - far) ** 2).sum(axis=1)
        holds = np.where(np.isnan(size[0] + size[1]), np.nan, size[0] < size[1])
        return np.bincount(self.owner, holds) / np.bincount(self.owner)

    def _fit(self) -> None:
        holds = self.satisfied(self.points)
        per_row = np.bincount(self.owner)
        self.figure |= {
            "training": 100 * self.votes @ (holds == 1) / self.votes.sum(),
            "training_comparisons": 100 * (self.votes * per_row) @ holds / (self.votes @ per_row),
            "contradicted": self.votes @ (holds < 1),
            "contradicted_comparisons": (self.votes * per_row) @ (1 - holds),
        }
        alpha, size = self.figure["alpha"], []
        for end in (1, 2):  # the kernel of tste, of the near and of the far pair
            apart = ((self.points[self.index[:, 0]] - self.points[self.index[:, end]]) ** 2).sum(axis=1)
            size.append((1 + apart / alpha) ** (-(alpha + 1) / 2))
        weights = self.votes[self.owner]
        self.figure["objective"] = weights @ -np.log(size[0] / (size[0] + size[1])) / weights.sum()

    def _maps(self, unit: list[Any], d: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Answers held out with their unit, bool (m,), and a map of the others, for folds made here."""
        kinds = list(dict.fromkeys(unit))
        fold_of = dict(zip(kinds, (np.random.default_rng(2026).permutation(len(kinds)) % N_FOLDS).tolist()))
        fold = np.array([fold_of[one] for one in unit])
        for number in range(N_FOLDS):
            train = (fold != number)[self.owner]
            model = nearer.OrdinalEmbedding(d, random_state=1)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of objects without a position
                model.fit(self.index[train], sample_weight=self.votes[self.owner][train])
            missing = ((0, len(self.names) - len(model.embedding_)), (0, 0))
            yield fold == number, np.pad(model.embedding_, missing, constant_values=np.nan)

    def _hold_out(self) -> None:
        """Held-out accuracy: as disclosed, and of folds made here, of answers of which all comparisons hold."""
        found, tried = self.printed.summary["cross_validation"], self.printed.summary["dimensions"]
        fold = 100 * np.array(found["fold_accuracy"])
        mean, error = fold.mean(), fold.std(ddof=1) / math.sqrt(len(fold))
        half = STUDENT[len(fold) - 1] * error
        self.figure |= {"held_out_low": mean - half, "held_out_high": mean + half, "held_out_error": error}
        self.tried: dict[int, tuple[Any, Any]] = {}
        for d, accuracy, spread in zip(tried["n_components"], tried["accuracy"], tried["standard_error"]):
            right = placed = 0.0
            for held, points in self._maps([answer.question for answer in self.answers], d):
                holds = self.satisfied(points)[held]
                right += self.votes[held] @ (holds == 1)
                placed += self.votes[held] @ ~np.isnan(holds)
            mine = 100 * right / placed
            self.tried[d] = ([100 * accuracy, (mine - PLAUSIBLE, mine + PLAUSIBLE)], 100 * spread)
            if d == self.points.shape[1]:
                self.figure["unplaced"] = self.votes.sum() - placed
                self.figure["held_out_comparisons"] = mean
                self.figure["held_out"] = [mean, (mine - PLAUSIBLE, mine + PLAUSIBLE)]

    def _people(self) -> dict[str, dict[str, Any]]:
        """Columns of the table of people, by person."""
        given, who = defaultdict(list), [answer.person for answer in self.answers]
        for answer in self.answers:
            given[answer.person].append(answer)
        agreement, reverse = defaultdict(list), defaultdict(list)
        for held, points in self._maps(who, 2):
            holds = self.satisfied(points)
            for k in np.flatnonzero(held).tolist():
                agreement[who[k]].append(holds[k] == 1)
                reverse[who[k]].append(holds[k] == 0)
        people = {}
        for person, answers in given.items():
            sides, asked = [answer.side for answer in answers if answer.side is not None], defaultdict(list)
            for answer in answers:
                asked[answer.question].append(answer.said)
            twice = [found for found in asked.values() if len(found) > 1]
            pairs = [a[0][1] == b[0][1] for found in twice for k, a in enumerate(found) for b in found[:k]]
            passed = [check.passed for check in self.checks if check.person == person]
            mine = 100 * np.mean(agreement[person])
            # More often all comparisons the other way round than as answered: significant at .001 over all people.
            n_right, n_reverse = sum(agreement[person]), sum(reverse[person])
            z = (n_reverse - n_right) / math.sqrt(max(n_right + n_reverse, 1))
            people[person] = {
                "answers": len(answers), "seconds": float(np.median([answer.seconds for answer in answers])),
                "agreement": (mine - PERSON, mine + PERSON), "inverted": z > 4, "own_agreement": mine,
                "reverse": 100 * np.mean(reverse[person]),
                "repeats": len(twice), "repeats_alike": 100 * np.mean(pairs) if pairs else None,
                "catch": len(passed), "catch_passed": 100 * np.mean(passed) if passed else None,
            }  # fmt: skip
            if sides:
                runs = np.diff(np.flatnonzero(np.concatenate([[True], np.diff(sides) != 0, [True]])))
                counts = np.bincount(sides)
                sided = {"first": 100 * np.mean(np.array(sides) == 0), "same_side": 100 * counts.max() / len(sides)}
                people[person] |= sided | {"streak": int(runs.max())}
        own = [one["own_agreement"] for one in people.values()]
        for name, value in (("median", np.median(own)), ("lowest", min(own)), ("highest", max(own))):
            self.figure[f"agreement_{name}"] = (value - 5, value + 5)
        told = self.printed.summary["people"]
        guessing = [str(name) for name, p in zip(told["participant"], told["p_chance"]) if not p < 0.05]
        self.figure["guessing"] = sum(not people[name]["inverted"] for name in guessing)
        return people

    @property
    def inverted(self) -> list[str]:
        return sorted(
            (name for name, one in self.people.items() if one["inverted"]), key=lambda name: (len(name), name)
        )


# What a sentence says: <name> is a figure above, <?> a number that is not checked, and (...) goes to a function.


def _no_larger_beats(truth: Truth, chosen: str) -> str:
    """Whether a larger dimension predicts better by more than two standard errors of the difference."""
    d = truth.points.shape[1] if chosen == "this" else int(chosen)
    ([own, _], error) = truth.tried[d]
    clear = [
        f"{larger} gets {figures[0]:.1f} ± {spread:.1f}"
        for larger, (figures, spread) in truth.tried.items()
        if larger > d and figures[0] - own > 2 * math.hypot(spread, error)
    ]
    return "" if not clear else f"{d} gets {own:.1f} ± {error:.1f} and {', '.join(clear)} %"


def _as_good_as_allowed(truth: Truth) -> str:
    width = truth.figure["ceiling"] - truth.figure["ceiling_low"]
    wide = f"the ceiling is known to {width:.0f} points only" if width > 5 else ""
    better = _no_larger_beats(truth, "this")
    return "; ".join(filter(None, [wide, better]))


def _contradictions(truth: Truth, listed: str) -> Iterator[tuple[str, Any]]:
    for row, up, down in re.findall(r"\(([^)]*)\) (\d+) to (\d+)", listed):
        anchor, near, far = row.split(", ")
        yield up, truth.statements[anchor, near, far]
        yield down, truth.statements[anchor, far, near]


def _disagreeing(truth: Truth, listed: str) -> Iterator[tuple[str, Any]]:
    for person, agrees, expected, shared in re.findall(
        rf"(\S+) \(agrees ({NUMBER}) %, expected ({NUMBER}) %, ({NUMBER}) answers\)", listed
    ):
        n = right = hoped = 0.0
        for answer in (one for one in truth.answers if one.person == person):
            others = truth.responses[answer.question].copy()
            others.subtract(
                one.said[0][1] for one in truth.answers if (one.person, one.question) == (person, answer.question)
            )
            others = +others
            if not others:
                continue
            top = [one for one, count in others.items() if count == max(others.values())]
            # Somebody who answers like the others: each of the answers, with this one, is equally likely to be theirs.
            every = others + Counter([answer.said[0][1]])
            n, right = n + 1, right + (answer.said[0][1] in top) / len(top)
            for response, count in every.items():
                rest = every - Counter([response])
                best = [one for one, votes in rest.items() if votes == max(rest.values())]
                hoped += count / sum(every.values()) * (response in best) / len(best)
        yield from ((agrees, 100 * right / n), (expected, 100 * hoped / n), (shared, n))


def _inverted(truth: Truth, listed: str) -> Iterator[tuple[str, Any]]:
    yield listed, ", ".join(truth.inverted)


def _few(truth: Truth, listed: str) -> Iterator[tuple[str, Any]]:
    for name, count in re.findall(rf"([^\s,]+) \(({NUMBER})\)", listed):
        yield count, truth.n_questions_of[name]
    yield re.findall(NUMBER, listed)[-1], truth.figure["few"] - len(re.findall(r"\(", listed))


def _first_row(truth: Truth, *row: str) -> Iterator[tuple[str, Any]]:
    yield " ".join(row), " ".join(truth.answers[0].said[0])


def _position(truth: Truth, name: str, cells: str) -> Iterator[tuple[str, Any]]:
    yield from zip(re.findall(r"-?[\d.]+", cells), truth.printed.embedding[name])


def _distances(truth: Truth, anchor: str, near: str, far: str, *printed: str) -> Iterator[tuple[str, Any]]:
    at, width = truth.printed.embedding, np.ptp(truth.points, axis=0).max()
    one, other = (math.dist(at[anchor], at[name]) for name in (near, far))
    weight = truth.statements[anchor, near, far]
    yield from zip(printed, (one / other, 100 * one / width, 100 * other / width, weight))


def _dimension(truth: Truth, d: str, accuracy: str, error: str) -> Iterator[tuple[str, Any]]:
    yield from zip((accuracy, error), truth.tried[int(d)])


def _dimensions(truth: Truth, listed: str) -> Iterator[tuple[str, Any]]:
    for d, accuracy in re.findall(rf"(\d+): ({NUMBER}) %", listed):
        yield accuracy, truth.tried[int(d)][0]


def _chosen(truth: Truth, chosen: str, accuracy: str, error: str) -> Iterator[tuple[str, Any]]:
    yield from _dimension(truth, chosen, accuracy, error)
    yield from _claim(_no_larger_beats)(truth, chosen)


def _needed(truth: Truth, n: str, objects: str, d: str, needed: str) -> Iterator[tuple[str, Any]]:
    size = len(truth.names)
    enough = 2 * size * (int(d) + 1) * math.log2(size)
    yield from ((n, 0.8 * truth.figure["answers"]), (objects, size), (needed, enough))
    yield from _claim(_no_larger_beats)(truth, d)


def _tried(truth: Truth, listed: str, chosen: str = "") -> Iterator[tuple[str, Any]]:
    yield from zip(re.findall(NUMBER, listed), truth.tried)
    if chosen:
        yield from _claim(_no_larger_beats)(truth, chosen)


def _version(truth: Truth, printed: str) -> Iterator[tuple[str, Any]]:
    yield printed, nearer.__version__


def _claim(holds: Callable[..., str]) -> Callable[..., Iterator[tuple[str, Any]]]:
    """A statement without a number of its own: what speaks against it, or ""."""

    def check(truth: Truth, *found: str) -> Iterator[tuple[str, Any]]:
        if against := holds(truth, *found):
            yield "claim", against

    return check


def _not_so(reason: str) -> Callable[..., Iterator[tuple[str, Any]]]:
    return _claim(lambda truth, *found: reason)


ROW = r"(\S+) is nearer to (\S+) than to (\S+)"
CV = r"\(<folds>-fold cross-validation, <level> % interval <held_out_low> to <held_out_high> %\)"
CEILING = r"(?:<ceiling_low> to )?<ceiling> %"
SENTENCES: tuple[tuple[str, Callable[..., Iterator[tuple[str, Any]]] | None], ...] = (
    # what was read
    (r"(?:.*: )?(?:<answers> answers: )?<comparisons> triplets over <objects> objects", None),
    (r"<checks> attention checks", None),
    (rf"first row: {ROW}", _first_row),
    # check
    (r"[Aa]nswers: <answers> \((?:of several rows each|the sum of the votes)\)", None),
    (r"[Aa]ttention checks: <checks>, of which <failed> failed", None),
    (r"[Qq]uestions: <questions>, of which <repeated> answered more than once, <both_ways> both ways", None),
    (r"[Nn]oise ceiling: at most <ceiling> % of the answers to the repeated questions can be satisfied", None),
    (r"for new answers the best accuracy is on average between <ceiling_low> % and <ceiling> % "
     r"\(<repeated_answers> answers\)", None),
    (r"[Oo]bjects: <objects> compared, <unseen> not", None),
    (r"<groups> connected groups?", None),
    (r"[Tt]oo few questions for <dimensions> dimensions: <few> objects", None),
    (r"[Pp]articipants: <participants>", None),
    (r"<problems> problems? found", None),
    (r"(?:- |problem: )?<both_ways> questions are answered both ways: (.*) and <?> more\.", _contradictions),
    (r"(?:- |problem: )?<both_ways_comparisons> comparisons are answered both ways: (.*) and <?> more\.",
     _contradictions),
    (r"(?:- |problem: )?<?> participants disagree with the rest: (.*)\.", _disagreeing),
    (r"suspicion: <inverted> participants seem to answer the other way round, contrary to what the others say: (.*)\.",
     _inverted),
    (r"(?:- |problem: )?<few> objects occur in fewer than <need> questions, too few for <dimensions> dimensions: "
     r"(.*) more\.", _few),
    # dims, and the report of it
    (r"(\d+)[\s|]+([\d.]+) %[\s|]+± ([\d.]+)(?: +<- chosen)?", _dimension),
    (r"Held-out accuracy by dimension: (.*)", _dimensions),
    (r"[\d or,]+ dimensions, (\d+) if in doubt \(([\d.]+)% ± ([\d.]+)% of held-out answers satisfied\)", _chosen),
    (r"accuracy by dimension: (.*)", _tried),
    (r"Of ([\d, ]+) dimensions, (this|\d+) is the smallest number that no larger one beats in the prediction of "
     r"held-out answers\.?", _tried),
    (r"a map of <dimensions> is shown for \[give your reason\]\.", None),
    (r"The ring marks (\d+) dimensions, the fewest that no larger number beats", _claim(_no_larger_beats)),
    (r"this map has <dimensions>\.", None),
    # fit, and the report of it
    (r"fitting: loss tste, dimensions <dimensions>, starts <starts>, seed <seed>", None),
    (r"(?:Outcome: )?converged: <?> iterations gained less than <?> of the objective with all points in one place "
     r"\(guide over <?> comparisons", _not_so("the points are not in one place: how the tolerance is measured")),
    (r"L-BFGS, <?> iterations on <?>, eased", None),
    (r"L-BFGS, <?> iterations on <comparisons>\)", None),
    (r"(?:On its own answers: )?<training> %(?: of the answers satisfied|: : answers the map was made from)", None),
    (rf"<held_out> % of held-out answers {CV}", None),
    (rf"noise ceiling {CEILING}", None),
    (r"The map satisfies <held_out> % of answers it has not seen\.?", None),
    (r"where a question was repeated, <ceiling> % of answers side with the majority\.", None),
    (r"On new answers: <held_out> %: : answers it has not seen", None),
    (r"<level> % interval <held_out_low> to <held_out_high> %", None),
    (rf"Best possible: {CEILING}: : noise ceiling, from <repeated> repeated questions", None),
    (r"<percent_guessing> % \(guessing\)100 %", None),
    (r"People are not fully consistent: going by repeated questions, the best possible map satisfies "
     rf"{CEILING}\.", None),
    (r"So this map is about as good as the answers allow\.", _claim(_as_good_as_allowed)),
    (r"<objects> objects\.", None),
    (r"(\S+) \| (-?[\d.]+ \| -?[\d.]+)", _position),
    (r"Hollow: <few> objects that are in fewer than <need> questions, too few for a certain place\.", None),
    (r"The map contradicts <contradicted> of <answers> answers\.", None),
    (r"The map contradicts <contradicted_comparisons> of <comparisons> comparisons\.", None),
    (rf"{ROW} \| ({NUMBER}) times as far \(({NUMBER}) against ({NUMBER}) % of the map's width\) \| ({NUMBER})",
     _distances),
    (r"Loss: tste alpha=<alpha>", None),
    (r"(?:Starts: <starts>|Seed: <seed>|Objective: <objective>|Cross-validation: <folds> folds)", None),
    (r"(?:Epochs|Gradients of single comparisons): <?>", None),
    (r"Objective from <?> to <objective>", None),
    (r"Python: <?>", None),
    (r"nearer: (\S+)", _version),
    # people
    (r"<participants> people gave <fewest> to <most> answers each\.", None),
    (r"They agree with it in <agreement_median> % of answers \(median", None),
    (r"<agreement_lowest> % to <agreement_highest> %\)\.", None),
    (r"<guessing> people cannot be distinguished from somebody who only guesses\.", None),
    (r"Table of people, the (?:100 most doubtful of <participants>|most doubtful first)", None),
    # methods
    (r"<answers> answers to <questions> questions about <objects> objects(?:, by <participants> participants)?", None),
    (r"We collected <collected> answers to <questions> questions about <objects> objects"
     r"(?:, by <participants> participants)?(?:, which give <comparisons> comparisons)?\.", None),
    (r"The objects were placed in <dimensions> dimensions by t-distributed stochastic triplet embedding "
     r"\(van der Maaten & Weinberger, 2012\), computed with nearer (\S+) \(<starts> random start, seed <seed>\)\.",
     _version),
    (rf"The map satisfies <training> % of the answers and <held_out> % of held-out answers {CV}, in which all answers "
     r"to a question were held out together\.", None),
    (r"The map satisfies <training_comparisons> % of the comparisons and <held_out_comparisons> % of held-out "
     rf"comparisons {CV}, in which all answers to a question were held out together\.", None),
    (rf"By the agreement of answers to <repeated> repeated questions, the best possible accuracy is {CEILING}\.", None),
    (r"van der Maaten, L\., & Weinberger, K\. \(2012\)\.", None),
    (r"nearer: maps from comparisons \(version (\S+)\) \[Computer software\]\.", _version),
)  # fmt: skip


# Printed against true


@dataclass
class Line:
    """A sentence (or a column of the table of people) and what was found."""

    source: str
    sentence: str
    differs: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    has_number: bool = True

    @property
    def status(self) -> str:
        if self.differs:
            return "DIFFERS"
        return "not checked" if self.unchecked else "ok" if self.has_number else "no number"

    def __str__(self) -> str:
        more = "; ".join(self.differs + [f"not checked: {', '.join(self.unchecked)}"] * bool(self.unchecked))
        return f"{self.status:<11} {self.source:<7} {self.sentence[:300]}" + (f"\n{'':<20} -> {more}" if more else "")


def agrees(printed: str, true: Any) -> bool:
    """Whether a printed number is the true one, rounded as printed."""
    if isinstance(true, str) or true is None:
        return printed == (true or "")
    if isinstance(true, list):
        return all(agrees(printed, one) for one in true)
    number, half = float(printed.replace(",", "")), 0.5 * 10.0 ** -len(printed.partition(".")[2]) + 1e-9
    low, high = true if isinstance(true, tuple) else (true - half, true + half)
    return low <= number <= high


def shown(true: Any) -> str:
    if isinstance(true, tuple):
        return f"between {true[0]:.1f} and {true[1]:.1f}"
    if isinstance(true, list):
        return " and ".join(map(shown, true))
    return str(true) if isinstance(true, str) else f"{true:,.6g}" if true is not None else "nothing"


def _compiled(pattern: str) -> tuple[re.Pattern, list[str]]:
    """A pattern as a regular expression, and the name of each of its groups, "" for one without."""
    names = [match[1] or "" for match in re.finditer(r"(?<!\\)\((?!\?)|<(\w+|\?)>", pattern)]
    return re.compile(re.sub(r"<(\w+|\?)>", lambda _: f"({NUMBER})", pattern)), names


COMPILED = [(*_compiled(pattern), pattern, function) for pattern, function in SENTENCES]


def judge(truth: Truth, source: str, sentence: str, mask: re.Pattern) -> Line:
    """Compare every number of a sentence; those that no pattern knows are listed as not checked."""
    masked = mask.sub("@", sentence)
    for compiled, names, pattern, function in COMPILED:
        text = masked if function is None else sentence
        if (found := compiled.fullmatch(text)) is None:
            continue
        line = Line(source, sentence)
        given = [k for k in range(1, len(names) + 1) if found[k] is not None]
        checks = [(found[k], truth.figure.get(names[k - 1], "?"), names[k - 1]) for k in given if names[k - 1]]
        if function is not None:
            plain = [found[k] or "" for k, name in enumerate(names, 1) if not name]
            checks += [(printed, true, "") for printed, true in function(truth, *plain)]
        for printed, true, name in checks:
            if name == "?":
                line.unchecked.append(printed)
            elif not agrees(printed, true):
                line.differs.append(f"{name or 'printed'} {printed}: {shown(true)}".replace("printed claim: ", ""))
        spans = [found.span(k) for k in given]
        for number in re.finditer(NUMBER, text):
            inside = any(low <= number.start() and number.end() <= high for low, high in spans)
            if not inside and number[0] not in pattern:
                line.unchecked.append(number[0])
        return line
    numbers = re.findall(NUMBER, masked)
    return Line(source, sentence, unchecked=numbers, has_number=bool(numbers))


COLUMNS = {
    "Person": "participant", "Answers": "answers", "Seconds": "seconds", "First option": "first",
    "Same side": "same_side", "Longest streak": "streak", "Repeats": "repeats", "Alike": "repeats_alike",
    "Catch questions": "catch", "Passed": "catch_passed", "Agreement": "agreement", "Guesses": "guesses",
    "p (only guesses)": "p_chance", "p (no decline)": "p_decline",
}  # fmt: skip


def split_table(text: str) -> tuple[str, dict[str, dict[str, str]]]:
    """The text without its table of people, and the cells of that by person and column."""
    lines, rows = text.splitlines(), {}
    start = next((k for k, line in enumerate(lines) if line.startswith(("participant ", "Person |"))), None)
    if start is None:
        return text, {}
    aligned = "|" not in lines[start]
    ends = [match.end() for match in re.finditer(r"\S+", lines[start])]
    titles = [title.strip() for title in (lines[start].split() if aligned else lines[start].split("|"))]
    stop = start + 1
    for stop, line in enumerate(lines[start + 1 :], start + 1):
        cells = [line[low:high] for low, high in zip([0, *ends], ends)] if aligned else line.split("|")
        if not line or (not aligned and len(cells) < len(titles) - 1):
            break
        values = [cell.strip() for cell in cells] + [""] * (len(titles) - len(cells))
        rows[values[0]] = {COLUMNS.get(title, title): value for title, value in zip(titles[1:], values[1:])}
    else:
        stop = len(lines)
    return "\n".join(lines[:start] + lines[stop:]), rows


def judge_people(truth: Truth, tables: dict[str, dict[str, dict[str, str]]]) -> Iterator[Line]:
    """One line for each column of each table of people, and one for figures that differ between two tables."""
    for source, rows in tables.items():
        for column in next(iter(rows.values()), {}):
            line = Line(source, f"table of people, column {column}, {len(rows)} cells")
            for person, cells in rows.items():
                true = truth.people[person]
                if column == "guesses" and true["inverted"]:
                    line.differs.append(
                        f"{person} {cells[column]}: inverted, satisfies {true['own_agreement']:.0f} % of their answers "
                        f"and contradicts {true['reverse']:.0f} % in every comparison"
                    )
                elif column in true and not agrees(cells[column].removesuffix(" %"), true[column]):
                    line.differs.append(f"{person} {cells[column]}: {shown(true[column])}")
            if column in ("guesses", "p_chance", "p_decline"):
                line.unchecked.append("functions of maps that are not kept")
            yield line
    if len(tables) == 2:
        first, second = tables.values()
        for column in ("agreement", "guesses"):
            differ = [f"{name} {first[name][column]} and {cells[column]}" for name, cells in second.items()
                      if first[name][column] != cells[column]]  # fmt: skip
            yield Line("pages", f"{column} of one person in people and in the report", differ)


def judge_data(truth: Truth) -> Iterator[Line]:
    """The data behind the pictures of the report."""
    data, labels = truth.printed.data, truth.printed.data["labels"]
    for name, true in (("answers", truth.naming), ("x", None)):
        line = Line("data", f"{name}, for each object")
        for k, label in enumerate(labels):
            shown_here = [data["answers"][k]] if true else [axis[k] for axis in data["x"]]
            expected = [true[label]] if true else truth.printed.embedding[label]
            if not np.allclose(shown_here, expected, atol=1e-3):
                line.differs.append(f"{label}: {shown_here}, {expected}")
        yield line
    few = {name for name, n in truth.n_questions_of.items() if n < truth.figure["need"]}
    told = {labels[k] for k in data["few"]}
    yield Line("data", "few, the hollow objects", [] if few == told else [f"{few ^ told}"])


def account(case: Case, printed: Printed) -> tuple[Truth, list[Line]]:
    """A line for every sentence."""
    truth, tables, lines = Truth(case, printed), {}, []
    texts = dict(printed.text)
    for source in ("people", "report"):
        texts[source], rows = split_table(texts.get(source, ""))
        if rows:
            tables[source] = rows
    truth.figure["problems"] = len(re.findall(r"(?m)^ +- ", texts["check"]))
    words = {*truth.names, *truth.rows[0], case.file.name}
    longest = sorted((word for word in words if not word.isdigit()), key=len, reverse=True)
    mask = re.compile("|".join(map(re.escape, longest)) or "$^")
    for source, text in texts.items():
        lines += [judge(truth, source, sentence, mask) for sentence in sentences(text)]
    if "report" in texts and case.file.stem in texts["report"].splitlines()[:5]:
        lines.append(Line("report", f"title: {case.file.stem}", ["the name of a file"]))
    if truth.inverted and not any("other way round" in line.sentence for line in lines if line.source == "report"):
        missing = f"inverted and not named: {', '.join(truth.inverted)}"
        lines += [Line(source, "people who answered the other way round", [missing]) for source in ("people", "report")]
    if truth.figure["unplaced"] >= 0.0005 * truth.figure["answers"]:
        found = f"{truth.figure['unplaced']:,.0f} of {truth.figure['answers']:,.0f} name an object that no other names"
        lines.append(Line("fit", "held-out answers that no map can place", [found]))
    return truth, [*lines, *judge_people(truth, tables), *judge_data(truth)]


def main(arguments: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"of {', '.join(CASES)}; default: all")
    parser.add_argument("--keep", type=Path, help="folder for what the commands wrote")
    parser.add_argument("--all", action="store_true", help="show every sentence, not only what is not right")
    given = parser.parse_args(arguments)
    if unknown := set(given.sets) - set(CASES):
        parser.error(f"unknown: {', '.join(unknown)}")
    n_differ = 0
    for name in given.sets or CASES:
        case = CASES[name]
        if not case.file.is_file():
            print(f"{name}: skipped, {case.file} is not there (NEARER_DATA names the folder)")
            continue
        with tempfile.TemporaryDirectory() as temporary:
            folder = temporary if given.keep is None else given.keep / name
            Path(folder).mkdir(parents=True, exist_ok=True)
            _, lines = account(case, walk(case, Path(folder)))
        print(f"\n== {name}")
        for line in lines:
            if given.all or line.status not in ("ok", "no number"):
                print(line)
        count = Counter(line.status for line in lines)
        print(f"{name}: " + ", ".join(f"{count[one]} {one}" for one in ("ok", "DIFFERS", "not checked", "no number")))
        n_differ += count["DIFFERS"]
    return 1 if n_differ else 0


if __name__ == "__main__":
    sys.exit(main())
