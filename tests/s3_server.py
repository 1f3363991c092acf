"""An S3-compatible server for tests, in a process of its own.

    with s3_server() as options:
        open_write_store("s3://bucket/t", options)

It is moto's, and answers one request after the other: it looks whether an object is there
and stores it in two steps, which only S3 itself does as one.
"""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import s3fs

ROOT = Path(__file__).resolve().parents[1]
BUCKET = "bucket"
_KEYS = {"key": "testing", "secret": "testing"}


@contextlib.contextmanager
def s3_server() -> Iterator[dict[str, Any]]:
    """A server with one empty bucket, as the storage options that lead to it."""
    # without these names it would look for credentials elsewhere
    environment = os.environ | {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.s3_server"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        options = {"endpoint_url": server.stdout.readline().strip(), **_KEYS}
        _make_bucket(options)
        yield options
    finally:
        server.kill()
        server.wait()


def _make_bucket(options: dict[str, Any]) -> None:
    s3fs.S3FileSystem(**options, skip_instance_cache=True).mkdir(BUCKET)


def serve() -> None:
    """Listen on a free port of this machine, and say where."""
    # the process of the tests does without a server
    from moto.server import (  # noqa: PLC0415  # see above
        DomainDispatcherApplication,
        create_backend_app,
    )
    from werkzeug.serving import make_server  # noqa: PLC0415  # see above

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    application, lock = DomainDispatcherApplication(create_backend_app), threading.Lock()

    def one_by_one(environment: Any, start_response: Any) -> Any:
        with lock:
            return application(environment, start_response)

    server = make_server("127.0.0.1", 0, one_by_one, threaded=True)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)  # noqa: T201  # to the parent
    server.serve_forever()


if __name__ == "__main__":
    serve()
