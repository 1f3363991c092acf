"""SQL expressions of people and tables, looked at before Spark sees them.

CHECK constraints, generated columns and defaults are SQL that a stranger may have written,
and Spark runs what it is given: `reflect('java.lang.System', 'getProperty', 'user.home')`
inside an expression does. So an expression passes two gates that know nothing of each
other: its words (`explorer.scan.sql._sql_text`), and the nodes of its tree. What has passed is
given to Spark as it was written, so that it means what it means to every other writer. What a
table itself says passes the same gates, a little wider (`ExpressionUse`), after
`explorer.scan.sql.table_expressions` has settled what depends on the time and on the session.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from explorer.protocol.schema import StructType
from explorer.protocol.schema_walk import walk_types
from explorer.protocol.values.unicode_text import check_unicode
from explorer.scan.predicate.names import resolve_name
from explorer.scan.sql._sql_functions import TIME_FUNCTIONS, names_in
from explorer.scan.sql._sql_text import Token, check_words, refused
from explorer.scan.sql.uses import ExpressionUse

_SILENT: Final = logging.NullHandler()

_NODES: Final = names_in(
    "Add And Any All Between BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Boolean Bracket Column "
    "DPipe DataType DataTypeParam Div Dot EQ Escape GT GTE HexString ILike Identifier In IntDiv "
    "Interval Is JSONPath JSONPathKey JSONPathRoot JSONPathSubscript LT LTE Like Literal Mod Mul "
    "NEQ Neg Not Null NullSafeEQ NullSafeNEQ Or Paren PropertyEQ Sub Tuple Var"
)
"""Kinds of nodes that are not functions; of these the words are looked at."""

_FORBIDDEN: Final = {
    "Select": "a subquery looks at other rows and tables",
    "Subquery": "a subquery looks at other rows and tables",
    "Lambda": "functions inside of functions are not looked through",
    "Window": "it looks at other rows",
    "Placeholder": "a parameter has no value here",
    "Parameter": "a parameter has no value here",
    "Star": "it stands for columns that may change",
}
_TIME_TYPES: Final = frozenset({"date", "timestamp", "timestamp_ntz"})
_TIME_WORDS: Final = TIME_FUNCTIONS | names_in(
    "cast try_cast date timestamp timestamp_ntz timestamp_ltz"
)
_CLOCK_WORDS: Final = ("now", "today", "tomorrow", "yesterday")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedExpression:
    """An expression that may be given to Spark as `text`; `columns` are the columns of the
    table that it speaks of, as the schema spells them, in the order of the schema."""

    text: str
    columns: tuple[str, ...]


def check_expression(
    text: str, schema: StructType, use: ExpressionUse = "condition"
) -> CheckedExpression:
    """Let an expression over the columns of `schema` through.

    Raises `InvalidArgumentError`, by name, for functions that are not let through,
    subqueries and whatever else is more than a calculation on one row, for what cannot be
    read, and for columns that there are not.
    """
    check_unicode(text, "The expression cannot be read.")
    tokens = check_words(text, use)
    nodes = list(_nodes(text))
    for node in nodes:
        _check_node(node, use)
    names = {_column(node, schema) for node in nodes if type(node).__name__ == "Column"}
    fields = tuple(field for field in schema.fields if field.name in names)
    kinds = {getattr(kind, "name", "") for kind in walk_types(StructType(fields=fields))}
    if "variant" in kinds and use == "condition":
        raise refused(
            "speaks of a variant column",
            "rows are looked at with variants as JSON texts",
            "Say it of other columns.",
        )
    _check_fixed_times(tokens, has_times=bool(kinds & _TIME_TYPES))
    return CheckedExpression(text=text, columns=tuple(field.name for field in fields))


def _check_fixed_times(tokens: tuple[Token, ...], *, has_times: bool) -> None:
    """Where a text becomes a time, Spark takes `today` and `now` for what they say."""
    if not has_times and not any(token.text.lower() in _TIME_WORDS for token in tokens):
        return
    for token in tokens:
        if token.kind == "string" and token.text[1:-1].strip().lower().startswith(_CLOCK_WORDS):
            raise refused(
                f"has the time {token.text[:60]}",
                "it is differs from call to call",
                "Write a date, as DATE '2026-01-31'.",
            )


def _nodes(text: str) -> Iterator[Any]:
    from sqlglot import expressions, parse_one
    from sqlglot.errors import SqlglotError

    # it warns of statements that it does not know, and they are refused here anyway
    logging.getLogger("sqlglot").addHandler(_SILENT)
    try:
        yield from parse_one(text, read="spark", into=expressions.Condition).walk()
    except (SqlglotError, RecursionError) as error:
        raise refused(
            "cannot be read",
            "it is not a SQL condition, or one that is not understood here",
            "Write a condition such as \"amount > 0 AND region IN ('emea', 'apac')\".",
        ) from error


def _check_node(node: Any, use: ExpressionUse) -> None:
    from sqlglot import expressions

    kind = type(node).__name__
    if kind in _NODES:
        return
    if kind in _WIDER[use] or (kind == "Exists" and use != "condition" and _has_lambda(node)):
        return
    is_function = isinstance(node, expressions.Func)
    other_rows = isinstance(node, expressions.AggFunc | expressions.UDTF)
    if is_function and not other_rows and kind not in _NOW:
        return
    shown = " ".join(node.sql(dialect="spark").split())[:60]
    why = _FORBIDDEN.get(kind, f"{kind} is not a calculation on one row that is known here")
    raise refused(f"has `{shown}`", why, "Say it of the columns of one row.")


# they are called without parentheses too, so that no word tells them from a column
_NOW: Final = names_in(
    "CurrentDate CurrentDatetime CurrentTime CurrentTimestamp CurrentUser Localtime "
    "Localtimestamp SessionUser Rand Randn Uuid Explode Posexplode Exists"
)


_WIDER: Final = {
    "condition": frozenset[str](),
    "rule": names_in("ColumnDef Lambda"),
    "value": names_in("ColumnDef Lambda Rand Randn Uuid"),
}
"""What expressions of tables may have besides, as `why_not_allowed` says of their functions; and
the fields of a struct that a cast names."""


def _has_lambda(node: Any) -> bool:
    return any(type(part).__name__ == "Lambda" for part in node.iter_expressions())


def _column(node: Any, schema: StructType) -> str:
    first = node.parts[0]
    if type(first).__name__ != "Identifier":
        raise refused("names a column in an odd way", "its name is not a word", "Use backticks.")
    return resolve_name((first.name,), schema).path[0]
