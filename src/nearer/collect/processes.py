"""Processes beside the first one: kept running, and ended with it."""

from __future__ import annotations

import contextlib
import json
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

logger = logging.getLogger(__name__)


def read_orders(at_end: Callable[[], None]) -> dict[str, Any]:
    """What a process that a `Keeper` started is to do; `at_end` is called when the one that gave the orders is gone."""
    told = json.loads(sys.stdin.readline())

    def watch() -> None:
        while sys.stdin.readline():
            pass
        at_end()

    threading.Thread(target=watch, daemon=True).start()
    return told


class Keeper:
    """Keeps a process (``python -m module``) running: starts it again when it dies, with growing patience.

    The orders, which it gets by `read_orders`, are not given on the command line, which everybody can read: the address
    of a database may hold a password. It inherits the open files named by `descriptors`.
    """

    def __init__(self, module: str, orders: dict[str, Any], descriptors: Sequence[int] = ()):
        self._module, self._orders, self._descriptors = module, json.dumps(orders) + "\n", tuple(descriptors)
        self._end = threading.Event()
        self.process: subprocess.Popen[str] | None = None
        self._thread = threading.Thread(target=self._keep, daemon=True)
        self._thread.start()

    def _keep(self) -> None:
        patience = 1.0
        while not self._end.is_set():
            began = time.monotonic()
            code, last = self._run()
            if self._end.is_set():
                return
            patience = 1.0 if time.monotonic() - began > 60 else min(2 * patience, 60.0)
            logger.warning("%s ended (%s): %s; begun again in %g s", self._module, code, last[:200], patience)
            self._end.wait(patience)

    def _run(self) -> tuple[int, str]:
        """Exit code and last line of standard error."""
        command, last = [sys.executable, "-m", self._module], ""
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            pass_fds=self._descriptors,
        )  # fmt: skip
        assert self.process.stdin is not None
        assert self.process.stderr is not None
        with contextlib.suppress(OSError):
            self.process.stdin.write(self._orders)
            self.process.stdin.flush()
        for line in self.process.stderr:
            last = line.strip() or last
        return self.process.wait(), last

    def stop(self, seconds: float = 0.0) -> None:
        """End the process: by a signal that lets it finish if it is given seconds, else at once."""
        self._end.set()
        if self.process is not None:
            if seconds:
                self.process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.process.wait(seconds)
            self.process.kill()
            self.process.wait()
        self._thread.join(timeout=5)
