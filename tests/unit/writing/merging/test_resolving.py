"""What the clauses of a merge give to each column, and what becomes of the table."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from explorer.errors import InvalidArgumentError
from explorer.protocol.actions import Metadata, Protocol
from explorer.protocol.schema import StructType, render_schema
from explorer.scan.sql.table_expressions import StatementTime
from explorer.transaction.read_version import ReadVersion
from explorer.writing.merging.clauses import MergeClause, MergeRequest
from explorer.writing.merging.keys import (
    KeyFacts,
    asked_pairs,
    partner_condition,
    read_conditions,
)
from explorer.writing.merging.names import Names
from explorer.writing.merging.resolving import (
    Expression,
    Fields,
    Kept,
    ResolvedMerge,
    SourceColumn,
    resolve_merge,
)
from explorer.writing.schema.schema_text import parse_schema_text

TARGET = "id BIGINT, part STRING, v DOUBLE, s STRUCT<a: INT, b: STRING>"
SOURCE = "id INT, part STRING, v DOUBLE, s STRUCT<a: INT, b: STRING>"


def schema(text: str) -> StructType:
    return parse_schema_text(text)


def names(target: str = TARGET, source: str = SOURCE) -> Names:
    return Names(
        target=schema(target),
        source=schema(source),
        target_alias="target",
        source_alias="source",
        time=StatementTime(moment=datetime(2026, 11, 26, tzinfo=UTC)),
    )


def base(columns: StructType, writer: int = 7, features: tuple[str, ...] = ()) -> ReadVersion:
    return ReadVersion(
        version=3,
        protocol=Protocol(
            min_reader_version=1,
            min_writer_version=writer,
            writer_features=frozenset(features) if writer == 7 else None,
        ),
        metadata=Metadata(
            id="t", schema_string=render_schema(columns), partition_columns=(), configuration={}
        ),
    )


def resolved(
    *clauses: MergeClause,
    target: str = TARGET,
    source: str = SOURCE,
    features: tuple[str, ...] = ("generatedColumns", "identityColumns"),
    **more: Any,
) -> ResolvedMerge:
    request = MergeRequest(on="target.id = source.id", clauses=clauses, **more)
    known = names(target, source)
    return resolve_merge(base(known.target, features=features), request, known)


def refused(words: str, *clauses: MergeClause, **more: Any) -> InvalidArgumentError:
    with pytest.raises(InvalidArgumentError, match=words) as caught:
        resolved(*clauses, **more)
    return caught.value


def sets(values: dict[str, Any], kind: Any = "matched") -> MergeClause:
    return MergeClause(kind=kind, action="update", values=values)


ALL = MergeClause(kind="matched", action="update")
INSERT_ALL = MergeClause(kind="not matched", action="insert")


def test_an_update_keeps_what_it_does_not_set() -> None:
    (item,) = resolved(sets({"V": "source.v + 1", "s.b": "source.part"})).clauses
    assert list(item.columns) == ["id", "part", "v", "s"]
    assert item.columns["id"] == Kept()
    assert item.columns["v"] == Expression(value="source.v + 1")
    assert item.columns["s"] == Fields(fields={"a": Kept(), "b": Expression(value="source.part")})


def test_a_star_takes_every_column_by_its_name() -> None:
    update, insert = resolved(ALL, INSERT_ALL, source=SOURCE.replace("part", "PART")).clauses
    for item in (update, insert):
        assert list(item.columns) == ["id", "part", "v", "s"]
        found = item.columns["part"]
        assert isinstance(found, SourceColumn)
        assert found.name == "PART"


def test_a_star_needs_every_column_unless_the_schema_may_change() -> None:
    error = refused("no column v", ALL, source="id INT, part STRING, s STRUCT<a: INT, b: STRING>")
    assert error.kind == "schema_mismatch"
    refused("has no field b", ALL, source=SOURCE.replace(", b: STRING", ""))
    (item,) = resolved(ALL, source="id INT, extra DATE", merge_schema=True).clauses
    assert item.columns["v"] == Kept()
    assert list(item.columns)[-1] == "extra"
    (item,) = resolved(INSERT_ALL, source="id INT, extra DATE", merge_schema=True).clauses
    assert list(item.columns) == ["id", "extra"]


def test_an_update_keeps_fields_that_the_source_lacks_where_the_schema_may_change() -> None:
    (item,) = resolved(ALL, source="id INT, s STRUCT<a: INT, c: DATE>", merge_schema=True).clauses
    found = item.columns["s"]
    assert isinstance(found, Fields)
    assert found.fields["b"] == Kept()
    inner = found.fields["c"]
    assert isinstance(inner, SourceColumn)
    assert (inner.name, inner.path) == ("s", ("c",))
    assert found.given is not None
    (item,) = resolved(
        INSERT_ALL, source="id INT, s STRUCT<a: INT, c: DATE>", merge_schema=True
    ).clauses
    assert isinstance(item.columns["s"], SourceColumn)


def test_new_columns_come_by_a_star_or_by_their_own_name() -> None:
    wide = f"{SOURCE}, extra DATE, other INT"
    assert resolved(ALL, source=wide).change is None
    change = resolved(ALL, source=wide, merge_schema=True).change
    assert change is not None
    assert change.schema.names[-2:] == ("extra", "other")
    change = resolved(sets({"extra": "source.extra"}), source=wide, merge_schema=True).change
    assert change is not None
    assert change.schema.names[-1] == "extra"
    refused("no column extra", sets({"extra": "source.extra"}), source=wide)
    refused("no column nowhere", sets({"nowhere": "1"}), source=wide, merge_schema=True)


def test_a_column_is_set_once() -> None:
    refused("set twice", sets({"v": "1", "V": "2"}))
    refused("set twice", sets({"s": "source.s", "s.a": "2"}))
    refused("set twice", sets({"s.a": "2", "s": "source.s"}))
    refused("not the name of a column", sets({"v + 1": "2"}))
    refused("is a field", MergeClause(kind="not matched", action="insert", values={"s.a": "1"}))


def test_a_default_is_left_to_the_gate_of_rows() -> None:
    insert = MergeClause(
        kind="not matched", action="insert", values={"id": "source.id", "v": " Default "}
    )
    update, new = resolved(sets({"part": "DEFAULT"}), insert).clauses
    assert list(update.columns) == ["id", "v", "s"]
    assert list(new.columns) == ["id"]
    refused("set twice", sets({"v": "DEFAULT", "V": "1"}))


def test_a_clause_speaks_of_its_own_rows_alone() -> None:
    wrong = MergeClause(kind="not matched", action="insert", where="target.v > 1")
    error = refused("no column target.v here", wrong)
    assert error.reason == "It may speak of `source` alone. `source` has id, part, v, s."
    error = refused("no column source.v here", sets({"v": "source.v"}, "not matched by source"))
    assert error.reason == "It may speak of `target` alone. `target` has id, part, v, s."
    error = refused("no column w here", sets({"v": "w + source.v"}))
    assert error.reason == "`target` has id, part, v, s. `source` has id, part, v, s."
    refused("subquery", sets({"v": "(select 1)"}))
    refused("reflect", sets({"v": "reflect('java.lang.System', 'exit', 0)"}))


def test_conditions_on_rows_without_a_partner_say_whose_columns_they_mean() -> None:
    clause = MergeClause(
        kind="not matched by source",
        action="delete",
        where="v > 1 and upper(`part`) = 'v' and target.id = s.a",
    )
    (item,) = resolved(clause).clauses
    assert item.where == ("target.v > 1 and upper(target.`part`) = 'v' and target.id = target.s.a")


def test_generated_columns_are_computed_and_identity_columns_stay() -> None:
    target = (
        "id BIGINT, n BIGINT GENERATED ALWAYS AS IDENTITY, v DOUBLE, "
        "w DOUBLE GENERATED ALWAYS AS (v * 2)"
    )
    update, insert = resolved(ALL, INSERT_ALL, target=target, source="id INT, v DOUBLE").clauses
    assert list(update.columns) == ["id", "n", "v"]
    assert update.columns["n"] == Kept()
    assert list(insert.columns) == ["id", "v"]
    refused("cannot be updated", sets({"n": "5"}), target=target)


def test_files_are_asked_by_the_keys_of_the_source() -> None:
    known = names()
    found = read_conditions(
        "target.id = source.id AND (source.part = target.part) AND target.v > 5 "
        "AND target.v < source.v AND target.s.a = source.s.a",
        known,
    )
    assert not found.only_pairs
    assert [pair.target.path for pair in found.pairs] == [("id",), ("part",), ("s", "a")]
    pairs = asked_pairs(found, known)
    facts = {
        pairs[0]: KeyFacts(least=3, greatest=9),
        pairs[1]: KeyFacts(least="a", greatest="o'b", values=("a", "o'b")),
        pairs[2]: KeyFacts(),
    }
    text = partner_condition(found, facts, known.target)
    assert text == "(v > 5) AND (id >= 3) AND (id <= 9) AND (part IN ('a', 'o\\'b'))"


@pytest.mark.parametrize(
    "on",
    [
        "target.id > source.id",
        "target.id = source.id OR target.v = source.v",
        "id = source.part",
        "target.id = target.v",
        "target.id <=> source.id",
    ],
)
def test_other_conditions_ask_no_file(on: str) -> None:
    known = names()
    found = read_conditions(on, known)
    assert not found.only_pairs
    assert asked_pairs(found, known) == ()


def test_keys_of_other_types_and_collations_ask_no_file() -> None:
    known = names(target="id STRING, v DOUBLE", source="id INT, v DOUBLE")
    assert asked_pairs(read_conditions("target.id = source.id", known), known) == ()
    assert asked_pairs(read_conditions("target.v = source.v", known), known) == ()


def test_the_columns_that_conditions_speak_of() -> None:
    known = names()
    assert known.spoken("target.id = source.id AND target.s.a > 1") == {"id", "s"}
    assert known.spoken("part = 'a'") is None
