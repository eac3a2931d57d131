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
@click.option("--table", type=OutputFile(*TABLES), help="Write the table of all people as CSV.")
@click.option("--cv", type=click.IntRange(2), default=10, help="Folds; each map is made without the people of one.")
@click.option("--differ", "differ_too", is_flag=True, help="Also test whether people see the objects differently.")
@options.FORCE
@options.FITTING
@inputs.READING
def people_command(
    say: Say, file: str, n_components: int, rules: str | None, preregistered: bool, out: str | None,
    table: str | None, cv: int, differ_too: bool, **given: Any,
) -> None:  # fmt: skip
    """Show how each person answered in FILE: speed, side, repeats, attention checks, agreement with the others.

    Each person is compared with a map made without their answers; the share of guesses comes with its 95 % interval.

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
    estimator = options.make_estimator(given, n_components)
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
    values: dict[str, Any] = {"input": result.facts(), "people": shown, "in_order": found.in_order}
    texts = ["\n".join(sentences.people_sentences(shown)), str(found), sentences.people_legend(shown_cells(shown))]
    if asked is not None:
        kept, exclusions = exclude(result.comparisons, asked, found, preregistered)
        values["exclusions"] = vars(exclusions) | {"paragraph": str(exclusions)}
        texts.append(str(exclusions))
        if out is not None:
            write_comparisons(out, kept, force=say.force)
            say.note(f"wrote {out}: {kept!r}")
    if differ_too:
        tested = differ(estimator, result.comparisons, random_state=given["random_state"])
        values["difference"] = vars(tested)
        texts.append(str(tested))
    if table is not None:
        columns = found.table() | {"participant": found.participant.astype(str).tolist()}
        say.write(table, csv_text(columns))
    say.result(values, "\n\n".join(texts))
