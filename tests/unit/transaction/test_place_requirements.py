"""Where the new files of a commit may lie."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from explorer.log.actions.columns import string_column
from explorer.protocol.paths import decode_path, encode_path
from explorer.transaction.read_version import NO_TABLE
from explorer.transaction.rules.files import place_rules
from explorer.transaction.staged import Promises
from tests.unit.transaction.stages import (
    METADATA,
    PLAIN,
    add,
    batch,
    features,
    only,
    remove,
    stage,
    texts,
    vector,
)


@pytest.mark.parametrize(
    "path",
    [
        "50%.parquet",
        "a%",
        "a%zz",
        "a b.parquet",
        "a\nb.parquet",
        "a\x7fb",
        "a\x85b",
        "a\u00a0b",
        "a\u2028b",
        "x:y.parquet",
        "1x:y/z",
        "a#b.parquet",
        "a?b.parquet",
        "s3://bucket/a b",
        "//host/a",
        "%E9.parquet",
        *(f"a{character}b" for character in '"<>\\^{}|`[]'),
    ],
)
def test_the_path_of_a_new_file_is_a_uri(path: str) -> None:
    assert "a path that is not a URI" in only(stage(add("sound"), add(path)))
    in_a_batch = replace(stage(), adds=(batch("add", add("sound"), add(path)),))
    assert "1 add action has a path that is not a URI" in only(in_a_batch)


@pytest.mark.parametrize(
    "path",
    [
        "50%25.parquet",
        "a%20b.parquet",
        "a/b:c.parquet",
        "x%3Ay.parquet",
        "./x:y",
        "day=2020-01-01%2000%253A00/x.parquet",
        "%25E9.parquet",
        "é%20日本/😀.parquet",
        "%C3%A9.parquet",
        "a!$&'()*+,;=@-_.~b",
        "/other/a.parquet",
        "file:///other/a.parquet",
        "s3://bucket/a%20b.parquet",
        "abfss://container@account.dfs.core.windows.net/a.parquet",
    ],
)
def test_a_path_that_readers_can_decode_is_taken(path: str) -> None:
    assert texts(stage(add(path))) == []


@pytest.mark.parametrize("name", ["a b", "50%", 'q"<>|\\^`{}[]#?', "é\u00a0\u2028\x85", "a\nb"])
def test_what_this_product_encodes_is_a_uri(name: str) -> None:
    assert decode_path(encode_path(name)) == name
    assert texts(stage(add(encode_path(name)))) == []


@pytest.mark.rule("log-data-files-location")
@pytest.mark.parametrize(
    "path",
    [
        "",
        ".",
        "./",
        "/",
        "file:///",
        "_delta_log/a.parquet",
        "./_delta_log/0.json",
        ".//_delta_log/0.json",
        "%5Fdelta_log/x",
        "_delta_log%2F0.json",
        "s3://bucket/t/_delta_log/0.json",
        "../a.parquet",
        "%2e%2e/x",
        "a/%2E%2E%2F..%2Fx",
        "%2Fetc/x",
        "%00.parquet",
    ],
)
def test_no_new_file_lies_in_a_log_or_out_of_the_table(path: str) -> None:
    assert "leads to no data file" in only(stage(add(path)))
    first = stage(PLAIN, METADATA, add(path, data_change=False), upon=NO_TABLE)
    assert any("leads to no data file" in text for text in texts(first))


def test_names_that_only_resemble_a_log_are_taken() -> None:
    paths = ["_delta_logs/a", "x/_delta_log/a", "a..b/c", ".../a", "..a", "_c=1/a"]
    assert texts(stage(*map(add, paths))) == []


@pytest.mark.parametrize("path", ["50%.parquet", "a b", "x:y", "../a", "%5Fdelta_log/x"])
def test_a_file_that_another_writer_added_is_kept_completed_and_removed(path: str) -> None:
    assert texts(stage(remove(path))) == []
    assert texts(stage(add(path), promises=Promises(recommits=True))) == []
    assert texts(stage(add(path, data_change=False))) == []
    table = stage(
        remove(path),
        add(path, deletion_vector=vector(), stats='{"numRecords":10,"tightBounds":false}'),
    )
    supported = replace(
        table,
        base=replace(
            table.base,
            protocol=features(readers=["deletionVectors"]),
            metadata=replace(METADATA, configuration={"delta.enableDeletionVectors": "true"}),
        ),
    )
    assert texts(supported) == []


@pytest.mark.slow
@given(st.lists(st.text("aZ09_=.-/:%2 \n\x00é", max_size=12), max_size=4))
@example(["a/.."])
@example(["_delta_log/a"])
@example(["a/_delta_log/b"])
@example(["a\n"])
@example(["a/"])
@example(["part-00000-0.parquet", "day=1/part-00000-0.c000.snappy.parquet"])
def test_paths_that_are_taken_at_sight_are_those_that_a_closer_look_takes(
    names: list[str],
) -> None:
    paths = pa.chunked_array([string_column(names)], pa.string())
    at_sight = [*place_rules.validate_named_places("add", paths)]
    lost = place_rules.lead_to_no_file(paths).to_pylist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(place_rules, "_are_plain", lambda _: False)
        assert at_sight == [*place_rules.validate_named_places("add", paths)]
        assert lost == place_rules.lead_to_no_file(paths).to_pylist()
