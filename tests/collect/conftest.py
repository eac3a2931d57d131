"""Studies that are served, and stopped at the end."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # for the benchmarks

pytest.importorskip("starlette")
pytest.importorskip("sqlalchemy")

from browsing import Participant
from serving import Served, make_study

from browser import start_browser


@pytest.fixture
def serve(tmp_path):
    """``serve(number=10, ...)``: a server of a study of eight words, or of a given study; stopped at the end."""
    with contextlib.ExitStack() as running:

        def start(study=None, database=None, port=0, **changes):
            number = len(list(tmp_path.glob("study*.txt")))
            server = Served(study or make_study(tmp_path / f"study{number}", **changes), database, port)
            running.callback(server.stop)
            return server

        yield start


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """One Chromium for all tests."""
    driver = start_browser(tmp_path_factory.mktemp("browser") / "profile")
    yield driver
    driver.quit()


@pytest.fixture
def person(browser):
    """A participant whose browser has no memory."""
    found = Participant(browser)
    found.offline(False)
    found.size(1280)
    found.hurry(10)
    yield found
    found.hurry(1)


@pytest.fixture(scope="session")
def postgres():
    """A private PostgreSQL, or a skip (a failure where one is required)."""
    from benchmarks.postgres import PrivatePostgres, find_postgres

    if find_postgres() is None:
        message = "PostgreSQL is not installed"
        if os.environ.get("NEARER_REQUIRE_POSTGRES") == "1":
            pytest.fail(f"{message}, and NEARER_REQUIRE_POSTGRES is 1")
        pytest.skip(message)
    cluster = PrivatePostgres(("fsync=off",))  # nobody cuts the power of a test
    yield cluster
    cluster.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request):
    """None for the file of the study, or the address of a database of PostgreSQL."""
    if request.param == "sqlite":
        return None
    return request.getfixturevalue("postgres").fresh(f"study{time.monotonic_ns()}")
