"""Folders and files that appear whole or not at all."""

from __future__ import annotations

import pytest

from nearer.cli._output import OutputFolder, refuse_existing


def _fill(folder, text, names=("a.txt", "b.txt")):
    with folder as target:
        for name in names:
            (target / name).write_text(text)


def test_new_folder_appears_whole(tmp_path, tree):
    folder = OutputFolder(tmp_path / "out", ("a.txt", "b.txt"), force=False)
    with folder as target:
        (target / "a.txt").write_text("1")
        assert not (tmp_path / "out").exists()
        (target / "b.txt").write_text("2")
    assert tree(tmp_path) == ["out", "out/a.txt", "out/b.txt"]


def test_an_error_leaves_nothing(tmp_path, tree):
    with pytest.raises(RuntimeError), OutputFolder(tmp_path / "out", ("a.txt",), force=False) as target:
        (target / "a.txt").write_text("1")
        raise RuntimeError
    assert tree(tmp_path) == []


def test_an_error_leaves_earlier_results_as_they_were(tmp_path, tree):
    _fill(OutputFolder(tmp_path / "out", ("a.txt", "b.txt"), force=False), "old")
    with (
        pytest.raises(KeyboardInterrupt),
        OutputFolder(tmp_path / "out", ("a.txt", "b.txt"), force=True) as target,
    ):
        (target / "a.txt").write_text("new")
        raise KeyboardInterrupt
    assert tree(tmp_path) == ["out", "out/a.txt", "out/b.txt"]
    assert (tmp_path / "out/a.txt").read_text() == "old"


def test_force_replaces_own_files_only(tmp_path, tree):
    _fill(OutputFolder(tmp_path / "out", ("a.txt", "b.txt"), force=False), "old")
    (tmp_path / "out/notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match=r"holds a\.txt, b\.txt already; use --force"):
        OutputFolder(tmp_path / "out", ("a.txt", "b.txt"), force=False)
    _fill(OutputFolder(tmp_path / "out", ("a.txt", "b.txt"), force=True), "new")
    assert tree(tmp_path) == ["out", "out/a.txt", "out/b.txt", "out/notes.txt"]
    assert (tmp_path / "out/notes.txt").read_text() == "mine"
    assert (tmp_path / "out/b.txt").read_text() == "new"


def test_files_that_came_meanwhile_are_not_overwritten(tmp_path):
    folder = OutputFolder(tmp_path / "out", ("a.txt",), force=False)
    with pytest.raises(FileExistsError), folder as target:
        (target / "a.txt").write_text("new")
        (tmp_path / "out").mkdir()
        (tmp_path / "out/a.txt").write_text("other")
    assert (tmp_path / "out/a.txt").read_text() == "other"


def test_impossible_targets_are_refused_at_once(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "out/a.txt").mkdir(parents=True)
    with pytest.raises(NotADirectoryError, match="is a file, expected a folder"):
        OutputFolder(tmp_path / "file", ("a.txt",), force=True)
    with pytest.raises(IsADirectoryError, match="a directory where a file"):
        OutputFolder(tmp_path / "out", ("a.txt",), force=True)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        OutputFolder(tmp_path / "no/out", ("a.txt",), force=True)
    with pytest.raises(FileExistsError, match="use --force"):
        refuse_existing(tmp_path / "file", force=False)
    with pytest.raises(IsADirectoryError):
        refuse_existing(tmp_path / "out", force=True)
    with pytest.raises(FileNotFoundError):
        refuse_existing(tmp_path / "no/x.csv", force=True)
    assert refuse_existing(tmp_path / "file", force=True) == tmp_path / "file"


def test_a_folder_that_cannot_be_written_to_is_refused_before_any_work(tmp_path, monkeypatch, tree):
    from pathlib import Path

    def denied(self, *args, **kwargs):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "mkdir", denied)
    with pytest.raises(OSError, match=r"out: cannot be written to: Permission denied"):
        OutputFolder(tmp_path / "out", ("a.txt",), force=False)
    assert tree(tmp_path) == []
