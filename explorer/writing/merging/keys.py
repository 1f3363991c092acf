"""Which files of the table may hold a partner of a source row: by the columns that `on` says are
equal, and what the source holds in them (spec: Per-file Statistics)."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from explorer.errors import DeltaError
from explorer.protocol.schema import (
    STRING,
    TIMESTAMP,
    DataType,
    DecimalType,
    PrimitiveType,
    StructType,
)
from explorer.protocol.schema_walk import render_path
from explorer.scan.predicate.parse import bare, parse_predicate, parse_sql
from explorer.scan.predicate.predicate import ColumnReference, Constant, render_value
from explorer.writing.merging.names import Names, columns_in

_NUMBERS: Final = ("byte", "short", "integer", "long")
_SAME: Final = ("string", "date", "timestamp", "timestamp_ntz")
_LONGEST: Final = 1_000
"""Characters of a text that files are asked about."""

MOST_VALUES: Final = 200
"""Of a partition column that files are asked about one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPair:
    """A column of the table and one of the source that have to be equal."""

    target: ColumnReference
    source: ColumnReference


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFacts:
    """What the source holds in a column, nulls left out: the least and the greatest value, None
    where there is none; `values` where these are few and known."""

    least: Any = None
    greatest: Any = None
    values: tuple[Any, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchConditions:
    """What `on` says, as far as files can be asked: `pairs` of equal columns, `about_target`
    conditions on the table alone, as SQL without an alias, and whether there is nothing else."""

    pairs: tuple[KeyPair, ...]
    about_target: tuple[str, ...]
    only_pairs: bool


def read_conditions(on: str, names: Names) -> MatchConditions:
    """Take the conditions apart that AND joins; `on` has passed guard 14."""
    pairs: list[KeyPair] = []
    about: list[str] = []
    others = 0
    for node in _conjuncts(parse_sql(on)):
        pair = _pair(node, names)
        if pair is not None:
            pairs.append(pair)
            continue
        others += 1
        if (text := _about_target(node, names)) is not None:
            about.append(text)
    return MatchConditions(
        pairs=tuple(pairs), about_target=tuple(about), only_pairs=bool(pairs) and not others
    )


def can_ask(pair: KeyPair) -> bool:
    """Whether what the source holds says something of the table's files: both columns compare
    their values as they are."""
    one, other = _kind(pair.target.data_type), _kind(pair.source.data_type)
    if one == "number" == other:
        return True
    return one == other and one in _SAME


def partner_condition(
    conditions: MatchConditions, facts: Mapping[KeyPair, KeyFacts], schema: StructType
) -> str | None:
    """A condition on the table that every row with a partner meets, as SQL; None where nothing
    is known. `schema` are the table's columns."""
    parts = list(conditions.about_target)
    for pair, known in facts.items():
        parts += _of_pair(pair, known)
    kept = [part for part in parts if _is_understood(part, schema)]
    return " AND ".join(f"({part})" for part in kept) or None


def _of_pair(pair: KeyPair, known: KeyFacts) -> Iterator[str]:
    name = render_path(pair.target.path)
    if known.values is not None:
        texts = [_literal(value) for value in known.values]
        if texts and None not in texts:
            yield f"{name} IN ({', '.join(text for text in texts if text)})"
            return
    for operator, value in ((">=", known.least), ("<=", known.greatest)):
        if value is not None and (text := _literal(value)) is not None:
            yield f"{name} {operator} {text}"


def _literal(value: Any) -> str | None:
    match value:
        case bool() | float():
            return None
        case int() | Decimal():
            return format(value, "f") if isinstance(value, Decimal) else str(value)
        case str() if len(value) <= _LONGEST:
            return render_value(Constant(value=value, data_type=STRING))
        case datetime.datetime() if value.tzinfo is not None:
            shown = value.astimezone(datetime.UTC).replace(tzinfo=None)
            return f"TIMESTAMP '{shown.isoformat(' ', 'microseconds')}Z'"
        case datetime.datetime():
            return f"TIMESTAMP_NTZ '{value.isoformat(' ', 'microseconds')}'"
        case datetime.date():
            return f"DATE '{value.isoformat()}'"
    return None


def _conjuncts(node: Any) -> Iterator[Any]:
    waiting = [node]
    while waiting:
        found = bare(waiting.pop())
        if type(found).__name__ == "And":
            waiting += [found.expression, found.this]
        else:
            yield found


def _pair(node: Any, names: Names) -> KeyPair | None:
    if type(node).__name__ != "EQ":
        return None
    sides = [names.side_of(bare(part)) for part in (node.this, node.expression)]
    found = dict(item for item in sides if item is not None)
    if found.keys() != {"target", "source"}:
        return None
    return KeyPair(target=found["target"], source=found["source"])


def _about_target(node: Any, names: Names) -> str | None:
    """The condition without the alias, where it speaks of the table alone; not one about moments,
    which texts and days name in the session's time zone."""
    if "timestamp" in node.sql(dialect="spark").lower():
        return None
    outer = columns_in(node)
    for part in outer:
        found = names.side_of(part)
        if found is None or found[0] != "target" or found[1].data_type == TIMESTAMP:
            return None
        path = render_path(found[1].path)
        replaced = parse_sql(path)
        if part is node:
            return path
        part.replace(replaced)
    return str(node.sql(dialect="spark")) if outer else None


def _is_understood(text: str, schema: StructType) -> bool:
    try:
        parse_predicate(text, schema)
    except DeltaError:
        return False
    return True


def _kind(data_type: DataType) -> str:
    if isinstance(data_type, DecimalType):
        return "number"
    if isinstance(data_type, PrimitiveType):
        return "number" if data_type.name in _NUMBERS else data_type.name
    return ""


def asked_pairs(conditions: MatchConditions, names: Names) -> Sequence[KeyPair]:
    """The pairs by which files can be asked, each once."""
    found = (pair for pair in conditions.pairs if can_ask(pair) and not _is_collated(pair, names))
    return tuple(dict.fromkeys(found))


def _is_collated(pair: KeyPair, names: Names) -> bool:
    """Whether texts compare by other rules than their bytes."""
    fields = [
        next(item for item in schema.fields if item.name == path[0])
        for schema, path in (
            (names.target, pair.target.path),
            (names.source, pair.source.path),
        )
    ]
    return any("__COLLATIONS" in item.metadata for item in fields)
