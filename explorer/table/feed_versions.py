"""In which versions the change data feed was enabled (spec: Add CDC File, Table Properties)."""

from __future__ import annotations

from collections.abc import Sequence

from explorer.errors import DeltaError
from explorer.log.commits.commit_file import lines_reversed, may_name, parse_action
from explorer.progress import UNWATCHED, Watch
from explorer.protocol.actions import parse_metadata
from explorer.protocol.filenames import render_commit_name, render_commit_path
from explorer.protocol.table_properties.known_properties import CHANGE_DATA_FEED
from explorer.table.table import Table


def feeding_versions(
    table: Table, versions: Sequence[int], watch: Watch = UNWATCHED
) -> list[bool] | None:
    """Whether the change feed was enabled in each of `versions`, which are those of commits that
    follow each other; None where the log does not tell. Every one of the commits is read."""
    is_on, found = False, []
    try:
        if versions and versions[0] > 0:
            is_on = _is_on(table.metadata(versions[0]).configuration)
        commits = table.store.read_many(map(render_commit_path, versions))
        for done, (version, data) in enumerate(zip(versions, commits, strict=True)):
            watch.step(done, len(versions), "Reading when the change feed was enabled")
            told = feed_set_in(render_commit_name(version), data)
            is_on = is_on if told is None else told
            found.append(is_on)
    except DeltaError as error:
        if error.kind == "cancelled":
            raise
        return None
    return found


def feed_set_in(name: str, data: bytes) -> bool | None:
    """Whether the commit `data` with that name enables the change feed; None where it does not
    speak of it; raises `CorruptLogError` for a metadata action that cannot be read."""
    if not may_name(data, "metaData"):
        return None
    for number, line in lines_reversed(data):
        if may_name(line, "metaData"):
            body = parse_action(line, name, number).get("metaData")
            if body is not None:
                return _is_on(parse_metadata(body, f"{name}:{number}").configuration)
    return None


_is_on = CHANGE_DATA_FEED.value_of
