"""`nearer people`: show how each person answered; exclude by rules."""

from __future__ import annotations

from typing import Any

import click

from nearer import registry
from nearer.cli import inputs, options
from nearer.cli.output import TABLES, OutputFile, Say, command


@command("nearer people answers.csv", "nearer people answers.csv --rules rules.toml -o kept.csv")
@click.argument("file", type=click.Path())
@options.N_COMPONENTS
@click.option("--rules", type=click.Path(), help="TOML file of exclusion rules; by default nobody is excluded.")
@click.option("--preregistered", is_flag=True, help="Say in reports that the rules were set in advance.")
@click.option("-o", "--out", type=OutputFile(*registry.WRITTEN), help="Write the answers of those who are kept.")
@click.option("--table", type=OutputFile(*TABLES), help="Write all people as CSV; with --rules, also what each broke.")
@click.option("--cv", type=click.IntRange(2), default=10, help="Folds; each map is made without the people of one.")
@click.option("--differ", "differ_too", is_flag=True, help="Also test whether people see the objects differently.")
@click.option(
    "--groups",
    nargs=2,
    type=str,
    metavar="FILE COLUMN",
    help="With --differ: test groups of people, by a column of a table that also has a column of participants.",
)
@options.FORCE
@options.FITTING
@inputs.READING
def people_command(
    say: Say, file: str, n_components: int, rules: str | None, preregistered: bool, out: str | None,
    table: str | None, cv: int, differ_too: bool, groups: tuple[str, str] | None, **given: Any,
) -> None:  # fmt: skip
    """Show how each person answered in FILE: speed, side, repeats, attention checks, agreement with the others.

    Each person is compared with a map made without their answers, by default with the loss tste; the share of guesses
    comes with its 95 % interval.

    \b
    rules.toml holds rules of exclusion, any of:
      min_answers = 30
      min_seconds = 0.5
      max_same_side = 0.9
      catch_passed = 0.8
      better_than_chance = true
    """
    if rules is None:
        options.refuse_given(["out", "preregistered"], "got no --rules, without which nobody is excluded")
    if groups and not differ_too:
        raise click.UsageError("--groups: got no --differ, which compares them")
    known = _groups(*groups) if groups else None
    if not options.were_given(["loss"]):
        given["loss"] = "tste"  # as in reports: a person has the same figures whatever the map is
    estimator = options.make_estimator(given, n_components)
    import numpy as np

    from nearer.data.messages import counted
    from nearer.io import write_comparisons
    from nearer.io.text import csv_text
    from nearer.people import ExclusionRules, differ, exclude, participants
    from nearer.people.participants import shown_cells
    from nearer.reports import sentences

    asked = None if rules is None else ExclusionRules.read(rules)
    result = inputs.read_answers(say, file, given)
    with say.compiling():
        how = {name: given[name] for name in ("random_state", "n_jobs")}
        found = participants(result.comparisons, estimator, n_folds=cv, **how)
    shown = found.table()
    columns: dict[str, Any] = shown | {"participant": found.participant.astype(str).tolist()}
    values: dict[str, Any] = {"input": result.facts(), "people": shown, "in_order": found.in_order}
    said = "\n".join(sentences.people_sentences(shown, asked))
    texts = [said, str(found), sentences.people_legend(shown_cells(shown))]
    if asked is not None:
        kept, exclusions = exclude(result.comparisons, asked, found, preregistered)
        values["exclusions"] = vars(exclusions) | {"paragraph": str(exclusions)}
        texts.append(str(exclusions))
        broke = exclusions.reasons.items()
        columns["excluded"] = ["; ".join(words for words, who in broke if name in who) for name in shown["participant"]]
        if out is not None:
            write_comparisons(out, kept, force=say.force)
            say.note(f"wrote {out}: {kept!r}")
    if differ_too:
        compared = result.comparisons
        if known is not None and (person := compared.answers.participant) is not None:
            grouped = np.isin(person.names.astype(str), list(known))
            compared = compared.of_answers(grouped[person.codes])
            if not grouped.all():
                say.note(f"{counted(int((~grouped).sum()), 'participant')} without a group left out of the test")
        tested = differ(estimator, compared, known, random_state=given["random_state"])
        values["difference"] = vars(tested)
        texts.append(str(tested))
    if table is not None:
        say.write(table, csv_text(columns))
    say.result(values, "\n\n".join(texts))


def _groups(file: str, column: str) -> dict[str, str]:
    """The group of each participant, by two columns of a table; an empty cell is no group."""
    from nearer.data.messages import listed
    from nearer.io.objects import read_cells

    cells = read_cells(file)
    names = cells.rows[0]
    for name in ("participant", column):
        if names.count(name) != 1:
            raise click.UsageError(f"--groups: got the columns {listed(names, 40)} of {file}, expected {name!r} once")
    who, group = names.index("participant"), names.index(column)
    return {row[who].strip(): row[group].strip() for row in cells.rows[1:] if row[group].strip()}
