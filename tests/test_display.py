"""Text, groups and names as plots and report show them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearer.display import clean_text, group_codes, merge_small_groups, natural_key, shorten, shorten_apart


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb", "a↵b"),
        ("a\r\nb", "a↵b"),
        ("a\u2028b", "a↵b"),
        ("a\tb", "a→b"),
        ("a\x00b\x1b", "a\ufffdb\ufffd"),
        ("\ud800", "\ufffd"),
        ("\u202eevil", "\ufffdevil"),
        ("👩‍👩‍👧 שלום", "👩‍👩‍👧 שלום"),
        (7, "7"),
    ],
)
def test_clean_text(text, shown):
    assert clean_text(text) == shown


def test_long_names_are_cut_where_they_differ():
    common = "the same long beginning of a name, "
    names = ["short", common + "first of all", common + "second of all", "x" * 30, common + "first of none"]
    cut = shorten_apart(names, 24)
    assert cut[0] == "short"
    assert cut[1] == "the same…all"
    assert cut[2] == "the same…second of all"
    assert cut[3] == "x" * 23 + "…"
    assert cut[4] == "the same…none"
    assert shorten_apart([], 24) == []
    # Names that are the same stay the same.
    assert shorten_apart(["y" * 30, "y" * 30], 24) == ["y" * 23 + "…"] * 2


@given(st.lists(st.text("ab ", min_size=0, max_size=40), max_size=12))
def test_cut_names_are_short_and_tell_apart_what_they_can(names):
    cut = shorten_apart(names, 12)
    assert all(len(text) <= 12 for text in cut)
    assert all(text == name for text, name in zip(cut, names) if len(name) <= 12)
    heads = [shorten(name, 12) for name in names]
    assert len(set(cut)) >= len(set(heads))


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
