"""A PostgreSQL of one's own: a private cluster in a temporary folder, started and thrown away by tests and benchmarks.

PostgreSQL does not run as root; there it is run as an unprivileged user of the system.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

__all__ = ["PrivatePostgres", "find_postgres"]


def find_postgres() -> Path | None:
    """The folder of PostgreSQL's programs, the newest there is, or None."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    places = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    return max(places, key=lambda place: float(place.parent.name), default=None)


class PrivatePostgres:
    """A running cluster; reached by a socket of its folder only.

    Parameters
    ----------
    options : tuple of str
        Settings, such as "max_connections=50".
    """

    def __init__(self, options: tuple[str, ...] = ()):
        place = find_postgres()
        if place is None:
            raise FileNotFoundError("PostgreSQL is not installed")
        self._place = place
        # Not below the caller's own temporary folder: the other user must be able to enter it.
        self.folder = Path(tempfile.mkdtemp(prefix="nearer-postgres-"))
        self._as: dict[str, Any] = {}
        if os.geteuid() == 0:
            user = pwd.getpwnam("nobody")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self._as = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        self._options = [part for option in options for part in ("-c", option)]
        self._process: subprocess.Popen[bytes] | None = None
        self._starting = threading.Lock()
        try:
            self._run("initdb", "-D", "data", "-U", "nearer", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C")
            self.start()
        except BaseException:
            self.close()
            raise

    @property
    def url(self) -> str:
        """Address for SQLAlchemy."""
        return f"postgresql://nearer@/postgres?host={self.folder}"

    @property
    def pid(self) -> int:
        """Process id of the server that starts all others."""
        assert self._process is not None
        return self._process.pid

    def revive(self) -> None:
        """Start it again if it has ended, as it does when a process of its own dies while it recovers."""
        with self._starting:
            if self._process is not None and self._process.poll() is not None:
                self.start()

    def fresh(self, name: str) -> str:
        """Make an empty database, and give its address."""
        self._run("createdb", "-h", str(self.folder), "-U", "nearer", name)
        return f"postgresql://nearer@/{name}?host={self.folder}"

    def start(self) -> None:
        """Start, and wait until it answers."""
        command = [str(self._place / "postgres"), "-D", "data", "-c", "listen_addresses="]
        command += ["-c", f"unix_socket_directories={self.folder}", *self._options]
        with open(self.folder / "log", "ab") as log:
            self._process = subprocess.Popen(
                command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self._as
            )
        asking = [str(self._place / "pg_isready"), "-q", "-h", str(self.folder)]
        end = time.monotonic() + 60
        while subprocess.run(asking, check=False).returncode != 0:
            if self._process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"PostgreSQL did not start: {(self.folder / 'log').read_text()[-500:]}")
            time.sleep(0.05)

    def stop(self) -> None:
        """Stop at once; what was committed stays."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(3)  # SIGQUIT: immediate, as after a power cut
            self._process.wait(timeout=30)

    def close(self) -> None:
        """Stop, and remove everything."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *args: str) -> None:
        done = subprocess.run(
            [str(self._place / program), *args],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            **self._as,
        )
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stderr.strip()}")
