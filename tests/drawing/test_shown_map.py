"""A fitted model in a notebook: its map, its accuracy, what it was fitted to, run and looked at as users do."""

from __future__ import annotations

import html
import re

import numpy as np
import pytest

from browser import Window, start_browser
from nearer import Comparisons, IndividualEmbedding, OrdinalEmbedding

CELLS = (
    """
import logging, numpy as np
from nearer import Comparisons, OrdinalEmbedding
points = np.random.default_rng(0).normal(size=(12, 2))
names = ["</script>", "<b>", "{{data}}", '"', *"efghijkl"]
answers = Comparisons.from_points(points, 300, random_state=1, labels=names)
flat = OrdinalEmbedding(2, random_state=0).fit(answers)
flat
""",
    "OrdinalEmbedding(3, random_state=0).fit(answers)",
    "flat.plot()",
    "answers.to_frame()",
    "OrdinalEmbedding(2)",
)


def shown(model):
    return model._repr_mimebundle_().get("text/html", "")


def text_of(page):
    return html.unescape(re.sub("<[^>]+>", "", page.partition("<iframe")[0]))


@pytest.fixture(scope="module")
def answers():
    points = np.random.default_rng(0).normal(size=(8, 2))
    people = np.tile(["p", "q"], 100)
    return Comparisons.from_points(points, 200, random_state=1, noise=0.1).replaced(weights=None).index, people


def test_what_is_said_of_a_fitted_model(answers):
    index, people = answers
    model = OrdinalEmbedding(2, random_state=0)
    assert "<iframe" not in shown(model)  # as scikit-learn shows it
    model.fit(Comparisons(index, 9, participants=people))
    text = text_of(shown(model))
    for part in (
        repr(model), "9 objects in 2 dimensions", "200 triplets over 9 objects by 2 participants",
        f"{100 * model.score(index):.1f} % of these comparisons", "1 of the objects have no position",
    ):  # fmt: skip
        assert part in text
    known = OrdinalEmbedding.from_embedding(np.zeros((6000, 1)))
    assert "<iframe" not in shown(known)
    assert "fitted to" not in text_of(shown(known))
    assert "6,000 objects in 1 dimension" in text_of(shown(known))


def test_an_individual_map_is_shown_and_drawn(answers):
    index, people = answers
    model = IndividualEmbedding(2, spread=0.0, reliability=False, random_state=0)
    model.fit(Comparisons(index, participants=people))
    assert "fitted to 200 triplets" in text_of(shown(model))
    np.testing.assert_array_equal(model.plot().get_lines()[0].get_xydata(), model.embedding_)


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    """A notebook that was run, saved and read again: the output of each cell."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    path = tmp_path_factory.mktemp("notebook") / "maps.ipynb"
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    nbclient.NotebookClient(book, timeout=300, kernel_name="python3").execute()
    nbformat.write(book, path)
    cells = nbformat.read(path, 4).cells
    return [next(out.data for out in cell.outputs if "data" in out) for cell in cells], path.parent


@pytest.mark.slow
@pytest.mark.browser
def test_maps_of_a_saved_notebook_are_drawn_offline_side_by_side(notebook):
    outputs, folder = notebook
    flat, space, picture, table, unfitted = outputs
    assert "image/png" in picture
    assert "anchor" in table["text/html"]
    assert "<iframe" not in unfitted["text/html"]
    page = folder / "page.html"
    page.write_text("<!DOCTYPE html><meta charset=utf-8>" + flat["text/html"] + space["text/html"], encoding="utf-8")
    driver = start_browser(folder / "profile")
    window = Window(driver)
    try:
        window.size(900, 1400)
        driver.get("about:blank")
        window.complaints(), window.requests()
        driver.get(page.as_uri())
        frames = driver.find_elements("tag name", "iframe")
        assert len(frames) == 2
        for frame, turned in zip(frames, (False, True)):
            driver.switch_to.frame(frame)
            window.wait("document.getElementById('canvas').nearer.state().visible === 12")
            assert (window.js("return document.getElementById('canvas').nearer.state().turn[0]") != 1) == turned
            assert window.js("return document.documentElement.scrollHeight <= innerHeight")
            window.js("document.getElementById('canvas').focus()")
            driver.find_element("id", "canvas").send_keys("n")
            window.wait("document.querySelector('#tip strong').textContent === '</script>'")
            driver.switch_to.default_content()
        assert window.complaints() == []
        assert all(url.startswith(("file://", "about:", "data:", "chrome:")) for url in window.requests())
    finally:
        driver.quit()
