"""What a child process says, heard to its end."""

from __future__ import annotations

import re
import subprocess
import threading


class Listener:
    """Reads the standard output of a process until a line has `wanted`, which is `found`, and
    goes on beside the test: a pipe that nobody empties stops the process once it is full."""

    def __init__(self, process: subprocess.Popen[str], wanted: str) -> None:
        assert process.stdout is not None
        self._stream = process.stdout
        self._lines: list[str] = []
        for line in self._stream:
            self._lines.append(line)
            if found := re.search(wanted, line):
                self.found = found
                self._thread = threading.Thread(target=self._listen, daemon=True)
                self._thread.start()
                return
        raise AssertionError("the process ended without what was waited for:\n" + self.said)

    def _listen(self) -> None:
        for line in self._stream:
            self._lines.append(line)

    @property
    def said(self) -> str:
        """All that was said so far."""
        return "".join(self._lines)

    def wait(self, seconds: float = 60) -> str:
        """All that was said; for a process that has ended."""
        self._thread.join(seconds)
        return self.said
