"""What a change of table properties does and what becomes impossible by it, in a sentence
(spec: Table Properties)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Final

from explorer.errors import brief
from explorer.log.checkpoint_content.file_rows import wants_structs
from explorer.maintenance.plan.guards import in_words
from explorer.protocol.table_properties import known_properties as known
from explorer.protocol.table_properties.properties import PROPERTIES
from explorer.protocol.table_properties.table_property import TableProperty
from explorer.table.counts import count

_SHOWN: Final = 4
_ICEBERG: Final = "later commits need not keep the table readable as Iceberg"

_FIXED: Final = (
    "rows can no longer be deleted or updated, nor earlier versions restored, until it is false "
    "again"
)
_SWITCHED_ON: Final = (
    (known.APPEND_ONLY, _FIXED),
    (known.ROW_TRACKING_SUSPENDED, "rows written from then on have no ids"),
    (known.LOG_CLEANUP, "writers may delete history that is past its retention"),
)
_SWITCHED_OFF: Final = (
    (known.CHANGE_DATA_FEED, "later changes can no longer be read as a change feed"),
    (
        known.IN_COMMIT_TIMESTAMPS,
        "later versions have the times of their files, which a copy changes",
    ),
    (known.TYPE_WIDENING, "types of columns can no longer be widened"),
    (known.ICEBERG_COMPAT_V1, _ICEBERG),
    (known.ICEBERG_COMPAT_V2, _ICEBERG),
    (known.ICEBERG_COMPAT_V3, _ICEBERG),
    (known.ICEBERG_WRITER_COMPAT_V1, _ICEBERG),
    (known.ICEBERG_WRITER_COMPAT_V3, _ICEBERG),
)
_FILES_GO: Final = (
    "any vacuum may delete files {} after their removal, and versions that need them can then no "
    "longer be read"
)
_HISTORY_GOES: Final = "any log cleanup may delete versions, history and change feed older than {}"
_SHORTER: Final[tuple[tuple[TableProperty[timedelta], str], ...]] = (
    (known.DELETED_FILE_RETENTION, _FILES_GO),
    (known.LOG_RETENTION, _HISTORY_GOES),
)
_STATISTICS_GO: Final = (
    "the next checkpoint drops the statistics of every file, and queries can then no longer skip "
    "files"
)
_FORMATS: Final = {
    "iceberg": "readers of Iceberg no longer see what later commits change",
    "hudi": "readers of Hudi no longer see what later commits change",
}
"""What goes with a format whose metadata is no longer written."""
_KNOWN: Final = {name for found in PROPERTIES.values() for name in (found.name, *found.aliases)}


def describe_change(
    changed: Sequence[str], before: Mapping[str, str], after: Mapping[str, str]
) -> str:
    """What becomes of the properties named `changed`, and what that makes impossible, given
    all of them before and after."""
    if not changed:
        return "The table has these properties already; there is nothing to do."
    wanted = [f"{_name(name)} to {brief(after[name])}" for name in changed if name in after]
    gone = [_name(name) for name in changed if name not in after]
    does = [f"sets {_listed(wanted)}"] if wanted else []
    does += [f"unsets {_listed(gone)}"] if gone else []
    text = " and ".join(does)
    lost = list(dict.fromkeys(_impossible(before, after))) or ["nothing is lost"]
    notes = [*_notes(before, after), *lost]
    return f"{text[0].upper()}{text[1:]}: {'; '.join(notes)}."


def _name(name: str) -> str:
    """A name of Delta as it is, any other one quoted."""
    return name if name in _KNOWN else brief(name)


def _listed(texts: Sequence[str]) -> str:
    shown = ", ".join(texts[:_SHOWN])
    more = len(texts) - _SHOWN
    return f"{shown} and {count(more, 'other')}" if more > 0 else shown


def _notes(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    vectors = known.DELETION_VECTORS
    if vectors.value_of(before) and not vectors.value_of(after):
        yield "deletes rewrite whole files, and existing deletion vectors stay"


def _impossible(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    for switch, text in _SWITCHED_ON:
        if switch.value_of(after) and not switch.value_of(before):
            yield text
    for switch, text in _SWITCHED_OFF:
        if switch.value_of(before) and not switch.value_of(after):
            yield text
    yield from _no_longer_written(before, after)
    for duration, text in _SHORTER:
        # by one that could not be read nothing was deleted, whatever others take in its place
        begins = duration.unread_in(before) is not None and duration.unread_in(after) is None
        if (left := duration.value_of(after)) < duration.value_of(before) or begins:
            yield text.format(in_words(left))
    remembered = known.TRANSACTION_RETENTION.value_of(after)
    held = known.TRANSACTION_RETENTION.value_of(before)
    if remembered is not None and (held is None or remembered < held):
        yield (
            f"an application that writes nothing for {in_words(remembered)} is forgotten, and may "
            "then write rows a second time unnoticed"
        )


def _no_longer_written(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    if _keeps_statistics(before) and not _keeps_statistics(after):
        yield _STATISTICS_GO
    gone = _formats(before) - _formats(after)
    yield from (text for name, text in _FORMATS.items() if name in gone)


def _keeps_statistics(configuration: Mapping[str, str]) -> bool:
    """Whether checkpoints keep statistics of files, in one form or the other."""
    return known.CHECKPOINT_STATS_AS_JSON.value_of(configuration) or wants_structs(configuration)


def _formats(configuration: Mapping[str, str]) -> set[str]:
    """The other formats whose metadata is written, in small letters."""
    text = known.UNIVERSAL_FORMATS.value_of(configuration)
    return {name.strip().lower() for name in text.split(",")}
