"""The demo table for tests, together with the rows of every version as its writers knew them."""

from __future__ import annotations

import atexit
import random
import shutil
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import orjson
import pyarrow as pa

from explorer.demo._shop_history import write_history
from explorer.demo._shop_table import ShopTable
from explorer.demo.write import write_demo
from explorer.protocol.commit_json import render_milliseconds
from explorer.storage.open import open_write_store

NOW = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
SEED = 0
AUTUMN = datetime(2026, 11, 1, tzinfo=UTC)
"""The day of the pages, of the pictures and of the browser's tests."""
LATELY = datetime.now(UTC) - timedelta(minutes=1)
"""For what compares the ages of files with the clock of the machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """One version as it should be read: its operation, live paths and rows by order id."""

    operation: str
    paths: list[str]
    rows: pa.Table


def write_default(folder: Path) -> Path:
    """The demo table in `folder`."""
    return copy_demo(folder, NOW)


def copy_demo(folder: Path, now: datetime) -> Path:
    """The demo table of `now` in `folder`, with its times: written once in a process, because
    that takes seconds, and copied from then on."""
    return Path(shutil.copytree(_written(now), folder))


@cache
def _written(now: datetime) -> Path:
    place = tempfile.mkdtemp(prefix="demo-")
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    write_demo(Path(place) / "demo", now=now, seed=SEED)
    return Path(place) / "demo"


def tell_truth(folder: Path) -> dict[int, Truth]:
    """Play the same story in another folder and note the rows of each version."""
    (folder / "_delta_log").mkdir(parents=True)
    store = open_write_store(folder)
    truth = {}
    with ShopTable(store, random.Random(SEED)) as shop:
        for version in write_history(shop, render_milliseconds(NOW)):
            operation = read_commit(folder, version)[0]["commitInfo"]["operation"]
            rows = shop.rows() if shop.live else pa.table({"order_id": pa.array([], pa.int64())})
            truth[version] = Truth(
                operation=operation, paths=sorted(shop.live), rows=rows.sort_by("order_id")
            )
    return truth


def read_commit(folder: Path, version: int) -> list[dict]:
    """The actions of one commit, as JSON."""
    lines = (folder / "_delta_log" / f"{version:020}.json").read_bytes().splitlines()
    return [orjson.loads(line) for line in lines]
