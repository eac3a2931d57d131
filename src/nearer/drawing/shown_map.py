"""`ShownMap`: a fitted model displays its map in a notebook, and plots it."""

from __future__ import annotations

import html
from typing import Any

import numpy as np

from nearer.drawing.map_page import make_page, map_data

_MOST_OBJECTS = 5_000  # drawn in a notebook, whose file keeps every output


class ShownMap:
    """Mixin for estimators with `embedding_` and `labels_`: display in notebooks, and `plot`."""

    def plot(self, **options: Any) -> Any:
        """Draw the map with matplotlib and return the Axes; options are those of `nearer.plots.plot_map`."""
        from nearer.plots import plot_map

        return plot_map(self, **options)

    def _repr_mimebundle_(self, **given: Any) -> dict[str, Any]:
        bundle = super()._repr_mimebundle_(**given)  # type: ignore[misc]
        return bundle | {"text/html": map_html(self)} if hasattr(self, "embedding_") else bundle


def map_html(model: Any) -> str:
    """Sentences on a fitted model, and its map in a separate frame, where no other output can interfere."""
    lines = [html.escape(line) for line in _sentences(model)]
    shown = "<br>".join([f"<code>{html.escape(repr(model))}</code>", *lines])
    if len(model.embedding_) > _MOST_OBJECTS:
        return f"<div>{shown}</div>"
    page = make_page("", map_data(model.embedding_, model.labels_), {})
    frame = (
        f'<iframe srcdoc="{html.escape(page)}" title="Map" sandbox="allow-scripts" '
        'style="width: 100%; height: 560px; border: 0"></iframe>'
    )
    return f"<div>{shown}</div>{frame}"


def _sentences(model: Any) -> list[str]:
    n_objects, n_components = model.embedding_.shape
    answers = getattr(getattr(model, "group_", model), "comparisons_", None)
    found = [f"A map of {n_objects:,} objects in {n_components} dimension{'s' * (n_components > 1)}"]
    if answers is not None:
        people = "" if answers.people is None else f" by {len(answers.people.names):,} participants"
        found[0] += f", fitted to {answers!r}{people}"
    found[0] += "."
    if answers is getattr(model, "comparisons_", 0):
        accuracy = f"{100 * model.score(answers):.1f} % of these comparisons"
        found.append(f"It satisfies {accuracy}; nearer.selection.evaluate measures how well it predicts new ones.")
    if hasattr(model, "result_") and not model.result_.converged:
        found.append(f"The fit has not converged: {model.result_.message}.")
    unplaced = int((~np.isfinite(model.embedding_).all(axis=1)).sum())
    if unplaced:
        found.append(f"{unplaced:,} of the objects have no position.")
    if n_objects > _MOST_OBJECTS:
        found.append(f"It has more than {_MOST_OBJECTS:,} objects, so it is not drawn here; plot() draws it.")
    return found
