"""Folders and files that appear whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nearer.cli.files import Results
from nearer.io.files import atomic_write, part_name, refuse_unwritable, remove_leftovers

NAMES = ("a.txt", "b.txt")


def fill(path, text, force=False, names=NAMES):
    with Results(Path(path), names, force) as target:
        for name in names:
            (target / name).write_text(text)


def test_new_folder_appears_whole(tmp_path, tree):
    folder = Results(tmp_path / "out", NAMES, force=False)
    with folder as target:
        (target / "a.txt").write_text("1")
        assert not (tmp_path / "out").exists()
        (target / "b.txt").write_text("2")
    assert tree(tmp_path) == ["out", "out/a.txt", "out/b.txt"]


def test_an_error_leaves_nothing(tmp_path, tree):
    with pytest.raises(RuntimeError), Results(tmp_path / "out", ("a.txt",), force=False) as target:
        (target / "a.txt").write_text("1")
        raise RuntimeError
    assert tree(tmp_path) == []


def test_an_error_leaves_earlier_results_as_they_were(tmp_path, tree):
    fill(tmp_path / "out", "old")
    with pytest.raises(KeyboardInterrupt), Results(tmp_path / "out", NAMES, force=True) as target:
        (target / "a.txt").write_text("new")
        raise KeyboardInterrupt
    assert tree(tmp_path) == ["out", "out/a.txt", "out/b.txt"]
    assert (tmp_path / "out/a.txt").read_text() == "old"


def test_force_replaces_own_files_only(tmp_path, tree):
    fill(tmp_path / "out", "old")
    (tmp_path / "out/notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match=r"holds a\.txt, b\.txt already; use --force"):
        Results(tmp_path / "out", NAMES, force=False)
    fill(tmp_path / "out", "new", force=True)
    assert tree(tmp_path) == ["out", "out/a.txt", "out/b.txt", "out/notes.txt"]
    assert (tmp_path / "out/notes.txt").read_text() == "mine"
    assert (tmp_path / "out/b.txt").read_text() == "new"


def test_files_that_came_meanwhile_are_not_overwritten(tmp_path):
    folder = Results(tmp_path / "out", ("a.txt",), force=False)
    with pytest.raises(FileExistsError), folder as target:
        (target / "a.txt").write_text("new")
        (tmp_path / "out").mkdir()
        (tmp_path / "out/a.txt").write_text("other")
    assert (tmp_path / "out/a.txt").read_text() == "other"


def test_impossible_targets_are_refused_at_once(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "out/a.txt").mkdir(parents=True)
    with pytest.raises(NotADirectoryError):
        Results(tmp_path / "file", ("a.txt",), force=True)
    with pytest.raises(IsADirectoryError):
        Results(tmp_path / "out", ("a.txt",), force=True)
    with pytest.raises(FileNotFoundError):
        Results(tmp_path / "no/out", ("a.txt",), force=True)
    with pytest.raises(FileExistsError, match="use force=True"):
        refuse_unwritable(tmp_path / "file", force=False)
    with pytest.raises(IsADirectoryError):
        refuse_unwritable(tmp_path / "out", force=True)
    with pytest.raises(FileNotFoundError):
        refuse_unwritable(tmp_path / "no/x.csv", force=True)
    refuse_unwritable(tmp_path / "file", force=True)


def test_a_folder_that_cannot_be_written_to_is_refused_before_any_work(tmp_path, monkeypatch, tree):

    def denied(self, *args, **kwargs):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "mkdir", denied)
    with pytest.raises(OSError, match=r"out: cannot be written to: Permission denied"):
        Results(tmp_path / "out", ("a.txt",), force=False)
    assert tree(tmp_path) == []


def test_a_move_cut_short_leaves_no_summary(tmp_path, monkeypatch):
    names = ("a.txt", "summary.json", "b.txt")
    fill(tmp_path / "out", "old", names=names)
    moves = []
    real = os.replace

    def killed(source, target):
        if len(moves) == 2:
            raise SystemExit
        moves.append(target.name)
        real(source, target)

    with monkeypatch.context() as patched, pytest.raises(SystemExit):
        patched.setattr("os.replace", killed)
        fill(tmp_path / "out", "new", True, names)
    assert moves == ["a.txt", "b.txt"]
    assert not (tmp_path / "out/summary.json").exists()
    fill(tmp_path / "out", "new", True, names)
    assert {(tmp_path / "out" / name).read_text() for name in names} == {"new"}


def test_a_folder_that_somebody_stands_in_is_kept(tmp_path, monkeypatch):
    fill(tmp_path / "out", "old")
    monkeypatch.chdir(tmp_path / "out")
    before = os.stat(".").st_ino
    fill(".", "new", force=True)
    assert os.stat(tmp_path / "out").st_ino == before
    assert (tmp_path / "out/a.txt").read_text() == "new"


def test_a_link_to_nowhere_is_refused_at_once(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match=r"is a link to .*nowhere, which does not exist"):
        Results(tmp_path / "link", ("a.txt",), force=True)
    with pytest.raises(FileNotFoundError, match="is a link to"):
        refuse_unwritable(tmp_path / "link", force=True)
    with pytest.raises(FileNotFoundError, match="is a link to"), atomic_write(tmp_path / "link", force=True):
        pass


def test_a_link_to_a_folder_stays_a_link(tmp_path):
    fill(tmp_path / "out", "old")
    (tmp_path / "link").symlink_to(tmp_path / "out")
    fill(tmp_path / "link", "new", force=True)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "out/a.txt").read_text() == "new"


def test_old_leftovers_are_removed_and_others_kept(tmp_path):
    mine, old, folder = (part_name(tmp_path / name) for name in "abc")
    (tmp_path / folder).mkdir()
    for name in (mine, old, f"{folder}/x", ".other.part"):
        (tmp_path / name).write_text("")
    for name in (old, folder, ".other.part"):
        os.utime(tmp_path / name, (0, 0))
    remove_leftovers.cache_clear()
    with atomic_write(tmp_path / "z.txt", mode="w") as file:
        file.write("done")
    assert {path.name for path in tmp_path.iterdir()} == {mine, ".other.part", "z.txt"}
