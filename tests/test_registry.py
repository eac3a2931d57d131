"""Every entry of the registry leads to its class, and no name means two things."""

from __future__ import annotations

import pytest

from nearer import losses, registry

TABLES = {name: table for name, table in vars(registry).items() if name.isupper() and isinstance(table, dict)}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_names_are_unique_and_paths_lead_somewhere(table):
    names = registry.names(table)
    assert len(set(names)) == len(names)
    for name in names:
        entry = registry.find(table, name)
        assert entry.help
        if entry.path:
            assert callable(entry.load())


def test_every_built_in_loss_is_public():
    assert {entry.load().__name__ for entry in registry.LOSSES.values()} <= set(losses.__all__)


def test_what_is_no_name_is_not_found():
    assert registry.find(registry.LOSSES, "tsne") is registry.find(registry.LOSSES, 3) is None


def test_formats_have_endings_of_their_own():
    endings = [ending for entry in registry.FORMATS.values() for ending in entry.endings]
    assert len(set(endings)) == len(endings)
    assert set(registry.WRITTEN) <= set(endings)
