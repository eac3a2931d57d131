"""`nearer methods`: a paragraph for a paper, with the figures filled in."""

from __future__ import annotations

import click

from nearer.cli._inputs import open_map, read_summary
from nearer.cli._options import MAP
from nearer.cli._say import Say, speaking


@speaking(
    "nearer methods out",
    "nearer methods out/model.nearer --bibtex > references.bib",
)
@MAP
@click.option("--bibtex", is_flag=True, help="Print the references as BibTeX instead.")
def command(say: Say, map_path: str, bibtex: bool) -> None:
    """Write how a MAP was made, for the methods section of a paper.

    MAP is a folder that `nearer fit` wrote, or its model file. What was found out with it (cross-validation,
    dimensions, regions) is taken from the folder's summary.json.
    """
    from nearer.reporting.methods import bibliography, methods_paragraph, references, told_of

    model = open_map(map_path)
    if not hasattr(model, "loss_"):
        raise ValueError(f"{map_path}: got coordinates alone, expected the folder or model that nearer fit wrote")
    figures = told_of(model, read_summary(map_path, model))
    paragraph = methods_paragraph(figures)
    cited = references(figures)
    text = bibliography(figures) if bibtex else "\n\n".join([paragraph, "References", *cited])
    say.result({"paragraph": paragraph, "references": cited, "bibtex": bibliography(figures)}, text)
