"""A port for a server that must be told its port before it starts.

Whoever asks for any port gets one of the kernel's own range, and so may take a port of it
between the moment at which it was found free and the start of the server. Those below that
range are only taken by who names them; each test process tries others.
"""

from __future__ import annotations

import itertools
import os
import socket

_FIRST, _COUNT = 20_000, 12_000
_tried = itertools.count(os.getpid() * 31)


def free_port() -> int:
    """A port of this machine at which nobody listens, and that nobody is given by chance."""
    while True:
        port = _FIRST + next(_tried) % _COUNT
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
