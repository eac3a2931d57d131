"""`nearer methods`: write how a map was made, for a paper."""

from __future__ import annotations

from dataclasses import replace

import click

from nearer.cli import inputs, options
from nearer.cli.output import Say, command


@command("nearer methods out", "nearer methods out/model.nearer --bibtex > references.bib")
@options.MAP
@click.option("--bibtex", is_flag=True, help="Print the references as BibTeX instead.")
def methods_command(say: Say, map_path: str, bibtex: bool) -> None:
    """Write how a MAP was made, for the methods section of a paper.

    MAP is a folder that `nearer fit` wrote, or its model file. What was found out with it (cross-validation,
    dimensions, regions) is taken from the folder's summary.json.
    """
    from nearer.reports.methods import bibliography, methods_paragraph, references
    from nearer.selection import evaluate
    from nearer.selection.evaluate import figures_of

    model = inputs.open_map(map_path, needs="result_")
    earlier = inputs.read_summary(map_path, model)
    found = replace(evaluate(model, cv=0, bootstrap=0, people=False), **figures_of(earlier))
    paragraph = methods_paragraph(model, found, earlier)
    cited, entries = references(model.loss_.name), bibliography(model.loss_.name)
    text = entries if bibtex else "\n\n".join([paragraph, "References", *cited])
    say.result({"paragraph": paragraph, "references": cited, "bibtex": entries}, text)
