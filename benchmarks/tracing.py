"""Which files of the package a call passes through: every call between functions of `src/nearer` is recorded."""

from __future__ import annotations

import ast
import functools
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import nearer

ROOT = Path(nearer.__file__).parent
# Helpers that every layer uses: messages, checks of arguments.
SHARED = ("data/messages.py", "data/validate.py", "machine.py", "__init__.py")


@dataclass
class Trace:
    """Calls from one file of the package to another; files in the order in which they are first entered."""

    end: str = ""  # recording ends when this file is entered
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)  # of any kind
    asks: Counter[tuple[str, str]] = field(default_factory=Counter)  # of these, methods of an instance
    entered: Counter[str] = field(default_factory=Counter)  # file -> number of calls of its functions
    functions: dict[str, Counter[str]] = field(default_factory=dict)  # file -> calls by name of the function
    switches: int = 0  # how often control passes from one file to another, by calls and returns
    _last: str = ""
    _is_over: bool = False

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """Record a call or a return; for `sys.setprofile`."""
        if event not in ("call", "return") or self._is_over:
            return
        here = _file_of(frame)
        if here is None or frame.f_code.co_name == "<module>":
            return
        if here == self.end:
            self._is_over = True
            return
        if event == "call":
            self.entered[here] += 1
            self.functions.setdefault(here, Counter())[frame.f_code.co_name] += 1
            caller = _caller(frame)
            if caller is not None and caller != here:
                self.calls[caller, here] += 1
                self.asks[caller, here] += _asks(frame)
        if here != self._last:
            self.switches += 1
            self._last = here

    def files(self) -> list[str]:
        """The files entered, without shared helpers and without files of which values are asked alone."""
        asked = {file for file in self.entered if self.callers(file, above=True) and not self.makers(file)}
        return [file for file in self.entered if file not in SHARED and file not in asked]

    def callers(self, file: str, above: bool) -> dict[str, int]:
        """Files that call a file, with the number of calls: those that import it, or those that do not."""
        found = {one: count for (one, other), count in self.calls.items() if other == file}
        return {one: count for one, count in found.items() if (file in imported(one)) == above}

    def makers(self, file: str) -> list[str]:
        """Files above that enter a file: by a function, a class method or a constructor, not only by asking a value."""
        above = self.callers(file, above=True)
        return [one for one, count in above.items() if one not in SHARED and count > self.asks[one, file]]

    def askers(self, file: str) -> dict[str, int]:
        """Files that ask values of a file, with the number of calls of their methods."""
        found = {one: count for (one, other), count in self.asks.items() if other == file and count}
        return {one: count for one, count in found.items() if one not in SHARED}

    def mutual(self) -> list[tuple[str, str]]:
        """Pairs of files of which each calls the other."""
        return sorted((one, other) for one, other in self.calls if one < other and (other, one) in self.calls)


def traced(call: Callable[[], Any], end: str = "") -> Trace:
    """Trace a call; make it once before, so that imports and caches are done."""
    call()
    trace = Trace(end)
    sys.setprofile(trace)
    try:
        call()
    finally:
        sys.setprofile(None)
    return trace


@functools.cache
def imported(file: str) -> set[str]:
    """The files of the package that a file imports, at the top or in a function."""
    found = set()
    for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("nearer"):
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            found |= {"/".join(name.split(".")[1:]) + ".py" for name in names if name}
            inner = "/".join((node.module or "").split(".")[1:])
            if inner and (ROOT / inner).is_dir() and file != f"{inner}/__init__.py":  # a package passes names on
                found |= imported(f"{inner}/__init__.py")
    return found


@functools.cache
def _file(name: str) -> str | None:
    """The path of a source file below the root of the package; None for a file of others."""
    return Path(name).relative_to(ROOT).as_posix() if name.startswith(f"{ROOT}/") else None


def _file_of(frame: FrameType) -> str | None:
    """The file of a frame; that of its class for a method which the decorator of a dataclass has made."""
    if frame.f_code.co_filename == "<string>" and "self" in frame.f_locals:
        module = sys.modules.get(type(frame.f_locals["self"]).__module__)
        return _file(getattr(module, "__file__", None) or "")
    return _file(frame.f_code.co_filename)


def _asks(frame: FrameType) -> bool:
    """Whether a frame is a method of an instance that exists already."""
    code = frame.f_code
    is_method = code.co_argcount > 0 and code.co_varnames[0] == "self"
    return is_method and code.co_name not in ("__init__", "__post_init__", "__new__")


def _caller(frame: FrameType) -> str | None:
    """The file of the nearest caller that belongs to the package."""
    outer = frame.f_back
    while outer is not None and _file_of(outer) is None:
        outer = outer.f_back
    return None if outer is None else _file_of(outer)
