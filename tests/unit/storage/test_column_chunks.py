"""Where columns lie, by our own reading of footers: held against pyarrow's."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.storage.column_chunks import ColumnChunk, parse_chunks, ranges_of

_TYPES = [
    *("BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE"),
    *("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"),
]


def _footer(data: bytes) -> bytes:
    length = int.from_bytes(data[-8:-4], "little")
    return data[-8 - length : -8]


def _as_pyarrow_says(place: Path) -> list[list[ColumnChunk]]:
    footer = pq.read_metadata(place)
    found = []
    for group in map(footer.row_group, range(footer.num_row_groups)):
        leaves = map(group.column, range(group.num_columns))
        starts = [
            (leaf, min(leaf.data_page_offset, leaf.dictionary_page_offset or 2**63))
            for leaf in leaves
        ]
        found.append(
            [
                ColumnChunk(
                    path=leaf.path_in_schema,
                    start=start,
                    end=start + leaf.total_compressed_size,
                    size=leaf.total_uncompressed_size,
                    num_values=leaf.num_values,
                    physical_type=_TYPES.index(leaf.physical_type),
                )
                for leaf, start in starts
            ]
        )
    return found


def test_chunks_of_real_files_are_those_that_pyarrow_finds(corpus: Path) -> None:
    places = sorted((corpus / "tables").rglob("*.parquet"))
    whole = [place for place in places if place.read_bytes().endswith(b"PAR1")]
    assert len(whole) > 500
    for place in whole:
        assert parse_chunks(_footer(place.read_bytes())) == _as_pyarrow_says(place), place


@pytest.fixture
def nested(tmp_path: Path) -> Path:
    """A file of two row groups with a struct, a list and a name with a dot."""
    place = tmp_path / "nested.parquet"
    row = {"a": 1, "s": {"x": 1, "y": {"z": "t"}}, "l": [1, 2], "s.x": 5}
    pq.write_table(pa.Table.from_pylist([row] * 10), place, row_group_size=5)
    return place


def test_name_stands_for_a_leaf_and_for_what_lies_in_it(nested: Path) -> None:
    chunks = parse_chunks(_footer(nested.read_bytes()))
    paths = [chunk.path for chunk in chunks[0]]
    assert paths == ["a", "s.x", "s.y.z", "l.list.element", "s.x"]

    def asked(groups: range, names: list[str] | None) -> list[str]:
        by_range = {(chunk.start, chunk.end): chunk.path for group in chunks for chunk in group}
        return [by_range[found] for found in ranges_of(chunks, groups, names)]

    assert asked(range(1), ["a"]) == ["a"]
    assert asked(range(2), ["l"]) == ["l.list.element"] * 2
    assert asked(range(1), ["s.y", "nothing"]) == ["s.y.z"]
    assert asked(range(1), ["s"]) == ["s.x", "s.y.z", "s.x"]
    assert asked(range(1, 9), None) == paths


def test_footer_that_was_changed_has_other_chunks_or_none(nested: Path) -> None:
    noise = random.Random(5)
    footer = _footer(nested.read_bytes())
    for _ in range(3000):
        changed = bytearray(footer)
        for _ in range(noise.randint(1, 4)):
            changed[noise.randrange(len(changed))] = noise.randrange(256)
        found = parse_chunks(bytes(changed[: noise.randint(0, len(changed))]))
        assert all(0 <= chunk.start <= chunk.end for group in found for chunk in group)


def test_footer_beyond_what_is_worth_following_has_none() -> None:
    assert parse_chunks(b"\0" * 2**20) == []
    assert parse_chunks(b"") == []
    # a struct in a struct in a struct, without end
    assert parse_chunks(b"\x1c" * 10_000) == []
