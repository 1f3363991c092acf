"""Where columns lie, by our own reading of footers: held against pyarrow's."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.storage.parquet._column_chunks import ColumnChunk, parse_chunks, ranges_of
from explorer.storage.parquet._page_headers import leaves_among

_TYPES = [
    *("BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE"),
    *("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"),
]

_CODECS = ["UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4_HADOOP", "ZSTD", "LZ4"]


def _footer(data: bytes) -> bytes:
    length = int.from_bytes(data[-8:-4], "little")
    return data[-8 - length : -8]


def _nulls(leaf: pq.ColumnChunkMetaData) -> int | None:
    """None also where pyarrow does not believe the writer's bounds: then it has no count either."""
    said = leaf.statistics
    return said.null_count if said is not None and said.has_null_count else None


def _as_pyarrow_says(place: Path, ours: list[list[ColumnChunk]]) -> list[list[ColumnChunk]]:
    """With our own count of nulls where pyarrow has none."""
    footer = pq.read_metadata(place)
    found = []
    for at, group in enumerate(map(footer.row_group, range(footer.num_row_groups))):
        leaves = map(group.column, range(group.num_columns))
        starts = [
            (leaf, min(leaf.data_page_offset, leaf.dictionary_page_offset or 2**63))
            for leaf in leaves
        ]
        found.append(
            [
                ColumnChunk(
                    start=start,
                    end=start + leaf.total_compressed_size,
                    size=leaf.total_uncompressed_size,
                    num_values=leaf.num_values,
                    codec=_CODECS.index(leaf.compression),
                    physical_type=_TYPES.index(leaf.physical_type),
                    num_nulls=own.num_nulls if (said := _nulls(leaf)) is None else said,
                )
                for (leaf, start), own in zip(starts, ours[at], strict=True)
            ]
        )
    return found


@pytest.mark.slow
def test_chunks_of_real_files_are_those_that_pyarrow_finds(corpus: Path) -> None:
    places = sorted((corpus / "tables").rglob("*.parquet"))
    whole = [place for place in places if place.read_bytes().endswith(b"PAR1")]
    assert len(whole) > 500
    for place in whole:
        ours = parse_chunks(_footer(place.read_bytes()))
        assert ours == _as_pyarrow_says(place, ours), place


def test_nulls_that_a_footer_does_not_count_are_unknown(tmp_path: Path) -> None:
    rows = pa.table({"a": [1, None], "b": ["x", "y"]})
    for count_them, nulls in ((True, [1, 0]), (False, [-1, -1])):
        pq.write_table(rows, tmp_path / "f", write_statistics=count_them)
        (chunks,) = parse_chunks(_footer((tmp_path / "f").read_bytes()))
        assert [chunk.num_nulls for chunk in chunks] == nulls


@pytest.fixture
def nested(tmp_path: Path) -> Path:
    """A file of two row groups with a struct, a list and a name with a dot."""
    place = tmp_path / "nested.parquet"
    row = {"a": 1, "s": {"x": 1, "y": {"z": "t"}}, "l": [1, 2], "s.x": 5}
    pq.write_table(pa.Table.from_pylist([row] * 10), place, row_group_size=5)
    return place


def test_name_stands_for_a_leaf_and_for_what_lies_in_it(nested: Path) -> None:
    schema = pq.read_metadata(nested).schema
    paths = [schema.column(at).path for at in range(len(schema))]
    assert paths == ["a", "s.x", "s.y.z", "l.list.element", "s.x"]
    assert leaves_among(paths, ["a"]) == [0]
    assert leaves_among(paths, ["l"]) == [3]
    assert leaves_among(paths, ["s.y", "nothing"]) == [2]
    assert leaves_among(paths, ["s"]) == [1, 2, 4]


def test_ranges_are_those_of_the_leaves_in_each_row_group(nested: Path) -> None:
    chunks = parse_chunks(_footer(nested.read_bytes()))

    def asked(groups: range, leaves: list[int]) -> list[tuple[int, int]]:
        where = {
            (chunk.start, chunk.end): (group, leaf)
            for group, columns in enumerate(chunks)
            for leaf, chunk in enumerate(columns)
        }
        return [where[found] for found in ranges_of(chunks, groups, leaves)]

    assert asked(range(1), [0]) == [(0, 0)]
    assert asked(range(2), [3]) == [(0, 3), (1, 3)]
    assert asked(range(1), [1, 9]) == [(0, 1)]
    assert asked(range(1, 9), [*range(5)]) == [(1, leaf) for leaf in range(5)]


@pytest.mark.slow
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
