"""The contract of the doors in a session of a Connect server; run as a program.

    python -m tests.pipeline.written_elsewhere ASKED

ASKED is a JSON object: the `url` of the server, the `scheme` and the storage `options` of a store,
the URL of its `proxy`, the `profile` that the server has for it, and a folder for `scratch`. For
each line that it reads, the name of a part of the contract, it prints a JSON array: what was
found, and the texts that a person may have seen.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from explorer import pipeline
from tests.pipeline.door_contract import Contract
from tests.pipeline.written_stores import Doors
from tests.store_proxy import ProxyElsewhere


def main(asked: dict[str, Any]) -> None:
    """Answers until standard input ends."""
    builder: Any = SparkSession.builder
    spark: SparkSession = builder.remote(asked["url"]).getOrCreate()
    pipeline.register(spark)
    contract = Contract(
        doors=Doors(
            spark=spark,
            options=asked["options"],
            profile=asked["profile"],
            scratch=Path(asked["scratch"]),
        ),
        proxy=ProxyElsewhere(url=asked["proxy"]),
        scheme=asked["scheme"],
    )
    print("ready", flush=True)  # noqa: T201  # the protocol with the test
    for line in sys.stdin:
        found = _found(contract.parts()[line.strip()])
        print(json.dumps([found, contract.texts]), flush=True)  # noqa: T201  # as above
        contract.texts.clear()
    spark.stop()


def _found(find: Callable[[], Any]) -> Any:
    """What was found, or how it failed: what others find is told all the same."""
    try:
        return find()
    except Exception:  # noqa: BLE001  # whatever it is, the test shows it
        return traceback.format_exc()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
