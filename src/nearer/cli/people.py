"""`nearer people`: show how each person answered; exclude by rules."""

from __future__ import annotations

from typing import Any

import click

from nearer import registry
from nearer.cli import inputs, options
from nearer.cli.output import TABLES, OutputFile, Say, command, csv_text


@command("nearer people answers.csv", "nearer people answers.csv --rules rules.toml -o kept.csv")
@click.argument("file", type=click.Path())
@options.N_COMPONENTS
@click.option("--rules", type=click.Path(), help="TOML file of exclusion rules; by default nobody is excluded.")
@click.option("-o", "--out", type=OutputFile(*registry.WRITTEN), help="Write the answers of those who are kept.")
@click.option("--table", type=OutputFile(*TABLES), help="Write the table of all people as CSV.")
@click.option("--cv", type=click.IntRange(2), default=10, help="Folds; each map is made without the people of one.")
@click.option("--differ", "differ_too", is_flag=True, help="Also test whether people see the objects differently.")
@options.FORCE
@options.FITTING
@inputs.READING
def people_command(
    say: Say, file: str, n_components: int, rules: str | None, out: str | None, table: str | None, cv: int,
    differ_too: bool, **given: Any,
) -> None:  # fmt: skip
    """Show how each person answered in FILE: speed, side, repeats, attention checks, agreement with the others.

    Each person is compared with a map made without their answers; the share of guesses comes with its 95 % interval.

    \b
    rules.toml holds rules set beforehand, any of:
      min_answers = 30
      min_seconds = 0.5
      max_same_side = 0.9
      catch_passed = 0.8
      better_than_chance = true
    """
    if rules is None:
        options.refuse_given(["out"], "got no --rules, without which nobody is excluded")
    estimator = options.make_estimator(given, n_components)
    from nearer.io import write_comparisons
    from nearer.people import ExclusionRules, differ, exclude, participants

    asked = None if rules is None else ExclusionRules.read(rules)
    result = inputs.read_answers(say, file, given)
    with say.compiling():
        how = {name: given[name] for name in ("random_state", "n_jobs")}
        found = participants(result.comparisons, estimator, n_folds=cv, **how)
    values: dict[str, Any] = {"input": result.facts(), "people": found.table(), "in_order": found.in_order}
    texts = [str(found)]
    if asked is not None:
        kept, exclusions = exclude(result.comparisons, asked, found)
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
