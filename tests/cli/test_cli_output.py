"""Folders and files that appear whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nearer.cli.output import Results

NAMES = ("a.txt", "summary.json", "b.txt")
OUT = ["out", "out/a.txt", "out/b.txt", "out/summary.json"]


def fill(path, text, force=False, error=None, names=NAMES):
    with Results(Path(path), NAMES, force).writing() as target:
        for name in names:
            (target / name).write_text(text)
        if error is not None:
            raise error


def content(folder):
    return {(folder / name).read_text() for name in NAMES}


@pytest.mark.parametrize(("error", "names"), [(RuntimeError, NAMES[:1]), (KeyboardInterrupt, NAMES)])
def test_a_new_folder_appears_whole_and_an_error_leaves_what_was_there(tmp_path, tree, error, names):
    with pytest.raises(error):
        fill(tmp_path / "out", "new", error=error, names=names)
    assert tree(tmp_path) == []
    with Results(tmp_path / "out", NAMES, force=False).writing() as target:
        for name in NAMES:
            assert not (tmp_path / "out").exists()
            (target / name).write_text("old")
    with pytest.raises(error):
        fill(tmp_path / "out", "new", True, error, names)
    assert tree(tmp_path) == OUT
    assert content(tmp_path / "out") == {"old"}


@pytest.mark.parametrize("shown", [".", "../link"])
def test_force_replaces_own_files_only_and_keeps_folder_and_links(tmp_path, tree, monkeypatch, shown):
    fill(tmp_path / "out", "old")
    (tmp_path / "out/notes.txt").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "out")
    monkeypatch.chdir(tmp_path / "out")  # somebody is in it
    with pytest.raises(FileExistsError, match=r"holds a\.txt, summary\.json, b\.txt already; use --force"):
        fill(shown, "new")
    before = os.stat(".").st_ino
    fill(shown, "new", force=True)
    assert os.stat(tmp_path / "out").st_ino == before
    assert (tmp_path / "link").is_symlink()
    assert tree(tmp_path / "out") == ["a.txt", "b.txt", "notes.txt", "summary.json"]
    assert content(tmp_path / "out") == {"new"}


def test_files_that_came_meanwhile_are_not_overwritten(tmp_path):
    folder = Results(tmp_path / "out", NAMES, force=False)
    fill(tmp_path / "out", "other")
    with pytest.raises(FileExistsError), folder.writing() as target:
        (target / "a.txt").write_text("new")
    assert content(tmp_path / "out") == {"other"}


def test_what_cannot_be_written_is_refused_at_once(tmp_path, tree, monkeypatch):
    (tmp_path / "file").write_text("")
    (tmp_path / "out/a.txt").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    before = tree(tmp_path)
    for name in ("file", "out", "no/out", "link"):
        with pytest.raises(OSError, match=str(tmp_path / name)):
            Results(tmp_path / name, NAMES, force=True)
    assert tree(tmp_path) == before

    def denied(self, *args, **kwargs):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "mkdir", denied)
    with pytest.raises(OSError, match=r"new: cannot be written to: Permission denied"):
        Results(tmp_path / "new", NAMES, force=False)


def test_a_move_cut_short_leaves_no_summary(tmp_path, monkeypatch):
    fill(tmp_path / "out", "old")
    moves = []
    real = os.replace

    def killed(source, target):
        if len(moves) == 2:
            raise SystemExit
        moves.append(target.name)
        real(source, target)

    with monkeypatch.context() as patched, pytest.raises(SystemExit):
        patched.setattr("os.replace", killed)
        fill(tmp_path / "out", "new", True)
    assert moves == ["a.txt", "b.txt"]
    assert not (tmp_path / "out/summary.json").exists()
    fill(tmp_path / "out", "new", True)
    assert content(tmp_path / "out") == {"new"}
