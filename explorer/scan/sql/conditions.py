"""Conditions beyond the closed list of a predicate, kept as they were written.

Each passes `check_expression`, which knows what Spark may be given; see
`explorer.scan.sql.expressions`. Only the conditions that AND joins at the top are told apart,
so that each is given to Spark as it was written.
"""

from __future__ import annotations

from collections.abc import Iterator

from explorer.protocol.schema import StructType
from explorer.scan.predicate.names import resolve_name
from explorer.scan.predicate.parse import UnlistedConditionError, parse_predicate
from explorer.scan.predicate.predicate import Condition, Conjunction, Predicate, SqlCondition
from explorer.scan.sql._sql_text import Token, check_words
from explorer.scan.sql.expressions import check_expression


def parse_scan_predicate(text: str, schema: StructType) -> Predicate:
    """As `parse_predicate`, for a plan of what to read: conditions beyond the closed list are
    kept as `SqlCondition`s, where Spark may be given them (`check_expression`).

    Raises `InvalidArgumentError` for others.
    """
    try:
        return parse_predicate(text, schema)
    except UnlistedConditionError:
        return Predicate(condition=_joined(text, schema))


def _joined(text: str, schema: StructType) -> Condition:
    operands: list[Condition] = []
    for part in _conjuncts(text):
        try:
            found = parse_predicate(part, schema).condition
        except UnlistedConditionError:
            found = _sql_condition(part, schema)
        operands.extend(found.operands if isinstance(found, Conjunction) else [found])
    return operands[0] if len(operands) == 1 else Conjunction(operands=tuple(operands))


def _sql_condition(text: str, schema: StructType) -> SqlCondition:
    checked = check_expression(text, schema)
    references = tuple(resolve_name((name,), schema) for name in checked.columns)
    return SqlCondition(text=text, columns=references)


def _conjuncts(text: str) -> Iterator[str]:
    """The pieces between the ANDs at the top, those in parentheses of their own as well."""
    tokens = check_words(text)
    places = list(_places(text, tokens))
    if _is_enclosed(tokens):
        yield from _conjuncts(text[places[0] + 1 : places[-1]])
        return
    start = 0
    for at in _ands(tokens):
        yield text[start : places[at]].strip()
        start = places[at] + len(tokens[at].text)
    yield text[start:].strip()


def _places(text: str, tokens: tuple[Token, ...]) -> Iterator[int]:
    at = 0
    for token in tokens:
        at = text.index(token.text, at)  # there is only space between them
        yield at
        at += len(token.text)


def _is_enclosed(tokens: tuple[Token, ...]) -> bool:
    """Whether the first token is a parenthesis that the last one closes."""
    depth = 0
    for at, token in enumerate(tokens):
        depth += _depth(token)
        if depth == 0:
            return at == len(tokens) - 1 and at > 0 and token.text == ")"
    return False


def _ands(tokens: tuple[Token, ...]) -> list[int]:
    """The ANDs at the top; none where OR joins what they stand in."""
    found: list[int] = []
    depth, cases, betweens = 0, 0, 0
    for at, token in enumerate(tokens):
        depth += _depth(token)
        word = token.text.lower() if token.kind == "word" and depth == 0 else ""
        cases += {"case": 1, "end": -1}.get(word, 0)
        if cases:
            continue
        if word == "or":
            return []
        betweens += word == "between"
        if word == "and" and betweens:
            betweens -= 1
        elif word == "and":
            found.append(at)
    return found if depth == cases == betweens == 0 else []


def _depth(token: Token) -> int:
    return {"(": 1, "[": 1, ")": -1, "]": -1}.get(token.text, 0) if token.kind == "sign" else 0
