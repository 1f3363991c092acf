"""Expressions that a table has (spec: CHECK Constraints, Column Invariants, Generated Columns,
Default Columns), made ready for one statement.

Others wrote them, for Spark, and they may say more than a person's condition: functions inside
of functions, JSON, the time of the statement. What Spark would decide again for each row, task or
session is settled here, once for each statement, so that every row and every engine sees the
same:

- `current_timestamp()`, `now()`, `current_date()`, `curdate()`, `localtimestamp()` and
  `unix_timestamp()` without arguments become literals
- a text in double quotes is a text, as in Spark without `spark.sql.ansi.doubleQuotedIdentifiers`
- a cast to `VARCHAR(n)` or `CHAR(n)` is one to `STRING`, which cuts nothing off and fills nothing
  up, as in Spark without `spark.sql.preserveCharVarcharTypeInfo`; so is one inside an `ARRAY<…>`,
  `MAP<…>` or `STRUCT<…>`, whose fields are named without the colon, which may be left out

What is left passes `check_expression`; `uuid()` and `rand()` in values alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from explorer.errors import InvalidArgumentError
from explorer.protocol.schema import StructType
from explorer.protocol.values.unicode_text import check_unicode
from explorer.scan.sql._sql_text import refused
from explorer.scan.sql.expressions import CheckedExpression, check_expression
from explorer.scan.sql.uses import ExpressionUse

_PIECES: Final = re.compile(
    r"(?P<double>\"(?:[^\"'\\]|\\[^\"'])*\")"
    r"|(?P<kept>'(?:[^'\\]|\\[^'\"])*'|`(?:[^`]|``)+`|[0-9][A-Za-z0-9_.]*)"
    r"|(?P<length>(?<![A-Za-z0-9_.`])"
    r"(?i:VARCHAR|CHAR|CHARACTER)[ \t\r\n]*\([ \t\r\n]*[0-9]+[ \t\r\n]*\))"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*)(?P<called>[ \t\r\n]*\([ \t\r\n]*\))?"
    r"|(?P<sign>.)",
    re.DOTALL,
)
_BARE: Final = frozenset({"current_timestamp", "current_date", "localtimestamp"})
"""Spark knows these without parentheses too, where no column has the name."""
_NESTED: Final = frozenset({"array", "map", "struct"})


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementTime:
    """The one time of a statement; its date and its clock are those of its own zone, which is the
    session's. Raises `InvalidArgumentError` for a time without a zone."""

    moment: datetime

    def __post_init__(self) -> None:
        if self.moment.tzinfo is None:
            raise InvalidArgumentError(
                "The time of the statement has no zone.",
                reason="It would be another time in each session.",
                remedy="Give it as datetime.now(UTC).",
            )

    def literal(self, function: str) -> str | None:
        """What a function of the time is in this statement, as SQL; None for another function."""
        match function.lower():
            case "current_timestamp" | "now":
                return f"TIMESTAMP '{_clock(self.moment.astimezone(UTC))}Z'"
            case "current_date" | "curdate":
                return f"DATE '{self.moment.date().isoformat()}'"
            case "localtimestamp":
                return f"TIMESTAMP_NTZ '{_clock(self.moment)}'"
            case "unix_timestamp" | "to_unix_timestamp":
                return f"{int(self.moment.timestamp() // 1)}L"
            case _:
                return None


def check_table_expression(
    text: str, schema: StructType, use: ExpressionUse, time: StatementTime
) -> CheckedExpression:
    """An expression of a table, as Spark may be given it in this statement.

    Raises what `check_expression` raises.
    """
    check_unicode(text, "The expression cannot be read.")
    return check_expression(settle(text, schema, time), schema, use)


def settle(text: str, schema: StructType, time: StatementTime) -> str:
    """The same expression with the time of the statement and with texts in single quotes."""
    names = frozenset(name.lower() for name in schema.names)
    return "".join(_pieces(text, names, time))


def _pieces(text: str, names: frozenset[str], time: StatementTime) -> Iterator[str]:
    before, second = "", ""
    depth = 0  # of the angle brackets around the types of a cast
    for found in _PIECES.finditer(text):
        piece = found[0]
        if found["double"] is not None:
            if (
                text[found.start() - 1 : found.start()] in {'"', "'"}
                or text[found.end() :][:1] == "'"
            ):
                raise _two_texts()
            yield f"'{piece[1:-1]}'"
        elif found["length"] is not None:
            yield "STRING" if depth or before.lower() == "as" else piece
        elif found["word"] is not None:
            yield piece if depth or before == "." else _word(found, names, time)
        elif piece == '"':
            raise _two_texts()
        else:
            yield " " if depth and piece == ":" else piece
            if piece == "<":
                depth += depth > 0 or (second.lower() == "as" and before.lower() in _NESTED)
            depth -= depth > 0 and piece == ">"
        if not piece.isspace():
            before, second = piece, before


def _clock(moment: datetime) -> str:
    return moment.replace(tzinfo=None).isoformat(" ", "microseconds")


def _two_texts() -> InvalidArgumentError:
    return refused(
        "has a text in double quotes that does not end, or has another quote inside or beside it",
        "parsers disagree about where such a text ends",
        "Write it in single quotes.",
    )


def _word(found: re.Match[str], names: frozenset[str], time: StatementTime) -> str:
    word, is_called = found["word"], found["called"] is not None
    name = word.lower()
    if not is_called and name not in _BARE:
        return found[0]
    if not is_called and name in names:
        return f"`{word}`"  # which no parser takes for the function
    after = found.string[found.end() :].lstrip()
    if not is_called and after.startswith("("):
        return found[0]  # with arguments, which no function of the time has
    return time.literal(name) or found[0]
