"""What the first pages of columns may claim."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.storage.parquet._page_headers import check_first_pages, read_claims
from tests.lying_pages import (
    COMPRESSED_SIZE,
    DATA_PAGE,
    DATA_PAGE_V2,
    DICTIONARY_PAGE,
    NUM_VALUES,
    SIZE,
    change_page,
)

_HUGE = 2**31 - 1

_LONGS = pa.array(range(1000), pa.int64())
_TEXTS = pa.array([f"v{at % 7}" for at in range(1000)])
_PLAIN = {"use_dictionary": False}


def _check(place: Path) -> int:
    """How many columns were looked at."""
    with pa.OSFile(str(place), "rb") as file:
        claims = read_claims(file)
        for columns in claims:
            check_first_pages(file, columns)
    return sum(map(len, claims))


def test_first_pages_of_real_files_claim_what_they_hold(corpus: Path) -> None:
    places = sorted((corpus / "tables").rglob("*.parquet"))
    whole = [place for place in places if place.read_bytes().endswith(b"PAR1")]
    assert sum(map(_check, whole)) > 5000


@pytest.mark.parametrize(
    "values",
    [
        pa.array([True, None] * 5000),
        pa.array([1, None] * 5000, pa.int32()),
        pa.array([1.5] * 10_000),
        pa.array([b"0123"] * 10_000, pa.binary(4)),
        pa.array(["x" * 100_000, "y" * 100_000]),
        pa.nulls(10_000, pa.string()),
        pa.array([[], [1, 2], None] * 100),
        pa.array([], pa.int8()),
        pa.array([], pa.string()),
    ],
    ids=lambda values: f"{len(values)} {values.type}",
)
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
def test_honest_pages_are_fine(
    values: pa.Array, version: Any, compression: str, tmp_path: Path
) -> None:
    place = tmp_path / "x.parquet"
    table = pa.table({"a": values})
    pq.write_table(table, place, data_page_version=version, compression=compression)
    assert _check(place) == 1


@pytest.mark.parametrize(
    ("values", "written", "which", "path", "words"),
    [
        (_TEXTS, {}, "dictionary", (DICTIONARY_PAGE, NUM_VALUES), "more values than its page"),
        (_LONGS, {}, "dictionary", (DICTIONARY_PAGE, NUM_VALUES), "more values than its page"),
        (_TEXTS, {}, "dictionary", (SIZE,), "larger page than the footer"),
        (_TEXTS, {}, "dictionary", (COMPRESSED_SIZE,), "a size that its column cannot have"),
        (_TEXTS, {}, "data", (SIZE,), "larger page than the footer"),
        (_LONGS, _PLAIN, "data", (SIZE,), "larger page than the footer"),
        (_LONGS, _PLAIN, "data", (COMPRESSED_SIZE,), "a size that its column cannot have"),
        (_LONGS, _PLAIN, "data", (DATA_PAGE, NUM_VALUES), "more values than the footer"),
        (
            *(_LONGS, _PLAIN | {"data_page_version": "2.0"}, "data"),
            *((DATA_PAGE_V2, NUM_VALUES), "more values than the footer"),
        ),
    ],
)
def test_page_that_claims_too_much_is_refused(  # the columns of a table
    values: pa.Array,
    written: dict[str, Any],
    which: Literal["dictionary", "data"],
    path: tuple[int, ...],
    words: str,
    tmp_path: Path,
) -> None:
    place = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": values}), place, **written)
    change_page(place, which, path, _HUGE)
    with pytest.raises(ValueError, match=words):
        _check(place)
    change_page(place, which, path, -1)
    with pytest.raises(ValueError, match="a size that its column cannot have"):
        _check(place)


def test_dictionary_of_one_value_too_many_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": _LONGS}), place)
    change_page(place, "dictionary", (DICTIONARY_PAGE, NUM_VALUES), 1000)
    assert _check(place) == 1
    change_page(place, "dictionary", (DICTIONARY_PAGE, NUM_VALUES), 1001)
    with pytest.raises(ValueError, match="more values than its page"):
        _check(place)


def test_page_of_a_kind_that_hides_the_next_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": _TEXTS}), place)
    change_page(place, "dictionary", (1,), 1)
    with pytest.raises(ValueError, match="cannot be followed"):
        _check(place)


@pytest.mark.slow
def test_changed_bytes_are_fine_or_refused_and_nothing_else(tmp_path: Path) -> None:
    place, noise = tmp_path / "x.parquet", random.Random(5)
    pq.write_table(pa.table({"a": _TEXTS, "b": _LONGS}), place, row_group_size=300)
    whole, refused = place.read_bytes(), 0
    for _ in range(1500):
        changed = bytearray(whole)
        for _ in range(noise.randint(1, 3)):
            changed[noise.randrange(len(changed) - 8)] = noise.randrange(256)
        place.write_bytes(changed)
        try:
            _check(place)
        except ValueError:
            refused += 1
    assert 50 < refused < 1500
