"""Text, groups and names as plots and report show them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearer.display import clean_text, group_codes, merge_small_groups, natural_key, shorten


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb", "a↵b"), ("a\r\nb", "a↵b"), ("a\u2028b", "a↵b"), ("a\tb", "a→b"), ("a\x00b\x1b", "a\ufffdb\ufffd"),
        ("\ud800", "\ufffd"), ("\u202eevil", "\ufffdevil"), ("👩‍👩‍👧 שלום", "👩‍👩‍👧 שלום"), (7, "7"),
    ],
)  # fmt: skip
def test_clean_text(text, shown):
    assert clean_text(text) == shown


@given(st.text("ab ", max_size=40), st.integers(6, 12))
def test_long_names_lose_their_middle(name, limit):
    cut = shorten(name, limit)
    assert len(cut) <= limit
    if len(name) <= limit:
        assert cut == name
    else:
        head, tail = cut.split("…")
        assert name.startswith(head)
        assert name.endswith(tail)
    assert shorten("stimulus_0001.png", 9) == "stim….png"


def test_groups_that_cannot_be_told_apart_are_one():
    codes, names = group_codes([*"aabbcd", None], 7)
    merged, shown, other = merge_small_groups(codes, names, 3)
    assert shown == ["a", "b", "other (2 groups)"]
    assert merged.tolist() == [0, 0, 1, 1, 2, 2, -1]
    assert other == 2
    assert merge_small_groups(codes, names, 4)[1:] == (names, None)


def test_natural_order():
    assert sorted(["g10", "g2", "G1", "a"], key=natural_key) == ["a", "G1", "g2", "g10"]
    assert sorted(["10", "9", "x"], key=natural_key) == ["9", "10", "x"]


def test_group_codes():
    codes, names = group_codes(["b10", "b9", None, float("nan"), "", "b9"], 6)
    assert names == ["b9", "b10"]
    assert codes.tolist() == [1, 0, -1, -1, -1, 0]
