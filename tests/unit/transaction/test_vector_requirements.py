"""What new deletion vectors must say of their place, and numbers of the log's types."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from explorer.protocol.actions import Transaction
from explorer.protocol.commit_json import Action
from explorer.protocol.file_actions import AddCDCFile
from explorer.protocol.vectors.deletion_vectors import (
    DeletionVectorDescriptor,
    build_inline_descriptor,
    render_relative_place,
)
from explorer.transaction.read_version import ReadVersion
from explorer.transaction.staged import Promises
from explorer.transaction.staged_files import numbers_beyond
from tests.unit.transaction.stages import (
    add,
    base,
    batch,
    features,
    metadata,
    only,
    remove,
    stage,
    texts,
    vector,
)

WIDE = '{"numRecords":10,"tightBounds":false}'
UNIQUE = UUID("d2c639aa-8816-431a-aaf6-d3fe2512ff61")
PLACE = "ab^-aqEH.-t@S}K{vb[*k^"
INLINE = build_inline_descriptor([0, 2])
# characters `#` fill up the last word: an inline vector of 33 bytes
FILLED = DeletionVectorDescriptor(
    storage_type="i", path_or_inline_dv="0" * 40 + "###01", size_in_bytes=33, cardinality=1
)


def read() -> ReadVersion:
    return base(
        features(readers=["deletionVectors"]), metadata({"delta.enableDeletionVectors": "true"})
    )


def hiding(found: DeletionVectorDescriptor, **fields: object) -> list[str]:
    """What is wrong with a commit that gives a file this vector, besides a sound one."""
    sound = add("b", deletion_vector=vector(), stats=WIDE)
    odd = add("a", deletion_vector=found, stats=WIDE, **fields)
    staged = stage(remove("a"), sound, odd, upon=read())
    in_a_batch = replace(staged, actions=(remove("a"),), adds=(batch("add", sound, odd),))
    assert texts(in_a_batch) == texts(staged)
    return texts(staged)


@pytest.mark.parametrize(
    "found",
    [
        vector(),
        vector(place=PLACE[2:]),
        vector(place=render_relative_place(UNIQUE, "a b/c%2F")),
        replace(vector(), storage_type="p", path_or_inline_dv="s3://t/deletion_vector_x.bin"),
        replace(vector(), storage_type="p", path_or_inline_dv="/t/a%20b.bin"),
        replace(vector(), offset=2**31 - 1),
        INLINE,
        FILLED,
        # the specification does not forbid a vector that hides nothing
        vector(0),
    ],
)
def test_a_vector_that_readers_find_is_taken(found: DeletionVectorDescriptor) -> None:
    assert hiding(found) == []


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (replace(vector(), storage_type="x"), "stored in the way `x`"),
        (replace(vector(), storage_type=""), "stored in the way"),
        (replace(vector(), storage_type="U"), "stored in the way `U`"),
        (vector(place="short"), "at `short` cannot be found"),
        (vector(place=""), "cannot be found"),
        (vector(place="§" * 20), "cannot be found"),
        (vector(place="#" * 20), "cannot be found"),
        (vector(place=f"../../{PLACE}"), "cannot be found"),
        (vector(place=f"/tmp/{PLACE}"), "cannot be found"),
        (vector(place=render_relative_place(UNIQUE, "_delta_log")), "cannot be found"),
        (replace(vector(), storage_type="p", path_or_inline_dv="relative/x"), "cannot be found"),
        (replace(vector(), storage_type="p", path_or_inline_dv="x:y"), "cannot be found"),
        (replace(vector(), storage_type="p", path_or_inline_dv="/t/a b"), "cannot be found"),
        (replace(vector(), storage_type="p", path_or_inline_dv="/t/../x"), "cannot be found"),
        (replace(vector(), offset=None), "where it begins"),
        (replace(vector(), offset=0), "where it begins"),
        (replace(vector(), offset=-4), "where it begins"),
        (replace(vector(), size_in_bytes=0), "how many bytes"),
        (replace(vector(), size_in_bytes=-1), "how many bytes"),
        (replace(INLINE, offset=1), "has an offset"),
        (replace(INLINE, path_or_inline_dv="§§§§§"), "is not Z85"),
        (replace(INLINE, path_or_inline_dv=INLINE.path_or_inline_dv[1:]), "is not Z85"),
        (replace(INLINE, path_or_inline_dv=""), "is not Z85"),
        (replace(INLINE, size_in_bytes=INLINE.size_in_bytes + 4), "another size"),
        (replace(INLINE, size_in_bytes=INLINE.size_in_bytes - 4), "another size"),
    ],
)
def test_a_vector_that_readers_cannot_find_is_refused(
    found: DeletionVectorDescriptor, told: str
) -> None:
    (problem,) = hiding(found)
    assert told in problem


def test_vectors_that_are_there_already_stay_as_they_are() -> None:
    odd = replace(vector(), storage_type="x", offset=None)
    assert len(hiding(odd)) == 2
    back = stage(
        add("a", deletion_vector=odd, stats=WIDE), upon=read(), promises=Promises(recommits=True)
    )
    assert texts(back) == []
    completed = add("a", deletion_vector=odd, stats=WIDE, data_change=False)
    assert texts(stage(completed, upon=read())) == []
    assert texts(stage(remove("a", deletion_vector=odd), upon=read())) == []


FEED = base(features("changeDataFeed"), metadata({"delta.enableChangeDataFeed": "true"}))
CDC = AddCDCFile(path="_change_data/a", partition_values={}, size=1)


@pytest.mark.parametrize(
    ("action", "field", "largest"),
    [
        (add(), "size", 2**63 - 1),
        (add(), "modification_time", 2**63 - 1),
        (remove(), "size", 2**63 - 1),
        (remove(), "deletion_timestamp", 2**63 - 1),
        (remove(), "base_row_id", 2**63 - 1),
        (remove(), "default_row_commit_version", 2**63 - 1),
        (CDC, "size", 2**63 - 1),
        (Transaction(app_id="a", version=1), "version", 2**63 - 1),
        (Transaction(app_id="a", version=1), "last_updated", 2**63 - 1),
    ],
)
def test_numbers_beyond_those_of_the_log_are_told(action: Action, field: str, largest: int) -> None:
    assert texts(stage(replace(action, **{field: largest}), upon=FEED)) == []
    for number in (largest + 1, 2**64, 2**100):
        assert "that its type cannot hold" in only(
            stage(replace(action, **{field: number}), upon=FEED)
        )
    low = texts(stage(replace(action, **{field: -(2**63) - 1}), upon=FEED))
    assert "that its type cannot hold" in low[0] or "that its type cannot hold" in low[-1]


def test_numbers_of_a_vector_beyond_those_of_the_log_are_told() -> None:
    for field, number in (("offset", 2**31), ("size_in_bytes", 2**40), ("cardinality", 2**63)):
        odd = add("a", deletion_vector=replace(vector(), **{field: number}), stats=WIDE)
        found = texts(stage(remove("a"), odd, upon=read()))
        assert sum("that its type cannot hold" in text for text in found) == 1
        gone = remove("a", deletion_vector=odd.deletion_vector)
        assert "`remove.deletionVector." in only(stage(gone, upon=read()))
    assert "`add.size` that its type cannot hold" in only(
        stage(add("a", size=2**63), add("b", size=2**64))
    )


def test_only_whole_numbers_are_looked_at() -> None:
    body = {"path": "9" * 40, "size": 2**63 - 1, "dataChange": True, "deletionVector": None}
    assert numbers_beyond(body) == []
    assert numbers_beyond(body | {"size": -(2**63) - 1, "baseRowId": 2**63}) == [
        "size",
        "baseRowId",
    ]
