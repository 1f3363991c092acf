"""Statistics and partition values in checkpoints: as JSON and as columns, and both ways between."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.errors import CorruptLogError, UnsupportedError
from explorer.log.checkpoint_writing.checkpoint_form import CLASSIC, CheckpointForm
from explorer.log.checkpoint_writing.checkpoint_writer import write_checkpoint
from explorer.storage.local import LocalStore
from tests.tables import FEATURE_PROTOCOL, PROTOCOL, Action, LogFolder, add, metadata, vector

NOW = datetime(2023, 11, 15, tzinfo=UTC)
_JSON, _STRUCT = "delta.checkpoint.writeStatsAsJson", "delta.checkpoint.writeStatsAsStruct"
_STRUCTS = {_STRUCT: "true"}
_ONLY_STRUCTS = {_STRUCT: "true", _JSON: "false"}
_MAPPED: Action = {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}
_TYPES = {
    "b": "byte",
    "i": "integer",
    "l": "long",
    "f": "float",
    "d": "double",
    "dec": "decimal(38,10)",
    "s": "string",
    "bin": "binary",
    "bool": "boolean",
    "day": "date",
    "ts": "timestamp",
    "ntz": "timestamp_ntz",
    "array": {"type": "array", "elementType": "long", "containsNull": True},
    "nothing": "void",
}


def _field(name: str, kind: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": {}} | more


def _schema(fields: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "struct", "fields": fields}


def _text(fields: list[dict[str, Any]]) -> str:
    return json.dumps(_schema(fields))


_EVERY = _text(
    [
        _field("part", "string"),
        *(_field(name, kind) for name, kind in _TYPES.items()),
        _field("outer", _schema([_field("in", _schema([_field("x.y", "long")]))])),
    ]
)
_LOW = {
    "b": -128,
    "i": -(2**31),
    "l": -(2**63),
    "f": 0.1,
    "d": -1.5e300,
    "dec": "@",
    "s": 'a"\\\n\u2028é😀',
    "day": "1969-12-31",
    "ts": "2024-02-29T23:59:59.123Z",
    "ntz": "2024-02-29T23:59:59.123",
    "bool": False,
    "outer": {"in": {"x.y": 1}},
}
_STATS = (
    json.dumps({"numRecords": 3, "minValues": _LOW, "maxValues": _LOW}, ensure_ascii=False)
    .replace('"@"', "-1234567890123456789012345678.0123456789")
    .removesuffix("}")
    + ',"nullCount":{"b":1,"array":2,"bin":0,"outer":{"in":{"x.y":3}}},"tightBounds":false}'
)


def _log(
    root: Path,
    stats: list[str | None],
    configuration: dict[str, str],
    *,
    schema: str = _EVERY,
    protocol: Action = PROTOCOL,
    partitions: tuple[str, ...] = (),
) -> LogFolder:
    log = LogFolder(root)
    table = metadata(
        schemaString=schema, configuration=configuration, partitionColumns=list(partitions)
    )
    adds = [add(f"{at}.parquet", stats=text) for at, text in enumerate(stats)]
    log.commit(0, [protocol, table, *adds])
    return log


def _checkpoint(log: LogFolder, form: CheckpointForm = CLASSIC) -> Path:
    snapshot = explorer.open_table(log.root).snapshot()
    store = LocalStore(str(log.root))
    written = snapshot.consult(lambda loaded: write_checkpoint(store, loaded, now=NOW, form=form))
    return log.root / written.files[0].path


def _adds(file: Path) -> list[dict[str, Any]]:
    rows = pq.ParquetFile(file).read(columns=["add"]).column("add").to_pylist()
    return [row for row in rows if row is not None]


@pytest.mark.rule("checkpoint-stats-parsed", "checkpoint-schema-add")
def test_every_type_has_its_column(tmp_path: Path) -> None:
    file = _checkpoint(_log(tmp_path / "t", [_STATS], _STRUCTS, partitions=("part",)))
    parsed = pq.read_schema(file).field("add").type.field("stats_parsed").type
    least = parsed.field("minValues").type
    assert {field.name: field.type for field in least if field.name != "outer"} == {
        "b": pa.int8(),
        "i": pa.int32(),
        "l": pa.int64(),
        "f": pa.float32(),
        "d": pa.float64(),
        "dec": pa.decimal128(38, 10),
        "s": pa.string(),
        "bool": pa.bool_(),
        "day": pa.date32(),
        "ts": pa.timestamp("us", "UTC"),
        "ntz": pa.timestamp("us"),
    }
    counts = [field.name for field in parsed.field("nullCount").type]
    assert counts == [*(name for name in _TYPES if name != "nothing"), "outer"]
    assert [field.name for field in parsed] == [
        "numRecords",
        "minValues",
        "maxValues",
        "nullCount",
        "tightBounds",
    ]


@pytest.mark.rule("checkpoint-stats-parsed")
def test_every_value_is_that_of_the_json(tmp_path: Path) -> None:
    (body,) = _adds(_checkpoint(_log(tmp_path / "t", [_STATS], _STRUCTS)))
    parsed = body["stats_parsed"]
    assert (parsed["numRecords"], parsed["tightBounds"]) == (3, False)
    assert parsed["minValues"] == parsed["maxValues"]
    assert parsed["minValues"] == {
        "part": None,
        "b": -128,
        "i": -(2**31),
        "l": -(2**63),
        "f": pytest.approx(0.1),
        "d": -1.5e300,
        "dec": Decimal("-1234567890123456789012345678.0123456789"),
        "s": 'a"\\\n\u2028é😀',
        "bool": False,
        "day": date(1969, 12, 31),
        "ts": datetime(2024, 2, 29, 23, 59, 59, 123000, tzinfo=UTC),
        "ntz": datetime(2024, 2, 29, 23, 59, 59, 123000),  # noqa: DTZ001  # a time on the wall
        "outer": {"in": {"x.y": 1}},
    }
    assert parsed["nullCount"]["outer"] == {"in": {"x.y": 3}}
    assert (parsed["nullCount"]["array"], parsed["nullCount"]["s"]) == (2, None)
    assert body["stats"] == _STATS


@pytest.mark.rule("checkpoint-stats-parsed")
def test_file_without_usable_statistics_has_no_struct(tmp_path: Path) -> None:
    texts = [None, "{", '{"numRecords":"x"}', "{}", '{"numRecords":-1}', '{"numRecords":4}']
    bodies = _adds(_checkpoint(_log(tmp_path / "t", texts, _STRUCTS)))
    parsed = [body["stats_parsed"] for body in bodies]
    assert parsed[:3] == [None, None, None]
    assert [found["numRecords"] for found in parsed[3:]] == [None, None, 4]
    assert [body["stats"] for body in bodies] == texts


def test_bound_that_its_type_does_not_hold_is_none(tmp_path: Path) -> None:
    text = '{"numRecords":1,"minValues":{"b":300,"i":5},"maxValues":{"day":"2024-02-30"}}'
    (body,) = _adds(_checkpoint(_log(tmp_path / "t", [text], _STRUCTS)))
    assert (body["stats_parsed"]["minValues"]["b"], body["stats_parsed"]["minValues"]["i"]) == (
        None,
        5,
    )
    assert body["stats_parsed"]["maxValues"]["day"] is None


@pytest.mark.parametrize("number", ["1e999", "-1e999", "Infinity"])
def test_number_beyond_every_double_is_no_bound_in_a_column(tmp_path: Path, number: str) -> None:
    text = f'{{"numRecords":1,"minValues":{{"d":{number},"f":1e39,"i":5}}}}'
    (body,) = _adds(_checkpoint(_log(tmp_path / "t", [text], _STRUCTS)))
    least = body["stats_parsed"]["minValues"]
    assert (least["d"], least["f"], least["i"]) == (None, None, 5)


@pytest.mark.rule("checkpoint-stats-parsed-default", "checkpoint-stats-json-false")
@pytest.mark.rule("feature-writer-version-3")
@pytest.mark.parametrize(
    ("configuration", "as_json", "as_struct"),
    [
        ({}, True, False),
        ({_STRUCT: "false"}, True, False),
        (_STRUCTS, True, True),
        (_ONLY_STRUCTS, False, True),
        ({_JSON: "false"}, False, True),
        ({_JSON: "false", _STRUCT: "false"}, False, False),
    ],
    ids=str,
)
def test_properties_decide_what_is_written(
    configuration: dict[str, str], *, as_json: bool, as_struct: bool, tmp_path: Path
) -> None:
    (body,) = _adds(_checkpoint(_log(tmp_path / "t", [_STATS], configuration)))
    assert ("stats" in body, "stats_parsed" in body) == (as_json, as_struct)
    assert "partitionValues_parsed" not in body


@pytest.mark.rule("checkpoint-partitionvalues-parsed", "checkpoint-partitionvalues-parsed-types")
@pytest.mark.rule("checkpoint-schema-mapping-physical")
def test_partition_values_are_typed_columns_by_physical_names(tmp_path: Path) -> None:
    def mapped(name: str, kind: str, number: int) -> dict[str, Any]:
        more = {
            "delta.columnMapping.id": number,
            "delta.columnMapping.physicalName": f"col-{number}",
        }
        return _field(name, kind, metadata=more)

    kinds = ["date", "decimal(5,2)", "timestamp", "boolean", "binary", "string", "long"]
    fields = [mapped(f"p{at}", kind, at) for at, kind in enumerate(kinds)]
    log = LogFolder(tmp_path / "t")
    names = [field["name"] for field in fields]
    configuration = {**_STRUCTS, "delta.columnMapping.mode": "name"}
    values = ["2024-02-29", "-1.50", "2024-02-29 01:02:03.5", "true", "\x01", "", "-7"]
    stats = '{"numRecords":1,"minValues":{"col-9":3}}'
    filled = add("a", stats=stats, partitionValues={f"col-{at}": v for at, v in enumerate(values)})
    empty = add("b", partitionValues=dict.fromkeys((f"col-{at}" for at in range(7)), None))
    schema = _text([*fields, mapped("x", "long", 9)])
    table = metadata(schemaString=schema, configuration=configuration, partitionColumns=names)
    log.commit(0, [_MAPPED, table, filled, empty])
    file = _checkpoint(log)
    first, second = _adds(file)
    assert first["partitionValues_parsed"] == {
        "col-0": date(2024, 2, 29),
        "col-1": Decimal("-1.50"),
        "col-2": datetime(2024, 2, 29, 1, 2, 3, 500000, tzinfo=UTC),
        "col-3": True,
        "col-4": b"\x01",
        "col-5": None,
        "col-6": -7,
    }
    assert set(second["partitionValues_parsed"].values()) == {None}
    assert first["stats_parsed"]["minValues"] == {"col-9": 3}


def test_partition_value_that_is_none_is_not_written_as_null(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    schema = _text([_field("p", "long")])
    table = metadata(schemaString=schema, configuration=_STRUCTS, partitionColumns=["p"])
    log.commit(0, [PROTOCOL, table, add("a", partitionValues={"p": "seven"})])
    with pytest.raises(CorruptLogError, match="seven"):
        _checkpoint(log)
    assert len(list(log.log.iterdir())) == 1


def test_partition_column_without_a_rule_is_refused(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    schema = _text([_field("p", "interval day to second")])
    table = metadata(schemaString=schema, configuration=_STRUCTS, partitionColumns=["p"])
    log.commit(0, [PROTOCOL, table, add("a", partitionValues={"p": "7"})])
    with pytest.raises(UnsupportedError):
        _checkpoint(log)


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, ["part", "b", "i", "l"]),
        ({"delta.dataSkippingNumIndexedCols": "0"}, []),
        ({"delta.dataSkippingNumIndexedCols": "2"}, ["part", "b"]),
        ({"delta.dataSkippingStatsColumns": "l, `outer`"}, ["l", "outer"]),
        ({"delta.dataSkippingStatsColumns": "outer.in"}, ["outer"]),
        ({"delta.dataSkippingStatsColumns": "`a,``b`,i, `outer`.`in`"}, ["i", "outer"]),
    ],
    ids=str,
)
def test_columns_are_those_that_statistics_are_kept_for(
    properties: dict[str, str], expected: list[str], tmp_path: Path
) -> None:
    file = _checkpoint(_log(tmp_path / "t", [_STATS], {**_STRUCTS, **properties}))
    parsed = pq.read_schema(file).field("add").type.field("stats_parsed").type
    at = parsed.get_field_index("nullCount")
    found = [] if at < 0 else [field.name for field in parsed.field(at).type]
    assert found[: len(expected)] == expected
    assert (len(found) == len(expected)) == bool(properties)


@pytest.mark.rule("newer-variant-stats")
def test_variant_has_counts_of_nulls_alone(tmp_path: Path) -> None:
    schema = _text([_field("v", "variant")])
    text = '{"numRecords":2,"minValues":{"v":"x"},"nullCount":{"v":1}}'
    file = _checkpoint(_log(tmp_path / "t", [text], _STRUCTS, schema=schema))
    (body,) = _adds(file)
    assert body["stats_parsed"] == {"numRecords": 2, "nullCount": {"v": 1}, "tightBounds": None}


def _as_meant(text: str) -> Any:
    return json.loads(text, parse_float=Decimal, parse_int=Decimal)


@pytest.mark.parametrize("form", [CLASSIC, CheckpointForm(kind="v2")], ids=["classic", "v2"])
def test_columns_become_json_again(form: CheckpointForm, tmp_path: Path) -> None:
    protocol = FEATURE_PROTOCOL if form.kind == "v2" else PROTOCOL
    log = _log(tmp_path / "t", [_STATS, None], _ONLY_STRUCTS, protocol=protocol)
    assert "stats" not in _adds(_checkpoint(log, form))[0]
    log.commit(1, [metadata(schemaString=_EVERY, configuration={}), add("new", stats="{}")])
    first, second, new = (body["stats"] for body in _adds(_checkpoint(log, form)))
    found, expected = _as_meant(first), _as_meant(_STATS)
    # a float has the digits that its type needs
    for side in ("minValues", "maxValues"):
        assert float(found[side].pop("f")) == float(expected[side].pop("f"))
    assert found == expected
    assert (second, new) == (None, "{}")


def test_columns_stay_columns_over_checkpoints(tmp_path: Path) -> None:
    log = _log(tmp_path / "t", [_STATS, '{"numRecords":7}', None], _ONLY_STRUCTS)
    first = _adds(_checkpoint(log))
    log.commit(1, [add("new", stats=_STATS, deletionVector=vector())])
    second = _adds(_checkpoint(log))
    assert [body["stats_parsed"] for body in second[:3]] == [body["stats_parsed"] for body in first]
    assert second[3]["stats_parsed"] == first[0]["stats_parsed"]


def test_statistics_that_are_columns_alone_are_shown_as_json(tmp_path: Path) -> None:
    log = _log(tmp_path / "t", [_STATS, None, '{"numRecords":7}'], _ONLY_STRUCTS)
    _checkpoint(log)
    log.commit(1, [add("new", stats='{"numRecords": 8}')])
    snapshot = explorer.open_table(log.root).snapshot()
    files = snapshot.files(["path", "stats", "num_records"]).to_pylist()
    texts = {row["path"]: row["stats"] for row in files}
    assert _as_meant(texts["0.parquet"])["minValues"]["outer"] == {"in": {"x.y": 1}}
    assert (texts["1.parquet"], texts["2.parquet"]) == (None, '{"numRecords":7}')
    assert texts["new"] == '{"numRecords": 8}'
    assert [row["num_records"] for row in files] == [3, None, 7, 8]


@pytest.mark.parametrize(
    "form",
    [CLASSIC, CheckpointForm(kind="v2", top_level="json", actions_per_sidecar=1)],
    ids=["classic", "sidecars"],
)
def test_no_float_among_statistics_as_columns_has_bounds_in_the_footer(
    form: CheckpointForm, tmp_path: Path
) -> None:
    log = _log(tmp_path / "t", [_STATS, _STATS], _STRUCTS, protocol=FEATURE_PROTOCOL)
    _checkpoint(log, form)
    (file, *_) = sorted((log.root / "_delta_log").rglob("*.parquet"))
    footer = pq.read_metadata(file)
    group = footer.row_group(footer.num_row_groups - 1)
    found = {chunk.path_in_schema: chunk for chunk in map(group.column, range(group.num_columns))}
    for bound in ("minValues", "maxValues"):
        for name in ("f", "d"):
            assert found[f"add.stats_parsed.{bound}.{name}"].statistics is None
        for name in ("l", "dec", "s", "day", "ts"):
            assert found[f"add.stats_parsed.{bound}.{name}"].statistics.has_min_max
