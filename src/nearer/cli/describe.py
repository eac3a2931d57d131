"""`nearer describe`: write a layout file: what the columns of a file mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from nearer.cli import inputs, options
from nearer.cli.output import Say, command


@command(
    "nearer describe answers.csv",
    "nearer describe answers.csv -o                     (writes answers.layout.toml)",
    "nearer describe keys.csv --columns anchor=ref,a=l,b=r,answer=key --answers f=a,j=b -o",
)
@click.argument("file", type=click.Path())
@click.option("-o", "--out", "write", is_flag=True, help="Write it next to FILE, where every command finds it.")
@options.FORCE
@inputs.READING
def describe_command(say: Say, file: str, write: bool, **reading: Any) -> None:
    """Print a layout file to complete: it says in TOML what the columns of FILE mean.

    Every column is listed with its first cells; what is understood is filled in, and the rest is blank.
    """
    from nearer.io.files import refuse_unwritable
    from nearer.io.read import layout_path
    from nearer.tables.describe import describe

    target = layout_path(file)
    if write and not Path(file).is_file():
        raise click.UsageError(f"-o: got {file}, expected one file to write a layout next to; or see --layout")
    if write:
        refuse_unwritable(target, say.force)
    table, layouts, used = inputs.open_answers(file, reading)
    if len(layouts) > 1:
        raise ValueError(f"{used}: holds {len(layouts)} layouts, expected one to complete")
    text = describe(table, layouts[0])
    if write:
        say.write(str(target), text)
        say.note("complete it, then run the command again")
    say.result({"layout": text, "output": str(target) if write else None}, None if write else text.rstrip())
