"""The rules that new rows must satisfy (spec: CHECK Constraints, Column Invariants,
Generated Columns, Identity Columns, `nullable` in Schema Serialization Format)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from explorer.protocol.features.column_rules import column_rules
from explorer.protocol.table_properties.known_properties import ISOLATION_LEVEL
from explorer.protocol.table_properties.properties import check_constraints
from explorer.transaction.rules.change import Change, Described, Problems, problem
from explorer.transaction.staged import ValidatedRule

_LEVELS: Final = ("Serializable", "WriteSerializable", "SnapshotIsolation")
_FEATURES: Final = {
    "invariant": "invariants",
    "generated": "generatedColumns",
    "identity": "identityColumns",
    "check": "checkConstraints",
}
_KINDS: Final = {
    "not null": ("may not be null", "Schema Serialization Format"),
    "length": ("has a greatest length", "Column Metadata"),
    "invariant": ("has an invariant", "Column Invariants"),
    "generated": ("is generated", "Generated Columns"),
    "identity": ("is filled with numbers of its own", "Identity Columns"),
    "check": ("has to be true", "CHECK Constraints"),
}


def not_null_rule(path: str) -> ValidatedRule:
    """What is promised by whoever found no null in the column of that path, as text, in any row of
    the table. That new rows alone have none is another promise."""
    return ValidatedRule(key=f"{path} nullable", expression="every row")


def rules_for_rows(table: Described) -> Iterator[tuple[ValidatedRule, str]]:
    """Every rule that a new row of a table has to meet, and its kind.

    Rules count only where their feature is supported, but a column that may not be null
    never may. Defaults are no such rule: they say what a missing value becomes. A length that
    cannot be read binds nobody.
    """
    for rule, kind in _written_rules(table):
        feature = _FEATURES.get(kind)
        if feature is None or table.supports(feature):
            yield rule, kind


def rules_that_wake(before: Described, after: Described) -> Iterator[tuple[ValidatedRule, str]]:
    """The rules of `after` that stand in the metadata of `before` too and bound nobody there,
    because its protocol does not support their feature: rows were written without them."""
    bound = {rule for rule, _ in rules_for_rows(before)}
    dormant = {rule for rule, _ in _written_rules(before)} - bound
    yield from (found for found in rules_for_rows(after) if found[0] in dormant)


def _written_rules(table: Described) -> Iterator[tuple[ValidatedRule, str]]:
    """Every rule for rows that the metadata have, whether its feature is supported or not."""
    for rule in column_rules(table.schema):
        if rule.kind == "default" or (rule.kind == "length" and rule.expression is None):
            continue
        key = ValidatedRule(key=f"{rule.path} {rule.key}", expression=rule.expression or "")
        yield key, rule.kind
    for name, text in check_constraints(table.metadata.configuration).items():
        yield ValidatedRule(key=f"delta.constraints.{name}", expression=text), "check"


def validate_isolation(change: Change) -> Problems:
    """A commit that brings rows or takes some away keeps to the table's isolation level; one
    that does neither may be less strict, for no order of commits tells the difference."""
    if not (change.files_of_new_rows.num_rows or change.removed_data.num_rows):
        return
    wanted = ISOLATION_LEVEL.value_of(change.after.metadata.configuration)
    level = change.staged.provenance.isolation_level
    if _LEVELS.index(level) > _LEVELS.index(wanted):
        yield problem(
            f"The commit changes rows at the isolation level {level}; the table asks for {wanted}.",
            "Its readers rely on an order of commits that this one might not keep.",
            spec="Table Properties",
            remedy=f"Commit at {wanted}, or set `{ISOLATION_LEVEL.name}`.",
        )


def validate_rows(change: Change) -> Problems:
    """Rules that new rows were not checked by, and new rules that no row was checked by.

    A rewrite that only rearranges rows meets them already. A new rule also holds for the rows
    of the table: these have to be checked, and all that are added meanwhile.
    """
    added = dict(_added_rules(change))
    wanted = dict(rules_for_rows(change.after)) if change.files_of_new_rows.num_rows else added
    for rule, kind in wanted.items():
        validated = rule in change.staged.promises.validated
        sees_all = change.has_read_every_row or change.removes_every_live_file
        if validated and (rule not in added or sees_all):
            continue
        what, spec = _KINDS[kind]
        name = rule.key.rpartition(" ")[0] or rule.key
        shown = f": {rule.expression[:200]}" if rule.expression else ""
        if validated:
            yield problem(
                f"`{name[:120]}` {what}{shown}, and rows may be added that were not validated.",
                "A new rule holds for every row of the table, including those that others write "
                "meanwhile.",
                spec=spec,
                remedy="Commit with a read of the whole table, so that no row is added unseen.",
            )
            continue
        yield problem(
            f"`{name[:120]}` {what}{shown}, and the rows were not validated.",
            "A commit whose rows break a rule of the table must not be made.",
            spec=spec,
            remedy="Validate the rows first, or use an operation that does.",
        )


def _added_rules(change: Change) -> Iterator[tuple[ValidatedRule, str]]:
    """Rules for every row that the commit adds to a table that is there: by its metadata, or by
    a protocol from which on those bind that were dormant. What fills a column, where the
    metadata bring it, `explorer.transaction.rules.metadata.field_rules` tells."""
    if change.before is None or not (change.changes_metadata or change.changes_protocol):
        return
    known = {rule for rule, _ in rules_for_rows(change.before)}
    for rule, kind in rules_for_rows(change.after):
        if rule not in known and kind in {"check", "invariant"}:
            yield rule, kind
    for rule, kind in rules_that_wake(change.before, change.after):
        if kind in {"generated", "identity"}:
            yield rule, kind
