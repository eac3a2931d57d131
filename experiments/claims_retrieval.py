"""The claims that retrieval and music decide: C6, C7, C11 and their part of C9.

Pairs share the drawn problem and the tuning draw. Tuned methods are compared after equal work, those with the authors'
settings at the authors' horizon. Verdicts are on the procedure as printed; the figures also say what follows by that of
the authors' programs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from experiments.claims_synthetic import name_of
from experiments.decision import ALIKE, BETTER, MARGINS, UNDECIDED, WORSE, Case, compare, verdict
from experiments.methods import LOSSES
from experiments.table2.config import TITLES
from experiments.tables import PAPER, Row, read_csv, where

Folder = Callable[[str], Path]
RIVALS = ("cvx", "batch", "sgd", "svrg")
JUDGED_K = (40, 70, 100)
SETTINGS = ("tuned", "authors")


def best_retrieval(folder: Folder) -> tuple[list[Case], str]:
    """C6: the better of SBB_0 and SBB_ε in a cell, which favours the claim, against every rival."""
    rows = _runs(folder)
    printed, authors = (_superior(part, ("sbb0", "sbb"), ("map", "precision_at_40")) for part in _procedures(rows))
    text = (
        f"The better SBB: {_count(printed)} By their procedure: {verdict(authors)}, {_share(authors)}. In the paper's "
        f"own table an SBB leads by more than the margin in {_paper_leads('sbb0', 'sbb')}, SBB_ε in "
        f"{_paper_leads('sbb')}."
    )
    return printed, text


def best_recall(folder: Folder) -> tuple[list[Case], str]:
    """C7."""
    rows = _runs(folder)
    noisy = where(rows, noise=max(row["noise"] for row in rows))
    measures = [f"recall_at_{k}" for k in JUDGED_K]
    printed, authors = (_superior(part, ("sbb",), measures) for part in _procedures(noisy))
    return printed, f"{_count(printed)} By their procedure: {verdict(authors)}, {_share(authors)}."


def non_convex(folder: Folder) -> tuple[list[Case], str]:
    """C9 in retrieval: MAP of SBB_ε and of cvx after equal work; the figures also say what longer runs of cvx give."""
    printed, authors = ([*_non_convex(part)] for part in _procedures(_runs(folder)))
    equal = [case for case in printed if "(cvx " not in case.name]
    longer = [case for case in printed if case not in equal]
    text = (
        f"Retrieval, MAP: {_share(equal)}; after longer runs of cvx {_share(longer)}; "
        f"by their procedure {_share(authors)}."
    )
    return equal, text


def non_convex_on_music(folder: Folder) -> tuple[list[Case], str]:
    """C9 on music, which the paper has not, so no case counts: the mean test error of SBB_ε and of cvx."""
    rows = read_csv(folder("music") / "runs.csv")
    told = []
    for settings in SETTINGS:
        for loss in ("hinge", "ste"):
            found = where(rows, settings=settings, loss=loss)
            budgets = sorted({row["budget"] for row in where(found, method="cvx")})
            ours = {r["split"]: r["test_error"] for r in where(found, method="sbb", budget=budgets[0])}
            for budget in budgets:
                theirs = {r["split"]: r["test_error"] for r in where(found, method="cvx", budget=budget)}
                both = f"{_mean(ours.values()):.3f}/{_mean(theirs.values()):.3f}"
                told.append(f"{settings} {' '.join((LOSSES[loss], *_times(budget, budgets)))} {both}")
    return [], f"Music (not in the paper, not counted), mean test error, SBB_ε/cvx: {', '.join(told)}."


def reasonable(folder: Folder) -> tuple[list[Case], str]:
    """C11: under noise, the MAP of every method against that of the features themselves."""
    parts = _procedures([row for row in _runs(folder) if row["noise"] > 0])
    printed, authors = ([*_against_raw(part)] for part in parts)
    failing = Counter(case.name.split(", ")[-1] for case in printed if not case.as_claimed)
    which = ", ".join(f"{name} {count}" for name, count in failing.most_common()) or "none"
    text = (
        f"MAP above that of the features themselves: {_share(printed)}. Not so: {which}. "
        f"By their procedure: {verdict(authors)}, {_share(authors)}."
    )
    return printed, text


def matched(rows: list[Row], method: str, rival: str, measure: str) -> tuple[list[float], list[float], list[int]]:
    """Values of two methods on the pairs of tuning draw and drawn problem that both have, and their tuning draws."""
    ours, theirs = (
        {(row["tuning_draw"], row["draw"]): row[measure] for row in where(rows, method=one)} for one in (method, rival)
    )
    both = sorted(ours.keys() & theirs.keys())
    return [ours[pair] for pair in both], [theirs[pair] for pair in both], [pair[0] for pair in both]


def cells(rows: list[Row], settings: str) -> Iterable[tuple[str, str, float, list[Row]]]:
    """Rows that are compared, by dataset, loss and noise: tuned after equal work, others at the longest run of each."""
    mine = where(rows, settings=settings)
    for dataset in dict.fromkeys(row["dataset"] for row in mine):
        for loss in LOSSES:
            cell = where(mine, dataset=dataset, loss=loss)
            for noise in sorted({row["noise"] for row in cell}):
                found = where(cell, noise=noise)
                kept = shortest(found) if settings == "tuned" else longest(found)
                yield dataset, loss, noise, kept


def shortest(rows: list[Row]) -> list[Row]:
    """The rows of the least budget: equal work for all."""
    return where(rows, budget=min(row["budget"] for row in rows)) if rows else []


def longest(rows: list[Row]) -> list[Row]:
    """Of every method and problem, the row of its largest budget."""
    last: dict[tuple, Row] = {}
    for row in sorted(rows, key=lambda row: row["budget"]):
        last[row["method"], row["tuning_draw"], row["draw"]] = row
    return list(last.values())


def _runs(folder: Folder) -> list[Row]:
    return read_csv(folder("table2") / "runs.csv")


def _procedures(rows: list[Row]) -> tuple[list[Row], list[Row]]:
    """The rows by the procedure as printed, and by that of the authors' programs."""
    return where(rows, procedure=None), [row for row in rows if row["procedure"] is not None]


def _superior(rows: list[Row], candidates: tuple[str, ...], measures: Iterable[str]) -> list[Case]:
    """Cases of the best of some methods against every rival."""
    cases = []
    for settings in SETTINGS:
        for dataset, loss, noise, cell in cells(rows, settings):
            for measure in measures:
                means = {m: _mean(row[measure] for row in where(cell, method=m)) for m in candidates}
                ours = max(means, key=means.__getitem__)
                for rival in RIVALS:
                    if where(cell, method=rival):
                        name = _name(dataset, loss, noise, measure, name_of(rival))
                        cases.append(compare(name, *matched(cell, ours, rival, measure), "score", group=settings))
    return cases


def _non_convex(rows: list[Row]) -> Iterable[Case]:
    for settings in SETTINGS:
        for dataset, loss, noise, cell in cells(rows, settings):
            every = where(rows, settings=settings, dataset=dataset, loss=loss, noise=noise, method="cvx")
            budgets = sorted({row["budget"] for row in every}) if settings == "tuned" else [None]
            for budget in budgets if every else ():
                theirs = where(cell, method="cvx") if budget is None else where(every, budget=budget)
                name = _name(dataset, loss, noise, *_times(budget, budgets))
                values = matched([*where(cell, method="sbb"), *theirs], "sbb", "cvx", "map")
                yield compare(name, *values, "score", group=settings)


def _against_raw(rows: list[Row]) -> Iterable[Case]:
    for settings in SETTINGS:
        for dataset, loss, noise, cell in cells(rows, settings):
            raw = {row["draw"]: row["map"] for row in where(rows, dataset=dataset, noise=noise, method="raw")}
            for method in dict.fromkeys(row["method"] for row in cell):
                mine = where(cell, method=method)
                values = [row["map"] for row in mine], [raw[row["draw"]] for row in mine]
                draws = [row["tuning_draw"] for row in mine]
                yield compare(_name(dataset, loss, noise, name_of(method)), *values, draws, "score", group=settings)


def _times(budget: float | None, budgets: list) -> list[str]:
    return [f"(cvx {budget / budgets[0]:g}x)"] if budget and budget > budgets[0] else []


def _name(dataset: str, loss: str, noise: float, *more: str) -> str:
    return ", ".join((TITLES[dataset], LOSSES[loss], f"{100 * noise:g} %", *more))


def _share(cases: list[Case]) -> str:
    return f"{sum(case.as_claimed for case in cases)}/{len(cases)}"


def _count(cases: list[Case]) -> str:
    outcomes = Counter(case.outcome for case in cases)
    told = ", ".join(f"{outcomes[name]} {name}" for name in (BETTER, ALIKE, WORSE, UNDECIDED) if outcomes[name])
    return f"{_share(cases)} ({told})."


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found)


def _paper_leads(*candidates: str) -> str:
    """In how many cells of the paper's table the best of some methods leads a rival by more than the margin."""
    rows, leads = read_csv(PAPER / "table2.csv"), []
    for measure in ("map", "precision_at_40"):
        for loss, noise in dict.fromkeys((row["loss"], row["noise"]) for row in rows):
            values = {row["method"]: row[measure] for row in where(rows, loss=loss, noise=noise)}
            best = max(values[method] for method in candidates)
            leads += [best - values[rival] > MARGINS["score"][1] for rival in RIVALS if rival in values]
    return f"{sum(leads)} of {len(leads)}"
