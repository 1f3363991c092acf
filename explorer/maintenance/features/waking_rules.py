"""What stands in the metadata of a table without effect, and has one as soon as the protocol
supports its feature (spec: Table Features, CHECK Constraints, Column Invariants, Generated
Columns, Identity Columns, Column Mapping).

Nobody kept to it so far: rows were written that no writer held against these rules. So they are
checked before the protocol changes, or the change is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from explorer.errors import InvalidArgumentError
from explorer.log.plain_arrays import read_numbers
from explorer.maintenance.plan.plan import Verdict
from explorer.protocol.features.registry import FEATURES
from explorer.protocol.features.table_feature import TableFacts
from explorer.protocol.schema_walk import walk_fields
from explorer.protocol.table_properties.known_properties import COLUMN_MAPPING_MODE
from explorer.scan.sql.expressions import check_expression
from explorer.table.counts import have
from explorer.transaction.rules.change import Described
from explorer.transaction.rules.row_rules import rules_that_wake
from explorer.transaction.staged import ValidatedRule

_SHOWN: Final = 5
_CHECK: Final = "check"
_CONSTRAINT: Final = "delta.constraints."
_FEATURES: Final = {
    "check": "checkConstraints",
    "invariant": "invariants",
    "generated": "generatedColumns",
    "identity": "identityColumns",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WakingRule:
    """A rule for rows that binds from now on. `condition` is SQL that is true for every row
    that keeps to it, None where that cannot be asked, and `why_not` then says why."""

    rule: ValidatedRule
    kind: str
    condition: str | None = None
    why_not: str = ""

    @property
    def feature(self) -> str:
        """The feature that it belongs to."""
        return _FEATURES[self.kind]


def waking_rules(before: Described, after: Described) -> tuple[WakingRule, ...]:
    """The rules for rows that a table has without effect before, and has to keep to after."""
    return tuple(
        _waking(rule, kind, before)
        for rule, kind in rules_that_wake(before, after)
        if kind in _FEATURES
    )


def conditions_of(rules: Iterable[WakingRule]) -> dict[str, str]:
    """The conditions of rules that rows can be checked by, each by its key in the table."""
    return {found.rule.key: found.condition for found in rules if found.condition is not None}


def shown_rules(rules: Sequence[WakingRule]) -> str:
    """The keys of a few rules, and how many more there are."""
    text = ", ".join(found.rule.key[:120] for found in rules[:_SHOWN])
    more = len(rules) - _SHOWN
    return f"{text} and {more:,} more" if more > 0 else text


def waking_features(before: Described, after: Described) -> tuple[str, ...]:
    """The features that the metadata of a table ask for without effect before, and with it
    after."""
    facts = TableFacts(metadata=before.metadata, schema=before.schema)
    return tuple(
        name
        for name, item in FEATURES.items()
        if after.supports(name) and not before.supports(name) and item.is_asked_for(facts)
    )


def judge_waking(before: Described, after: Described, guard: str = "upgrade") -> Iterator[Verdict]:
    """What refuses the change, as `guard` says it: rules that rows cannot be checked by, and
    columns that would be looked for under other names in the files."""
    for found in waking_rules(before, after):
        if found.condition is not None:
            continue
        shown = f": {found.rule.expression[:200]}" if found.rule.expression else ""
        yield Verdict(
            guard=guard,
            outcome="refuse",
            message=f"{found.feature}: `{found.rule.key[:120]}`{shown} has had no effect so far, "
            f"and would bind every row. {found.why_not}",
            remedy=_remedy(found),
        )
    yield from _judge_mapping(before, after, guard)


def judge_row_ids(before: Described, files: pa.Table, mark: int | None) -> Iterator[Verdict]:
    """What refuses row tracking where live files have row ids already, and no writer had to
    give each to one row alone. `files` have `base_row_id` and `num_records`; `mark` is the
    highest id that was given out by the log, None where it says none."""
    held = files.filter(files.column("base_row_id").is_valid())
    if before.supports("rowTracking") or not held.num_rows:
        return
    ordered = held.sort_by("base_row_id")
    bases = read_numbers(ordered.column("base_row_id"))
    counts = ordered.column("num_records")
    ends = bases + np.maximum(read_numbers(counts), 1)
    overlap = bool((bases[1:] < ends[:-1]).any())
    if counts.null_count or overlap or mark is None or int(ends.max()) - 1 > mark:
        yield Verdict(
            guard="upgrade",
            outcome="refuse",
            message=f"rowTracking: {have(held.num_rows, 'file')} row ids already, given without "
            "the feature, and rows of two files may share one or get one that others have.",
            remedy="Let the engine rewrite these files first: one that is written without the "
            "feature has no ids, and gets them then.",
        )


def _waking(rule: ValidatedRule, kind: str, table: Described) -> WakingRule:
    condition, why_not = _condition(rule, kind, table)
    if condition is not None:
        try:
            check_expression(condition, table.schema)
        except InvalidArgumentError as error:
            condition = None
            why_not = f"Rows cannot be checked by it: {error.problem} {error.reason}"
    return WakingRule(rule=rule, kind=kind, condition=condition, why_not=why_not)


def _condition(rule: ValidatedRule, kind: str, table: Described) -> tuple[str | None, str]:
    if kind == "identity":
        return None, (
            "Rows were written with numbers of their own there, and the next ones given out may "
            "be among these."
        )
    if kind != "generated":
        return rule.expression, ""
    path = rule.key.rpartition(" ")[0]
    field = next((place.field for place in walk_fields(table.schema) if place.path == path), None)
    if field is None or field not in table.schema.fields:
        return None, "Rows cannot be checked by it: it is inside of another column."
    name = field.name.replace("`", "``")
    return f"`{name}` <=> ({rule.expression})", ""


def _remedy(found: WakingRule) -> str:
    leave = f"Leave {found.feature} out"
    if found.kind == _CHECK:
        name = found.rule.key[len(_CONSTRAINT) :]
        return f"Drop it first with `constraint drop {name[:120]}`. Or leave {found.feature} out."
    return f"{leave}, or have the engine that wrote the column take the rule from it first."


def _judge_mapping(before: Described, after: Described, guard: str) -> Iterator[Verdict]:
    mode = COLUMN_MAPPING_MODE.value_of(before.metadata.configuration)
    if mode == "none" or before.mode != "none" or after.mode == "none":
        return
    named = [
        place.path
        for place in walk_fields(before.schema)
        if before.physical_name(place.field) != after.physical_name(place.field)
    ]
    if mode == "name" and not named:
        return  # files are read as before
    which = f"such as `{named[0][:120]}`, " if named else ""
    yield Verdict(
        guard=guard,
        outcome="refuse",
        message=f"columnMapping: `{COLUMN_MAPPING_MODE.name}` is {mode} and has had no effect so "
        f"far. From then on columns, {which}would be looked for in the files by other names or by "
        "ids; by which of them the files were written, the log does not say.",
        remedy="Leave columnMapping out; `schema --files` shows how the files name their columns.",
    )
