"""The words of a SQL expression, read so narrowly that every parser must read them alike.

Two parsers may disagree about a text: one sees a string, the other the end of it and a
call behind. So texts are refused that leave a choice: quotes behind a backslash, strings
in double quotes, comments, letters outside ASCII beyond quotes. In expressions of tables, which
others wrote, `explorer.scan.sql.table_expressions` settles some of these first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from explorer.errors import InvalidArgumentError
from explorer.scan.sql._sql_functions import names_in, why_not_allowed
from explorer.scan.sql.uses import ExpressionUse

MAX_TEXT: Final = 10_000
"""Characters of an expression: each row is held against all of it."""

_MAX_NESTING: Final = 100
_SHOWN: Final = 60

WordKind = Literal["word", "quoted", "string", "number", "sign"]

_TOKENS: Final = re.compile(
    r"(?P<space>[ \t\r\n]+)"
    r"|(?P<comment>--|/\*)"
    r"|(?P<equal><=>)"
    r"|(?P<arrow>->|=>)"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[A-Za-z0-9_]*)"
    r"|(?P<string>'(?:[^'\\]|\\[^'\"])*')"
    r"|(?P<quoted>`(?:[^`]|``)+`)"
    r"|(?P<sign>[-+*/%=<>!|&^~(),.\[\]])",
    re.DOTALL,
)

# what may stand before a parenthesis without being called
_BEFORE_PARENTHESIS: Final = names_in(
    "all and any between case div else escape ilike in is like not or regexp rlike some then when"
)
_SIZED_TYPES: Final = names_in("char character varchar")
"""Types that a cast names with a length; `char` is a function elsewhere."""
_STATEMENTS: Final = names_in("exists lateral select table tablesample unnest values with")


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A piece of an expression; `text` as it stands there."""

    kind: WordKind
    text: str


def check_words(text: str, use: ExpressionUse = "condition") -> tuple[Token, ...]:
    """The words of an expression.

    Raises `InvalidArgumentError` for one that could be read in two ways, that asks for a
    query of its own, or that calls a function which is not let through for this use.
    """
    if len(text) > MAX_TEXT:
        raise refused(
            f"has {len(text):,} characters", f"{MAX_TEXT:,} are allowed", "Make it shorter."
        )
    tokens = tuple(_tokens(text, use))
    if not tokens:
        raise refused("is empty", "there is nothing that could be true", "Write a condition.")
    _check_nesting(tokens)
    for at, token in enumerate(tokens):
        opens = at + 1 < len(tokens) and tokens[at + 1].text == "("
        follows_dot = at > 0 and tokens[at - 1].text == "."
        if opens and at > 0 and tokens[at - 1].kind == "word" and _is_type(tokens[at - 1], token):
            continue
        _check_word(token, use, opens=opens, follows_dot=follows_dot)
        if opens and not follows_dot and token.text.lower() == "exists":
            _check_exists(tokens[at + 1 :])
    return tokens


def refused(what: str, why: str, remedy: str) -> InvalidArgumentError:
    """The error for an expression that Spark is not given."""
    return InvalidArgumentError(
        f"The expression {what}.",
        reason=f"It is not given to Spark: {why}.",
        remedy=remedy,
        spec="CHECK Constraints",
    )


def _tokens(text: str, use: ExpressionUse) -> Iterator[Token]:
    at = 0
    while at < len(text):
        found = _TOKENS.match(text, at)
        if found is None or found.lastgroup == "comment":
            raise _unclear(text[at:])
        if found.lastgroup == "arrow" and (use == "condition" or found[0] == "=>"):
            raise _unclear(text[at:])
        at = found.end()
        match found.lastgroup:
            case "word" | "quoted" | "string" | "number" | "sign" as kind:
                yield Token(kind=kind, text=found[0])
            case "equal" | "arrow":
                yield Token(kind="sign", text=found[0])
            case _:
                pass  # space


def _unclear(rest: str) -> InvalidArgumentError:
    shown = rest[:_SHOWN]
    if rest.startswith(("--", "/*")):
        return refused("has a comment", "a comment may hide what others read", "Leave it out.")
    if rest.startswith(("->", "=>")):
        return refused(
            f"has `{rest[:2]}`",
            "functions inside of functions, and arguments by name, are not looked through",
            "Say it without.",
        )
    if rest.startswith('"'):
        return refused(
            "has a double quote",
            "it begins a text or a name, as the session's settings say",
            "Write texts in single quotes and names in backticks.",
        )
    if rest.startswith("'"):
        return refused(
            f"has a text that does not end, or a quote behind a backslash: {shown!r}",
            "parsers disagree about where such a text ends",
            "Write a quote inside of a text twice, as 'it''s'.",
        )
    return refused(
        f"cannot be read at {shown!r}",
        "the sign there has no meaning in it",
        "Write names with other letters in backticks.",
    )


def _check_exists(opened: tuple[Token, ...]) -> None:
    """`exists(…)` is the function where a function stands inside, else a subquery."""
    depth = 0
    for token in opened:
        depth += {"(": 1, ")": -1}.get(token.text, 0) if token.kind == "sign" else 0
        if depth == 1 and token.text == "->":
            return
        if depth == 0:
            break
    raise _query("exists")


def _is_type(before: Token, token: Token) -> bool:
    """Whether it is the type of a cast: no function follows `AS`."""
    is_sized = token.kind == "word" and token.text.lower() in _SIZED_TYPES
    return is_sized and before.text.lower() == "as"


def _check_word(token: Token, use: ExpressionUse, *, opens: bool, follows_dot: bool) -> None:
    name = token.text.lower()
    if token.kind == "word" and not follows_dot and not opens and name in _STATEMENTS:
        raise _query(token.text)
    if not opens or token.kind in {"sign", "string"}:
        return
    if token.kind != "word" or follows_dot:
        raise refused(
            f"calls `{token.text[:_SHOWN]}` under a quoted or composed name",
            "such a name may lead to a function of a catalog, or to one that a user defined",
            "Call functions of Spark by their plain names.",
        )
    if name in _BEFORE_PARENTHESIS:
        return
    if name in _STATEMENTS - {"exists"}:
        raise _query(token.text)
    if (why := why_not_allowed(name, use)) is not None:
        raise refused(
            f"calls the function {token.text[:_SHOWN]}",
            why,
            "Use columns, literals, comparisons, and plain functions such as upper or length.",
        )


def _query(word: str) -> InvalidArgumentError:
    return refused(
        f"has the word {word[:_SHOWN]}",
        "a subquery looks at other rows and tables, and not at the row alone",
        "Say it of the columns of one row; a column of that name stands in backticks.",
    )


def _check_nesting(tokens: tuple[Token, ...]) -> None:
    depth = 0
    for token in tokens:
        if token.kind == "sign":
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(token.text, 0)
        if depth > _MAX_NESTING:
            raise refused(
                "is nested too deep", f"{_MAX_NESTING} levels are allowed", "Make it flatter."
            )
