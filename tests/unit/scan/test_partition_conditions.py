"""A partition as a condition: it leaves the files of that partition, whatever its values are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import explorer
from explorer.protocol.schema import parse_schema
from explorer.scan.plan import plan_scan
from explorer.scan.predicate.parse import parse_predicate
from explorer.scan.predicate.partition_conditions import partition_condition
from explorer.scan.predicate.predicate import Comparison, Constant
from tests.tables import PROTOCOL, LogFolder, add, metadata

VALUES = {
    "string": ["a", "it's", 'q"q', "a\\b", "a\nb\rc\0", "x' OR 1=1 --", "`b`", " a ", "null"],
    "integer": ["1", "-5"],
    "long": ["9223372036854775807"],
    "boolean": ["true", "false"],
    "double": ["1.5", "NaN", "Infinity"],
    "decimal(10,2)": ["1.50", "-0.01"],
    "date": ["2026-11-01", "1969-12-31"],
    "timestamp": ["2026-11-01 12:00:00", "2026-11-01T12:00:00.500000Z"],
    "timestamp_ntz": ["2026-11-01 12:00:00.123"],
    "binary": ["abc", "\u0001"],
}


def schema_of(kind: str, name: str = "part") -> str:
    columns = [("id", "long"), (name, kind)]
    fields = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in columns
    ]
    return json.dumps({"type": "struct", "fields": fields})


@pytest.mark.parametrize("kind", VALUES)
def test_the_condition_leaves_the_files_of_its_partition_alone(tmp_path: Path, kind: str) -> None:
    texts = [*VALUES[kind], None]
    name = "a`b.c"  # its name is quoted too
    described = metadata(schemaString=schema_of(kind, name), partitionColumns=[name])
    log = LogFolder(tmp_path / "t")
    files = [add(f"{at}.parquet", partitionValues={name: text}) for at, text in enumerate(texts)]
    log.commit(0, [PROTOCOL, described, *files])
    snapshot = explorer.open_table(log.root).snapshot()
    for at, text in enumerate(texts):
        condition = partition_condition(snapshot.schema, [name], {name: text})
        assert condition is not None
        assert plan_scan(snapshot, condition).kept.column("path").to_pylist() == [f"{at}.parquet"]
        # a field of a form has one line
        assert not {"\n", "\r", "\0"} & set(condition)


@given(st.text(min_size=1))
@example("\\'")
@example("\\\n'")
def test_every_text_is_itself_again(text: str) -> None:
    schema = parse_schema(schema_of("string"))
    condition = partition_condition(schema, ["part"], {"part": text})
    assert condition is not None
    parsed = parse_predicate(condition, schema).condition
    assert isinstance(parsed, Comparison)
    assert isinstance(parsed.right, Constant)
    assert parsed.right.value == text


@pytest.mark.parametrize(
    ("kind", "text"), [("integer", "1 OR true"), ("boolean", "true OR true"), ("date", "x")]
)
def test_what_is_no_value_of_its_type_becomes_no_part_of_a_condition(kind: str, text: str) -> None:
    schema = parse_schema(schema_of(kind))
    assert partition_condition(schema, ["part"], {"part": text}) is None


def test_null_and_the_empty_text_are_the_same() -> None:
    schema = parse_schema(schema_of("string"))
    for values in ({"part": None}, {"part": ""}, {}):
        assert partition_condition(schema, ["part"], values) == "part IS NULL"
