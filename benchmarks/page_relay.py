"""Stands between a browser and a server, and counts the bytes that travel to the browser."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

QUIET_SECONDS = 1.0


class Relay:
    """Listens on `port`; leads to `target` once that is known. `received` counts bytes."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.target = 0
        self.received = 0
        self._last = time.monotonic()
        threading.Thread(target=self._accept, daemon=True).start()

    def wait_until_quiet(self) -> None:
        """Until nothing has travelled for a second."""
        time.sleep(QUIET_SECONDS)
        while time.monotonic() - self._last < QUIET_SECONDS:
            time.sleep(0.05)

    def close(self) -> None:
        """Take no further connections."""
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                browser, _ = self._listening.accept()
                server = socket.create_connection(("127.0.0.1", self.target))
                for one in (browser, server):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for way in ((browser, server, False), (server, browser, True)):
                    threading.Thread(target=self._carry, args=way, daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket, is_counted: bool) -> None:  # noqa: FBT001 - which way
        with suppress(OSError):
            while data := source.recv(65_536):
                if is_counted:
                    self.received += len(data)
                    self._last = time.monotonic()
                sink.sendall(data)
        for one in (source, sink):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


@contextmanager
def relaying() -> Iterator[Relay]:
    """A relay, closed at the end."""
    relay = Relay()
    try:
        yield relay
    finally:
        relay.close()
