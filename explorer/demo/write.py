"""Writing the demo table into a folder."""

from __future__ import annotations

import contextlib
import os
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from explorer.demo._shop_history import STORY, write_history
from explorer.demo._shop_table import ShopTable
from explorer.errors import DeltaError, InvalidArgumentError
from explorer.progress import Cancel, Progress, ProgressCallback
from explorer.protocol.commit_json import render_milliseconds
from explorer.protocol.filenames import LOG_FOLDER
from explorer.storage.open import open_write_store

_EARLIEST = datetime(1971, 1, 1, tzinfo=UTC)
# what a writer that crashed leaves behind: written, never committed
_ORPHAN_AGE = timedelta(days=12)
_LABEL = "Writing the demo table"


def write_demo(
    folder: str | os.PathLike[str],
    *,
    now: datetime,
    seed: int = 0,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> None:
    """Write an online shop's orders, with six weeks of history before `now`, into `folder`.

    The folder must be empty or absent, else `InvalidArgumentError` is raised.
    The same `now` (aware) and `seed` give the same bytes and file times. Where
    it fails or is cancelled, what was written is removed again.
    """
    now_ms = _check_now(now)
    store = open_write_store(folder)
    _check_empty(store.uri)
    kept = {store.uri} if os.path.isdir(store.uri) else set()
    # the first commit of a table finds its folder
    os.makedirs(f"{store.uri}/{LOG_FOLDER}", exist_ok=True)
    with ShopTable(store, random.Random(seed)) as shop, _removing_partial_writes(shop, kept):
        for done, _ in enumerate(write_history(shop, now_ms), start=1):
            if cancel is not None:
                cancel.check()
            if progress is not None:
                progress(Progress(done=done, total=len(STORY), label=_LABEL))
        _leave_orphan(shop, now_ms)
        shop.wait()
        _set_times(shop)


def _check_now(now: datetime) -> int:
    if now.tzinfo is None or now < _EARLIEST:
        raise InvalidArgumentError(
            "The demo table cannot be dated.",
            reason="The time to count back from has no time zone, or is before 1971.",
            remedy="Give a time such as 2026-11-01T12:00:00Z.",
        )
    return render_milliseconds(now)


def _check_empty(folder: str) -> None:
    try:
        with os.scandir(folder) as entries:
            occupied = next(entries, None) is not None
    except FileNotFoundError:
        return
    except OSError:
        occupied = True  # not a folder, or closed to us
    if occupied:
        raise InvalidArgumentError(
            f"The demo table cannot be written to {folder}.",
            reason="Something is there already, and the demo never overwrites anything.",
            remedy="Choose a new folder, or an empty one.",
        )


@contextlib.contextmanager
def _removing_partial_writes(shop: ShopTable, kept: set[str]) -> Iterator[None]:
    """Remove what was written where the work inside does not come to its end; folders
    in `kept` were there before."""
    finished = False
    try:
        yield
        finished = True
    finally:
        if not finished:
            with contextlib.suppress(DeltaError):  # the first error is the one to report
                shop.wait()
            for path in list(shop.written):
                shop.delete(path)
            for folder, _, _ in os.walk(shop.store.uri, topdown=False):
                # a folder that cannot be removed holds something of somebody else's
                with contextlib.suppress(OSError):
                    if folder not in kept:
                        os.rmdir(folder)


def _leave_orphan(shop: ShopTable, now_ms: int) -> None:
    """A data file that no commit ever named, old enough for a vacuum to take it."""
    file = next(iter(shop.live))
    name = f"part-00003-{shop.new_uuid()}.c000.snappy.parquet"
    path = f"{file.rpartition('/')[0]}/{name}"
    shop.write(path, shop.store.read(file), now_ms - _ORPHAN_AGE // timedelta(milliseconds=1))


def _set_times(shop: ShopTable) -> None:
    """Give every file the time at which the story wrote it."""
    for path, modified in shop.written.items():
        os.utime(f"{shop.store.uri}/{path}", ns=(modified * 1_000_000, modified * 1_000_000))
