"""Columns to add as `ALTER TABLE … ADD COLUMNS` of Spark's SQL has them (spec: Schema
Serialization Format)."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.errors import InvalidArgumentError
from explorer.protocol.actions import FieldPath
from explorer.protocol.schema import StructField
from explorer.writing.columns.column_places import After, First, Position
from explorer.writing.schema.schema_text import ColumnReader


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedColumn:
    """A column to add: `into` is the path of the struct that gets it, empty for the table;
    without `position` it comes last."""

    field: StructField
    into: FieldPath = ()
    position: Position | None = None


def parse_added_columns(text: str) -> tuple[AddedColumn, ...]:
    """The columns of a text such as `place.zip INT COMMENT 'code' AFTER city, note STRING FIRST`.

    Raises `InvalidArgumentError` as `parse_schema_text` does.
    """
    return _AddedReader(text).added()


class _AddedReader(ColumnReader):
    """Reads names with dots, and where a column comes to stand."""

    after_name = ":.,"

    def added(self) -> tuple[AddedColumn, ...]:
        self.check_begun()
        found = [self._added()]
        while self._skip(","):
            found.append(self._added())
        self.check_done()
        return tuple(found)

    def _added(self) -> AddedColumn:
        self._path = []
        self._position: Position | None = None
        self._check_no_constraint()
        names = [self._name("a column")]
        while self._skip("."):
            names.append(self._name("a column"))
        self._path = names
        field = self._described(names[-1])
        return AddedColumn(field=field, into=tuple(names[:-1]), position=self._position)

    def _option(self, column: object) -> None:
        match self._upper():
            case "FIRST":
                self._set_position(First())
                self._keywords("FIRST")
            case "AFTER":
                self._keywords("AFTER")
                self._set_position(After(self._name("the column before it")))
            case _:
                super()._option(column)  # type: ignore[arg-type]  # of the class above

    def _set_position(self, position: Position) -> None:
        if self._position is not None:
            raise InvalidArgumentError(
                "A column is given two places.",
                reason="Only one of them could be meant.",
                remedy="Leave out FIRST or AFTER.",
                spec="Schema Serialization Format",
            )
        self._position = position
