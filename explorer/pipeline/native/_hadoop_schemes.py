"""How Spark reaches the store of a table: fsspec's and Hadoop's names of one scheme.

Spark reads the local file system. Of other stores it is told by the session's setting
`SCHEMES`: pairs such as ``s3=s3a, abfs=abfss``, or the word ``usual`` for `USUAL`. Whoever
sets it says that the session has the connector, and its own credentials for it: ours are
never handed over.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from explorer.errors import InvalidArgumentError
from explorer.storage.local import LocalStore
from explorer.storage.ports import ReadStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMES: Final = "spark.delta_explorer.schemes"

USUAL: Final[Mapping[str, str]] = {
    "s3": "s3a",
    "s3a": "s3a",
    "gs": "gs",
    "gcs": "gs",
    "abfs": "abfss",
    "abfss": "abfss",
    "az": "abfss",
    "hdfs": "hdfs",
    "dbfs": "dbfs",
}

_NAME: Final = r"[A-Za-z][A-Za-z0-9+.-]*"
_PAIR: Final = re.compile(rf"\s*({_NAME})\s*=\s*({_NAME})\s*")


def hadoop_root(spark: SparkSession, store: ReadStore) -> str | None:
    """The root of a store as Spark is to be told, None where Spark does not reach it; raises
    `InvalidArgumentError` for a setting that cannot be understood."""
    if isinstance(store, LocalStore):
        return f"file://{store.uri}"
    scheme, found, rest = store.uri.partition("://")
    named = parse_schemes(str(spark.conf.get(SCHEMES, None) or ""))
    if not found or "::" in scheme or scheme.lower() not in named:
        return None
    return f"{named[scheme.lower()]}://{rest}"


def parse_schemes(text: str) -> Mapping[str, str]:
    """The setting as a map from fsspec's names to Hadoop's."""
    if text.strip() == "usual":
        return USUAL
    found: dict[str, str] = {}
    for part in text.split(",") if text.strip() else ():
        pair = _PAIR.fullmatch(part)
        if pair is None:
            raise InvalidArgumentError(
                f"{part.strip()[:40]!r} does not say how Hadoop calls a store.",
                reason=f"The setting {SCHEMES} has pairs of names.",
                remedy="Write s3=s3a, gs=gs or usual.",
            )
        found[pair[1].lower()] = pair[2].lower()
    return found
