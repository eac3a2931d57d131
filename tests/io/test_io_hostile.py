"""Files made to do harm, or damaged: every one is read or refused, and none ends the process or fills the memory."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.io

from nearer import OrdinalEmbedding, load
from nearer.coordinates import read_embedding
from nearer.io import FileFormatError, open_blocks, read_comparisons, sandbox

T = np.array([[0, 1, 2], [3, 2, 1], [1, 0, 3], [2, 3, 0]])
COLUMNS = dict(zip(("anchor", "near", "far"), T.T))


def test_an_archive_larger_than_memory_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, triplets=np.zeros((200_000, 3)))
    monkeypatch.setattr("nearer.io.arrays.available_memory", lambda: 1_000_000)
    with pytest.raises(FileFormatError, match=r"bomb\.npz: holds arrays of 0\.0 GB, and 0\.0 GB are free"):
        read_comparisons(path)


class _Trap:
    def __reduce__(self):
        return os.mkdir, ("trapped",)


def test_pickled_arrays_are_not_loaded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("t.npy", np.array([_Trap()], dtype=object), allow_pickle=True)
    np.savez("t.npz", anchor=np.array([_Trap()], dtype=object), near=T, far=T)
    for name in ("t.npy", "t.npz"):
        with pytest.raises(FileFormatError, match=f"{name}.*(pickle|Object arrays|Python objects)"):
            read_comparisons(name)
    assert not Path("trapped").exists()


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("t.json", "[" * 60 + "]" * 60, ""), ("t.jsonl", "[" * 200_000 + "]" * 200_000, ""),
        ("t.json", "", "empty"), ("t.json", "[]", "empty"), ("t.json", "{}", "column"), ("t.json", "3", "3"),
        ("t.json", '{"a": 1}', "a"), ("t.json", '[{"a": 1}, 5]', "row 2"), ("t.json", "[[0, 1, 2], [0, 1]]", "row 2"),
        ("t.json", '{"anchor": ["x"],\n "near" ["y"]}', "line 2"),
        ("t.json", '{"a": 1}\n{"a": 2}\n', "jsonl"), ("t.json", '{"anchor": ["x"], "near": ["y", "z"]}', ""),
        ("t.jsonl", "", "empty"), ("t.jsonl", '{"anchor": "x"}\n{"anchor"}\n', "line 2"), ("t.jsonl", "3\n", " 1: "),
        ("t.parquet", b"PAR1 and more", "Parquet"), ("t.npy", b"\x93NUMPY", "NumPy"), ("t.npz", b"PK\x03\x04", "NumPy"),
        ("t.mat", b"MATLAB 5.0 and no more", "MATLAB"), ("t.xlsx", b"PK\x03\x04 and no more", "spreadsheet"),
        ("t.zip", b"PK\x03\x04 and no more", "zip"), ("t.json", b"\xff\xfe", ""), ("t.jsonl", b'["\xff"]\n', "line 1"),
    ],
)  # fmt: skip
def test_files_that_do_not_hold_what_they_should(tmp_path, name, content, reason):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(FileFormatError, match=f"(?s){name}.*{reason}"):
        read_comparisons(tmp_path / name)


def test_a_zip_must_hold_one_table(tmp_path):
    path = tmp_path / "t.zip"
    for members in ([], ["a.csv", "b.csv"], ["a.exe"]):
        with zipfile.ZipFile(path, "w") as archive:
            for member in members:
                archive.writestr(member, "x,y,z\n1,2,3\n")
        with pytest.raises(FileFormatError, match=r"t\.zip"):
            read_comparisons(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("/tmp/x/../inside.csv", "anchor,near,far\na,b,c\n")
    with contextlib.suppress(FileFormatError):
        assert len(read_comparisons(path).comparisons) == 1
    assert not Path("/tmp/inside.csv").exists()


@pytest.mark.parametrize(("child", "why"), [
    ("import os; os.abort()", "is not a readable MATLAB file: it crashes the reader"),
    ("import time; time.sleep(60)", r"still reading after 0\.2 s"),
])  # fmt: skip
def test_a_reader_that_crashes_or_never_ends_is_an_error_of_the_file(tmp_path, monkeypatch, child, why):
    scipy.io.savemat(tmp_path / "t.mat", COLUMNS)
    monkeypatch.setattr(sandbox, "_CHILD", child)
    monkeypatch.setattr(sandbox, "_SECONDS", 60 if "crash" in why else 0.2)
    with pytest.raises(FileFormatError, match=rf"t\.mat: .*{why}"):
        read_comparisons(tmp_path / "t.mat")


def test_a_cell_far_out_does_not_end_the_process(tmp_path):
    """The reader makes a table of all cells up to it, which no memory holds."""
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    book = openpyxl.Workbook()
    for row in (["anchor", "near", "far"], ["a", "b", "c"], ["b", "a", "c"]):
        book.active.append(row)
    book.save(tmp_path / "good.xlsx")
    assert len(read_comparisons(tmp_path / "good.xlsx").comparisons) == 2
    with zipfile.ZipFile(tmp_path / "good.xlsx") as good, zipfile.ZipFile(tmp_path / "t.xlsx", "w") as made:
        for name in good.namelist():
            text = good.read(name).replace(b'r="C3"', b'r="XFD1048576"').replace(b'<row r="3"', b'<row r="1048576"')
            made.writestr(name, text)
    with pytest.raises(FileFormatError, match=r"t\.xlsx: is not a readable spreadsheet"):
        read_comparisons(tmp_path / "t.xlsx")


def _refuses_what_is_no_file(fifo):
    with contextlib.suppress(FileNotFoundError):
        so_far = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (so_far + (4 << 30),) * 2)
    for path in (fifo, "/dev/zero"):
        for read in (read_comparisons, read_embedding, load, open_blocks, OrdinalEmbedding().fit):
            with pytest.raises((ValueError, OSError), match="regular file"):
                read(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs here")
def test_what_is_no_regular_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    # In a process of its own: one that does read it waits for ever, or takes all memory.
    child = multiprocessing.get_context("fork").Process(
        target=_refuses_what_is_no_file, args=[str(tmp_path / "fifo")], daemon=True
    )
    child.start()
    child.join(60)
    ended = child.exitcode
    child.kill()
    assert ended == 0
