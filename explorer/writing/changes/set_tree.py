"""What SET says, of an update or of a clause of a merge: which column or field gets which value
(spec: Default Columns, Generated Columns, Identity Columns).

Each name leads to a column, or through structs to a field; a column's own name comes first, for it
may hold a dot. `DEFAULT` is the default of a column, which the gate of rows gives to those that are
not given. Generated columns that are not set are computed from the new values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from explorer.errors import ErrorKind, InvalidArgumentError
from explorer.protocol.actions import FieldPath
from explorer.protocol.features.column_rules import GENERATION_KEY, IDENTITY_KEYS
from explorer.protocol.schema import VOID, StructField, StructType
from explorer.protocol.schema_walk import render_path
from explorer.scan.predicate.names import column_of_name, resolve_name
from explorer.scan.predicate.parse import names_of, parse_sql
from explorer.transaction.rules.change import Described
from explorer.writing.gate.refusals import mismatch

_DEFAULT: Final = "default"
"""The value, in any case of letters, that stands for the column's default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetNames:
    """The names that SET may give values to: those of `schema`, also with `alias` before them. What
    is wrong with one is told as an error of `kind`."""

    schema: StructType
    alias: str | None = None
    kind: ErrorKind = "invalid_argument"

    def read(
        self, values: Mapping[str, Any], read_value: Callable[[FieldPath, Any], Any]
    ) -> tuple[dict[str, Any], frozenset[str]]:
        """What `read_value` makes of the values, in dicts by the names that lead to them, and the
        columns that get their default. Raises `InvalidArgumentError` for names that cannot be
        meant, and what `read_value` raises."""
        tree: dict[str, Any] = {}
        defaults = set()
        for name, value in values.items():
            path = self.path_of(name)
            is_default = isinstance(value, str) and value.strip().lower() == _DEFAULT
            if is_default and len(path) == 1:
                self._put(tree, path, None)
                defaults.add(path[0])
            else:
                self._put(tree, path, read_value(path, value))
        for name in defaults:
            del tree[name]
        return tree, frozenset(defaults)

    def path_of(self, name: str) -> FieldPath:
        """A name as the schema has it; raises `InvalidArgumentError` where it leads to nothing that
        can be set."""
        whole = column_of_name(name, self.schema) if isinstance(name, str) else None
        if whole is not None:
            path, found = (whole.name,), whole.data_type
        else:
            reference = self._resolved(name)
            path, found = reference.path, reference.data_type
        if found == VOID:
            raise mismatch(
                f"`{render_path(path)[:120]}` cannot be set.",
                "Its type is void, which holds nothing but nulls.",
                "Leave it out, or change the type of the column first.",
            )
        return path

    def _resolved(self, name: str) -> Any:
        names = names_of(parse_sql(name)) if isinstance(name, str) else None
        if names is None:
            raise InvalidArgumentError(
                f"{str(name)[:120]!r} is not the name of a column.",
                reason="SET gives each value to a column, or to a field inside of structs.",
                remedy="Write a name, as price or address.city; one with other signs in backticks.",
                kind=self.kind,
            )
        if self.alias is not None and len(names) > 1 and names[0].lower() == self.alias.lower():
            names = names[1:]
        try:
            return resolve_name(names, self.schema)
        except InvalidArgumentError as error:
            raise InvalidArgumentError(
                error.problem, reason=error.reason, remedy=error.remedy, kind=self.kind
            ) from error

    def _put(self, tree: dict[str, Any], path: FieldPath, value: Any) -> None:
        *outer, last = path
        at = tree
        for name in outer:
            inner = at.setdefault(name, {})
            if not isinstance(inner, dict):
                raise self._twice(path)
            at = inner
        if last in at:
            raise self._twice(path)
        at[last] = value

    def _twice(self, path: FieldPath) -> InvalidArgumentError:
        return InvalidArgumentError(
            f"`{render_path(path)[:120]}` is set twice.",
            reason="It is named again, itself or inside of another name.",
            remedy="Give each column and field one value.",
            kind=self.kind,
        )


def kept_columns(
    table: Described,
    columns: Iterable[StructField],
    given: Collection[str],
    defaults: frozenset[str],
) -> tuple[StructField, ...]:
    """The columns that an update gives to the gate of rows, each as it was or by a value of
    `given`; others are void, computed there, or get their default."""
    return tuple(
        item
        for item in columns
        if item.name in given
        or not (item.name in defaults or item.data_type == VOID or is_generated(table, item))
    )


def is_generated(table: Described, item: StructField) -> bool:
    """Whether the gate of rows computes a column."""
    is_said = isinstance(item.metadata.get(GENERATION_KEY), str)  # as at the gate
    return is_said and table.supports("generatedColumns")


def is_identity(table: Described, item: StructField) -> bool:
    """Whether a column gets numbers of its own."""
    is_said = any(key.startswith(IDENTITY_KEYS) for key in item.metadata)
    return is_said and table.supports("identityColumns")


def is_column(value: Any) -> bool:
    """Whether a value is a Column of Spark, classic or Connect."""
    return any(
        kind.__module__.startswith("pyspark.") and kind.__name__ == "Column"
        for kind in type(value).__mro__
    )
