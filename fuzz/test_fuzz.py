"""A few thousand cases of `make fuzz`, the same ones every time, and the small files that once broke a reader."""

from __future__ import annotations

import logging
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz import run, targets
from nearer import Comparisons

pytestmark = pytest.mark.tools

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.complex_numbers(),
)
NESTED = st.recursive(
    ODD | st.integers(0, 5), lambda inner: st.lists(inner, max_size=4) | st.tuples(inner), max_leaves=20
)


@pytest.fixture(autouse=True)
def quiet():
    logging.disable(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    logging.disable(logging.NOTSET)


@pytest.fixture(scope="module")
def files():
    made = targets.Files()
    yield made
    made.close()


@pytest.mark.parametrize("block", range(4))
def test_random_calls_end_well_or_by_a_documented_error(block):
    for seed in range(500 * block, 500 * (block + 1)):
        targets.call_api(np.random.default_rng(seed))


@pytest.mark.parametrize("block", range(4))
def test_damaged_files_are_read_or_refused(files, block):
    for seed in range(500 * block, 500 * (block + 1)):
        files(np.random.default_rng(seed))


def test_pages_of_hostile_texts_hold_nothing_of_theirs_but_text():
    for seed in range(60):
        targets.make_page(np.random.default_rng(seed))


@pytest.mark.parametrize("path", sorted(targets.CORPUS.iterdir()), ids=lambda path: path.name)
def test_files_that_once_broke_a_reader(path, tmp_path):
    targets.read_file(path.name, path.read_bytes(), tmp_path)


@settings(max_examples=500, deadline=None)
@given(NESTED)
def test_whatever_is_given_as_comparisons(value):
    try:
        Comparisons(value)
    except ValueError as error:
        assert str(error)  # noqa: PT017


def test_the_machinery_notices_errors_crashes_and_hangs(tmp_path, monkeypatch):
    """The guard broken on purpose: each is reported once with its seed, also where it is the first of a process."""
    broken = tmp_path / "fuzz"
    broken.mkdir()
    (broken / "__init__.py").write_text("")
    (broken / "run.py").write_text(run.__loader__.get_source("fuzz.run").replace("SECONDS = 10", "SECONDS = 0.2"))
    (broken / "targets.py").write_text(
        "import os, time\n"
        "import numpy as np\n"
        "draws = [np.random.default_rng(seed).random() for seed in range(7)]\n"
        "def case(rng):\n"
        "    seed = draws.index(rng.random())\n"
        "    if seed == 2: raise KeyError(seed)\n"
        "    if seed == 3: os.abort()\n"
        "    if seed == 4: time.sleep(30)\n"
        "    if seed == 5:\n"
        "        while True: pass\n"
        "def case_of(target): return case\n"
    )
    monkeypatch.setattr(run, "HERE", broken)
    done, _, findings = run.fuzz("api", 1, first=0, last=7)
    assert [(finding["seed"], finding["at"].split(":")[0]) for finding in findings] == [
        (2, "targets.py"), (3, "crash or hang"), (4, "crash or hang"), (5, "crash or hang"),
    ]  # fmt: skip
    assert done == 7
