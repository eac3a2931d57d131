"""`nearer collect`: run a study: ask people and keep their answers."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from nearer.cli.inputs import as_names, open_map
from nearer.cli.options import FILE, FORCE, RANDOM_STATE, entry
from nearer.cli.output import SUMMARY, TABLES, OutputFile, Results, Say, command, json_text
from nearer.registry import COLLECTED

_REHEARSED = ("answers.db", "answers.csv", "report.html", "methods.txt", SUMMARY)
_STUDY = click.argument("study", type=click.Path(file_okay=False))
_DATABASE = click.option(
    "--database", metavar="URL", envvar="NEARER_DATABASE",
    help="postgresql://user:password@host/name instead of the file answers.db of the study.  [env: NEARER_DATABASE]",
)  # fmt: skip


def _command(*examples: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Decorator of a command about a study and its database."""
    return lambda function: command(*examples, group=collect_command)(_STUDY(_DATABASE(function)))


@click.group(
    epilog="""\b
Example:
  nearer collect new fruit --images photos
  nearer collect serve fruit
  nearer collect export fruit -o answers.csv
  nearer fit answers.csv -o map""",
)
def collect_command() -> None:
    """Run a study: ask people, keep their answers, write them for `nearer fit`. Needs nearer[collect]."""


@command(
    "nearer collect new fruit --images photos",
    "nearer collect new words --words list.txt --kind odd-one-out",
    group=collect_command,
)
@_STUDY
@click.option("--images", type=click.Path(), help="Folder of pictures.")
@click.option("--audio", type=click.Path(), help="Folder of sounds.")
@click.option("--words", type=click.Path(), help="Text file, a word on each line.")
@click.option("--items", type=click.Path(), help="CSV file: name; text, image, audio or html; alt if you like.")
@entry("--kind", COLLECTED, "Kind of question.", default="triplets")
@click.option("--title", help="Title of the study.  [default: the name of the folder]")
def new(say: Say, study: str, kind: str, title: str | None, **given: str | None) -> None:
    """Begin a STUDY: a folder with study.toml, every setting explained, and items.csv."""
    from nearer.collect.study import new_study

    chosen = [(what, source) for what, source in given.items() if source is not None]
    if len(chosen) != 1:
        raise ValueError(f"new: got objects from {len(chosen)} of --{', --'.join(given)}, expected one of them")
    made = new_study(study, *chosen[0], kind, title)
    n_objects, number = len(made.items), made.questions.number
    values = {"study": study, "kind": made.questions.kind, "n_objects": n_objects, "questions": number}
    text = (
        f"wrote {study}/study.toml: {n_objects} objects, {number} questions for each participant\n"
        f"next: read it through, above all the consent, then: nearer collect serve {study}"
    )
    say.done(values, text)


@_command(
    "nearer collect serve fruit",
    "nearer collect serve fruit --host 0.0.0.0 --port 443 --certificate cert.pem --key key.pem",
    "nearer collect serve fruit --database postgresql://nearer@db/fruit --processes 2 --behind-proxy",
)
@click.option("--host", default="127.0.0.1", help="Address to listen on; 0.0.0.0: all interfaces.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, help="Port; 0: any free one.")
@click.option("--certificate", type=FILE, help="For https: the certificate.")
@click.option("--key", type=FILE, help="For https: its private key.")
@click.option("--behind-proxy", is_flag=True, help="Trust the forwarding headers of a proxy on this machine.")
@click.option("--processes", type=click.IntRange(1, 64), default=1, help="More than 1 need PostgreSQL.")
@click.option("--background/--no-background", default=True, help="Whether this server also computes the map.")
def serve(
    say: Say, study: str, database: str | None, host: str, port: int, processes: int, background: bool, **options: Any
) -> None:
    """Open a STUDY to participants, until ctrl-C. Every answer is on the disk before it is acknowledged."""
    read, store = _opened(study, database, create=True)
    from nearer.collect.server import Supervisor, bind, make_server

    certificate, key = options["certificate"], options["key"]
    if bool(key) != bool(certificate):
        raise click.UsageError("--certificate and --key: got one of them, expected both or none")
    if processes > 1 and store.is_sqlite:
        raise click.UsageError("--processes: got more than 1, expected --database postgresql://... with it")
    server, listening = make_server(read, store, **options), bind(host, port)
    shown = f"[{host}]" if ":" in host else host
    address = f"{'https' if certificate else 'http'}://{shown}:{listening.getsockname()[1]}/"
    researcher = f"{address}researcher#{store.token}"
    values = {"participants": address, "researcher": researcher, "database": store.shown}
    text = (
        f"{read.title}: {len(read.items)} objects, {read.questions.number} questions for each participant\n"
        f"participants: {address}?{(*read.participants.id, 'participant')[0]}=their-id\n"
        f"researcher:   {researcher}\n"
        f"answers:      {store.shown}\n"
        "stop with ctrl-C; the study continues where it stopped"
    )
    say.result(values, text)
    sys.stdout.flush()
    orders: dict[str, Any] = {"study": str(read.folder.resolve()), "database": database or read.database}
    helpers = [Supervisor("nearer.collect.background", orders)] if background else []
    orders["server"] = options
    helpers += [Supervisor("nearer.collect.server", orders, listening) for _ in range(processes - 1)]
    try:
        with contextlib.suppress(KeyboardInterrupt):
            server.run([listening])
    finally:
        for helper in helpers:
            helper.stop(5)
    say.note(_status(read, store)[1])
    store.close()


@command(
    "nearer collect rehearse fruit",
    "nearer collect rehearse fruit --rules rules.toml --participants 80 -o rehearsal",
    group=collect_command,
)
@_STUDY
@click.option("--participants", "n_participants", type=click.IntRange(3), help="How many.  [default: wanted, or 60]")
@click.option("--condition", default="", help="The condition to analyse, if the study has several.")
@click.option("--guessing", type=click.FloatRange(0, 1), default=0.1, help="Fraction of them who guess.")
@click.option("--inverted", type=click.FloatRange(0, 1), default=0.05, help="Fraction who answer the other way round.")
@click.option("--dropping-out", type=click.FloatRange(0, 1), default=0.1, help="Fraction who leave before the end.")
@click.option("--wrong", default=0.15, help="Fraction of careful answers that contradict the true distances.")
@click.option("--target", default=0.9, help="Fraction of all questions that the map should predict correctly.")
@click.option("--rules", type=FILE, help="TOML file of exclusion rules.  [default: better_than_chance = true]")
@click.option("--map", "map_path", type=click.Path(), help="Map of the objects as people see them.  [default: random]")
@click.option("-o", "--out", type=click.Path(), help="Folder for the answers, their database, report and methods.")
@RANDOM_STATE
@FORCE
def rehearse(say: Say, study: str, map_path: str | None, out: str | None, **given: Any) -> None:
    """Let simulated participants answer a STUDY, and analyse their answers: what it will yield, before it begins.

    They use a server on this machine with a database of its own; that of the study is not touched.
    """
    if out is not None and Path(out, "study.toml").exists():
        raise click.UsageError(f"--out: got {out}, which holds a study, expected another folder")
    results = None if out is None else Results(out, _REHEARSED, say.force)
    from nearer.collect.study import read_study

    read, positions = read_study(study), None
    if map_path is not None:
        seen = open_map(map_path)
        positions = dict(zip(as_names(seen.labels_, seen.n_objects_).tolist(), seen.embedding_))
    try:
        from nearer.collect import rehearsal
        from nearer.people.participants import aligned
    except ImportError as error:
        raise _needs_extra(error) from error
    with tempfile.TemporaryDirectory() if results is None else results.writing() as folder, say.compiling():
        found = given | rehearsal.rehearse(read, Path(folder), positions=positions, note=say.note, **given)
        (Path(folder) / SUMMARY).write_text(json_text(found) + "\n", encoding="utf-8")
    if results is not None:
        say.note(results.wrote)
    cells = {"participants": list(found["people"])}
    for name in found["people"]["all"]:
        cells[name.replace("_", " ")] = [f"{row[name]:,}" for row in found["people"].values()]
    say.result(found, "\n\n".join([aligned(cells), found["paragraph"], found["exclusions"]["paragraph"]]))


@_command("nearer collect status fruit", "nearer collect status fruit --json")
def status(say: Say, study: str, database: str | None) -> None:
    """Show how many took part in a STUDY, and how far they are."""
    say.result(*_status(*_opened(study, database)))


@_command("nearer collect export fruit -o answers.csv", "nearer fit answers.csv -o map")
@click.option("-o", "--out", required=True, type=OutputFile(*TABLES), help="CSV file to write.")
@click.option("--participants", "people", type=OutputFile(*TABLES), help="CSV file to write: a row per participant.")
@FORCE
def export(say: Say, study: str, database: str | None, out: str, people: str | None) -> None:
    """Write the answers of a STUDY as a CSV file that `nearer fit` reads. Works while it is served.

    Attention checks are written too, with the columns catch and correct; "cannot tell" is left out and counted.
    """
    read, store = _opened(study, database)
    from nearer.collect.store import Export, person_table, rows_text

    found = Export(store, read)
    say.write(out, "".join(found.lines("command")))
    if people is not None:
        say.write(people, rows_text(person_table(store, read, "command"), read.person_columns))
    for reason, count in found.left_out.items():
        say.note(f"{count:,} left out: {reason}")
    values = {"output": out, "n_answers": found.n_rows, "left_out": found.left_out}
    say.done(values, f"{found.n_rows:,} answers")


@_command("nearer collect payments fruit -o payments.csv")
@click.option("-o", "--out", required=True, type=OutputFile(*TABLES), help="CSV file to write.")
@FORCE
def payments(say: Say, study: str, database: str | None, out: str) -> None:
    """Write whom to approve, to reject and to give a bonus, by the rules under [payments] in study.toml."""
    read, store = _opened(study, database)
    from collections import Counter

    from nearer.collect.store import payments as judged
    from nearer.collect.store import rows_text

    rows = judged(store, read, "command")
    say.write(out, rows_text(rows, list(rows[0]) if rows else ["participant", "action", "bonus", "reason"]))
    actions, total = Counter(row["action"] for row in rows), sum(row["bonus"] for row in rows)
    counts = ", ".join(f"{action} {count}" for action, count in actions.items()) or "nobody"
    say.done({"output": out, "actions": actions, "bonuses": total}, f"{counts}; sum of bonuses {total:g}")


@_command("nearer collect delete fruit --participant 5f3a")
@click.option("--participant", required=True, help="Id of the participant.")
def delete(say: Say, study: str, database: str | None, participant: str) -> None:
    """Delete a participant of a STUDY and all their answers, for good. Works while it is served."""
    _, store = _opened(study, database)
    count = store.delete(participant, "command")
    say.done({"participant": participant, "n_answers": count}, f"deleted {participant}: {count:,} answers")


@_command("nearer collect backup fruit -o fruit-monday.db")
@click.option("-o", "--out", required=True, type=click.Path(), help="SQLite file to write; must not exist.")
def backup(say: Say, study: str, database: str | None, out: str) -> None:
    """Copy the whole database of a STUDY as of one moment, even while it is being served."""
    _, store = _opened(study, database)
    from nearer.collect.store import back_up

    count = back_up(store, out)
    say.done({"output": out, "n_answers": count}, f"wrote {out}: {count:,} answers")


@_command("nearer collect pause fruit")
def pause(say: Say, study: str, database: str | None) -> None:
    """Hand out no more questions; open ones may still be answered. Works while the STUDY is served."""
    _switch(say, study, database, True)


@_command("nearer collect resume fruit")
def resume(say: Say, study: str, database: str | None) -> None:
    """Continue after `pause`; open pages of participants continue by themselves."""
    _switch(say, study, database, False)


@_command("nearer collect token fruit --rotate")
@click.option("--rotate", is_flag=True, help="Make a new token; the old one stops working.")
def token(say: Say, study: str, database: str | None, rotate: bool) -> None:
    """Show the token of the researcher's page of a STUDY. Works while it is served."""
    _, store = _opened(study, database)
    if rotate:
        store.rotate("command")
    found = store.token
    say.result({"token": found, "rotated": rotate}, found)


def _switch(say: Say, study: str, database: str | None, paused: bool) -> None:
    _, store = _opened(study, database)
    changed = store.set_paused(paused, "command")
    say.done({"paused": paused, "changed": changed}, f"{study}: {'paused' if paused else 'open'}")


def _opened(study: str, database: str | None, create: bool = False) -> tuple[Any, Any]:
    from nearer.collect.study import read_study

    read = read_study(study)
    try:
        from nearer.collect.store import Store
    except ImportError as error:
        raise _needs_extra(error) from error
    return read, Store(database or read.database, create)


def _needs_extra(error: ImportError) -> ImportError:
    return ImportError(f"needs the extra: pip install 'nearer[collect]' ({error})")


def _status(study: Any, store: Any) -> tuple[dict[str, Any], str]:
    """Progress of the participants, as values and as a line of text."""
    from nearer.collect.store import study_status

    found = study_status(store, study)
    funnel, minutes = found["funnel"], found["median_minutes"]
    passed, checks = (sum(person[name] for person in found["people"]) for name in ("catch_right", "catch_asked"))
    lines = [
        f"{funnel['opened']:,} participants ({funnel['finished']:,} finished, {found['present']:,} there now); "
        f"{found['answers']:,} answers ({found['per_minute'][-1]:,} in the last minute)"
        + ("; PAUSED" if found["paused"] else ""),
        ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in funnel.items()),
        f"attention checks: {passed:,} of {checks:,} passed",
    ]
    if minutes is not None:
        lines.append(f"minutes from consent to the end: {minutes:.1f} (median)")
    if found["left_after"]:
        lines.append("left after: " + ", ".join(f"{at} answers ({count})" for at, count in found["left_after"]))
    if found["unfilled"]:
        lines.append(
            "warning: people arrive with {value} as {name}: the link was not filled in".format(**found["unfilled"])
        )
    return found, "\n".join(lines)
