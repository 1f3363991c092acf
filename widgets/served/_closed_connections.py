"""What the log is not told: that a browser went away while it was being sent something.

People close pages all day long. Each time Bokeh, Panel and tornado each tell of the message
that could not be sent, most of them with a traceback. Nothing is wrong and nothing is lost,
and on a server that runs for years what is wrong would drown in it.
"""

from __future__ import annotations

import logging

from tornado.iostream import StreamClosedError
from tornado.websocket import WebSocketClosedError

_TELLERS = (
    "asyncio",  # a task that nobody waits for
    "tornado.application",  # a callback of the loop
    "bokeh.server.views.ws",
    "panel.io.document",
)
_GONE = (WebSocketClosedError, StreamClosedError)  # the second one from a ping
_SENTENCE = "Failed sending message as connection was closed"


class _ClosedConnections(logging.Filter):
    """Drops what is told of a closed socket, and nothing else."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line goes into the log."""
        error = record.exc_info[1] if record.exc_info else None
        return not isinstance(error, _GONE) and record.msg != _SENTENCE


_FILTER = _ClosedConnections()


def silence_closed_connections() -> None:
    """Keep messages to browsers that have gone out of the log; again does no harm."""
    for name in _TELLERS:
        logging.getLogger(name).addFilter(_FILTER)
