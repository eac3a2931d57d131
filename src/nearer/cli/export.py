"""`nearer export`: a map for other programs."""

from __future__ import annotations

import click

from nearer.cli._inputs import open_map
from nearer.cli._options import FORCE, MAP
from nearer.cli._output import POSITIONS, OutputFile
from nearer.cli._say import Say, speaking


@speaking(
    "nearer export out map.mat",
    "nearer export out/model.nearer map.npz",
)
@MAP
@click.argument("target", type=OutputFile(*POSITIONS))
@FORCE
def command(say: Say, map_path: str, target: str, force: bool) -> None:
    """Write the coordinates and labels of a MAP to TARGET.

    \b
    .csv  columns label, x1, x2, ...: R, spreadsheets
    .mat  embedding, labels: MATLAB, Octave
    .npz  embedding, labels: NumPy
    """
    from nearer.data.errors import counted
    from nearer.io import write_embedding

    model = open_map(map_path)
    write_embedding(target, model.embedding_, model.labels_, force=force)
    objects = counted(model.n_objects_, "object")
    dimensions = counted(model.embedding_.shape[1], "dimension")
    values = {"output": target, "n_objects": model.n_objects_, "n_components": model.embedding_.shape[1]}
    say.done(values, f"wrote {target}: {objects}, {dimensions}")
