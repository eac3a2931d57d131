"""`nearer export`: write a map for R, MATLAB or NumPy."""

from __future__ import annotations

import click

from nearer import registry
from nearer.cli import inputs, options
from nearer.cli.output import OutputFile, Say, command


@command("nearer export out map.mat", "nearer export out/model.nearer map.npz")
@options.MAP
@click.argument("target", type=OutputFile(*registry.POSITIONS))
@options.FORCE
def export_command(say: Say, map_path: str, target: str) -> None:
    """Write the coordinates and labels of a MAP to TARGET.

    \b
    .csv  columns label, x1, x2, ...: R, spreadsheets
    .mat  embedding, labels: MATLAB, Octave
    .npz  embedding, labels: NumPy
    """
    from nearer.coordinates import write_embedding

    model = inputs.open_map(map_path)
    write_embedding(target, model.embedding_, model.labels_, force=say.force)
    n, d = model.embedding_.shape
    values = {"output": target, "n_objects": n, "n_components": d}
    say.done(values, f"wrote {target}: {n:,} objects, {d} dimensions")
