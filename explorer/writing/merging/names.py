"""Names in the conditions and values of a merge: whose column each is, and what Spark is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from explorer.errors import InvalidArgumentError
from explorer.protocol.schema import VARIANT, StructField, StructType
from explorer.protocol.schema_walk import render_path, walk_types
from explorer.scan.predicate.names import NO_COLUMN, resolve_name
from explorer.scan.predicate.parse import names_of, parse_sql
from explorer.scan.predicate.predicate import ColumnReference
from explorer.scan.sql.qualified_names import with_qualifier
from explorer.scan.sql.table_expressions import StatementTime, check_table_expression
from explorer.scan.sql.uses import ExpressionUse

Side: TypeAlias = Literal["target", "source"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The columns of both sides, and what these are called."""

    target: StructType
    source: StructType
    target_alias: str
    source_alias: str
    time: StatementTime

    def check(self, text: str, use: ExpressionUse, *sides: Side) -> str:
        """A text of SQL about these sides, as Spark may be given it in this statement.

        Raises `InvalidArgumentError` for one that does not pass guard 14, and for a column of
        another side.
        """
        try:
            return check_table_expression(text, self._shown(sides), use, self.time).text
        except InvalidArgumentError as error:
            raise (self._unknown(text, sides, error) or error) from error

    def qualify(self, text: str, side: Side) -> str:
        """A checked text of SQL whose names are all of one side, with the alias before each: where
        both sides have a column Spark would not know which is meant."""
        names = (names_of(node) for node in columns_in(parse_sql(text)))
        found = {way[0].lower() for way in names if way is not None} - self._aliases
        return with_qualifier(text, found, self.alias(side)) if found else text

    def side_of(self, node: Any) -> tuple[Side, ColumnReference] | None:
        """The side and the column that a node of sqlglot's tree names; None for another node, and
        where the name is one of both sides or of none."""
        names = names_of(node)
        if names is None:
            return None
        found = [
            (side, rest)
            for side in _SIDES
            for rest in self._below(side, names)
            if self._has(side, rest[0])
        ]
        if len(found) != 1:
            return None
        side, rest = found[0]
        return side, resolve_name(rest, self.schema(side))

    def spoken(self, text: str) -> frozenset[str] | None:
        """The columns of the table that a text of SQL speaks of; None where it is not plain which
        side a name is of."""
        found = set()
        for node in columns_in(parse_sql(text)):
            side = self.side_of(node)
            if side is None:
                return None
            if side[0] == "target":
                found.add(side[1].path[0])
        return frozenset(found)

    def schema(self, side: Side) -> StructType:
        """The columns of a side."""
        return self.target if side == "target" else self.source

    def alias(self, side: Side) -> str:
        """What a side is called."""
        return self.target_alias if side == "target" else self.source_alias

    def _unknown(
        self, text: str, sides: tuple[Side, ...], error: InvalidArgumentError
    ) -> InvalidArgumentError | None:
        """In words of a merge, what is wrong with a name that is none of these sides; None where
        something else is wrong."""
        if not error.problem.startswith(NO_COLUMN):
            return None
        for node in columns_in(parse_sql(text)):
            names = names_of(node)
            if names is None or any(
                rest[0].lower() == item.lower()
                for side in sides
                for rest in self._below(side, names)
                for item in self.schema(side).names
            ):
                continue
            others = [side for side in _SIDES if side not in sides]
            alone = f"It may speak of `{self.alias(sides[0])}` alone. " if others else ""
            return InvalidArgumentError(
                f"There is no column {render_path(tuple(name[:60] for name in names[-6:]))} here.",
                reason=alone + " ".join(map(self._columns_of, sides)),
                remedy="Put strings in single quotes, and names with special characters in "
                "backticks.",
            )
        return None

    def _columns_of(self, side: Side) -> str:
        names = self.schema(side).names
        known = ", ".join(render_path((name[:60],)) for name in names[:12])
        more = ", ..." if len(names) > 12 else ""  # as many as are shown
        return f"`{self.alias(side)}` has {known or 'no columns'}{more}."

    def _below(self, side: Side, names: tuple[str, ...]) -> list[tuple[str, ...]]:
        """The ways below a side that names may mean."""
        if len(names) > 1 and names[0].lower() == self.alias(side).lower():
            return [names[1:]]
        return [names] if names[0].lower() not in self._aliases else []

    @property
    def _aliases(self) -> frozenset[str]:
        return frozenset({self.target_alias.lower(), self.source_alias.lower()})

    def _has(self, side: Side, name: str) -> bool:
        return sum(item.lower() == name.lower() for item in self.schema(side).names) == 1

    def _shown(self, sides: tuple[Side, ...]) -> StructType:
        """What an expression may speak of: the aliases, and columns without one; each name once,
        for which of two is meant Spark says itself."""
        found: dict[str, StructField] = {}
        for side in sides:
            # types matter for times alone; a variant may stand beside what is spoken of, and inside
            columns = self.schema(side).fields
            fields = (item for item in columns if VARIANT not in set(walk_types(item.data_type)))
            kinds = StructType(fields=tuple(fields))
            alias = self.alias(side)
            found.setdefault(alias.lower(), StructField(name=alias, data_type=kinds))
        for side in sides:
            for item in self.schema(side).fields:
                found.setdefault(item.name.lower(), item)
        return StructType(fields=tuple(found.values()))


def columns_in(tree: Any) -> list[Any]:
    """The nodes of sqlglot's tree that name a column, or a field in one, with the whole way."""
    named = [node for node in tree.walk() if type(node).__name__ in {"Column", "Dot"}]
    return [node for node in named if type(node.parent).__name__ != "Dot"]


_SIDES: tuple[Side, ...] = ("target", "source")
