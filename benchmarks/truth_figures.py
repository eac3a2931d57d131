"""What is true of a data set: every figure that nearer prints, recomputed from the raw file and the coordinates.

Nothing of nearer is used, except to fit maps to parts of the answers; see `benchmarks.truth`.
"""

from __future__ import annotations

import csv
import functools
import math
import os
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import t as student

import nearer
from nearer.solvers import Auto

# Points by which accuracies of other folds may differ: over all answers (or 4 standard errors), and of one person.
PLAUSIBLE, PERSON = 1.5, 15.0
# The same for what is estimated by other models of how people err: points of a lapse rate, and normal deviates; of a
# decline, which rests on the second half of few answers, other maps move it by .65 (standard deviation; cars).
LAPSES, DEVIATES, DECLINE = 30.0, 1.5, 2.5
POINTS = 0.5  # by which the gain in accuracy of a dimension may differ on other folds
N_FOLDS = 5


class Answer(NamedTuple):
    """What somebody answered to one question; an attention check says nothing about distances."""

    person: str | None
    question: Any  # equal for equal questions
    said: tuple[tuple[str, str, str], ...]  # anchor, near, far; the first near object tells the responses apart
    votes: int = 1
    seconds: float = math.nan
    side: int | None = None  # of the chosen option
    passed: bool | None = None  # of an attention check


Rows = list[dict[str, str]]


@dataclass(frozen=True)
class Case:
    """A data set: its file, how to read it, and what its layout file says."""

    file: Path
    read: Callable[[Rows], Iterator[Answer]]
    people: bool = False
    layout: str = ""
    rules: tuple[tuple[str, Any], ...] = ()  # of exclusion
    asked: str = "which of two objects is nearer to a third one"
    preregistered: bool = False  # whether the rules were set in advance
    only: frozenset[str] | None = None  # the people who are analysed; None: all


def read_central(rows: Rows) -> Iterator[Answer]:
    for row in rows:
        shown, central = [row[f"triplet_object_{k}"] for k in (1, 2, 3)], row["chosen_center"]
        one, other = (name for name in shown if name != central)
        said = ((one, central, other), (other, central, one))
        yield Answer(row["survey_round"], frozenset(shown), said, 1, float(row["response_time"]), shown.index(central))


def read_faces(rows: Rows) -> Iterator[Answer]:
    for row in rows:
        shown, near = (row["Left"], row["Right"]), row["Answer"]
        side = shown.index(near)
        seconds = float(row["rt"]) / 1000
        yield _triplet(row["worker_id"], row["Center"], near, shown[1 - side], seconds=seconds, side=side)


def read_triplets(rows: Rows) -> Iterator[Answer]:
    for row in rows:
        yield _triplet(row.get("participant"), row["anchor"], row["near"], row["far"])


def read_votes(rows: Rows) -> Iterator[Answer]:
    for row in rows:
        for near, far in ("ab", "ba"):
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
    "cars": Case(DATA / "cars/survey_data.csv", read_central, people=True, layout=CARS_LAYOUT,
                 asked="which of three objects is the most central one",
                 rules=(("min_seconds", 0.5), ("better_than_chance", "true"))),
    "faces": Case(DATA / "faces/triplets.csv", read_faces, people=True, rules=(("catch_passed", 0.9),),
                  preregistered=True),
    "music": Case(DATA / "music.csv", read_triplets),
    "material": Case(DATA / "material_train_votes.csv", read_votes),
}  # fmt: skip


def law(ratio: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Probability of each answer: logistic in the log ratio of its distances, with lapses, of highest likelihood."""

    def chance(theta: np.ndarray) -> np.ndarray:
        lapse = 0.5 * expit(theta[1])
        return np.maximum(lapse + (1 - 2 * lapse) * expit(np.exp(theta[0]) * ratio), 1e-12)

    return chance(minimize(lambda theta: -weights @ np.log(chance(theta)) / weights.sum(), [1.0, -2.0]).x)


def lapses(chance: np.ndarray, weights: np.ndarray) -> tuple[float, float, float]:
    """Lapse rate of highest likelihood in percent, and its 95 % interval by likelihood ratio."""
    rates = np.linspace(0, 1, 101)
    likely = np.log(0.5 * rates[:, None] + (1 - rates[:, None]) * chance) @ weights
    inside = np.flatnonzero(likely >= likely.max() - 1.92)
    return float(likely.argmax()), float(inside[0]), float(inside[-1])


def best(counts: Counter) -> list[Any]:
    """The responses that most gave: several if they are tied."""
    return [one for one, count in counts.items() if count == max(counts.values())]


class Truth:
    """Figures by name: a number, bounds (low, high), or a list of what must all hold; percentages are from 0 to 100.

    `embedding` are the coordinates by name, `summary` is the content of summary.json.
    """

    def __init__(self, case: Case, embedding: dict[str, list[float]], summary: dict[str, Any]):
        with open(case.file, encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
        self.case = case
        self.file, self.columns, self.embedding, self.summary = case.file, list(rows[0]), embedding, summary
        collected = list(case.read(rows))
        self.answers = [one for one in collected if one.said and (case.only is None or one.person in case.only)]
        checks = [one for one in collected if not one.said]
        self.checks = [one for one in checks if case.only is None or one.person in case.only]
        self.names = sorted({name for answer in self.answers for said in answer.said for name in said})
        code = {name: k for k, name in enumerate(self.names)}
        self.index = np.array([[code[name] for name in said] for answer in self.answers for said in answer.said])
        self.owner = np.array([k for k, answer in enumerate(self.answers) for _ in answer.said])
        self.votes = np.array([float(answer.votes) for answer in self.answers])
        self.points = np.array([embedding[name] for name in self.names])
        self.d = self.points.shape[1]
        self.figure: dict[str, Any] = {
            "collected": sum(answer.votes for answer in collected),
            "collected_people": len({answer.person for answer in collected}),
            "collected_checks": len(checks), "collected_passed": sum(bool(check.passed) for check in checks),
            "collected_failed": sum(not check.passed for check in checks),
            "participants": len({answer.person for answer in self.answers}),
        }  # fmt: skip
        self.group = self._groups()
        self._count()
        self._majority()
        self._fit()
        self._hold_out()
        self.people = self._people() if case.people else {}
        self.inverted = sorted(
            (name for name, one in self.people.items() if one["inverted"]), key=lambda n: (len(n), n)
        )
        guessing = [name for name, one in self.people.items() if one["p_chance"] >= 0.05 and not one["inverted"]]
        self.figure |= {"inverted": len(self.inverted), "guessing": len(guessing)}

    def _count(self) -> None:
        self.statements, self.naming, asked = Counter(), Counter(), defaultdict(set)
        self.responses: dict[Any, Counter] = defaultdict(Counter)
        self.own: dict[Any, Counter] = defaultdict(Counter)  # the same, of one person
        for answer in self.answers:
            self.responses[answer.question][answer.said[0][1]] += answer.votes
            self.own[answer.person, answer.question][answer.said[0][1]] += answer.votes
            for said in answer.said:
                self.statements[said] += answer.votes
            for name in answer.said[0]:
                self.naming[name] += answer.votes
                asked[name].add(answer.question)
        self.n_questions_of = {name: len(found) for name, found in asked.items()}
        times = [sum(found.values()) for found in self.responses.values()]
        pairs = Counter((said[0], frozenset(said[1:])) for said in self.statements)
        each, told = Counter(answer.person for answer in self.answers), self.summary
        several = len(self.index) > len(self.answers)
        self.figure |= {
            "answers": self.votes.sum(), "comparisons": len(self.index), "checks": len(self.checks),
            "failed": sum(not check.passed for check in self.checks), "objects": len(self.names), "unseen": 0,
            "groups": len(set(self.group.tolist())), "apart": self._apart(),
            "questions": len(times), "repeated": sum(n > 1 for n in times),
            "repeated_answers": sum(n for n in times if n > 1),
            "both_ways": sum(len(found) > 1 for found in self.responses.values()),
            "both_ways_comparisons": sum(count == 2 for count in pairs.values()),
            "fewest": min(each.values()), "most": max(each.values()),
            "few": sum(n < self.d + 1 for n in self.n_questions_of.values()), "need": self.d + 1, "dimensions": self.d,
            "chance": 100 / 3 if several else 50, "level": 95, "folds": N_FOLDS,
            "alpha": max(self.d - 1, 1) if told["loss"]["name"] == "tste" else None, "penalty": told["penalty"],
            "lapse": told["loss"].get("lapse", 0), "lapse_percent": 100 * told["loss"].get("lapse", 0),
            # By docs/conclusions.md: where they take seconds; of people where these are known.
            "resamples": 100 if len(self.index) <= 20_000 and len(self.names) <= 500 else None, "region": 90,
            "starts": told["options"]["n_init"], "seed": told["options"]["random_state"],
            "epochs": told["result"]["n_iter"], "gradients": told["result"]["n_gradients"],
        }  # fmt: skip

    def _groups(self) -> np.ndarray:
        """The group of each object: those of different groups are never compared with each other."""
        group = np.arange(len(self.names))
        while True:
            new, lowest = group.copy(), group[self.index].min(axis=1)
            for column in self.index.T:
                np.minimum.at(new, column, lowest)
            if (new == group).all():
                return group
            group = new

    def _apart(self) -> float:
        """Answers about objects of another group than the largest."""
        largest = Counter(self.group.tolist()).most_common(1)[0][0]
        outside = self.group[self.index[:, 0]] != largest
        return float(self.votes @ (np.bincount(self.owner, outside) > 0))

    def _majority(self) -> None:
        """How many answers to repeated questions side with the majority: of all of them, and of the others."""
        more = rest = total = 0.0
        for found in self.responses.values():
            if (n := sum(found.values())) > 1:
                total, more = total + n, more + max(found.values())
                rest += sum(count * self.sides(response, found) for response, count in found.items())
        self.figure |= {"ceiling": 100 * more / total, "ceiling_low": 100 * rest / total} if total else {}

    @staticmethod
    def sides(response: Any, counts: Counter) -> float:
        """Whether one of these responses is that of most of the others; of k tied ones, 1 / k."""
        top = best(counts - Counter([response]))
        return (response in top) / len(top)

    def satisfied(self, points: np.ndarray) -> np.ndarray:
        """The fraction of each answer's comparisons that hold on a map; NaN if an object has no position."""
        anchor, near, far = (points[column] for column in self.index.T)
        apart = ((anchor - near) ** 2).sum(axis=1), ((anchor - far) ** 2).sum(axis=1)
        holds = np.where(np.isnan(apart[0] + apart[1]), np.nan, apart[0] < apart[1])
        return np.bincount(self.owner, holds) / np.bincount(self.owner)

    def _fit(self) -> None:
        holds, alpha, lapse = self.satisfied(self.points), self.figure["alpha"], self.figure["lapse"]
        rows, weights = self.votes * np.bincount(self.owner), self.votes[self.owner]
        near, far = (
            ((self.points[self.index[:, 0]] - self.points[self.index[:, end]]) ** 2).sum(axis=1) for end in (1, 2)
        )
        if alpha is None:  # ste
            chance = expit(far - near)
        else:  # tste
            near, far = ((1 + apart / alpha) ** (-(alpha + 1) / 2) for apart in (near, far))
            chance = near / (near + far)
        self.figure |= {
            "training": 100 * self.votes @ (holds == 1) / self.votes.sum(),
            "training_comparisons": 100 * rows @ holds / rows.sum(),
            "contradicted": self.votes @ (holds < 1),
            "contradicted_comparisons": rows @ (1 - holds),
            "objective": weights @ -np.log((1 - lapse) * chance + lapse / 2) / weights.sum(),
        }

    def _maps(self, unit: list[Any], d: int, **how: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """For each of some folds of the units: which answers are held out, and a map of the others."""
        kinds = list(dict.fromkeys(unit))
        fold_of = dict(zip(kinds, (np.random.default_rng(2026).permutation(len(kinds)) % N_FOLDS).tolist()))
        fold = np.array([fold_of[one] for one in unit])
        for number in range(N_FOLDS):
            train = (fold != number)[self.owner]
            model = nearer.OrdinalEmbedding(d, random_state=1, **how)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of objects without a position
                model.fit(self.index[train], sample_weight=self.votes[self.owner][train])
            missing = ((0, len(self.names) - len(model.embedding_)), (0, 0))
            yield fold == number, np.pad(model.embedding_, missing, constant_values=np.nan)

    def ratios(self, unit: list[Any], d: int, **how: Any) -> np.ndarray:
        """Of each comparison, log (far / near) on a map made without it; 0 if an object has no position there."""
        found = np.zeros(len(self.index))
        for held, points in self._maps(unit, d, **how):
            rows = held[self.owner]
            anchor, near, far = (points[column] for column in self.index[rows].T)
            with np.errstate(divide="ignore"):
                found[rows] = 0.5 * np.log(((anchor - far) ** 2).sum(axis=1) / ((anchor - near) ** 2).sum(axis=1))
        return np.clip(np.nan_to_num(found), -10.0, 10.0)

    @functools.cached_property
    def by_dimension(self) -> tuple[dict[int, np.ndarray], dict[int, float]]:
        """Minus the log-likelihood of each question, and the accuracy, on softplus maps made without it, by dimension.

        The maps are fitted independently, each from a random start, with the likeliest of several penalties.
        """
        questions = [answer.question for answer in self.answers]
        code = {question: k for k, question in enumerate(dict.fromkeys(questions))}
        unit, votes = np.array([code[one] for one in questions])[self.owner], self.votes[self.owner]
        lost, right = {}, {}
        for d in self.tried:
            solvers = [Auto(penalty=penalty) for penalty in (0.0, 0.001, 0.003, 0.01, 0.03)]
            ratios = [self.ratios(questions, d, loss="softplus", solver=one) for one in solvers]
            costs = [np.bincount(unit, -votes * np.log(law(ratio, votes))) for ratio in ratios]
            best = int(np.argmin([cost.sum() for cost in costs]))
            lost[d], right[d] = costs[best], 100 * float(np.average(ratios[best] > 0, weights=votes))
        return lost, right

    def better(self, one: int, other: int) -> float:
        """By how many standard errors held-out answers are likelier in one dimension than in another."""
        gain = self.by_dimension[0][other] - self.by_dimension[0][one]
        return float(gain.sum() / (gain.std() * math.sqrt(len(gain))))

    def more(self, one: int, other: int) -> float:
        """By how many points more held-out comparisons hold in one dimension than in another."""
        return self.by_dimension[1][one] - self.by_dimension[1][other]

    def _interval(self, mean: float, error: float) -> tuple[float, float]:
        """The interval by its definition in docs/conclusions.md, from a standard error."""
        n_people = len({answer.person for answer in self.answers})
        gain = 0.18 * max(self.figure["training"] - mean, 0.0)
        half = math.hypot(error * (student.ppf(0.975, n_people - 1) if n_people > 2 else 1.959964), 1.959964 * gain)
        return max(mean + gain - half, 0.0), min(mean + gain + half, 100.0)

    def _error(self, right: np.ndarray) -> float:
        """Standard error in percent, for other questions and other people: answers of either go together."""
        known = np.flatnonzero(~np.isnan(right))
        votes = self.votes[known] / self.votes[known].sum()
        away = votes * (right[known] - votes @ right[known])

        def variance(unit: Callable[[Any], Any]) -> float:
            sums: dict[Any, float] = defaultdict(float)
            for number, value in zip(known, away):
                sums[unit(self.answers[number])] += value
            return sum(one**2 for one in sums.values()) * len(sums) / max(len(sums) - 1, 1)

        question = variance(lambda answer: answer.question)
        if len({answer.person for answer in self.answers}) < 3:
            return 100 * math.sqrt(question)
        person, both = variance(lambda answer: answer.person), variance(lambda answer: (answer.question, answer.person))
        return 100 * math.sqrt(max(question, person, question + person - both))

    def _hold_out(self) -> None:
        """Held-out accuracy: as disclosed, and of folds made here, of answers of which all comparisons hold."""
        told = self.summary["cross_validation"]
        fold = 100 * np.array(told["fold_accuracy"])
        mean, error = fold.mean(), fold.std(ddof=1) / math.sqrt(len(fold))
        self.figure["held_out_comparisons"] = mean
        self.tried: dict[int, tuple[list[Any], float]] = {}  # dimension -> accuracy and standard error
        one = {"n_components": [self.d], "accuracy": [mean / 100], "standard_error": [error / 100]}
        table = self.summary.get("dimensions", one)
        self.figure["largest"] = max(table["n_components"])
        for d, accuracy, error in zip(table["n_components"], table["accuracy"], table["standard_error"]):
            right = placed = 0.0
            each = np.full(len(self.answers), np.nan)
            for held, points in self._maps([answer.question for answer in self.answers], d):
                holds = self.satisfied(points)[held]
                each[held] = np.where(np.isnan(holds), np.nan, holds == 1)
                right, placed = right + self.votes[held] @ (holds == 1), placed + self.votes[held] @ ~np.isnan(holds)
            mine, apart = 100 * right / placed, max(PLAUSIBLE, 400 * error)
            mine = (mine - apart, mine + apart)
            self.tried[d] = ([100 * accuracy, mine], 100 * error)
            if d == self.d:
                self.figure |= {"held_out": [mean, mine], "unplaced": self.votes.sum() - placed}
                ends = zip(self._interval(mean, 100 * told["standard_error"]), self._interval(mean, self._error(each)))
                for name, (disclosed, own) in zip(("held_out_low", "held_out_high"), ends):
                    apart = max(PLAUSIBLE, 0.3 * abs(own - mean))
                    self.figure[name] = [disclosed, (own - apart, own + apart)]
        self.figure["gap"] = self.figure["training"] - mean
        self.figure["room_above"] = self.figure.get("ceiling", 0) - mean
        self.figure["room"] = self.figure.get("ceiling_low", 0) - mean

    def _people(self) -> dict[str, dict[str, Any]]:
        """The columns of the table of people, by person."""
        given, holds = defaultdict(list), np.zeros(len(self.answers))
        for held, points in self._maps([answer.person for answer in self.answers], 2):
            holds[held] = self.satisfied(points)[held]
        chance = law(self.ratios([answer.person for answer in self.answers], 2), np.ones(len(self.index)))
        lean = np.bincount(self.owner, 2 * chance - 1) / np.bincount(self.owner)
        for answer, share in zip(self.answers, holds.tolist()):
            given[answer.person].append((answer, share))
        told, people = self.summary["people"], {}
        p_chance = dict(zip(map(str, told["participant"]), told["p_chance"]))
        for person, entries in given.items():
            answers, asked = [answer for answer, _ in entries], defaultdict(list)
            for answer in answers:
                asked[answer.question].append(answer.said[0][1])
            twice = [found for found in asked.values() if len(found) > 1]
            alike = [np.mean([a == b for k, a in enumerate(found) for b in found[:k]]) for found in twice]
            passed = [check.passed for check in self.checks if check.person == person]
            right, wrong = (sum(share == value for _, share in entries) for value in (1, 0))
            agrees = 100 * right / len(entries)
            own = np.array([one.person == person for one in self.answers])
            guesses = lapses(chance[own[self.owner]], 1 / np.bincount(self.owner)[self.owner][own[self.owner]])
            leans, rank = lean[own], np.arange(own.sum()) / max(own.sum() - 1, 1)
            late = (rank - np.average(rank, weights=leans**2)) * (leans - (1 - guesses[0] / 100) * leans**2)
            people[person] = {
                # In normal deviates: for somebody who guesses, each lean is as likely to be positive as negative.
                "z_chance": leans.sum() / math.sqrt(leans @ leans), "z_decline": -late.sum() / math.sqrt(late @ late),
                "guesses": guesses,
                "answers": len(answers), "seconds": float(np.median([answer.seconds for answer in answers])),
                "repeats": len(twice), "repeats_alike": 100 * np.mean(alike) if alike else None,
                "catch": len(passed), "catch_passed": 100 * np.mean(passed) if passed else None,
                "agreement": (agrees - PERSON, agrees + PERSON), "right": agrees, "wrong": 100 * wrong / len(entries),
                "opposite": (100 * wrong / len(entries) - PERSON, 100 * wrong / len(entries) + PERSON),
                "p_chance": p_chance[person],
                # Every comparison the other way round far more often than as answered.
                "inverted": wrong - right > 4 * math.sqrt(right + wrong),
            }  # fmt: skip
            if answers[0].side is not None:
                sides = np.array([answer.side for answer in answers])
                runs = np.diff(np.flatnonzero(np.concatenate([[True], np.diff(sides) != 0, [True]])))
                same = 100 * np.bincount(sides).max() / len(sides)
                people[person] |= {"first": 100 * np.mean(sides == 0), "same_side": same, "streak": int(runs.max())}
        own = [one["right"] for one in people.values()]
        for name, value in (("median", np.median(own)), ("lowest", min(own)), ("highest", max(own))):
            self.figure[f"agreement_{name}"] = (value - 5, value + 5)
        usual = np.array([one["seconds"] for one in people.values()])
        self.figure["usual_seconds"] = float(np.median(usual))
        # Far faster than half of the others, with nobody in between.
        self.figure["fast"] = int(np.count_nonzero(usual < np.median(usual) / 8))
        return people

    def excluded(self, rules: tuple[tuple[str, Any], ...], p_chance: dict[str, float]) -> None:
        """Add figures on the people who break rules of exclusion, and on those who are left."""
        broken = {}
        for rule, limit in rules:
            for name, one in self.people.items():
                passed = 1.0 if one["catch_passed"] is None else one["catch_passed"] / 100
                values = {"min_seconds": one["seconds"], "catch_passed": passed}
                if p_chance[name] >= 0.05 if rule == "better_than_chance" else values[rule] < limit:
                    broken.setdefault(rule, set()).add(name)
        out = set().union(*broken.values())
        left = sum(one["answers"] for name, one in self.people.items() if name not in out)
        self.figure |= {f"break_{rule}": len(broken.get(rule, ())) for rule, _ in rules}
        self.figure |= {"excluded": len(out), "excluded_percent": 100 * len(out) / len(self.people)}
        gone = sum(one["answers"] for name, one in self.people.items() if name in out)
        self.figure |= {"excluded_answers": gone, "left": len(self.people) - len(out), "left_answers": left}
