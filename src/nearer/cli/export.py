"""`nearer export`: write a map for R, MATLAB or NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nearer.cli import inputs, options, output
from nearer.cli.output import OutputFile, Say, speaking

if TYPE_CHECKING:
    pass


@speaking("nearer export out map.mat", "nearer export out/model.nearer map.npz")
@options.MAP
@click.argument("target", type=OutputFile(*output.POSITIONS))
@options.FORCE
def export_command(say: Say, map_path: str, target: str, force: bool) -> None:
    """Write the coordinates and labels of a MAP to TARGET.

    \b
    .csv  columns label, x1, x2, ...: R, spreadsheets
    .mat  embedding, labels: MATLAB, Octave
    .npz  embedding, labels: NumPy
    """
    from nearer.coordinates import write_embedding
    from nearer.data.messages import counted

    model = inputs.open_map(map_path)
    write_embedding(target, model.embedding_, model.labels_, force=force)
    n, d = model.embedding_.shape
    values = {"output": target, "n_objects": n, "n_components": d}
    say.done(values, f"wrote {target}: {counted(n, 'object')}, {counted(d, 'dimension')}")
