"""What stands in the metadata without effect binds once a protocol supports it: a commit that
brings such a protocol is held to it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from explorer.protocol.actions import Metadata, Protocol
from explorer.transaction.read_set import NOTHING, WHOLE_TABLE
from explorer.transaction.staged import Promises, ValidatedRule
from tests.unit.transaction.stages import (
    PLAIN,
    base,
    features,
    field,
    mapped,
    metadata,
    numbered,
    only,
    schema,
    stage,
    texts,
)

INVARIANT = metadata(schema_string=schema(field("n", **{"delta.invariants": "n > 3"})))
GENERATED = metadata(
    schema_string=schema(field("id"), field("n", **{"delta.generationExpression": "id + 1"}))
)
CHECKED = metadata({"delta.constraints.positive": "id > 0"})
RULES = {
    "invariants": (INVARIANT, ValidatedRule(key="n delta.invariants", expression="n > 3")),
    "checkConstraints": (
        CHECKED,
        ValidatedRule(key="delta.constraints.positive", expression="id > 0"),
    ),
    "generatedColumns": (
        GENERATED,
        ValidatedRule(key="n delta.generationExpression", expression="id + 1"),
    ),
    "identityColumns": (
        metadata(schema_string=numbered(5)),
        ValidatedRule(key="n delta.identity.*", expression=""),
    ),
}


@pytest.mark.rule("column-check-add-validates")
@pytest.mark.parametrize("feature", RULES)
def test_rows_are_held_against_a_rule_before_a_protocol_wakes_it(feature: str) -> None:
    table, rule = RULES[feature]
    asleep = base(features("domainMetadata"), table)
    raised = stage(features("domainMetadata", feature), upon=asleep)
    assert "the rows were not validated" in only(raised)
    told = replace(raised, promises=Promises(validated=frozenset({rule})), reads=WHOLE_TABLE)
    assert texts(told) == []
    # a promise speaks of the rows that were seen, and others may come meanwhile
    assert "rows may be added that were not validated" in only(replace(told, reads=NOTHING))
    # nothing wakes where the rule bound already, or still does not
    awake = base(features("domainMetadata", feature), table)
    assert texts(stage(features("domainMetadata", feature, "appendOnly"), upon=awake)) == []
    assert texts(stage(features("domainMetadata", "changeDataFeed"), upon=asleep)) == []


@pytest.mark.parametrize(
    ("table", "since"),
    [(RULES["invariants"][0], 2), (CHECKED, 3), (GENERATED, 4), (RULES["identityColumns"][0], 6)],
    ids=["invariants", "checkConstraints", "generatedColumns", "identityColumns"],
)
def test_a_number_wakes_what_it_stands_for(table: Metadata, since: int) -> None:
    for writer in range(2, 7):
        before = replace(PLAIN, min_writer_version=writer - 1)
        found = texts(stage(replace(PLAIN, min_writer_version=writer), upon=base(before, table)))
        assert ["not validated" in text for text in found] == [True] * (writer == since)


NAMED = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"}
MAPPED = Protocol(min_reader_version=2, min_writer_version=5)


def test_a_mapping_that_wakes_leaves_columns_under_their_names_in_files() -> None:
    same = metadata(NAMED, schema_string=schema(mapped("id", 1, "id")))
    other = metadata(NAMED, schema_string=schema(mapped("id", 1, "col-1")))
    bare = metadata(NAMED)
    by_id = metadata({**NAMED, "delta.columnMapping.mode": "id"}, schema_string=same.schema_string)
    assert texts(stage(MAPPED, upon=base(PLAIN, same))) == []
    assert "changes the physical name of `id`" in only(stage(MAPPED, upon=base(PLAIN, other)))
    assert any("no physical name" in text for text in texts(stage(MAPPED, upon=base(PLAIN, bare))))
    assert any("from none to id" in text for text in texts(stage(MAPPED, upon=base(PLAIN, by_id))))


def test_row_ids_that_a_property_asks_for_are_there_before_its_feature() -> None:
    asks = metadata(
        {
            "delta.enableRowTracking": "true",
            "delta.rowTracking.materializedRowIdColumnName": "ids",
            "delta.rowTracking.materializedRowCommitVersionColumnName": "versions",
        }
    )
    asleep = base(features("domainMetadata"), asks)
    raised = stage(features("rowTracking", "domainMetadata"), upon=asleep)
    assert "nobody checked that every file has row ids" in only(raised)
    rule = ValidatedRule(key="delta.enableRowTracking", expression="")
    told = Promises(validated=frozenset({rule}))
    assert texts(replace(raised, promises=told, reads=WHOLE_TABLE)) == []


def test_a_change_of_type_that_nobody_reads_is_not_woken() -> None:
    changed = field("n", "decimal(4,1)")
    changed["metadata"] = {"delta.typeChanges": [{"fromType": "byte", "toType": "decimal(4,1)"}]}
    table = metadata(schema_string=schema(changed))
    raised = stage(features(readers=["typeWidening"]), upon=base(features(), table))
    assert any("unsupported type change" in text for text in texts(raised))
