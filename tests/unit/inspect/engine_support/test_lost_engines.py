"""Engines that a change of protocol keeps away are named, and no others."""

from __future__ import annotations

from explorer.inspect import engine_losses, losses_sentence
from explorer.protocol.actions import Metadata, Protocol

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
