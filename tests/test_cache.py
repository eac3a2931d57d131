"""Compiled code on disk: kernels work without it, and whatever has become of it."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nearer import kernels

DRAW = """
import json
from nearer import kernels
drawn = kernels.draw_many(1, 0, 5, 1000).tolist()
print(json.dumps([drawn, sum(kernels.draw_many.stats.cache_misses.values())]))
"""
# In each folder twice, every time with kernels as new as in a fresh process, which would take longer to start.
DRAW_IN_EACH = """
import importlib, json, os, sys
from numba.core import config
from nearer import kernels
found = {}
for name in sorted(os.listdir(config.CACHE_DIR)):
    folder = os.path.join(config.CACHE_DIR, name)
    for _ in range(2):
        config.CACHE_DIR, kept = folder, config.CACHE_DIR
        kernels = importlib.reload(kernels)
        drawn = kernels.draw_many(1, 0, 5, 1000).tolist()
        found.setdefault(name, []).append([drawn, sum(kernels.draw_many.stats.cache_misses.values())])
        config.CACHE_DIR = kept
print(json.dumps(found))
"""
# What others need is loaded before: the interpreter itself may lie where only root can read.
NOBODY = "import os, numba; numba.njit(lambda x: x + 1)(1); import nearer; os.setgid(65534), os.setuid(65534)\n" + DRAW
FULL_DISK = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n" + DRAW
COMPILING = "compiling the inner loops"
TOLD = "compiled code cannot be kept on this machine"


def _run(code, folder, **environment):
    """What a fresh process prints, and what it says on standard error."""
    only_there = {"NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator", "NUMBA_CACHE_DIR": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **only_there, **environment},
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A folder that holds compiled code, and what the code gives."""
    folder = tmp_path_factory.mktemp("cache")
    out, err = _run(DRAW, folder)
    drawn, misses = json.loads(out)
    assert misses == 1
    assert err.count(COMPILING) == 1  # without any set-up of logging; what is loaded from the cache says nothing
    assert _run(DRAW, folder)[1] == ""
    return folder, drawn


@pytest.fixture
def drawn(filled):
    return filled[1]


def test_no_folder_to_cache_in(tmp_path, drawn):
    (tmp_path / "file").write_text("")
    out, err = _run(DRAW, tmp_path / "file")
    assert json.loads(out)[0] == drawn
    assert err.count(TOLD) == 1
    assert "NUMBA_CACHE_DIR" in err
    assert (err.count(COMPILING), len(err.splitlines())) == (1, 2)


def test_a_full_disk(tmp_path, drawn):
    pytest.importorskip("resource")
    out, err = _run(FULL_DISK, tmp_path)
    assert json.loads(out)[0] == drawn
    assert err.count(TOLD) == 1
    assert [path for path in tmp_path.rglob("*.nb?") if path.stat().st_size] == []


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can become nobody")
def test_a_user_who_may_write_nowhere(tmp_path, drawn):
    tmp_path.chmod(0o555)
    folders = Path(kernels.__file__).parents
    if any(folder.stat().st_mode & 0o005 != 0o005 for folder in folders):
        pytest.skip("nobody else can read the source here")
    if any(folder.stat().st_mode & 0o002 for folder in [folders[0], folders[0] / "__pycache__"]):
        pytest.skip("everybody may write to the source here")
    home = {"HOME": "/nonexistent", "XDG_CACHE_HOME": "/nonexistent", "NUMBA_CACHE_LOCATOR_CLASSES": ""}
    out, err = _run(NOBODY, tmp_path, **home)
    assert json.loads(out)[0] == drawn
    assert err.count(TOLD) == 1


def _emptied(data):
    return b""


def _cut(data):
    return data[: len(data) // 2]


def _flipped(data):
    place = random.Random(0).randrange(len(data))
    return data[:place] + bytes([data[place] ^ 255]) + data[place + 1 :]


def _other(data):
    return b"\x80\x04N."  # None, pickled


DAMAGES = {
    f"{ending}{damage.__name__}": (ending, damage)
    for ending in ("nbi", "nbc") for damage in (_emptied, _cut, _flipped, _other)
}  # fmt: skip


@pytest.fixture(scope="module")
def after_damage(tmp_path_factory, filled):
    """What is drawn with damaged files, and then again."""
    folder = tmp_path_factory.mktemp("damaged")
    for name, (ending, damage) in DAMAGES.items():
        shutil.copytree(filled[0], folder / name)
        files = list((folder / name).rglob(f"*.{ending}"))
        assert files
        for path in files:
            path.write_bytes(damage(path.read_bytes()))
    return json.loads(_run(DRAW_IN_EACH, folder)[0])


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_files_are_compiled_again(after_damage, drawn, name):
    assert after_damage[name] == [[drawn, 1], [drawn, 0]]  # mended by the first


def test_ctrl_c_waits_for_a_kernel_at_the_compiler():
    """It came in a callback of LLVM, was dropped, and left a kernel that no process could use."""
    kernel = kernels._njit(lambda x: x + 1)
    real = kernel._compiler.compile

    def pressed(*args):
        signal.raise_signal(signal.SIGINT)
        return real(*args)

    kernel._compiler.compile = pressed
    with pytest.raises(KeyboardInterrupt):
        kernel(1)
    assert len(kernel.signatures) == 1  # whole, all the same
    assert kernel(1) == 2
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
