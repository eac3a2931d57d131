"""`nearer plan`: how many answers a study needs, before it."""

from __future__ import annotations

from typing import Any

import click

from nearer import registry
from nearer.cli import options
from nearer.cli.output import Say, command


@command("nearer plan 40", "nearer plan 60 -d 3 --wrong 0.2 --target 0.85 --plot plan.png")
@click.argument("n_objects", type=click.IntRange(4))
@options.N_COMPONENTS
@click.option("--wrong", default=0.15, help="Fraction of answers that contradict the true distances.")
@click.option("--target", default=0.9, help="Fraction of all questions that the map should predict correctly.")
@options.entry("--strategy", registry.STRATEGIES, "How questions are chosen.", default="random")
@options.ASK
@click.option("--n-runs", type=click.IntRange(2), default=5, help="Number of simulated studies.")
@options.N_JOBS
@options.PICTURE
@options.RANDOM_STATE
@options.FORCE
def plan_command(say: Say, n_objects: int, ask: str, picture: str | None, **simulated: Any) -> None:
    """Estimate how many answers a map of N_OBJECTS objects needs, before anything is asked.

    Studies are simulated: points at random, people who get close calls wrong, and maps fitted to more and
    more answers until they reach the target accuracy.
    """
    from nearer.questions import plan_study

    say.note(f"simulating {simulated['n_runs']} studies of {n_objects:,} objects")
    with say.compiling():
        found = plan_study(n_objects, kind=ask, **simulated)
    if picture is not None:
        from nearer.plots import plot_learning_curve

        say.picture(plot_learning_curve(found, ceiling=simulated["target"]), picture)
    table = found.to_dict()
    lines = [f"{'answers':>8}  {'right':>6}  from    to"]
    lines += [f"{n:>8,}  {mean:>6.1%}  {low:.0%}  {high:>4.0%}" for n, mean, low, high in zip(*table.values())]
    values = {"table": table, "needed": found.needed, "range": list(found.range), "sentence": str(found)}
    say.result(values | {"random_state": simulated["random_state"]}, "\n".join([*lines, "", str(found)]))
