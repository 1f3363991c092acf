"""What a table feature is, and the rules by which one is active (spec: Table Features)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from explorer.protocol.actions import Metadata
from explorer.protocol.table_properties.table_property import TableProperty
from explorer.records import record

if TYPE_CHECKING:
    # opening a table asks only for names; its columns are looked at later
    from explorer.protocol.schema import DataType, StructType


@record
class TableFacts:
    """What a rule of activity may look at; `schema` is None where it cannot be read, `domains`
    are the configurations of metadata domains by name, None where they are not known. The
    protocol decides before it whether the feature is supported."""

    metadata: Metadata
    schema: StructType | None
    domains: Mapping[str, str] | None = None


ActivityRule: TypeAlias = Callable[[TableFacts], bool]
"""Whether the metadata requirements of a supported feature are met."""


@record
class TableFeature:
    """One entry of the registry.

    `legacy_min_reader` and `legacy_min_writer` are the versions that support
    the feature by their number alone, up to the one that lists features by
    name. `requires` names features that must be supported with it. `reads`
    says whether this engine reads tables that have it; it is always true of
    features for writers only. Where it does not, `if_ignored` says what a reader
    that took no notice would get wrong, and `read_by` which release of the
    reference reads it, as far as that is known. `asks` tells of metadata that is
    to have the feature, where that is another question than `is_active`.
    """

    name: str
    kind: Literal["reader-writer", "writer"]
    description: str
    spec: str
    is_active: ActivityRule
    asks: ActivityRule | None = None
    aliases: tuple[str, ...] = ()
    legacy_min_reader: int | None = None
    legacy_min_writer: int | None = None
    requires: tuple[str, ...] = ()
    reads: bool = True
    if_ignored: str = ""
    read_by: str | None = None

    def __post_init__(self) -> None:
        if not self.reads and not self.if_ignored:
            raise AssertionError(f"{self.name}: a refusal has to say why")

    def is_asked_for(self, facts: TableFacts) -> bool:
        """Whether the metadata uses the feature, or is to have it, so that the protocol has to
        support it."""
        if self.asks is not None:
            return self.asks(facts)
        return self.is_active is not whenever_supported and self.is_active(facts)


def whenever_supported(facts: TableFacts) -> bool:  # noqa: ARG001  # a rule like the others
    """For features without metadata requirements."""
    return True


def by_property(item: TableProperty[bool]) -> ActivityRule:
    """For features that a table property turns on."""
    return lambda facts: item.value_of(facts.metadata.configuration)


def by_property_set(*names: str) -> ActivityRule:
    """For features that a property activates by being there at all."""
    return lambda facts: any(facts.metadata.configuration.get(name) for name in names)


def by_property_prefix(prefix: str) -> ActivityRule:
    """For features that properties of one family activate."""
    return lambda facts: any(
        name.lower().startswith(prefix) for name in facts.metadata.configuration
    )


def by_column_metadata(prefix: str) -> ActivityRule:
    """For features that a column, nested or not, uses through metadata keys of one family."""

    def rule(facts: TableFacts) -> bool:
        from explorer.protocol.schema_walk import walk_fields  # noqa: PLC0415  # see above

        places = () if facts.schema is None else walk_fields(facts.schema)
        return any(key.startswith(prefix) for place in places for key in place.field.metadata)

    return rule


def by_column_type(*names: str) -> ActivityRule:
    """For features that a column, nested or not, uses through its type."""

    def rule(facts: TableFacts) -> bool:
        from explorer.protocol.schema_walk import walk_types  # noqa: PLC0415  # see above

        kinds = () if facts.schema is None else walk_types(facts.schema)
        return any(_type_name(kind) in names for kind in kinds)

    return rule


def either(*rules: ActivityRule) -> ActivityRule:
    """For features with more than one sign of use."""
    return lambda facts: any(rule(facts) for rule in rules)


def _type_name(kind: DataType) -> Any:
    return getattr(kind, "name", None)  # primitive and geographic types have one
