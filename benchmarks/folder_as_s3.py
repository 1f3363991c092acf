"""A folder as an S3 bucket that is only read: lists, heads and ranges, each after a while.

    python -m benchmarks.folder_as_s3 FOLDER SECONDS

prints its address and serves until it is killed. It knows as much of S3 as clients of tables ask
for, believes every signature, and answers any number of requests at once, so that what is measured
beside each other is how many requests wait for each other: moto's server, which the tests have,
takes some milliseconds of its one processor for each. `GET /-counts` tells how many there
were of each kind since the last time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from urllib.request import urlopen
from xml.sax.saxutils import escape

BUCKET = "tables"
_PAGE = 1000
"""Names of one answer, as S3 gives them."""


class Served:
    """A server in a process of its own, and what it counts."""

    def __init__(self, address: str) -> None:
        self.address = address

    def counts(self) -> dict[str, int]:
        """Requests by their kind since the last time."""
        with urlopen(f"{self.address}/-counts") as answer:
            found: dict[str, int] = json.load(answer)
        return found


@contextmanager
def serving(folder: Path, seconds: float) -> Iterator[Served]:
    """The server of a folder, each of whose answers takes so long."""
    command = [sys.executable, "-m", "benchmarks.folder_as_s3", str(folder), str(seconds)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield Served(server.stdout.readline().strip())
    finally:
        server.kill()
        server.wait()


def main() -> None:
    """Serve the folder that is named."""
    folder, seconds = Path(sys.argv[1]), float(sys.argv[2])

    class Handler(_Handler):
        root, latency, counts = folder, seconds, Counter[str]()

    server = _Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


class _Server(ThreadingHTTPServer):
    # a connection beyond five that wait, as usual, is dropped, and some clients wait 30 s for it
    request_queue_size = 1024


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    root: Path
    latency: float
    counts: Counter[str]

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # its name there
        """Say nothing."""

    def do_HEAD(self) -> None:
        self.counts["head"] += 1
        self._object(is_head=True)

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if parts.path == "/-counts":
            body = json.dumps(self.counts).encode()
            self.counts.clear()
            self._answer(200, body, {"Content-Type": "application/json"})
            return
        asked = parse_qs(parts.query)
        if "list-type" in asked or parts.path.strip("/") == BUCKET:
            self.counts["list"] += 1
            time.sleep(self.latency)
            self._answer(200, self._list(asked), {"Content-Type": "application/xml"})
            return
        self.counts["get"] += 1
        self._object(is_head=False)

    def _object(self, *, is_head: bool) -> None:
        time.sleep(self.latency)
        key = unquote(urlsplit(self.path).path).removeprefix(f"/{BUCKET}/")
        place = self.root / key
        if not place.is_file():
            body = b"<Error><Code>NoSuchKey</Code></Error>"
            self._answer(404, b"" if is_head else body, {"Content-Type": "application/xml"})
            return
        found = place.stat()
        headers = {
            "Content-Type": "application/octet-stream",
            "ETag": f'"{found.st_mtime_ns:x}-{found.st_size:x}"',
            "Last-Modified": formatdate(found.st_mtime, usegmt=True),
            "Accept-Ranges": "bytes",
        }
        if is_head:
            self._answer(200, b"", headers, length=found.st_size)
            return
        start, end = self._range(found.st_size)
        with place.open("rb") as file:
            file.seek(start)
            body = file.read(end - start)
        if "Range" not in self.headers:
            self._answer(200, body, headers)
            return
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{found.st_size}"
        self._answer(206, body, headers)

    def _range(self, size: int) -> tuple[int, int]:
        first, _, last = self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")
        if not first:
            return max(0, size - int(last)), size
        return int(first), min(size, int(last) + 1) if last else size

    def _list(self, asked: dict[str, list[str]]) -> bytes:
        prefix = asked.get("prefix", [""])[0]
        after = max(asked.get(name, [""])[0] for name in ("start-after", "continuation-token"))
        is_flat = asked.get("delimiter", [""])[0] != "/"
        most = min(_PAGE, int(asked.get("max-keys", [str(_PAGE)])[0]))
        found = sorted(name for name in self._names(prefix, is_flat=is_flat) if name > after)
        shown = found[:most]
        lines = [
            f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>"
            if name.endswith("/")
            else self._entry(name)
            for name in shown
        ]
        more = len(found) > most
        last = escape(shown[-1]) if more else ""
        token = f"<NextContinuationToken>{last}</NextContinuationToken>"
        return (
            '<?xml version="1.0" encoding="UTF-8"?>'
            '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            f"<Name>{BUCKET}</Name><Prefix>{escape(prefix)}</Prefix><KeyCount>{len(shown)}</KeyCount>"
            f"<MaxKeys>{most}</MaxKeys><IsTruncated>{str(more).lower()}</IsTruncated>"
            f"{token if more else ''}{''.join(lines)}</ListBucketResult>"
        ).encode()

    def _names(self, prefix: str, *, is_flat: bool) -> Iterator[str]:
        folder = self.root / prefix.rpartition("/")[0]
        if not folder.is_dir():
            return
        if not is_flat:
            for entry in os.scandir(folder):
                name = f"{prefix.rpartition('/')[0]}/{entry.name}".lstrip("/")
                if name.startswith(prefix):
                    yield f"{name}/" if entry.is_dir() else name
            return
        for place, _, files in os.walk(folder):
            for file in files:
                name = (Path(place) / file).relative_to(self.root).as_posix()
                if name.startswith(prefix):
                    yield name

    def _entry(self, name: str) -> str:
        found = (self.root / name).stat()
        moment = datetime.fromtimestamp(found.st_mtime, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        return (
            f"<Contents><Key>{escape(name)}</Key><LastModified>{moment}</LastModified>"
            f"<ETag>&quot;{found.st_mtime_ns:x}-{found.st_size:x}&quot;</ETag>"
            f"<Size>{found.st_size}</Size><StorageClass>STANDARD</StorageClass></Contents>"
        )

    def _answer(
        self, status: int, body: bytes, headers: dict[str, str], length: int | None = None
    ) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    main()
