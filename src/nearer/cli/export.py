"""`nearer export`: write a map for R, MATLAB or NumPy."""

from __future__ import annotations

import click

from nearer import registry
from nearer.cli import inputs, options
from nearer.cli.output import OutputFile, Say, command


@command("nearer export out -o map.mat", "nearer export out/model.nearer -o map.npz")
@options.MAP
@click.option("-o", "--out", required=True, type=OutputFile(*registry.POSITIONS), help="File of coordinates to write.")
@options.FORCE
def export_command(say: Say, map_path: str, out: str) -> None:
    """Write the coordinates and labels of a MAP to a file.

    \b
    .csv  columns label, x1, x2, ...: R, spreadsheets
    .mat  embedding, labels: MATLAB, Octave
    .npz  embedding, labels: NumPy
    """
    from nearer.coordinates import write_embedding

    model = inputs.open_map(map_path)
    write_embedding(out, model.embedding_, model.labels_, force=say.force)
    n, d = model.embedding_.shape
    values = {"output": out, "n_objects": n, "n_components": d}
    say.done(values, f"wrote {out}: {n:,} objects, {d} dimensions")
