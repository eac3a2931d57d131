"""The contract of the border: a table means the same in every carrier, or is refused in the same words."""

from __future__ import annotations

import re

import pytest
from carriers import CARRIERS, Sheet, on_cluster
from hypothesis import HealthCheck, Phase, given, settings
from tables import FAULTS, KINDS, TOLD_FAULTS, cases, refused

import nearer.io.blocks

_CALM = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]
_ASKED = "can be read in two ways"  # numbers that may be objects as well as positions


def examples(count):
    """Settings: few examples, the same ones each time."""
    # A failing table is small already; making it smaller would take minutes.
    return settings(
        max_examples=count, deadline=None, derandomize=True, database=None, suppress_health_check=_CALM,
        phases=[Phase.generate],
    )  # fmt: skip


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(nearer.io.blocks, "_SCAN_ROWS", 2)


def in_blocks(text):
    """A refusal as far as it does not depend on how much of the table a reader saw."""
    text = re.sub(r"; \d+ rows in all:[^;]*|; \d+ such cells in this column| \(\d+ such rows(?: of \d+)?\)", "", text)
    # A cluster does not read its data again to find the first of such answers.
    text = re.sub(r"'[^']*' is none of the objects shown in that row( \(\d+ such row of \d+\))?", "not shown", text)
    text = re.sub(r"\d+ answers? of \d+ name none of the objects shown", "not shown", text)
    text = re.sub(r"\n {14}[^\n]*", "", text)  # of the first rows only the very first may be in the first block
    return re.sub(r"T(, row -?\d+| is)", "T", text)


def agree(sheet, folder, meant=None):
    """Every carrier gives what is meant, or what the first one gives."""
    first = next(iter(CARRIERS.values()))(sheet, folder) if meant is None else meant
    for name, carry in CARRIERS.items():
        found = carry(sheet, folder)
        if _ASKED in found.refusal and not first.refusal:
            first = found
        if name == "stream":
            assert in_blocks(found.refusal) == in_blocks(first.refusal), name
        else:
            assert found.refusal == first.refusal, name
        assert found.refusal or found.agrees(first), (name, found, first)
    return first


@pytest.mark.parametrize("kind", KINDS)
def test_every_carrier_says_what_was_written(kind, tmp_path):
    @examples(10)
    @given(case=cases(kinds=(kind,)))
    def check(case):
        agree(case.sheet, tmp_path, case.meant)

    check()


@pytest.mark.parametrize("fault", FAULTS)
def test_every_carrier_refuses_in_the_same_words(fault, tmp_path):
    @examples(5)
    @given(sheet=refused(fault))
    def check(sheet):
        assert agree(sheet, tmp_path).refusal

    check()


def test_a_header_repeated_in_mid_table_is_left_out_by_every_carrier(tmp_path):
    @examples(6)
    @given(case=cases(told=False))
    def check(case):
        rows = [[None if cell is None else f"{cell:g}" if isinstance(cell, float) else str(cell) for cell in row]
                for row in case.sheet.rows]  # fmt: skip
        rows.insert(2, case.sheet.names)
        plain = agree(case.sheet, tmp_path)
        doubled = agree(Sheet(case.sheet.names, rows), tmp_path)
        assert doubled.refusal == plain.refusal
        if not plain.refusal:
            assert (doubled.said, doubled.weights, doubled.participants) == (
                plain.said,
                plain.weights,
                plain.participants,
            )
            assert dict(doubled.dropped) == dict(plain.dropped) | {"header repeated": 1}

    check()


def test_a_dask_frame_and_parquet_on_a_cluster_say_what_was_written(client, tmp_path):
    @examples(12)
    @given(case=cases(told=False))
    def check(case):
        for frame in (True, False):
            found = on_cluster(case.sheet, tmp_path, client, frame)
            assert _ASKED in found.refusal or found.agrees(case.meant), (frame, found, case.meant)

    check()


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault not in TOLD_FAULTS])
def test_a_cluster_refuses_in_the_same_words(fault, client, tmp_path):
    @examples(2)
    @given(sheet=refused(fault))
    def check(sheet):
        meant = CARRIERS["dict"](sheet, tmp_path)
        for frame in (True, False):
            found = on_cluster(sheet, tmp_path, client, frame)
            assert in_blocks(found.refusal) == in_blocks(meant.refusal), frame

    check()
