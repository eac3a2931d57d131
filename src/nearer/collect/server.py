"""The server process: one application on one address, patient with slow people and not with slow attackers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import ssl
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from nearer.collect.app import make_app
from nearer.collect.processes import read_orders
from nearer.collect.store import Store
from nearer.collect.study import Study, read_study

_HEAD_SECONDS = 10.0  # for sending the first lines of a request
_HEAD_BYTES = 16_384
_CONNECTIONS = 20_000
_BACKLOG = 2048


class PatientProtocol(HttpToolsProtocol):
    """HTTP that closes connections whose requests do not arrive, or have heads without end."""

    _timer: asyncio.TimerHandle | None = None
    _size = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unwatch()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._waits():
            self._watch()

    def on_message_begin(self) -> None:
        self._size = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._unwatch()
        super().on_headers_complete()

    def _count(self, size: int) -> None:
        self._size += size
        if self._size > _HEAD_BYTES:
            self.transport.abort()

    def _watch(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(_HEAD_SECONDS, self._cut)

    def _unwatch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _cut(self) -> None:
        self._timer = None
        if self._waits() and self.timeout_keep_alive_task is None:
            self.transport.abort()

    def _waits(self) -> bool:
        """Whether it is the other side's turn to send something."""
        busy = self.cycle is not None and not self.cycle.response_complete
        return not busy and not self.transport.is_closing()


def bind(host: str, port: int) -> socket.socket:
    """Open the address to listen at; port 0 is any that is free."""
    try:
        kind, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except socket.gaierror as error:
        raise ValueError(f"host: got {host!r}, expected a name or address of this machine: {error.strerror}") from error
    listening = socket.socket(kind, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(address)
        listening.listen(_BACKLOG)  # who comes before the server is ready waits
    except OSError as error:
        listening.close()
        raise ValueError(f"port: got {port}, which cannot be used at {host}: {error.strerror}") from error
    return listening


def check_certificate(certificate: str, key: str) -> None:
    """Refuse files that TLS cannot be spoken with."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except ssl.SSLError as error:
        raise ValueError(
            f"certificate: got {certificate} with the key {key}, expected a certificate in PEM form and its own "
            f"private key: {error.reason or error}"
        ) from error


def make_server(
    study: Study,
    store: Store,
    *,
    certificate: str | None = None,
    key: str | None = None,
    behind_proxy: bool = False,
) -> uvicorn.Server:
    """Make the server of a study; its method ``run([socket])`` serves until ctrl-C or SIGTERM.

    With `behind_proxy` it believes what a proxy on this machine says about the address of a caller.
    """
    _many_files()
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    config = uvicorn.Config(
        make_app(study, store), http=PatientProtocol, ws="none", log_config=None, access_log=False,
        server_header=False, timeout_keep_alive=75, timeout_graceful_shutdown=5, limit_concurrency=_CONNECTIONS,
        backlog=_BACKLOG, proxy_headers=behind_proxy, forwarded_allow_ips="127.0.0.1,::1",
        ssl_certfile=certificate, ssl_keyfile=key,
    )  # fmt: skip
    return uvicorn.Server(config)


def _many_files() -> None:
    """Allow as many open connections as the system lets us."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft < hard:
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65_536), hard))


def main() -> None:
    """Serve, as one of several processes that share a socket; started by `nearer.collect.processes.Keeper`."""
    told = read_orders(lambda: os.kill(os.getpid(), signal.SIGTERM))
    study, store = read_study(told["study"]), Store(told["database"])
    listening = socket.socket(fileno=told["descriptor"])
    with contextlib.suppress(KeyboardInterrupt):
        make_server(study, store, **told["options"]).run([listening])
    store.close()


if __name__ == "__main__":
    main()
