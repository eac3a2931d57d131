"""Processes that start with their libraries loaded: forked from one that did nothing but load them.

From the fork on they are processes like any other, down to how they end. A test of what a process does while it loads
its libraries takes `subprocess.Popen`.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading

LIBRARIES = (
    "nearer.cli.check", "nearer.cli.fit", "nearer.estimator", "nearer.reports",
    "nearer.selection", "nearer.model_file", "pandas", "pyarrow.csv", "pyarrow.parquet",
)  # fmt: skip
_WIDTH = 12  # of a number that is sent


_parents = []  # processes that fork, each with a socket to it


@functools.cache
def _parent(libraries):
    """A socket to a process that forks, which ends when the socket is closed."""
    ours, theirs = socket.socketpair()
    with theirs:
        # Its standard streams cannot be rewound, as those of the processes to come.
        command = [sys.executable, __file__, *libraries]
        _parents.append((subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs), ours))
    return ours


def end():
    """End the processes that fork."""
    while _parents:
        process, ours = _parents.pop()
        ours.close()
        process.wait()


class Warm:
    """``Warm(["-m", "nearer.cli", ...])`` or ``Warm(["-c", code, ...])``: what tests use of `subprocess.Popen`.

    Standard output and standard error are pipes, or both the one that `out` is.
    """

    def __init__(self, command, cwd=".", out=None, libraries=LIBRARIES):
        self.returncode = None
        self._ending, ending = socket.socketpair()
        self.stdout = self.stderr = None
        given = [out, out]
        if out is None:
            (read_out, write_out), (read_err, write_err) = os.pipe(), os.pipe()
            self.stdout, self.stderr = open(read_out, encoding="utf-8"), open(read_err, encoding="utf-8")  # noqa: SIM115
            given = [open(write_out, "w"), open(write_err, "w")]  # noqa: SIM115
        request = json.dumps({"command": command, "cwd": str(cwd)}).encode()
        socket.send_fds(_parent(libraries), [request], [ending.fileno(), *(file.fileno() for file in given)])
        for file in {ending, *given}:
            file.close()
        self.pid = int(self._ending.recv(_WIDTH))

    def poll(self):
        """The exit code, None while it runs."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout=None):
        """The exit code, minus the number of the signal that ended it."""
        if self.returncode is None:
            self._ending.settimeout(timeout)
            try:
                self.returncode = int(self._ending.recv(_WIDTH))
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired("warm", timeout) from None
        return self.returncode

    def communicate(self, timeout=None):
        """What it still writes to standard output and standard error, until it ends."""
        found = {}
        readers = [
            threading.Thread(target=lambda file=file: found.__setitem__(file, file.read()), daemon=True)
            for file in (self.stdout, self.stderr)
        ]
        for reader in readers:
            reader.start()
        self.wait(timeout)
        for reader in readers:
            reader.join(timeout)
        return found[self.stdout], found[self.stderr]

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.wait()
        for file in (self.stdout, self.stderr):
            if file is not None:
                file.close()
        self._ending.close()


def _reap(*_):
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _requests(asked):
    """Fork for each request; returns the request in the process that is to do what it says."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, _reap)
    while True:
        request, numbers, *_ = socket.recv_fds(asked, 1 << 16, 3)
        if not request:
            os._exit(0)
        if os.fork():
            for number in numbers:
                os.close(number)
            continue
        asked.close()
        with socket.socket(fileno=numbers[0]) as ending:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            pid = os.fork()
            if not pid:
                break
            for number in numbers[1:]:
                os.close(number)
            ending.send(b"%*d" % (_WIDTH, pid))
            ending.send(b"%*d" % (_WIDTH, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])))
            os._exit(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for place, number in enumerate([nothing, *numbers[1:]]):
        os.dup2(number, place)
        os.close(number)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return json.loads(request)


if __name__ == "__main__":
    del sys.path[0]  # the tests
    for library in sys.argv[1:]:
        importlib.import_module(library)
    request = _requests(socket.socket(fileno=os.dup(0)))
    os.chdir(request["cwd"])
    sys.path.insert(0, os.getcwd())
    how, what, *sys.argv[1:] = request["command"]
    if how == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        exec(compile(what, "<string>", "exec"), {"__name__": "__main__"})
