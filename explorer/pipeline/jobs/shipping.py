"""What the workers of a cluster need of this package."""

from __future__ import annotations

import atexit
import hashlib
import io
import tempfile
import threading
import zipfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

import explorer
from explorer.pipeline.jobs.failures import clear_errors
from explorer.pipeline.session import choose_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SAME_TIME: Final = (2020, 1, 1, 0, 0, 0)

_shipped: WeakSet[SparkSession] = WeakSet()
_lock = threading.Lock()


def ship(spark: Any = None) -> None:
    """Give the workers of a session this package, once; a classic session or Connect.

    For a cluster whose machines do not have it installed. What it needs beside must be
    there already: pyarrow, orjson and pyroaring, and for tables in an object store fsspec
    and its implementation. (An archive of a whole environment does that too:
    ``spark.addArtifacts("environment.tar.gz#environment", archive=True)``.)

    A local session needs none of this.
    """
    session = choose_session(spark)
    with _lock:
        if session in _shipped:
            return
        with clear_errors("Shipping the package to the workers of Spark"):
            session.addArtifacts(str(_packed()), pyfile=True)
        _shipped.add(session)


@cache
def _packed() -> Path:
    """The package as a file, which the driver hands out whenever a worker asks: it goes
    when this process ends."""
    data = _zipped(Path(explorer.__file__).parent)
    folder = tempfile.TemporaryDirectory(prefix="delta-explorer-")
    atexit.register(folder.cleanup)
    # two packages of one name would be refused
    place = Path(folder.name) / f"delta_explorer_{hashlib.sha256(data).hexdigest()[:12]}.zip"
    place.write_bytes(data)
    return place


def _zipped(package: Path) -> bytes:
    """The sources of a package, the same bytes for the same sources."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for source in sorted(package.rglob("*.py")):
            name = source.relative_to(package.parent).as_posix()
            archive.writestr(zipfile.ZipInfo(name, _SAME_TIME), source.read_bytes())
    return sink.getvalue()
