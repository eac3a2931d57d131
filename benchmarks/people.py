"""People: are the careless found, is the map rid of them, are individual maps better, and does the test keep its level?

    python -m benchmarks.people [PART ...] [page] [--quick] [--studies N]

Everything is simulated, so that the truth is known; maps and ways to err are those of `benchmarks.verdicts`. Methods
were chosen on the kinds in `SEEN`; those in `ASIDE` were not looked at until all was settled. Every part prints its
table and saves it under ``benchmarks/results``; `page` writes what is saved into ``benchmarks/RESULTS.md``.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import binomtest
from sklearn.metrics import roc_auc_score

from benchmarks import common
from benchmarks.figures import fill
from benchmarks.verdicts import KINDS, points_of
from nearer import Comparisons, OrdinalEmbedding
from nearer.people import IndividualEmbedding, differ, participants

Rows = list[dict[str, Any]]

SEED = 17_000
CARELESS = ("random", "left", "inverted", "tired")
SEEN = ("even, flips", "cube, close calls", "ball, misjudged", "skewed, slips and close calls")
ASIDE = ("uneven, flips", "clumps, flips", "heavy and uneven, heavy tails")
# Kinds with which people can be more or less certain.
CLOSE_CALLS = ("cube, close calls", "skewed, slips and close calls", "heavy and uneven, heavy tails")
# Where individual maps gained least at first, which was looked into.
LOOKED_INTO = "uneven, flips"


def study(
    kind: str,
    points: np.ndarray,
    n_people: int,
    n_answers: int,
    rng: np.random.Generator,
    *,
    behaviour: np.ndarray | None = None,
    guesses: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    n_questions: int | None = None,
    certainty: np.ndarray | None = None,
) -> Comparisons:
    """Answers of people to questions of their own, or to `n_questions` that are asked of all.

    Parameters
    ----------
    kind : str
        How the careful err, see `benchmarks.verdicts.KINDS`.
    points : ndarray of float64, shape (n, d)
    n_people, n_answers : int
        Answers are of each.
    rng : Generator
    behaviour : ndarray of str, shape (n_people,), optional
        "careful", or one of `CARELESS`; tired people guess in the second half.
    guesses : ndarray of float64, shape (n_people,), optional
        Share of guesses of each.
    weights : ndarray of float64, shape (n_people, d), optional
        Weights of the axes for each.
    n_questions : int, optional
    certainty : ndarray of float64, shape (n_people,), optional
        Factor of the squared distances as each perceives them; it matters where close calls are often wrong.
    """
    n, d = points.shape
    who = np.repeat(np.arange(n_people), n_answers)
    order = np.tile(np.arange(n_answers), n_people)
    rows = np.argsort(rng.random((len(who), n)), axis=1)[:, :3].astype(np.int32)
    if n_questions is not None:
        rows = rows[rng.integers(n_questions, size=len(rows))]
    scale = np.ones((n_people, d)) if weights is None else weights
    one, two = ((scale[who] * (points[rows[:, 0]] - points[rows[:, k]]) ** 2).sum(axis=1) for k in (1, 2))
    sure = 1.0 if certainty is None else certainty[who]
    near, far = sure * np.minimum(one, two), sure * np.maximum(one, two)
    first = (one < two) ^ KINDS[kind][1](near, far, rng)
    coin = rng.random(len(who)) < 0.5
    if guesses is not None:
        first = np.where(rng.random(len(who)) < guesses[who], coin, first)
    if behaviour is not None:
        does = behaviour[who]
        first = np.where((does == "random") | ((does == "tired") & (order >= n_answers // 2)), coin, first)
        first = np.where(does == "left", True, first ^ (does == "inverted"))
    return Comparisons.from_answers(rows, first, n_objects=n, participants=who, details={"order": order})


def _aside(kind: str) -> str:
    return "aside" if kind in ASIDE else "seen"


def _aside_of_individuals(kind: str) -> str:
    return "seen" if kind == LOOKED_INTO else _aside(kind)


def _rng(*numbers: int) -> np.random.Generator:
    return np.random.default_rng([SEED, *numbers])


def _people(n_people: int, share: float, kinds: tuple[str, ...]) -> np.ndarray:
    n_bad = round(share * n_people)
    return np.array([kinds[number % len(kinds)] for number in range(n_bad)] + ["careful"] * (n_people - n_bad))


# ---- the parts -------------------------------------------------------------------------------------------------------


def find(quick: bool = False, studies: int | None = None) -> Rows:
    """100 people, 10 careless, 50 answers each, 40 objects: area under the ROC curve of the share of guesses."""
    rows = []
    for kind in SEEN if quick else (*SEEN, *ASIDE):
        for careless in CARELESS:
            found: dict[str, list[float]] = {"share of guesses": [], "plain agreement": [], "decline": []}
            for seed in range(studies or (2 if quick else 10)):
                rng = _rng(1, seed, list(KINDS).index(kind), CARELESS.index(careless))
                behaviour = _people(100, 0.1, (careless,))
                data = study(kind, points_of(kind, 40, 2, rng), 100, 50, rng, behaviour=behaviour)
                table = participants(data, random_state=seed)
                bad = behaviour[table.participant.astype(int)] != "careful"
                found["share of guesses"].append(roc_auc_score(bad, np.where(table.inverted, 1.0, table.guesses)))
                found["plain agreement"].append(roc_auc_score(bad, -table.agreement))
                found["decline"].append(roc_auc_score(bad, -table.p_decline))
            rows.append({"kind": kind, "which": _aside(kind), "careless": careless, "studies": len(found["decline"])}
                        | {name: float(np.mean(values)) for name, values in found.items()}
                        | {"worst study": float(np.min(found["share of guesses"]))})  # fmt: skip
    return rows


def _odd_one_out(
    kind: str, points: np.ndarray, n_people: int, n_answers: int, rng: np.random.Generator, *, behaviour: np.ndarray
) -> Comparisons:
    """The same as `study` with sets of three, of which the inverted name one of the most similar pair."""
    who = np.repeat(np.arange(n_people), n_answers)
    sets = np.argsort(rng.random((len(who), len(points))), axis=1)[:, :3]
    apart = [np.linalg.norm(points[sets[:, a]] - points[sets[:, b]], axis=1) for a, b in ((1, 2), (0, 2), (0, 1))]
    noisy = np.log(np.stack(apart, axis=1) + 1e-9) + 0.3 * rng.gumbel(size=(len(who), 3))
    does = behaviour[who]
    odd = np.where(does == "inverted", noisy.argmax(axis=1), noisy.argmin(axis=1))
    odd = np.where(does == "random", rng.integers(3, size=len(who)), odd)
    return Comparisons.from_odd_one_out(sets, sets[np.arange(len(who)), odd], participants=who)


# Clean studies (people, answers each, objects), and in how many ways they are made.
_SIZES = ((5, 200, 15), (12, 50, 12), (20, 20, 30), (20, 300, 30), (100, 50, 40))
_CLEAN = ("triplets", "odd one out", "three of ten guess", "two maps")


def _standing_out(made: str, kind: str, size: tuple[int, int, int], behaviour: np.ndarray, rng: Any) -> Comparisons:
    """A study with response times that differ between people by 40 %; the last of them is eight times as fast."""
    n_people, n_answers, n_objects = size
    points = points_of(kind, n_objects, 2, rng)
    if made == "odd one out":
        data = _odd_one_out(kind, points, n_people, n_answers, rng, behaviour=behaviour)
    else:
        data = study(kind, points, n_people, n_answers, rng, behaviour=behaviour)
    if made == "two maps":
        other = study(kind, points_of(kind, n_objects, 2, rng), n_people, n_answers, rng)
        half = data.people.codes < n_people // 2
        data = Comparisons.concat([data[half], other[~half]])
    person = data.answers.participant.codes
    usual = np.exp(0.4 * rng.normal(size=n_people)) * np.where(np.arange(n_people) == n_people - 1, 1 / 8, 1.0)
    seconds = usual[person] * rng.lognormal(0.5, 0.5, len(person))
    return data.replaced(answers=replace(data.answers, seconds=seconds))


def inverted(quick: bool = False, studies: int | None = None) -> Rows:
    """Studies in which nobody, one person or a tenth invert the task: who is reported, and who is reported as fast."""
    cases = [(made, size, 0.0) for made in _CLEAN for size in _SIZES]
    cases += [("triplets", size, share) for size in _SIZES for share in (1 / size[0], 0.1, 0.3) if share >= 1 / size[0]]
    cases += [("odd one out", (20, 20, 30), 0.1), ("odd one out", (100, 50, 40), 0.1)]
    rows = []
    for made, size, share in dict.fromkeys(cases[:4] if quick else cases):
        alarms, found, fast, too_fast = [], [], [], []
        kinds = (*SEEN, *ASIDE)
        for seed in range(studies or (7 if quick else 28)):
            rng = _rng(9, seed, _CLEAN.index(made), *size, round(100 * share))
            behaviour = _people(size[0], share, ("inverted",))
            if made == "three of ten guess":
                behaviour = _people(size[0], 0.3, ("random",))
            data = _standing_out(made, kinds[seed % len(kinds)], size, behaviour, rng)
            table = participants(data, random_state=seed)
            person = table.participant.astype(int)
            turned = behaviour[person] == "inverted"
            alarms.append(bool((table.inverted & ~turned).any()))
            found += table.inverted[turned].tolist()
            fast += table.fast[person == size[0] - 1].tolist()
            too_fast.append(bool(table.fast[person != size[0] - 1].any()))
        rows.append({
            "studies of": made, "people": size[0], "answers each": size[1], "objects": size[2],
            "inverted": round(share * size[0]), "studies": len(alarms), "false alarms": sum(alarms),
            "found": float(np.mean(found)) if found else None,
            "fast ones found": float(np.mean(fast)), "others called fast": sum(too_fast),
        })  # fmt: skip
    return rows


def guesses(quick: bool = False, studies: int | None = None) -> Rows:
    """60 people with a planted share of guesses each: the estimate, and how often its 95 % interval holds the truth."""
    shares = np.array([0.0, 0.1, 0.25, 0.5, 0.75, 1.0])
    rows = []
    kinds = SEEN if quick else (*SEEN, *ASIDE)
    for kind, varies in (*((kind, 0.0) for kind in kinds), *((kind, 0.8) for kind in CLOSE_CALLS if kind in kinds)):
        for n_answers in (50, 200):
            held, errors = [[] for _ in shares], [[] for _ in shares]
            for seed in range(studies or (2 if quick else 10)):
                rng = _rng(2, seed, list(KINDS).index(kind), n_answers)
                planted = np.tile(np.r_[np.zeros(5), np.arange(len(shares))[1:]].astype(int), 6)
                own = {"certainty": np.exp(varies * rng.normal(size=60))} if varies else {}
                data = study(kind, points_of(kind, 40, 2, rng), 60, n_answers, rng, guesses=shares[planted], **own)
                table = participants(data, random_state=seed)
                for person, low, middle, high in zip(
                    table.participant, table.guesses_low, table.guesses, table.guesses_high
                ):
                    at = planted[person]
                    held[at].append(low <= shares[at] <= high)
                    errors[at].append(middle - shares[at])
            row: dict[str, Any] = {"kind": kind, "which": _aside(kind), "answers each": n_answers}
            row["certainty"] = "varies" if varies else "equal"
            row |= {f"holds {100 * share:.0f} %": float(np.mean(h)) for share, h in zip(shares, held)}
            row["holds, all"] = float(np.mean(np.concatenate(held)))
            row["mean error"] = float(np.mean(np.concatenate(errors)))
            rows.append(row)
    return rows


def folds(quick: bool = False, studies: int | None = None) -> Rows:
    """Maps without a tenth of the people against maps without each single one: agreement, guesses, and the time."""
    rows = []
    for kind in SEEN[:1] if quick else (*SEEN, *ASIDE):
        for n_answers in (20, 50):
            rng = _rng(3, list(KINDS).index(kind), n_answers)
            behaviour = _people(40, 0.1, ("random",))
            data = study(kind, points_of(kind, 30, 2, rng), 40, n_answers, rng, behaviour=behaviour)
            tables, seconds = [], []
            for n_folds in (5, 10, 5 if quick else 40):
                started = time.process_time()
                table = participants(data, n_folds=n_folds, random_state=0)
                seconds.append(time.process_time() - started)
                tables.append(table.to_frame().set_index("participant").sort_index())
            for number, n_folds in enumerate((5, 10)):
                off = (tables[number] - tables[2])[["agreement", "guesses"]].abs().mean()
                rows.append({
                    "kind": kind, "which": _aside(kind), "answers each": n_answers, "folds": n_folds,
                    "agreement off by": off["agreement"],
                    "guesses off by": off["guesses"],
                    "mean agreement": tables[number].agreement.mean(), "leaving out one": tables[2].agreement.mean(),
                    "times as fast": seconds[2] / seconds[number],
                })  # fmt: skip
    return rows


def reliability(quick: bool = False, studies: int | None = None) -> Rows:
    """100 people, 50 answers each, 40 objects: held-out accuracy plain, with reliability=True, without them."""
    rows = []
    for kind in SEEN if quick else (*SEEN, *ASIDE):
        for loss in ("ste", "tste", "ckl"):
            for share, careless in ((0.0, ("random",)), (0.3, ("random",)), (0.3, CARELESS)):
                plain, weighed, rid = [], [], []
                for seed in range(studies or (2 if quick else 8)):
                    rng = _rng(4, seed, list(KINDS).index(kind))
                    points, behaviour = points_of(kind, 40, 2, rng), _people(100, share, careless)
                    data = study(kind, points, 100, 50, rng, behaviour=behaviour)
                    test = study(kind, points, 200, 100, rng)
                    base = OrdinalEmbedding(2, loss=loss, random_state=seed)
                    plain.append(base.fit(data).score(test))
                    careful = (behaviour == "careful")[data.people.codes]
                    rid.append(base.fit(data[careful]).score(test))
                    weighed.append(base.set_params(reliability=True).fit(data).score(test))
                lost, won = np.subtract(rid, plain), np.subtract(weighed, plain)
                rows.append({
                    "kind": kind, "which": _aside(kind), "loss": loss,
                    "bad people": "none" if not share else "30 %, " + ("guess" if len(careless) == 1 else "mixed"),
                    "plain": np.mean(plain), "reliability": np.mean(weighed), "without them": np.mean(rid),
                    "recovered": won.sum() / lost.sum() if share else None,
                    "gain": won.mean(), "its standard error": won.std(ddof=1) / len(won) ** 0.5,
                })  # fmt: skip
    return rows


def rare(quick: bool = False, studies: int | None = None) -> Rows:
    """100 careful people, for 10 of whom one axis counts ten times as much as the other: weight of their answers."""
    rows = []
    for kind in SEEN if quick else (*SEEN, *ASIDE):
        for loss in ("ste", "tste", "ckl"):
            found = []
            for seed in range(studies or (1 if quick else 5)):
                rng = _rng(8, seed, list(KINDS).index(kind))
                weights = np.where(np.arange(100)[:, None] < 10, [[3.0, 0.3]], [[1.0, 1.0]])
                data = study(kind, 2.0 * points_of(kind, 40, 2, rng), 100, 50, rng, weights=weights)
                model = OrdinalEmbedding(2, loss=loss, reliability=True, random_state=seed).fit(data)
                found.append([model.reliability_.weights[:10].mean(), model.reliability_.weights[10:].mean()])
            own, others = np.mean(found, axis=0)
            rows.append({"kind": kind, "which": _aside(kind), "loss": loss, "rare view": own, "others": others})
    return rows


def _weights(spread: float, n_people: int, d: int, rng: np.random.Generator) -> np.ndarray:
    drawn = np.exp(spread * rng.normal(size=(n_people, d)))
    return drawn / drawn.mean(axis=0)


def individual(quick: bool = False, studies: int | None = None) -> Rows:
    """60 people, 30 objects: held-out accuracy of a plain map, of the group's (guesses estimated), of one map each, and
    of individual weights. Gains are over the better one of the first two.
    """
    rows = []
    for kind in SEEN if quick else (*SEEN, *ASIDE):
        for d, n_answers, spread in (
            (2, 50, 0.7),
            (2, 100, 0.7),
            (3, 50, 0.7),
            (3, 100, 0.7),
            (2, 50, 0.0),
            (3, 100, 0.0),
        ):
            group, plain, own, shared, chosen = [], [], [], [], []
            for seed in range(studies or (1 if quick else 5)):
                rng = _rng(5, seed, list(KINDS).index(kind), d, n_answers)
                points, weights = 2.0 * points_of(kind, 30, d, rng), _weights(spread, 60, d, rng)
                data = study(kind, points, 60, n_answers, rng, weights=weights)
                test = study(kind, points, 60, 200, rng, weights=weights)
                model = IndividualEmbedding(d, random_state=seed).fit(data)
                group.append(model.group_.score(test))
                plain.append(OrdinalEmbedding(d, loss="ste", random_state=seed).fit(data).score(test))
                shared.append(model.score(test))
                chosen.append(model.spread_)
                some = range(0, 60, 6)  # maps of single people take their time
                own.append(np.mean([
                    OrdinalEmbedding(d, loss="ste", random_state=seed).fit(data[data.people.codes == person])
                    .score(test[test.people.codes == person]) for person in some
                ]))  # fmt: skip
            rows.append({
                "kind": kind, "which": _aside_of_individuals(kind), "dimensions": d, "answers each": n_answers,
                "people": "differ" if spread else "equal", "studies": len(group), "plain map": np.mean(plain),
                "group's map": np.mean(group), "one map each": np.mean(own), "individual": np.mean(shared),
                "gain": np.mean(shared) - max(np.mean(group), np.mean(plain)),
                "least gain": np.min(np.subtract(shared, np.maximum(group, plain))),
                "median spread": np.median(chosen),
            })  # fmt: skip
    return rows


def level(quick: bool = False, studies: int | None = None) -> Rows:
    """Test of a difference at 5 %: false alarms with their 95 % interval, and how often a difference is found."""
    rows = []
    cases = (("equal", 0.0, 0.0), ("equal, some guess", 0.0, 0.6), ("differ a little", 0.2, 0.0), ("differ", 0.5, 0.0))
    for which in ("seen", "aside")[: 1 if quick else 2]:
        kinds = [kind for kind in (*SEEN, *ASIDE) if _aside_of_individuals(kind) == which]
        for name, spread, careless in cases:
            count = studies or (20 if quick else 600)
            alarms: dict[str, list[bool]] = {"people": [], "groups": []}
            for seed in range(count if not spread else max(count // 10, 20)):
                kind = kinds[seed % len(kinds)]
                rng = _rng(6, seed, cases.index((name, spread, careless)), which == "aside")
                d = 2 + seed // len(kinds) % 2
                points = 2.0 * points_of(kind, 30, d, rng)
                person, of_group = _weights(spread, 40, d, rng), _weights(spread, 2, d, rng)
                half = np.arange(40) % 2
                for by, weights in (("people", person), ("groups", of_group[half])):
                    data = study(kind, points, 40, 50, rng, weights=weights, guesses=careless * rng.random(40))
                    model = OrdinalEmbedding(d, loss="ste", random_state=seed)
                    groups = None if by == "people" else {str(p): int(half[p]) for p in range(40)}
                    found = differ(model, data, groups, n_resamples=199, random_state=seed)
                    alarms[by].append(found.p_value <= 0.05)
            for by, said in alarms.items():
                interval = binomtest(sum(said), len(said)).proportion_ci(method="wilson")
                rows.append({
                    "kinds": which, "people": name, "of": by, "studies": len(said), "says they differ": np.mean(said),
                    "from": interval.low, "to": interval.high,
                })  # fmt: skip
    return rows


def weighting(quick: bool = False, studies: int | None = None) -> Rows:
    """Test of a difference at 5 %, without and with `reliability`: 40 people, of whom 10 guess, and 100 questions."""
    rows = []
    for which, kinds in (("seen", SEEN), ("aside", ASIDE)):
        for loss in ("tste", "ckl"):
            for people, spread, count in (("equal", 0.0, 120), ("differ", 0.5, 40)):
                said: dict[bool, list[bool]] = {False: [], True: []}
                count = studies or (3 if quick else count)
                for seed in range(count):
                    kind, d = kinds[seed % len(kinds)], 2 + seed // len(kinds) % 2
                    rng = _rng(9, seed, which == "aside", people == "differ")
                    points, guess = 2.0 * points_of(kind, 30, d, rng), (np.arange(40) < 10).astype(float)
                    own = _weights(spread, 40, d, rng)
                    data = study(kind, points, 40, 50, rng, weights=own, guesses=guess, n_questions=100)
                    model = OrdinalEmbedding(d, loss=loss, random_state=seed, n_jobs=1)
                    for weighted, found in said.items():
                        test = differ(model, data, reliability=weighted, n_resamples=199, random_state=seed)
                        found.append(test.p_value <= 0.05)
                rows.append({
                    "kinds": which, "loss": loss, "people": people, "studies": count,
                    "without": np.mean(said[False]), "with": np.mean(said[True]),
                })  # fmt: skip
    return rows


def speed(quick: bool = False, studies: int | None = None) -> Rows:
    """1,000 people, 100 answers each, 100 objects, two dimensions: seconds, once everything is compiled."""
    n_people = 50 if quick else 1000
    rng = _rng(7)
    kind = ASIDE[0]
    points = 2.0 * points_of(kind, 100, 2, rng)
    data = study(kind, points, n_people, 100, rng, weights=_weights(0.5, n_people, 2, rng))
    tasks = {
        "individual maps, spread chosen": lambda: IndividualEmbedding(2, random_state=0).fit(data),
        "table of participants": lambda: participants(data),
        "reliability=True": lambda: OrdinalEmbedding(2, loss="ste", reliability=True, random_state=0).fit(data),
        "plain fit": lambda: OrdinalEmbedding(2, loss="ste", random_state=0).fit(data),
        "test of a difference": lambda: differ(OrdinalEmbedding(2, loss="ste", random_state=0), data),
    }
    rows = []
    for name, task in tasks.items():
        task()
        wall, cpu, load = [], [], []
        for _ in range(studies or (1 if quick else 5)):
            load.append(os.getloadavg()[0])
            started, busy = time.perf_counter(), time.process_time()
            task()
            wall.append(time.perf_counter() - started)
            cpu.append(time.process_time() - busy)
        rows.append({"task": name, "least seconds": min(wall), "median seconds": np.median(wall),
                     "processor seconds": np.median(cpu), "load of the machine": np.mean(load)})  # fmt: skip
    return rows


# ---- the page --------------------------------------------------------------------------------------------------------


def _mean(rows: Rows, name: str) -> float:
    return float(np.mean([row[name] for row in rows]))


def _percent(value: float, digits: int = 1) -> str:
    return f"{100 * value:.{digits}f} %"


def _told(record: dict[str, Any], rows: Rows) -> str:
    return f"{common.table(rows)}\n{common.about(record)}.\n"


def blocks(records: dict[str, dict[str, Any] | None]) -> dict[str, str]:
    """What stands between the markers of ``benchmarks/RESULTS.md``, from saved results by the name of their part."""
    made = {}
    for name, summary in SUMMARIES.items():
        record = records.get(name)
        made[f"people-{name}"] = "(not run)" if record is None else _told(record, summary(record["rows"]))
    return made


def _of(rows: Rows, **wanted: Any) -> Rows:
    return [row for row in rows if all(row[name.replace("_", " ")] == value for name, value in wanted.items())]


def _find_summary(rows: Rows) -> Rows:
    found = []
    for careless in CARELESS:
        row = {"careless": careless}
        for which in ("seen", "aside"):
            own = _of(rows, which=which, careless=careless)
            row[which] = f"{_mean(own, 'share of guesses'):.3f}"
            row[f"{which}, worst study"] = f"{min(one['worst study'] for one in own):.3f}"
        found.append(row | {"aside, by plain agreement": f"{_mean(own, 'plain agreement'):.3f}"})
    return found


def _guesses_summary(rows: Rows) -> Rows:
    names = [name for name in rows[0] if name.startswith("holds")]
    found = []
    cases = dict.fromkeys((row["certainty"], row["which"], row["answers each"]) for row in rows)
    for certainty, which, number in cases:
        own = _of(rows, certainty=certainty, which=which, answers_each=number)
        held = {name.removeprefix("holds").strip(" ,"): _percent(_mean(own, name), 0) for name in names}
        found.append({"certainty": certainty, "kinds": which, "answers each": number} | held)
    return found


def _folds_summary(rows: Rows) -> Rows:
    found = []
    for number, n_folds in dict.fromkeys((row["answers each"], row["folds"]) for row in rows):
        own = _of(rows, answers_each=number, folds=n_folds)
        found.append({
            "answers each": number, "folds": n_folds, "off by": _percent(_mean(own, "agreement off by")),
            "mean agreement": _percent(_mean(own, "mean agreement")),
            "mean, leaving out one": _percent(_mean(own, "leaving out one")),
            "times as fast": f"{np.median([row['times as fast'] for row in own]):.1f}",
        })  # fmt: skip
    return found


def _reliability_summary(rows: Rows) -> Rows:
    found = []
    for loss, bad, which in dict.fromkeys((row["loss"], row["bad people"], row["which"]) for row in rows):
        own = _of(rows, loss=loss, bad_people=bad, which=which)
        plain, weighed, rid = (_mean(own, name) for name in ("plain", "reliability", "without them"))
        row = {"loss": loss, "bad people": bad, "kinds": which, "plain": _percent(plain), "weighed": _percent(weighed),
               "gain": f"{100 * (weighed - plain):+.2f}"}  # fmt: skip
        if bad != "none":
            least = min(one["recovered"] for one in own)
            row |= {"without them": _percent(rid), "recovered": _percent((weighed - plain) / (rid - plain), 0),
                    "least of a kind": _percent(least, 0)}  # fmt: skip
        found.append(row)
    return sorted(found, key=lambda row: row["bad people"])


def _rare_summary(rows: Rows) -> Rows:
    found = []
    for loss, which in dict.fromkeys((row["loss"], row["which"]) for row in rows):
        own = _of(rows, loss=loss, which=which)
        found.append({
            "loss": loss, "kinds": which, "weight of the rare view": f"{_mean(own, 'rare view'):.2f}",
            "least of a kind": f"{min(row['rare view'] for row in own):.2f}",
            "weight of the others": f"{_mean(own, 'others'):.2f}",
        })  # fmt: skip
    return found


def _inverted_summary(rows: Rows) -> Rows:
    cases = dict.fromkeys((row["studies of"], row["inverted"] > 0) for row in rows)
    found = []
    for made, has_inverted in cases:
        own = [row for row in rows if (row["studies of"], row["inverted"] > 0) == (made, has_inverted)]
        for answers in dict.fromkeys(row["answers each"] for row in own) if has_inverted else [None]:
            some = [row for row in own if answers in (None, row["answers each"])]
            power = [row["found"] for row in some if row["found"] is not None]
            found.append({
                "studies of": made, "answers each": answers or "20 to 300",
                "inverted": "0" if not has_inverted else "1 to 30 %", "studies": sum(row["studies"] for row in some),
                "with a false alarm": sum(row["false alarms"] for row in some),
                "inverted found": _percent(float(np.mean(power))) if power else "",
                "least of a size": _percent(min(power)) if power else "",
                "fast found": _percent(_mean(some, "fast ones found")),
                "with others called fast": sum(row["others called fast"] for row in some),
            })  # fmt: skip
    return found


def _individual_summary(rows: Rows) -> Rows:
    cases = dict.fromkeys((row["people"], row["dimensions"], row["answers each"], row["which"]) for row in rows)
    names = ("people", "dimensions", "answers each", "which")
    found = []
    for case in cases:
        own = [row for row in rows if tuple(row[name] for name in names) == case]
        found.append(dict(zip(("people", "dimensions", "answers each", "kinds"), case)) | {
            name: _percent(_mean(own, name)) for name in ("plain map", "group's map", "one map each", "individual")
        } | {"least gain of a study": f"{100 * min(row['least gain'] for row in own):+.2f}"})  # fmt: skip
    return found


def _level_summary(rows: Rows) -> Rows:
    return [
        {"people": row["people"], "of": row["of"], "kinds": row["kinds"], "studies": row["studies"],
         "says they differ": _percent(row["says they differ"]),
         "95 % interval": f"{100 * row['from']:.1f} to {100 * row['to']:.1f} %"}
        for row in rows
    ]  # fmt: skip


def _weighting_summary(rows: Rows) -> Rows:
    return [
        {"people": row["people"], "loss": row["loss"], "kinds": row["kinds"], "studies": row["studies"],
         "says they differ, `reliability=False`": _percent(row["without"]), "by default": _percent(row["with"])}
        for row in sorted(rows, key=lambda row: row["people"], reverse=True)
    ]  # fmt: skip


def _speed_summary(rows: Rows) -> Rows:
    return [
        {"task": row["task"], "seconds at best": f"{row['least seconds']:.1f}",
         "processor seconds": f"{row['processor seconds']:.1f}", "load": f"{row['load of the machine']:.1f}"}
        for row in rows
    ]  # fmt: skip


SUMMARIES = {
    "find": _find_summary, "guesses": _guesses_summary, "folds": _folds_summary, "reliability": _reliability_summary,
    "rare": _rare_summary, "inverted": _inverted_summary,
    "individual": _individual_summary, "level": _level_summary, "weighting": _weighting_summary,
    "speed": _speed_summary,
}  # fmt: skip


def write_page() -> None:
    """Write the saved results into ``benchmarks/RESULTS.md``."""
    paths = {name: common.RESULTS / f"people_{name}.json" for name in SUMMARIES}
    records = {name: json.loads(path.read_text()) if path.is_file() else None for name, path in paths.items()}
    page = common.PAGE
    page.write_text(fill(page.read_text(), blocks(records)))


PARTS = {
    part.__name__: part
    for part in (find, inverted, guesses, folds, reliability, rare, individual, level, weighting, speed)
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, "page", []], help="default: all, and the page")
    parser.add_argument("--quick", action="store_true", help="a few cases, nothing saved")
    parser.add_argument("--studies", type=int, help="simulated studies of each case")
    args = parser.parse_args()
    for name in args.parts or [*PARTS, *([] if args.quick else ["page"])]:
        if name == "page":
            write_page()
            continue
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = PARTS[name](args.quick, args.studies)
        print(f"{name}: {PARTS[name].__doc__}\n\n{common.table(rows)}", flush=True)
        if not args.quick:
            seconds = round(time.perf_counter() - started, 1)
            common.save(f"people_{name}", rows, about=PARTS[name].__doc__, seconds=seconds)


if __name__ == "__main__":
    main()
