"""Engines that a change of protocol keeps away are named, and no others."""

from __future__ import annotations

import re
from pathlib import Path

import explorer
from explorer.inspect import engine_losses, engines, losses_sentence, readers_sentence
from explorer.protocol.actions import Metadata, Protocol
from tests.tables import FEATURE_PROTOCOL, LogFolder, metadata

_METADATA = Metadata(id="t", schema_string='{"type":"struct","fields":[]}')
_PLAIN = Protocol(min_reader_version=1, min_writer_version=2)
_UNKNOWN = Protocol(
    min_reader_version=3,
    min_writer_version=7,
    reader_features=("neverHeardOf",),
    writer_features=("neverHeardOf",),
)
_WRITERS = Protocol(
    min_reader_version=1, min_writer_version=7, writer_features=("icebergCompatV3",)
)


def test_change_that_asks_for_nothing_new_loses_nobody() -> None:
    found = engine_losses((_PLAIN, _METADATA), (_PLAIN, _METADATA))
    assert (found.readers, found.writers, found.num_uncertain) == ((), (), 0)
    assert "No known engine loses" in losses_sentence((_PLAIN, _METADATA), (_PLAIN, _METADATA))


def test_who_loses_the_reader_loses_the_writer_and_not_the_other_way() -> None:
    reading = engine_losses((_PLAIN, _METADATA), (_UNKNOWN, _METADATA))
    assert len(reading.readers) > 3
    writing = engine_losses((_PLAIN, _METADATA), (_WRITERS, _METADATA))
    assert not writing.readers
    assert writing.writers
    text = losses_sentence((_PLAIN, _METADATA), (_WRITERS, _METADATA))
    assert text.startswith("Can no longer write the table: ")


def test_each_version_says_how_many_engines_read_it_and_names_those_that_cannot() -> None:
    asked = (_PLAIN, _METADATA)
    first = readers_sentence(None, asked)
    assert re.fullmatch(r"\d+ of \d+ engines can read it.*\.", first)
    assert readers_sentence(asked, asked) == f"Nothing changed for readers: {first}"
    lost = readers_sentence(asked, (_UNKNOWN, _METADATA))
    assert lost.startswith("Can no longer read the table: ")
    assert re.search(r"\. \d+ of \d+ engines can read it\.$", lost)
    back = readers_sentence((_UNKNOWN, _METADATA), asked)
    assert back.startswith("Can read it again: ")


def test_engines_that_the_table_s_people_use_are_named_first() -> None:
    asked = (_UNKNOWN, _METADATA)
    plain = readers_sentence(asked, asked)
    assert "it; Trino" not in plain
    assert "it; Trino" in readers_sentence(asked, asked, ["trino"])


def test_a_change_that_stops_no_reader_says_who_can_no_longer_write() -> None:
    text = readers_sentence((_PLAIN, _METADATA), (_WRITERS, _METADATA))
    assert text.startswith("Can no longer write the table: ")


def test_as_many_cannot_read_as_the_list_of_engines_says(tmp_path: Path) -> None:
    protocol = {**FEATURE_PROTOCOL["protocol"], "readerFeatures": ["deletionVectors"]}
    protocol["writerFeatures"] = ["deletionVectors"]
    log = LogFolder(tmp_path / "t")
    log.commit(0, [{"protocol": protocol}, metadata()])
    table = explorer.open_table(log.root)
    newest = [row for row in engines(table).to_pylist() if row["newest"]]
    cannot = sum(row["can_read"] == "no" for row in newest)
    told = readers_sentence(None, (table.protocol(), table.metadata()))
    found = re.search(r"can read it; (.+) and (\d+) more cannot\.$", told)
    assert found is not None
    assert len(found[1].split(", ")) + int(found[2]) == cannot
