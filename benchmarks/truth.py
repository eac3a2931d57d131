"""Is every printed sentence true? From the raw file to the methods paragraph, and every number recomputed.

    python -m benchmarks.truth [cars] [faces] [music] [material] [--all] [--keep FOLDER]

For each data set under ``NEARER_DATA``, the commands check, people, dims, fit and methods run as for a user. Then
`benchmarks.truth_figures`, which reads the raw file and embedding.csv by itself, recomputes every number in every
sentence that was printed, and the two are compared at the printed precision. Prints a line for each sentence that
differs or holds a number that is not checked, with ``--all`` for every sentence; exits with 1 if one differs.

An answer with several comparisons (which of three is the most central) is satisfied if all of them hold. Collected are
all answers in the file; a row in which an option equals the reference is an attention check. Held-out accuracies are
compared in two ways: with the fold accuracies in summary.json (mean, standard error, Student's interval), and, within
`PLAUSIBLE` points, with maps of other folds, which nearer fits and `truth_figures` scores; agreement with a map of
others, lapse rates, p-values of people and the dimensions that are not ruled out in the latter way alone, within the
tolerances stated there. Standard errors of dimensions, the outcome of a fit, and the loss, lapse rate and penalty that
it chose are taken from summary.json; the objective is computed with these.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm

import nearer
from benchmarks.truth_figures import CASES, DECLINE, DEVIATES, LAPSES, POINTS, Case, Truth, best

NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)*"
Checks = list[tuple[str, Any]]  # what is printed, and what is true; ("", reason) for a statement that does not hold

# What is printed


@dataclass
class Printed:
    """What the commands printed and wrote: text by command, and the files of the last fit."""

    text: dict[str, str]
    summary: dict[str, Any]
    data: dict[str, Any]  # in the report
    embedding: dict[str, list[float]]
    asides: dict[str, str] = field(default_factory=dict)  # the methods paragraph after fits with other options


class Page(HTMLParser):
    """The text of a page: a line for each paragraph, row and fact, without scripts and commands."""

    def __init__(self, page: str):
        super().__init__()
        self.lines, self.hidden = [""], 0
        self.feed(page)
        self.text = "\n".join(re.sub(r"[\s\u00a0]+", " ", line).strip(" |") for line in self.lines)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.hidden += tag in ("script", "style", "pre")
        if tag in ("p", "li", "h1", "h2", "dt", "tr", "summary", "figure", "footer"):
            self.lines.append("")
        self.lines[-1] += {"td": " | ", "th": " | ", "dd": ": "}.get(tag, "")
        if tag == "div" and (label := dict(attrs).get("aria-label")):
            self.lines.append(label)

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in ("script", "style", "pre")

    def handle_data(self, data: str) -> None:
        self.lines[-1] += "" if self.hidden else data


def run(folder: Path, command: str, *words: str, notes: bool = True) -> str:
    """What a command prints; its notes are what goes to standard error."""
    arguments = [sys.executable, "-m", "nearer", command, *words]
    done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=True)
    return done.stderr * notes + done.stdout


def fitted(folder: Path, file: str, more: str = "", *options: str) -> Printed:
    """A fit, its report and its methods paragraph; `more` marks where they are printed."""
    out = f"out{more.replace(' ', '')}"
    text = {f"fit{more}": run(folder, "fit", file, "-o", out, "--force", *options)}
    text[f"methods{more}"] = run(folder, "methods", out)
    page = (folder / out / "report.html").read_text(encoding="utf-8")
    text[f"report{more}"] = Page(page).text
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
    with open(folder / out / "embedding.csv", encoding="utf-8", newline="") as table:
        _, *rows = csv.reader(table)
    embedding = {name: [float(cell or "nan") for cell in cells] for name, *cells in rows}
    summary = json.loads((folder / out / "summary.json").read_text(encoding="utf-8"))
    return Printed(text, summary, json.loads(data[1]) if data else {}, embedding)


def walk(case: Case, folder: Path) -> tuple[Truth, Printed]:
    """Run the commands on a copy of the file, and collect what they print, and what is true."""
    file = folder / case.file.name
    shutil.copyfile(case.file, file)
    if case.layout:
        file.with_suffix(".layout.toml").write_text(case.layout)
    text = {"check": run(folder, "check", file.name, "-d", "2"), "dims": run(folder, "dims", file.name, notes=False)}
    if case.people:
        text["people"] = run(folder, "people", file.name, notes=False)
    plain, printed = fitted(folder, file.name), fitted(folder, file.name, " --dims", "--dims", "1-6")
    printed.text = text | plain.text | printed.text
    truth = Truth(case, printed.embedding, printed.summary)
    if case.people:
        for option in (("--cv-by", "participant"), ("--reliability",)):
            words = " ".join(option)
            printed.asides[words] = fitted(folder, file.name, f" {words}", *option).text[f"methods {words}"]
    if case.rules:
        (folder / "rules.toml").write_text("".join(f"{name} = {value}\n" for name, value in case.rules))
        words = ("--rules", "rules.toml", "-o", "kept.csv", "--table", "people.csv", "--force")
        words += ("--preregistered",) * case.preregistered
        _, _, printed.text["people --rules"] = run(folder, "people", file.name, *words).rpartition("\n\n")
        with open(folder / "people.csv", encoding="utf-8", newline="") as table:
            truth.excluded(case.rules, {row["participant"]: float(row["p_chance"]) for row in csv.DictReader(table)})
    return truth, printed


def walk_on(case: Case, folder: Path, before: Truth) -> tuple[Truth, Printed]:
    """The same after an exclusion by rules: collected are still all answers."""
    with open(folder / "kept.csv", encoding="utf-8", newline="") as table:
        kept = frozenset(row["participant"] for row in csv.DictReader(table))
    printed = fitted(folder, "kept.csv", " after exclusion")
    truth = Truth(replace(case, only=kept), printed.embedding, printed.summary)
    truth.figure |= {name: n for name, n in before.figure.items() if name.startswith(("break_", "excluded"))}
    return truth, printed


def sentences(text: str) -> list[str]:
    """Lines, cut at full stops and semicolons, without what marks a line as a problem or a fact."""
    ends = r"(?<=[.;])(?<!\b[A-Z]\.)(?<!et al\.)\s+(?=[A-Z\d]|(?<=;\s))|(?<=satisfied\)):\s|(?<=dimension):\s(?=the )"
    parts = (part.strip().rstrip(";") for line in text.splitlines() for part in re.split(ends, line))
    parts = (re.sub(r"^(- |problem: |Outcome: |Input: )", "", part) for part in parts if part)
    return [part[0].lower() + part[1:] if re.match(r"[A-Z][a-z ]", part) else part for part in parts]


# What a sentence says: <name> is a figure of `Truth`, <?> a number that is not checked, (...) goes to the function.


def _beaten(truth: Truth, chosen: str) -> Checks:
    """Whether a larger dimension predicts better by more than two standard errors of the difference."""
    d = truth.d if chosen == "this" else int(chosen)
    (own, _), error = truth.tried[d]
    clear = [
        f"{larger} get {figures[0]:.1f} ± {spread:.1f} %"
        for larger, (figures, spread) in truth.tried.items()
        if larger > d and figures[0] - own > 2 * math.hypot(spread, error)
    ]
    return [("", f"{d} dimensions get {own:.1f} ± {error:.1f} %, but {', '.join(clear)}")] if clear else []


def _better(truth: Truth, d: str, accuracy: str) -> Checks:
    """The dimension of the highest accuracy."""
    best = max(truth.tried, key=lambda one: truth.tried[one][0][0])
    return [(d, best), (accuracy, truth.tried[best][0])]


def _ruled_out(truth: Truth, chosen: int, d: int) -> bool:
    """Whether the answers clearly do: it predicts worse by 2 standard errors."""
    return truth.better(chosen, d) > 2.0 + DEVIATES


def _candidates(truth: Truth, listed: str, chosen: str, *printed: str) -> Checks:
    """That none of those listed is ruled out, and that fewer dimensions that are not listed are."""
    d, named = int(chosen), list(map(int, re.findall(NUMBER, listed)))
    wrong = [f"{one} is ruled out" for one in named if one != d and _ruled_out(truth, d, one)]
    wrong += [f"{one} is as good" for one in range(min(truth.tried), d)
              if one not in named and truth.better(d, one) < 2.0 - DEVIATES]  # fmt: skip
    return [("", reason) for reason in wrong] + _dimension(truth, chosen, *printed)


def _almost(truth: Truth, listed: str, chosen: str) -> Checks:
    wrong = [one for one in map(int, re.findall(NUMBER, listed)) if _ruled_out(truth, int(chosen), one)]
    return [("", f"{one} predicts clearly worse") for one in wrong]


def _not_worse(truth: Truth, larger: str, chosen: str) -> Checks:
    return _almost(truth, larger, chosen) + _beaten(truth, chosen)


def _drawn(truth: Truth, unit: str) -> Checks:
    known = truth.figure["participants"] > 1
    return [("", f"people are {'' if known else 'not '}known")] if (unit == "participant") != known else []


def _as_chosen(truth: Truth, chosen: str) -> Checks:
    return [(chosen, truth.summary["dimensions"]["chosen"])]


def _as_good_as_allowed(truth: Truth) -> Checks:
    width = truth.figure["ceiling"] - truth.figure["ceiling_low"]
    wide = [("", f"the ceiling is known to {width:.0f} points only")] if width > 5 else []
    return wide + _beaten(truth, "this")


def _divided(truth: Truth, listed: str) -> Checks:
    checks: Checks = []
    for row, up, down in re.findall(r"\(([^)]*)\) (\d+) to (\d+)", listed):
        anchor, near, far = row.split(", ")
        checks += [(up, truth.statements[anchor, near, far]), (down, truth.statements[anchor, far, near])]
    return checks


def _disagreeing(truth: Truth, count: str, listed: str) -> Checks:
    form = rf"(\S+) \(({NUMBER}) % of ({NUMBER}) shared answers, expected ({NUMBER}) %\)"
    checks: Checks = [(count, len(re.findall(form, listed)))]
    for person, agrees, shared, expected in re.findall(form, listed):
        n = right = hoped = 0.0
        for answer in (one for one in truth.answers if one.person == person):
            response, others = answer.said[0][1], truth.responses[answer.question] - truth.own[person, answer.question]
            if others:
                # Somebody like the others gives each of the answers, theirs and this one, with equal probability.
                every, top = others + Counter([response]), best(others)
                n, right = n + 1, right + (response in top) / len(top)
                hoped += sum(k * truth.sides(one, every) for one, k in every.items()) / sum(every.values())
        checks += [(agrees, 100 * right / n), (expected, 100 * hoped / n), (shared, n)]
    return checks


def _inverted(truth: Truth, listed: str) -> Checks:
    form = rf"(\S+) \(agrees in ({NUMBER}) %(?:, the opposite in ({NUMBER}) %)?, of ({NUMBER}) answers\)"
    found = re.findall(form, listed)
    checks: Checks = [(", ".join(sorted(name for name, *_ in found)), ", ".join(sorted(truth.inverted)))]
    for name, agrees, opposite, n_answers in found:
        own = truth.people[name]
        checks += [(agrees, own["agreement"]), (n_answers, own["answers"])]
        checks += [(opposite, own["opposite"])] if opposite else []
    return checks


def _standing_out(truth: Truth, column: str, listed: str) -> Checks:
    found = re.findall(rf"(\S+) \((?:agrees in |median )?({NUMBER}) (?:%|s)\)", listed)
    return [(figure, truth.people[name][column]) for name, figure in found]


def _passed(truth: Truth, listed: str) -> Checks:
    found = re.findall(rf"(\S+) \(({NUMBER}) of ({NUMBER})\)", listed)
    checks: Checks = []
    for name, passed, of in found:
        n_checks = truth.people[name]["catch"]
        checks += [(passed, truth.people[name]["catch_passed"] * n_checks / 100), (of, n_checks)]
    return checks


def _few(truth: Truth, listed: str) -> Checks:
    found = re.findall(rf"([^\s,]+) \(({NUMBER})\)", listed)
    more = truth.figure["few"] - len(found)
    return [(count, truth.n_questions_of[name]) for name, count in found] + [(re.findall(NUMBER, listed)[-1], more)]


def _loss(truth: Truth, name: str) -> Checks:
    return [(name, truth.summary["loss"]["name"])]


def _placed(truth: Truth, loss: str, version: str) -> Checks:
    return [*_loss(truth, "ste" if loss == "stochastic" else "tste"), *_version(truth, version)]


def _distances(truth: Truth, anchor: str, near: str, far: str, *printed: str) -> Checks:
    at, width = truth.embedding, np.ptp(truth.points, axis=0).max()
    one, other = (math.dist(at[anchor], at[name]) for name in (near, far))
    true = (one / other, 100 * one / width, 100 * other / width, truth.statements[anchor, near, far])
    return list(zip(printed, true))


def _dimension(truth: Truth, d: str, *printed: str) -> Checks:
    return list(zip(printed, truth.tried[int(d)]))


def _chosen(truth: Truth, d: str, *printed: str) -> Checks:
    return _dimension(truth, d, *printed)


def _flat(truth: Truth, start: str) -> Checks:
    """Whether the accuracy of the largest dimension is less than a point above that of `start`, and of no smaller."""
    (best_of_all, *_), _ = truth.tried[max(truth.tried)]
    close = [d for d, (figures, _) in truth.tried.items() if best_of_all - figures[0] < 1]
    return [(start, min(close))]


def _needed(truth: Truth, n: str, objects: str, d: str, needed: str) -> Checks:
    size = len(truth.names)
    enough = 2 * size * (int(d) + 1) * math.log2(size)
    return [(n, 0.8 * truth.figure["answers"]), (objects, size), (needed, enough)]


def _smallest(truth: Truth, listed: str, chosen: str) -> Checks:
    """That no larger dimension beats the chosen one by 2.5 standard errors and half a point."""
    d = truth.d if chosen == "this" else int(chosen)
    wrong = [
        one for one in truth.tried
        if one > d and truth.better(one, d) > 2.5 + DEVIATES and truth.more(one, d) > 0.5 + POINTS
    ]  # fmt: skip
    return _tried(truth, listed) + [("", f"{one} dimensions predict better") for one in wrong]


def _tried(truth: Truth, listed: str, chosen: str = "") -> Checks:
    return list(zip(re.findall(NUMBER, listed), truth.tried)) + (_beaten(truth, chosen) if chosen else [])


RULES = (
    r"(?:<break_min_seconds> took less than 0\.5 s for an answer \(median\), )?"
    r"(?:<break_better_than_chance> agreed with the others no better than chance \(level 0\.05\))?"
    r"(?:<break_catch_passed> passed fewer than 90 % of attention checks)?\.?"
)


def _said_in_advance(truth: Truth, printed: str) -> Checks:
    said = "rules set in advance" if truth.case.preregistered else "these rules"
    return [] if printed == said else [("", f"it was said that these are {said}")]


def _several_rules(truth: Truth) -> Checks:
    broken = sum(n for name, n in truth.figure.items() if name.startswith("break_"))
    return [] if broken > truth.figure["excluded"] else [("", "nobody broke more than one rule")]


def _version(truth: Truth, printed: str) -> Checks:
    return [(printed, nearer.__version__)]


ROW = r"(\S+) is nearer to (\S+) than to (\S+)"
CV = r"\(<folds>-fold cross-validation, <level> % interval <held_out_low> to <held_out_high> %\)"
CEILING = r"(?:<ceiling_low> to )?<ceiling> %"
BEST = r"the best possible accuracy (?:is about|lies between about <ceiling_low> % and) <ceiling> %"
NAMES = r"(?:it names|they name) an object that no other answer names"
DATA = r"<questions> questions about <objects> objects(?:, by <participants> participants)?"
TOGETHER = r"in which all answers to a question were held out together \(chance level <chance> %\)\."
# fmt: off
SENTENCES: tuple[tuple[str, Callable[..., Checks] | None], ...] = (
    # what was read
    (r"(?:.*?: )?(?:<answers> answers: )?<comparisons> triplets over <objects> objects", None),
    (r"<checks> attention checks", None),
    (rf"first row: {ROW}", lambda truth, *row: list(zip(row, truth.answers[0].said[0]))),
    # check
    (r"answers: <answers> \((?:of several rows each|the sum of the votes)\)", None),
    (r"attention checks: <checks>, of which <failed> failed", None),
    (r"questions: <questions>, of which <repeated> answered more than once, <both_ways> in more than one way", None),
    (r"noise ceiling: at most <ceiling> % of the answers to the repeated questions can be satisfied", None),
    (r"for new answers the best accuracy is on average between <ceiling_low> % and <ceiling> % "
     r"\(<repeated_answers> answers\)", None),
    (r"objects: <objects> compared, <unseen> not|<groups> connected groups?|participants: <participants>", None),
    (r"too few questions for <dimensions> dimensions: <few> objects", None),
    (r"<problems> problems? found", None),
    (r"most divided(?: comparisons)?: (.*)", _divided),
    (rf"({NUMBER}) participants? sides? with the majority of the others too rarely: (.*)\.", _disagreeing),
    (r"(?:suspicion: )?<inverted> people seem to have answered the other way round, by the map of the others: (.*)\.",
     _inverted),
    (r"<few> objects occur in fewer than <need> questions, too few for <dimensions> dimensions: (.*) more\.", _few),
    # dims, and the report of it
    (r"(\d+)[\s|]+([\d.]+) %[\s|]+± ([\d.]+)(?: +<- chosen)?", _dimension),
    (r"held-out accuracy by dimension: (.*)", lambda truth, listed: [
        (accuracy, truth.tried[int(d)][0]) for d, accuracy in re.findall(rf"(\d+): ({NUMBER}) %", listed)]),
    (r"(?:dimensions: )?([\d or,]+) dimensions, (\d+) if in doubt \(([\d.]+)% ± ([\d.]+)% of held-out answers "
     r"satisfied\)", _candidates),
    (r"the rule gives (\d+) \(([\d.]+)% ± ([\d.]+)% of held-out answers satisfied\)", _chosen),
    (r"(\d+) does not predict clearly worse than (\d+)", _not_worse),
    (r"([\d or,]+) predicts? almost as well as (\d+)", _almost),
    (r"bootstrap: <resamples> resamples by (participant|comparison)", _drawn),
    (r"regions of uncertainty \(<region> %\) are from <resamples> bootstrap resamples of (participant|answer)s\.",
     _drawn),
    (r"a training set of (\S+) answers about (\S+) objects is small for more than (\d+) dimensions? "
     r"\(about (\S+) needed\)", _needed),
    (r"more dimensions were not tried\.",
     lambda truth: [("", "they were")] * (truth.summary["dimensions"]["chosen"] < max(truth.tried))),
    (r"the largest dimension tried, <largest>, is the best(?:; try larger ones)?", None),
    (r"(?:it is the largest that was tried, )?but going beyond (\d+) gains less than 1 point\.?", _flat),
    (r"accuracy by dimension: (.*)", _tried),
    (r"of ([\d, ]+) dimensions, (this|\d+) is the smallest number that no larger one clearly beats on held-out "
     r"answers \(by 2\.5 standard errors in likelihood and half a point in accuracy\), by maps of the softplus loss "
     r"made for this comparison\.?", _smallest),
    (r"maps of (\d+) dimensions? satisfy more held-out answers \(([\d.]+) ?%\)\.?", _better),
    (r"a map of <dimensions> is shown for \[give your reason\]\.|this map has <dimensions>\.", None),
    (r"the ring marks (\d+) dimensions?, the fewest that no larger number clearly beats", _as_chosen),
    # fit, and the report of it
    (r"fitting: loss auto, dimensions <dimensions>, starts <starts>, seed <seed>", None),
    (r"(?:loss chosen|loss): (tste|ste)(?: alpha=<alpha>)?(?: lapse=<lapse>)?", _loss),
    (r"penalty: <penalty>, chosen with the loss on held-out answers", None),
    (r"<training> % of the answers satisfied \(guessing: <chance> %\)", None),
    (rf"of these, <unplaced> (?:was|were) left out: {NAMES}", None),
    (rf"<held_out> % of held-out answers {CV}", None),
    (rf"noise ceiling {CEILING}(?: \(from <repeated> repeated questions? only\))?", None),
    (r"only <repeated> questions? (?:were|was) repeated, too few to estimate the best possible accuracy\.", None),
    (r"the map satisfies <held_out> % of answers it has not seen \(guessing: <chance> %\)\.?", None),
    (r"where a question was repeated, <ceiling> % of answers side with the majority\.", None),
    (r"on new answers: <held_out> %: : answers it has not seen", None),
    (r"<level> % interval <held_out_low> to <held_out_high> %", None),
    (r"on its own answers: <training> %: : answers the map was made from", None),
    (rf"best possible: {CEILING}: : noise ceiling, from <repeated> repeated questions(?:: too few to rely on)?", None),
    (r"<chance> % \(guessing\)100 %|this cannot be distinguished from guessing, which satisfies <chance> %\.", None),
    (r"it fits answers it has seen clearly better than new ones \(a gap of <gap> points\): .*", None),
    (rf"answers to the same question differ: going by them, {BEST}\.", None),
    (r"so this map is about as good as the answers allow\.", _as_good_as_allowed),
    (r"whether a better map is possible is not known: it may satisfy up to <room_above> points? more, or none\.", None),
    (r"(?:so this map leaves|this map is) <room> points? (?:to be explained|short of that, which .*)\.", None),
    (r"map of <objects> objects(?: Skip to the map)?", None),
    (r"<objects> objects\.|object \| x1 \| x2", None),
    (r"(\S+) \| (-?[\d.]+) \| (-?[\d.]+)", lambda truth, name, *cells: list(zip(cells, truth.embedding[name]))),
    (r"hollow: <few> objects that are in fewer than <need> questions, too few to fix a position\.", None),
    (r"the map contradicts <contradicted> of <answers> answers\.", None),
    (r"the map contradicts <contradicted_comparisons> of <comparisons> comparisons\.", None),
    (rf"{ROW} \| (\S+) times as far \((\S+) against (\S+) % of the map's width\) \| (\S+)", _distances),
    (r"starts: <starts>|seed: <seed>|cross-validation: <folds> folds|epochs: <epochs>|"
     r"objective: <objective>|gradients of single comparisons: <gradients>|"
     r"objective by epoch, <objective> at the end", None),
    (r"nearer: (\S+)", _version),
    (r"python: (\S+)", lambda truth, printed: [(printed, platform.python_version())]),
    # people
    (r"<participants> people gave (?:<fewest> to )?<most> answers each\.", None),
    (r"they agree with it in <agreement_median> % of answers \(median|"
     r"<agreement_lowest> % to <agreement_highest> %\)\.", None),
    (r"<guessing> (?:people|person) cannot be distinguished from somebody who only guesses: (.*)\.",
     lambda truth, listed: _standing_out(truth, "agreement", listed)),
    (r"<fast> (?:person was|people were) much faster than the others \(median <usual_seconds> s\): (.*)\.",
     lambda truth, listed: _standing_out(truth, "seconds", listed)),
    (r"guesses: estimated share of guesses \(95 % interval\)", None),
    (r"<?> (?:person|people) chose one side in over 90 % of answers: (.*)\.",
     lambda truth, listed: _standing_out(truth, "same_side", listed)),
    (r"<?> (?:person|people) passed under 80 % of attention checks: (.*)\.",
     _passed),
    (r"table of people, the (?:100 most doubtful of <participants>|most doubtful first)", None),
    (rf"of <collected_people> participants, <excluded> \(<excluded_percent> %\) (?:was|were) excluded by "
     rf"(these rules|rules set in advance): {RULES}", _said_in_advance),
    (r"some broke more than one rule\.", _several_rules),
    (r"the <left_answers> answers of the remaining <left> participants were kept \(of <answers>\)\.", None),
    # methods, and the subtitle of the report
    (rf"<answers> answers to {DATA}", None),
    (r"<collected> answers were collected(?: from <collected_people> participants)?", None),
    (r"the question was (.*)\.", lambda truth, asked: [(asked, truth.case.asked)]),
    (r"an answer is satisfied if all of its comparisons are\.",
     lambda truth: [("", "each is one comparison")] * (len(truth.index) == len(truth.answers))),
    (r"<collected_checks> answers were attention checks, of which <collected_passed> passed and "
     r"<collected_failed> failed\.", None),
    (rf"<excluded> participants? \(<excluded_answers> answers\) (?:was|were) excluded by (these rules|"
     rf"rules set in advance): {RULES}", _said_in_advance),
    (r"analysed were <answers> answers to <questions> questions about <objects> objects"
     r"(?:, by <participants> participants)?(?:, which give <comparisons> comparisons)?\.", None),
    (rf"of the held-out answers, <unplaced> (?:was|were) left out: {NAMES}\.", None),
    (r"the objects fall into <groups> groups that were never compared with each other \(<apart> answers? to questions "
     r"about the smaller ones\), so the relative positions of the groups are arbitrary\.", None),
    (r"the objects were placed in <dimensions> dimensions by (t-distributed stochastic|stochastic) triplet "
     r"embedding \(van der Maaten & Weinberger, 2012\)(?: with a lapse rate of <lapse_percent> %)?"
     r"(?: \(loss, lapse rate and ridge penalty, <penalty>, chosen on held-out answers\))?, computed with nearer "
     r"(\S+) \(<starts> random start, seed <seed>\)\.", _placed),
    (rf"the map satisfies <training> % of the answers and <held_out> % of held-out answers {CV}, {TOGETHER}", None),
    (rf"by the agreement of answers to <repeated> repeated questions, {BEST}\.", None),
    (r"van der Maaten, L\., & Weinberger, K\. \(2012\)\.", None),
    (r"(?:.*\. )?nearer: maps from comparisons \(version (\S+)\) \[Computer software\]\.", _version),
)
# fmt: on


# Printed against true


@dataclass
class Line:
    """A sentence, or a column of a table, where it is printed, and what was found."""

    sources: list[str]
    sentence: str
    differs: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    has_number: bool = True

    @property
    def status(self) -> str:
        checked = "not checked" if self.unchecked else "ok" if self.has_number else "no number"
        return "DIFFERS" if self.differs else checked

    def __str__(self) -> str:
        notes = self.differs[:6] + [f"and {len(self.differs) - 6} more"] * (len(self.differs) > 6)
        notes += [f"not checked: {', '.join(self.unchecked)}"] * bool(self.unchecked)
        text = f"{self.status:<11} {', '.join(self.sources)}: {self.sentence[:300]}"
        return "\n".join([text, *(f"{'':<14}{note}" for note in notes)])


def agrees(printed: str, true: Any) -> bool:
    """Whether a printed number is the true one, rounded as printed."""
    if isinstance(true, list):
        return all(agrees(printed, one) for one in true)
    if isinstance(true, str) or true is None:
        return printed == (true or "")
    number, half = float(printed.replace(",", "")), 0.5 * 10.0 ** -len(printed.partition(".")[2]) + 1e-9
    low, high = true if isinstance(true, tuple) else (true - half, true + half)
    return bool(low <= number <= high)


def shown(true: Any) -> str:
    if isinstance(true, list):
        return " and ".join(map(shown, true))
    if isinstance(true, tuple):
        return f"between {true[0]:.1f} and {true[1]:.1f}"
    return str(true) if isinstance(true, str) or true is None else f"{true:,.6g}"


def compiled(pattern: str) -> tuple[re.Pattern, list[str]]:
    """A pattern as a regular expression, and the name of each of its groups, "" for one without."""
    names = [match[1] or "" for match in re.finditer(r"(?<!\\)\((?!\?)|<(\w+|\?)>", pattern)]
    return re.compile(re.sub(r"<(\w+|\?)>", lambda _: f"({NUMBER})", pattern)), names


COMPILED = [(*compiled(pattern), pattern, function) for pattern, function in SENTENCES]


def judge(truth: Truth, source: str, sentence: str, names: re.Pattern) -> Line:
    """Compare every number of a sentence; those that no pattern knows are listed as not checked."""
    masked = names.sub("@", sentence)
    for expression, groups, pattern, function in COMPILED:
        text = masked if function is None else sentence
        if (found := expression.fullmatch(text)) is None:
            continue
        line = Line([source], sentence)
        given = [(name, found[k], found.span(k)) for k, name in enumerate(groups, 1) if found[k] is not None]
        line.unchecked += [printed for name, printed, _ in given if name == "?"]
        checks = [(printed, truth.figure.get(name), name) for name, printed, _ in given if name not in ("", "?")]
        if function is not None:
            more = function(truth, *(printed for name, printed, _ in given if not name))
            checks += [(printed, true, "") for printed, true in more]
        for printed, true, name in checks:
            if not printed or not agrees(printed, true):
                line.differs.append(f"{name} {printed}: {shown(true)}".strip(" :"))
        for number in re.finditer(NUMBER, text):
            inside = any(low <= number.start() and number.end() <= high for *_, (low, high) in given)
            if not inside and re.escape(number[0]) not in pattern:
                line.unchecked.append(number[0])
        return line
    numbers = re.findall(NUMBER, masked)
    return Line([source], sentence, unchecked=numbers, has_number=bool(numbers))


COLUMNS = {
    "Person": "participant", "Answers": "answers", "Seconds": "seconds", "First option": "first",
    "Same side": "same_side", "Longest streak": "streak", "Repeats": "repeats", "Alike": "repeats_alike",
    "Catch questions": "catch", "Passed": "catch_passed", "Agreement": "agreement", "Opposite": "opposite",
    "Guesses": "guesses",
    "p (only guesses)": "p_chance", "p (no decline)": "p_decline",
}  # fmt: skip
Table = dict[str, dict[str, str]]  # person -> column -> cell


def split_table(text: str) -> tuple[str, Table]:
    """The text without its table of people, and that table."""
    lines, table = text.splitlines(), {}
    start = next((k for k, line in enumerate(lines) if line.startswith(("participant ", "Person |"))), len(lines))
    stop = start + 1
    if start < len(lines):
        aligned, ends = "|" not in lines[start], [match.end() for match in re.finditer(r"\S+", lines[start])]
        titles = lines[start].split() if aligned else [COLUMNS[title] for title in lines[start].split(" | ")]
        while stop < len(lines) and (" | " in lines[stop] or (aligned and lines[stop])):
            line = lines[stop]
            cells = [line[low:high] for low, high in zip([0, *ends], ends)] if aligned else line.split("|")
            name, *others = (cell.strip() for cell in cells)
            table[name] = dict(zip(titles[1:], others + [""] * len(titles)))
            stop += 1
    return "\n".join(lines[:start] + lines[stop:]), table


def judge_people(truth: Truth, tables: dict[str, Table]) -> list[Line]:
    """A line for each column of each table of people, and for figures of a person that differ between two tables."""
    lines = []
    for source, table in tables.items():
        for column in next(iter(table.values())):
            line = Line([source], f"table of people: {column} of {len(table)} people")
            for person, cells in table.items():
                true, printed = truth.people[person], cells[column].removesuffix(" %")
                if column in ("p_chance", "p_decline"):
                    # As a normal deviate; a p-value is printed as "< 0.001" or with two digits.
                    told = norm.isf(float(printed.removeprefix("< ")))
                    told, own = (min(max(z, -3.0), 3.0) for z in (told, true[column.replace("p_", "z_")]))
                    if abs(told - own) > (DECLINE if column == "p_decline" else DEVIATES):
                        line.differs.append(f"{person} {printed}: {norm.sf(own):.2g}")
                elif column == "guesses":
                    if printed != "inverted":
                        rates = list(map(float, re.findall(NUMBER, printed)))
                        far = [abs(one - other) > LAPSES for one, other in zip(rates, true["guesses"], strict=True)]
                        if any(far):
                            line.differs.append(f"{person} {printed}: {true['guesses']}")
                    if (printed == "inverted") != true["inverted"]:
                        opposite = f"all comparisons of {true['wrong']:.0f} % of the answers are the other way round"
                        line.differs.append(f"{person} {printed}: {opposite}, {true['right']:.0f} % are satisfied")
                elif not agrees(printed, true[column]):
                    line.differs.append(f"{person} {printed}: {shown(true[column])}")
            lines.append(line)
    for column in ("agreement", "guesses") if len(tables) > 1 else ():
        one, other = (tables[source] for source in ("people", "report"))
        pairs = [(name, one[name][column], cells[column]) for name, cells in other.items()]
        differ = [f"{name} {first} and {second}" for name, first, second in pairs if first != second]
        lines.append(Line(["people", "report"], f"{column}: one figure for one person", differ))
    return lines


def omissions(truth: Truth, texts: dict[str, str], asides: dict[str, str]) -> list[Line]:
    """What should be said and is not, and what is said although it does not hold."""
    found, methods = [], "".join(text for source, text in texts.items() if source.startswith("methods"))
    for source in ("check", "people", "report") if truth.inverted and "check" in texts else ():
        missing = [name for name in truth.inverted if not re.search(rf"other way round.*\b{name}\b", texts[source])]
        found.append((source, "names the people who answered the other way round", missing))
    if truth.checks:
        counts = [truth.figure["collected_checks"], truth.figure["collected_passed"]]
        missing = [f"{n:,}" for n in counts if not re.search(rf"\b{n:,}\b.*attention|attention.*\b{n:,}\b", methods)]
        found.append(("methods", "says how many attention checks there were, and how many were passed", missing))
    if len(truth.index) > len(truth.answers):
        missing = [word for word in ("central", "chance") if word not in methods]
        found.append(("methods", "says what was asked, and the chance level", missing))
    if truth.figure["participants"] < truth.figure["collected_people"]:
        gone = truth.figure["collected_people"] - truth.figure["participants"]
        missing = [] if re.search(rf"\b{gone}\b.*exclu", methods) else [f"{gone} people were excluded"]
        found.append(("methods", "says how many people were excluded", missing))
    if unplaced := truth.figure["unplaced"]:
        said = re.search(rf"\b{unplaced:,.0f} (was|were) left out", methods)
        missing = [] if said else [f"{unplaced:,.0f} held-out answers name an object that no other answer names"]
        found.append(("fit, methods", "counts held-out answers that no map can place", missing))
    for option, text in asides.items():
        # With --reliability, answers are weighted; with --cv-by participant, those of a participant are held out.
        said = (
            re.search("weight|weigh", text) if option == "--reliability" else "answers to a question were" not in text
        )
        found.append((f"methods after fit {option}", "says so", [] if said else ["and not what is the default"]))
    if "report" in texts and (title := texts["report"].partition("\n")[0].split(" Skip")[0]) == truth.file.stem:
        found.append(("report", f"title: {title}", ["is the name of a file"]))
    return [Line([source], sentence, differs) for source, sentence, differs in found]


def flows(truth: Truth, summary: dict[str, Any]) -> list[Line]:
    """The chain from collected to analysed answers in summary.json: each number, and that they add up."""
    flow, figure = summary["flow"], truth.figure
    excluded = {name: sum(one[name] for one in flow["excluded"]) for name in ("participants", "answers")}
    rest = excluded["answers"] + sum(flow["dropped"].values())
    pairs = {
        "collected": (flow["collected"], figure["collected"]), "passed": (flow["passed"], figure["collected_passed"]),
        "failed": (flow["failed"], figure["collected_failed"]), "analysed": (flow["analysed"], figure["answers"]),
        "excluded participants": (excluded["participants"], figure.get("excluded", 0) * bool(truth.case.only)),
        "participants": (flow["participants"] or 1, figure["collected_people"]),
        "sum": (flow["collected"], flow["passed"] + flow["failed"] + flow["unjudged"] + rest + flow["analysed"]),
    }  # fmt: skip
    return [
        Line(["summary.json"], f"flow: {name}", [] if one == other else [f"{one}: {other}"])
        for name, (one, other) in pairs.items()
    ]


def judge_data(truth: Truth, data: dict[str, Any]) -> list[Line]:
    """The data behind the map of the report."""
    few = {name for name, n in truth.n_questions_of.items() if n < truth.figure["need"]}
    pairs = {
        "answers": [(n, truth.naming[name]) for name, n in zip(data["labels"], data["answers"])],
        "x": [(at, truth.embedding[name]) for name, *at in zip(data["labels"], *data["x"])],
        "few": [(k in data["few"], name in few) for k, name in enumerate(data["labels"])],
    }
    return [
        Line(["report"], f"data: {name}", [f"{a}: {b}" for a, b in both if not np.allclose(a, b, atol=1e-3)])
        for name, both in pairs.items()
    ]


def account(truth: Truth, printed: Printed) -> list[Line]:
    """A line for every sentence; a sentence in several places is judged once."""
    texts, tables = {}, {}
    for source, text in printed.text.items():
        texts[source], table = split_table(text)
        if table and source in ("people", "report"):
            tables[source] = table
    truth.figure["problems"] = len(re.findall(r"(?m)^ +- ", texts.get("check", "")))
    # Names that hold digits are no numbers.
    words = [word for word in {*truth.names, *truth.columns} if re.search(r"\d", word) and not word.isdigit()]
    longest = "|".join(map(re.escape, sorted(words, key=len, reverse=True))) or "$^"
    names, lines = re.compile(rf"(?<!\w)(?:{longest})(?!\w)"), {}
    for source, text in texts.items():
        for sentence in sentences(text):
            if sentence not in lines:
                lines[sentence] = judge(truth, source, sentence, names)
            elif source not in lines[sentence].sources:
                lines[sentence].sources.append(source)
    others = judge_people(truth, tables) + judge_data(truth, printed.data) + omissions(truth, texts, printed.asides)
    return [*lines.values(), *others]


def main(arguments: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"of {', '.join(CASES)}; default: all")
    parser.add_argument("--all", action="store_true", help="show every sentence")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where to keep what the commands write")
    given = parser.parse_args(arguments)
    if unknown := set(given.sets) - set(CASES):
        parser.error(f"got {', '.join(unknown)}, expected sets among {', '.join(CASES)}")
    total: Counter[str] = Counter()
    for name in given.sets or CASES:
        case = CASES[name]
        if not case.file.is_file():
            print(f"{name}: skipped, {case.file} is not there")
            continue
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary) if given.keep is None else given.keep / name
            folder.mkdir(parents=True, exist_ok=True)
            truth, printed = walk(case, folder)
            lines = account(truth, printed) + flows(truth, printed.summary)
            if (folder / "kept.csv").exists():
                left, printed = walk_on(case, folder, truth)
                lines += account(left, printed) + flows(left, printed.summary)
        print(f"== {name}")
        print(*(line for line in lines if given.all or line.status in ("DIFFERS", "not checked")), sep="\n")
        count = Counter(line.status for line in lines)
        print(
            f"== {name}: " + ", ".join(f"{count[one]} {one}" for one in ("ok", "DIFFERS", "not checked", "no number"))
        )
        total += count
    return 1 if total["DIFFERS"] else 0


if __name__ == "__main__":
    sys.exit(main())
