"""SQL text as a condition over the columns of a table.

The text is taken apart by sqlglot in Spark's dialect; this module knows which of
its nodes have a meaning here and refuses every other by name.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from explorer.errors import InvalidArgumentError
from explorer.protocol.schema import BOOLEAN, DATE, VOID, StructType
from explorer.protocol.values.unicode_text import check_unicode
from explorer.scan.predicate._day_casts import compare_day, day_of, is_time, swapped
from explorer.scan.predicate._literals import fit_text, is_text, parse_literal, text_of
from explorer.scan.predicate.domains import Domain, common_domain
from explorer.scan.predicate.names import resolve_name
from explorer.scan.predicate.patterns import build_like_test
from explorer.scan.predicate.predicate import (
    MAX_DEPTH,
    ColumnReference,
    Comparison,
    Condition,
    Conjunction,
    Constant,
    Disjunction,
    Membership,
    Negation,
    NullTest,
    Operator,
    Predicate,
    Truth,
    TruthTest,
    Value,
)


class UnlistedConditionError(InvalidArgumentError):
    """A condition that is none of the closed list."""


Expression: TypeAlias = Any
"""A node of sqlglot's tree, told by the name of its class: importing them takes time."""

_SILENT = logging.NullHandler()

_MAX_TEXT = 1_000_000
"""Characters; a list of ids may be long, and what is longer belongs into a join."""

_COMPARISONS: dict[str, Operator] = {
    "EQ": "=",
    "NullSafeEQ": "<=>",
    "LT": "<",
    "LTE": "<=",
    "GT": ">",
    "GTE": ">=",
}
_NEGATED: dict[str, Operator] = {"NEQ": "=", "NullSafeNEQ": "<=>"}


def parse_predicate(text: str, schema: StructType) -> Predicate:
    """The predicate that SQL text (as Spark writes it) means over a table's columns.

    Names are resolved as Spark does, whatever their case. Raises
    `InvalidArgumentError` where the text is not a condition, names no column or
    several, compares what cannot be compared, or needs more than column references,
    literals, comparisons, AND, OR, NOT, IN, BETWEEN, LIKE and IS.
    """
    return Predicate(condition=parse_condition(text, schema))


def parse_condition(text: str, schema: StructType) -> Condition:
    """The condition that `text` means; see `predicate.parse_predicate`."""
    try:
        return _Builder(schema).condition(parse_sql(text), MAX_DEPTH)
    except RecursionError as error:
        raise _too_deep() from error


def parse_sql(text: str) -> Expression:
    """The tree of an expression; raises `InvalidArgumentError` where it cannot be read."""
    from sqlglot import expressions, parse_one
    from sqlglot.errors import SqlglotError

    if not isinstance(text, str):
        raise InvalidArgumentError(
            f"{str(text)[:60]!r} is not a valid predicate.",
            reason="A predicate is given as the text of a SQL condition.",
            remedy="Write it in quotes, as \"region = 'emea' AND amount > 10\".",
        )
    if len(text) > _MAX_TEXT:
        raise InvalidArgumentError(
            "The predicate is too long.",
            reason=f"It has {len(text):,} characters, and {_MAX_TEXT:,} are allowed.",
            remedy="Shorten its lists of values.",
        )
    check_unicode(text, "The predicate cannot be read.")
    # it warns of statements that it does not know, and they are refused here anyway
    logging.getLogger("sqlglot").addHandler(_SILENT)
    try:
        return parse_one(text, read="spark", into=expressions.Condition)
    except SqlglotError as error:
        raise InvalidArgumentError(
            "The predicate cannot be read.",
            reason=f"It is not a valid SQL condition: {_described(error)}.",
            remedy="Write a condition such as \"region = 'emea' AND amount > 10\", and put "
            "names that are SQL keywords in backticks.",
        ) from error


def _described(error: Any) -> str:
    for found in reversed(getattr(error, "errors", [])):
        text, column = str(found.get("description") or ""), found.get("col")
        if text:
            if text.startswith("Required keyword"):
                text = "something is missing"
            place = f" at character {column}" if column else ""
            return text.splitlines()[0][:200].rstrip(". ") + place
    return "it is empty or not whole"


class _Builder:
    def __init__(self, schema: StructType) -> None:
        self._schema = schema
        self._conditions: dict[str, Callable[[Any, int], Condition]] = {
            "And": lambda node, left: self._joined(node, Conjunction, left),
            "Or": lambda node, left: self._joined(node, Disjunction, left),
            "Paren": lambda node, left: self.condition(node.this, left),
            "Not": lambda node, left: Negation(operand=self.condition(node.this, left)),
            "Is": self._is,
            "In": self._in,
            "Between": self._between,
            "Like": self._like,
            "Escape": self._escape,
            "Boolean": lambda node, _: Truth(value=bool(node.this)),
            "Null": lambda *_: Truth(value=None),
            "Column": lambda node, _: self._flag(node),
            "Dot": lambda node, _: self._flag(node),
        }

    def condition(self, node: Expression, depth: int) -> Condition:
        """What a node means where a truth value belongs."""
        if depth <= 0:
            raise _too_deep()
        kind = type(node).__name__
        if kind in _COMPARISONS:
            _check_parts(node, "this", "expression")
            return self._comparison(_COMPARISONS[kind], node.this, node.expression, depth)
        if kind in _NEGATED:
            _check_parts(node, "this", "expression")
            inner = self._comparison(_NEGATED[kind], node.this, node.expression, depth)
            return Negation(operand=inner)
        build = self._conditions.get(kind)
        if build is None:
            if (value := parse_literal(node)) is not None:
                raise self._value_alone(node, value)
            raise _refusal(node)
        return build(node, depth - 1)

    def _value_alone(self, node: Expression, value: Constant) -> InvalidArgumentError:
        """A value in the place of a condition, as people paste the one that they look for."""
        shown = _shortened(node)
        names = (name for name in self._schema.names if name.isidentifier())
        name = next((one for one in names if self._can_be(one, value)), None)
        example = "" if name is None else f", for example {name} = {shown}"
        return InvalidArgumentError(
            f"`{shown}` is a value and not a condition.",
            reason="A condition says which rows are meant: it compares a column with a value.",
            remedy=f"Compare a column with it{example}.",
        )

    def _can_be(self, name: str, value: Constant) -> bool:
        try:
            _compare("=", resolve_name((name,), self._schema), value)
        except InvalidArgumentError:
            return False
        return True

    def _joined(
        self, node: Expression, join: type[Conjunction | Disjunction], depth: int
    ) -> Condition:
        # a long chain is a deep tree to sqlglot, and one list here
        parts = [self.condition(part, depth) for part in node.flatten()]
        operands: list[Condition] = []
        for part in parts:
            operands.extend(part.operands if isinstance(part, join) else [part])
        return join(operands=tuple(operands))

    def _comparison(
        self, operator: Operator, left: Expression, right: Expression, depth: int
    ) -> Condition:
        sides = [bare(left), bare(right)]
        if any(_is_condition(side) for side in sides):
            return self._truth_comparison(operator, sides, depth)
        return self._compared(operator, sides[0], sides[1])

    def _compared(self, operator: Operator, left: Expression, right: Expression) -> Condition:
        """Two values held against each other, one of them maybe the day of a time."""
        for day, other, turned in ((left, right, operator), (right, left, swapped(operator))):
            if (column := self._time_of_day(day)) is not None:
                constant = fit_text(self._constant(other), DATE)
                if constant.data_type not in {DATE, VOID}:
                    raise _refusal(day)
                return compare_day(turned, column, constant, _compare)
        return _compare(operator, self._value(left), self._value(right))

    def _time_of_day(self, node: Expression) -> ColumnReference | None:
        """The column of times whose day a node takes, None for another node."""
        inner = bare(day_of(node)) if day_of(node) is not None else None
        if inner is None or names_of(inner) is None:
            return None
        column = self._column(inner)
        return column if is_time(column) else None

    def _truth_comparison(
        self, operator: Operator, sides: list[Expression], depth: int
    ) -> Condition:
        """`(a > 1) = true` and its kin: a condition held against a literal."""
        named, other = sides if _is_condition(sides[0]) else sides[::-1]
        if operator in {"=", "<=>"} and type(other).__name__ == "Boolean":
            inner = self.condition(named, depth - 1)
            if operator == "<=>":
                return TruthTest(operand=inner, truth=bool(other.this))
            return inner if other.this else Negation(operand=inner)
        raise _refusal(named)

    def _is(self, node: Expression, depth: int) -> Condition:
        _check_parts(node, "this", "expression")
        subject, what = bare(node.this), node.expression
        kind = type(what).__name__
        if kind == "Null":
            if _is_condition(subject):
                return NullTest(operand=self.condition(subject, depth))
            if (column := self._time_of_day(subject)) is not None:
                return NullTest(operand=column)
            return NullTest(operand=self._value(subject))
        if kind == "Boolean":
            return TruthTest(operand=self.condition(subject, depth), truth=bool(what.this))
        raise _refusal(what)

    def _in(self, node: Expression, _: int) -> Condition:
        _check_parts(node, "this", "expressions")
        if not node.expressions:
            raise _refusal(node)
        subject = bare(node.this)
        if self._time_of_day(subject) is not None:
            equal = tuple(self._compared("=", subject, bare(item)) for item in node.expressions)
            return equal[0] if len(equal) == 1 else Disjunction(operands=equal)
        operand = self._value(subject)
        options = [fit_text(self._constant(item), operand.data_type) for item in node.expressions]
        valued = [option for option in options if option.value is not None]
        domain = _widest(operand, valued)
        has_null = len(valued) < len(options)
        if isinstance(operand, Constant) or not valued:
            parts = tuple(_compare("=", operand, option) for option in options)
            return parts[0] if len(parts) == 1 else Disjunction(operands=parts)
        return Membership(operand=operand, options=tuple(valued), has_null=has_null, domain=domain)

    def _between(self, node: Expression, _: int) -> Condition:
        _check_parts(node, "this", "low", "high")
        subject, low, high = (bare(node.args[part]) for part in ("this", "low", "high"))
        sides = (self._compared(">=", subject, low), self._compared("<=", subject, high))
        return Conjunction(operands=sides)

    def _like(self, node: Expression, _: int, escape: str = "\\") -> Condition:
        _check_parts(node, "this", "expression", "negate")
        operand, pattern = self._value(bare(node.this)), self._value(bare(node.expression))
        if not isinstance(operand, ColumnReference) or not is_text(operand.data_type):
            raise _refusal(node, "LIKE looks at a string column.")
        if not isinstance(pattern, Constant) or not isinstance(pattern.value, str):
            raise _refusal(node, "Its pattern must be a text literal.")
        found: Condition = build_like_test(operand, pattern.value, escape)
        return Negation(operand=found) if node.args.get("negate") else found

    def _escape(self, node: Expression, depth: int) -> Condition:
        _check_parts(node, "this", "expression")
        escape = self._value(node.expression)
        if type(node.this).__name__ != "Like" or not isinstance(escape, Constant):
            raise _refusal(node)
        if not isinstance(escape.value, str) or len(escape.value) != 1:
            raise _refusal(node, "The escape must be one character.")
        return self._like(node.this, depth, escape.value)

    def _flag(self, node: Expression) -> Condition:
        """A boolean column where a truth value belongs."""
        column = self._column(node)
        if column.data_type != BOOLEAN:
            raise _refusal(node, "Only a boolean column is a condition by itself.")
        return _compare("=", column, Constant(value=True, data_type=BOOLEAN))

    def _value(self, node: Expression) -> Value:
        if type(node).__name__ in {"Column", "Dot"}:
            return self._column(node)
        if (inner := text_of(node)) is not None and names_of(bare(inner)) is not None:
            column = self._column(bare(inner))
            if is_text(column.data_type):
                return column
        return self._constant(node)

    def _constant(self, node: Expression) -> Constant:
        found = parse_literal(bare(node))
        if found is None:
            raise _refusal(node)
        return found

    def _column(self, node: Expression) -> ColumnReference:
        names = names_of(node)
        if names is None:
            raise _refusal(node)
        return resolve_name(names, self._schema)


def _compare(operator: Operator, left: Value, right: Value) -> Condition:
    if isinstance(left, Constant):
        left = fit_text(left, right.data_type)
    if isinstance(right, Constant):
        right = fit_text(right, left.data_type)
    domain = common_domain(left.data_type, right.data_type)
    return Comparison(operator=operator, left=left, right=right, domain=domain)


def _widest(operand: Value, options: Iterable[Constant]) -> Domain:
    """One domain for all: a list with a double makes doubles of the others."""
    found = [common_domain(operand.data_type, option.data_type) for option in options]
    for kind in ("double", "decimal", "time"):
        same = [domain for domain in found if domain.kind == kind]
        if same:
            return Domain(kind=same[0].kind, scale=max(domain.scale for domain in same))
    return found[0] if found else common_domain(operand.data_type, VOID)


def names_of(node: Expression) -> tuple[str, ...] | None:
    """The names that lead to the column or field that a node is; None for another node."""
    if type(node).__name__ == "Dot":
        outer, inner = names_of(node.this), node.expression
        return (
            None if outer is None or type(inner).__name__ != "Identifier" else (*outer, inner.name)
        )
    if type(node).__name__ == "Column":
        parts = node.parts
        if all(type(part).__name__ == "Identifier" for part in parts):
            return tuple(part.name for part in parts)
    return None


def bare(node: Expression) -> Expression:
    """The node inside of parentheses."""
    while type(node).__name__ == "Paren":
        node = node.this
    return node


def _is_condition(node: Expression) -> bool:
    kind = type(node).__name__
    conditions = {"And", "Or", "Not", "Is", "In", "Between", "Like", "Escape"}
    return kind in conditions or kind in _COMPARISONS or kind in _NEGATED


def _check_parts(node: Expression, *known: str) -> None:
    """Refuse a node with a part that would be overlooked (SYMMETRIC, a subquery)."""
    if any(value and name not in known for name, value in node.args.items()):
        raise _refusal(node)


def _refusal(node: Expression, reason: str | None = None) -> InvalidArgumentError:
    return UnlistedConditionError(
        f"The predicate has `{_shortened(node)}`, which is not supported there.",
        reason=reason or f"A condition on files cannot use {_kind_of(node)}.",
        remedy="Use columns, literals, comparisons, AND, OR, NOT, IN, BETWEEN, LIKE and IS NULL.",
    )


def _shortened(node: Expression) -> str:
    text = " ".join(node.sql(dialect="spark").split())
    return text if len(text) <= 80 else text[:77] + "..."


def _kind_of(node: Expression) -> str:
    name = type(node).__name__
    return f"the function {node.name}" if name == "Anonymous" else name


def _too_deep() -> InvalidArgumentError:
    return InvalidArgumentError(
        "The predicate is nested too deep.",
        reason=f"Conditions may be nested {MAX_DEPTH} deep.",
        remedy="Write long chains of AND or OR without parentheses, or use IN.",
    )
