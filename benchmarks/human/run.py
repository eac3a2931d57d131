"""Which map predicts answers of people best: sets of human answers, held out, against every entry.

    python -m benchmarks.human [--jobs 2] [--splits 5] [--sets music,cars] [--dims 1,2,auto] [--set my.toml] [--quick]
    python -m benchmarks.human page

Sets are declared in ``benchmarks/human/sets.toml``; `--set` adds those of another such file. Each is split into five
folds over questions, over participants where these are known, and as published where its authors did so. A set, a
split, a dimension and an entry give one row of ``benchmarks/results/human.csv``. What is finished is kept in
``human.jsonl`` there: a second run computes only what is missing, or whose code or data have changed. Every entry runs
with one thread, so that the seconds of `--jobs` processes can be compared.

`page` writes table, figure and ``docs/leaderboard.md`` anew from the saved results.
"""

from __future__ import annotations

import argparse
import csv
import functools
import hashlib
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

import nearer
from benchmarks import common
from benchmarks.human import entries, report
from benchmarks.human.entries import Dimension, entries_of, measures, outcome_of
from benchmarks.human.sets import SETS, HumanSet, MissingData, Split, declared, load, n_splits, split_of
from benchmarks.rivals import RIVALS, python_for

DIMENSIONS: tuple[Dimension, ...] = (1, 2, 3, 5, 8, "auto")
QUICK_ANSWERS = 300
Row = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """One row of the results; `version` changes with its data and with the code that makes it."""

    declared_in: Path
    set: str
    most_answers: int | None
    grouping: str
    d: Dimension
    entry: str
    split: int
    version: str

    @property
    def key(self) -> tuple[str, ...]:
        return key_of(asdict(self))


def key_of(row: Row) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in ("set", "grouping", "d", "entry", "split", "version"))


def tasks_of(
    human: HumanSet, path: Path, most_answers: int | None, dims: Iterable[Dimension], splits: int, cblearn: bool
) -> Iterator[Task]:
    known = entries_of(human)
    for name, why in {name: entry.lacks(human) for name, entry in known.items()}.items():
        if why:
            print(f"{human.name}: {name} left out, {why}")
    for grouping in human.grouping:
        for number in range(n_splits(grouping, splits)):
            data = _split(path, human.name, most_answers, grouping, number).digest()
            for entry in known.values():
                if entry.lacks(human) or (entry.software == "cblearn" and not cblearn):
                    continue
                version = f"{data}-{_digest(Path(entries.__file__))}-{_software(entry.software)}"
                for d in entry.dimensions(list(dims)):
                    yield Task(path, human.name, most_answers, grouping, d, entry.name, number, version)


def work(task: Task) -> Row:
    """Fit and test; an entry that fails gives a row that says why."""
    human = load(task.set, task.declared_in, task.most_answers)
    split = _split(task.declared_in, task.set, task.most_answers, task.grouping, task.split)
    row = {name: value for name, value in asdict(task).items() if name not in ("declared_in", "most_answers")}
    row |= {"answers": float(split.weights.sum()), "left_out": split.n_left_out, "note": ""}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            outcome = outcome_of(entries_of(human)[task.entry], human, split, task.d, task.split)
        except Exception as error:  # of other software, or of a change that is being tried
            return row | {"note": f"{type(error).__name__}: {error}"}
    right, figures = measures(split, outcome)
    return row | figures | {
        "seconds": outcome.seconds,
        "n_components": outcome.n_components,
        "right": report.packed(right),
    }  # fmt: skip


@functools.lru_cache(maxsize=4)
def _split(path: Path, name: str, most_answers: int | None, grouping: str, number: int) -> Split:
    return split_of(load(name, path, most_answers), grouping, number)


@functools.cache
def _software(name: str) -> str:
    """What fits: the code of the package, or the version of a competitor."""
    if name == "nearer":
        return _digest(*sorted(Path(nearer.__file__).parent.rglob("*.py")))
    return RIVALS.get(name, name)


@functools.cache
def _digest(*paths: Path) -> str:
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in paths)).hexdigest()[:12]


def finished(path: Path) -> dict[tuple[str, ...], Row]:
    """The rows that are kept, without lines that were cut off, and without failures, which are tried again."""
    found = {}
    for line in path.read_text().splitlines() if path.is_file() else []:
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        if not row["note"]:
            found[key_of(row)] = row
    return found


def compute(tasks: list[Task], store: Path, jobs: int) -> list[Row]:
    """The rows of all tasks, those that are kept as they are."""
    rows = finished(store)
    missing = [task for task in tasks if task.key not in rows]
    print(f"{len(tasks):,} rows, {len(tasks) - len(missing):,} of them are there")
    with store.open("a") as file:
        for number, row in enumerate(_worked(missing, jobs), 1):
            file.write("\n" + json.dumps(row))  # a line that was cut off ends here
            file.flush()
            rows[key_of(row)] = row
            said = row["note"] or f"{row['accuracy']:.4f} in {row['seconds']:.2f} s"
            about = f"{row['set']} by {row['grouping']}, d = {row['d']}, split {row['split']}, {row['entry']}"
            print(f"[{number}/{len(missing)}] {about}: {said}", flush=True)
    return [rows[task.key] for task in tasks]


def _worked(tasks: list[Task], jobs: int) -> Iterator[Row]:
    if jobs == 1:
        yield from map(work, tasks)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for future in as_completed([pool.submit(work, task) for task in tasks]):
            yield future.result()


def write_csv(rows: list[Row], path: Path) -> None:
    names = [name for name in max(rows, key=len) if name != "right"]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({
                name: f"{value:.6g}" if isinstance(value, float) else value for name, value in row.items()
            })  # fmt: skip


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", nargs="?", choices=["page"], help="write figure and page from the saved results")
    parser.add_argument("--set", type=Path, action="append", default=[], metavar="FILE", help="further sets, in TOML")
    parser.add_argument("--sets", help="only these, by name")
    parser.add_argument("--entries", help="only these, and the reference; 'cblearn' means all of that kind")
    parser.add_argument("--dims", default=",".join(map(str, DIMENSIONS)))
    parser.add_argument("--splits", type=int, default=5, help="five are one cross-validation")
    parser.add_argument("--jobs", type=int, default=1, help="processes of one thread each")
    parser.add_argument("--name", default="human", help="name of the result files")
    parser.add_argument("--quick", action="store_true", help="few answers, one split, d = 2; results are kept apart")
    options = parser.parse_args(arguments)
    if options.page:
        report.write_page()
        return
    try:
        run(options)
    except ValueError as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None


def run(options: argparse.Namespace) -> None:
    name = f"{options.name}-quick" if options.quick else options.name
    splits = 1 if options.quick else options.splits
    dims = [2] if options.quick else [part if part == "auto" else int(part) for part in options.dims.split(",")]
    most_answers = QUICK_ANSWERS if options.quick else None
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"  # of processes started from here
    facts = common.facts()
    humans = sets_of(options.set, options.sets, most_answers)
    cblearn = has_cblearn(options.quick)
    tasks = [task for path, human in humans for task in tasks_of(human, path, most_answers, dims, splits, cblearn)]
    if options.entries:
        wanted = {*options.entries.split(","), entries.REFERENCE}
        tasks = [task for task in tasks if task.entry in wanted or task.entry.partition(" ")[0] in wanted]
    common.RESULTS.mkdir(exist_ok=True)
    rows = compute(tasks, common.RESULTS / f"{name}.jsonl", options.jobs)
    write_csv(rows, common.RESULTS / f"{name}.csv")
    summary = report.summarise(rows, {human.name: human for _, human in humans})
    record = facts | summary | {"splits": splits, "rivals": RIVALS}
    (common.RESULTS / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
    print(report.write(name))


def sets_of(files: list[Path], names: str | None, most_answers: int | None) -> list[tuple[Path, HumanSet]]:
    """The sets asked for; those of the project whose answers are not here are left out, and named."""
    found, wanted = [], None if names is None else names.split(",")
    places = {name: path for path in [SETS, *files] for name in declared(path)}
    if wanted and (unknown := [name for name in wanted if name not in places]):
        raise ValueError(f"--sets: got {unknown[0]!r}, expected some of: {', '.join(places)}")
    for name, path in places.items():
        if wanted is None or name in wanted:
            try:
                found.append((path, load(name, path, most_answers)))
            except MissingData as error:
                if path != SETS:
                    raise ValueError(f"{path}, {name}: {error}") from None
                print(f"{name}: left out, {error}")
    if not found:
        raise ValueError("no set of answers is here; set NEARER_DATA, or name a file of sets with --set")
    return found


def has_cblearn(quick: bool) -> bool:
    """Whether cblearn can be run; a quick run does not install it."""
    if quick and not (common.ROOT / ".venv-cblearn" / ".installed").exists():
        print("cblearn: left out, it is not installed and this run is quick")
        return False
    try:
        python_for("cblearn")
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"cblearn: left out, it could not be installed: {error}")
        return False
    return True
