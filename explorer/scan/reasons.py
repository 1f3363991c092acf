"""Why a file stays or goes, in words: the condition that decided and what it met.

Kept as columns while planning; sentences are made for the files that are looked at.
"""

from __future__ import annotations

from functools import reduce
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.actions.columns import int32_column, string_column, string_scalar
from explorer.log.calendar_texts import plain_times, render_values
from explorer.log.plain_arrays import EMPTY, FALSE, TRUE, ZERO, build_array, in_one_piece
from explorer.protocol.schema_walk import render_path
from explorer.scan._imprecise_bounds import KeptByImprecision, find_kept_by_imprecision
from explorer.scan.facts import Answers, Question, ranges_of_statistics
from explorer.scan.possibility import may_be_true
from explorer.scan.predicate.domains import is_float
from explorer.scan.predicate.predicate import Condition, Predicate, references_of, render_condition
from explorer.scan.statistics.column_statistics import ColumnFacts, StatisticsColumn
from explorer.scan.statistics.partitions import facts_of_texts

KEPT: Final = -1
"""In the column `code`: the file stays. Other codes are the number of the condition
that ruled it out by itself, or how many there are where it took all of them."""


_NOTHING = string_scalar("")


def evidence_of(predicate: Predicate | None, answers: Answers, count: int) -> pa.Table:
    """One row a file: `code`, and the facts about the columns that were asked for."""
    columns: dict[str, pa.Array] = {"code": _codes(predicate, answers, count)}
    if answers.num_records is not None:
        columns["records"] = answers.num_records
    for path, texts in answers.texts.items():
        columns[_key("text", path)] = texts
    for path, facts in answers.statistics.items():
        columns[_key("min", path)] = facts.minimum
        columns[_key("max", path)] = facts.maximum
        columns[_key("nulls", path)] = facts.null_count
    return pa.Table.from_arrays(list(columns.values()), names=list(columns))


def kept_by_imprecision(
    predicate: Predicate | None, question: Question, evidence: pa.Table
) -> KeptByImprecision | None:
    """Why files stay that their bounds as stored would rule out; the evidence is that of files
    which stay. None where there is nothing of the kind."""
    if predicate is None or not question.statistics or not evidence.num_rows:
        return None
    evidence = evidence.combine_chunks()
    texts = {
        column.path: _column(evidence, _key("text", column.path)) for column in question.partitions
    }
    facts = {
        column.path: ColumnFacts(
            minimum=_column(evidence, _key("min", column.path)),
            maximum=_column(evidence, _key("max", column.path)),
            null_count=_column(evidence, _key("nulls", column.path)),
        )
        for column in question.statistics
    }
    ranges = {
        column.path: facts_of_texts(texts[column.path], column).range
        for column in question.partitions
    }
    ranges |= ranges_of_statistics(question, facts, _column(evidence, "records"))
    answers = Answers(
        ranges=ranges,
        statistics=facts,
        answers={
            condition: known.look_up([texts[column.path] for column in condition.columns])
            for condition, known in question.answers.items()
        },
    )
    return find_kept_by_imprecision(predicate, question.statistics, answers, evidence.num_rows)


def render_reasons(
    predicate: Predicate | None, question: Question, evidence: pa.Table
) -> tuple[pa.Array, pa.Array]:
    """Whether each file stays, and why."""
    evidence = evidence.combine_chunks()
    codes = _column(evidence, "code")
    kept = pc.equal(codes, int32_column([KEPT])[0])
    if predicate is None:
        return kept, string_column([render_verdict(predicate, question, KEPT)] * len(codes))
    conditions = (*predicate.conjuncts, predicate.condition)
    start = render_verdict(predicate, question, KEPT)
    reasons = _sentence(start, predicate.condition, question, evidence)
    for code in pc.unique(codes).to_pylist():
        if code != KEPT:
            text = render_verdict(predicate, question, code)
            found = _sentence(text, conditions[code], question, evidence)
            reasons = pc.if_else(pc.equal(codes, int32_column([code])[0]), found, reasons)
    stays = pc.indices_nonzero(kept)
    if (why := kept_by_imprecision(predicate, question, evidence.take(stays))) is not None:
        parts = _said_of_imprecision(why, question, evidence.take(stays))
        longer = _join(reasons.take(stays), "", parts)
        reasons = pc.replace_with_mask(reasons, kept, longer)
    return kept, reasons


def render_verdict(predicate: Predicate | None, question: Question, code: int) -> str:
    """What a code of the evidence says of every file that has it."""
    if predicate is None:
        return "there is no predicate"
    if code != KEPT:
        condition = (*predicate.conjuncts, predicate.condition)[code]
        return f"{render_condition(condition)[:300]} cannot be true"
    unasked = [item.text for item in predicate.sql_conditions if item not in question.answers]
    return f"may match{f', {unasked[0][:100]} was not evaluated' if unasked else ''}"


def _said_of_imprecision(
    why: KeptByImprecision, question: Question, evidence: pa.Table
) -> pa.Array:
    """`; kept because a row may be NaN, …` where that is why, else nothing."""
    cases: list[tuple[pa.BooleanArray, str]] = [
        (why.nan, "a row may be NaN, which bounds may leave out"),
        *(
            (why.imprecise[column.path], _imprecise(column))
            for column in question.statistics
            if column.path in why.imprecise
        ),
        (why.together, "a row may be NaN, and bounds may be cut"),
    ]
    found = string_column([""] * evidence.num_rows)
    for mask, text in reversed(cases):
        found = pc.if_else(mask, string_scalar(f"; kept because {text}"), found)
    theirs = pc.if_else(
        why.reference_skips,
        string_scalar("; Delta Spark takes the bounds as they are, and skips it"),
        _NOTHING,
    )
    return _join(found, "", theirs)


def _imprecise(column: StatisticsColumn) -> str:
    """In which way the bounds of a column may say less than its values."""
    name, kind = render_path(column.path)[:100], column.bound_type
    if kind is None or pa.types.is_string(kind):
        return f"the greatest {name} may be cut to a part of the text"
    if pa.types.is_timestamp(kind):
        return (
            f"bounds of {name} may be cut to milliseconds, and early ones be of the former calendar"
        )
    if pa.types.is_date(kind):
        return f"early bounds of {name} may be of the former calendar"
    return f"bounds of {name} may be rounded"


def _codes(predicate: Predicate | None, answers: Answers, count: int) -> pa.Array:
    codes = build_array(np.full(count, KEPT, np.int32))
    if predicate is None:
        return codes
    conditions = predicate.conjuncts
    known = answers.ranges, count, answers.answers
    every = [may_be_true(condition, *known) for condition in conditions]
    together = may_be_true(predicate.condition, *known) if len(every) > 1 else TRUE
    codes = pc.if_else(together, codes, int32_column([len(every)])[0])
    for code in reversed(range(len(every))):  # the first that decides is named
        codes = pc.if_else(every[code], codes, int32_column([code])[0])
    return codes


def _sentence(text: str, condition: Condition, question: Question, evidence: pa.Table) -> pa.Array:
    asked = {reference.path for reference in references_of(condition)}
    parts = [
        _said_of_partition(column.path, evidence)
        for column in question.partitions
        if column.path in asked
    ]
    parts += [
        _said_of_values(column, evidence) for column in question.statistics if column.path in asked
    ]
    start = string_column([text] * evidence.num_rows)
    if not parts:
        return start
    facts = reduce(lambda left, right: _join(left, ", ", right), parts)
    return _join(start, ": ", facts)


def _said_of_partition(path: tuple[str, ...], evidence: pa.Table) -> pa.Array:
    texts = _column(evidence, _key("text", path))
    null = pc.or_(texts.is_null(), pc.equal(pc.fill_null(texts, EMPTY), EMPTY))
    name = render_path(path)[:100]
    return pc.if_else(
        null,
        string_scalar(f"{name} is null"),
        _join(string_scalar(f"{name} is "), "", _quoted(texts)),
    )


def _said_of_values(column: StatisticsColumn, evidence: pa.Table) -> pa.Array:
    path = column.path
    least, most = (_shown(_column(evidence, _key(side, path))) for side in ("min", "max"))
    nulls, records = _column(evidence, _key("nulls", path)), _column(evidence, "records")
    name = render_path(path)[:100]
    none_null = pc.coalesce(pc.equal(nulls, ZERO), FALSE)
    all_null = pc.and_(pc.coalesce(pc.equal(nulls, records), FALSE), pc.invert(none_null))
    nan = " or NaN" if is_float(column.data_type) else ""
    one = _join(string_scalar(f"{name} is "), "", least)
    span = _join(_join(string_scalar(f"{name} is between "), "", least), " and ", most)
    between = pc.if_else(pc.equal(least, most), one, span)
    at_least = _join(string_scalar(f"{name} is at least "), "", least)
    at_most = _join(string_scalar(f"{name} is at most "), "", most)
    bounds = pc.coalesce(between, at_least, at_most)
    bounded = _join(bounds, "", string_scalar(nan))
    counted = _join(pc.cast(nulls, pa.string()), "", string_scalar(" nulls"))
    with_nulls = _join(bounded, ", ", pc.if_else(none_null, string_scalar("never null"), counted))
    bare = pc.if_else(
        none_null,
        string_scalar(f"{name} is never null"),
        string_scalar(f"{name} has no statistics"),
    )
    return pc.if_else(
        all_null,
        string_scalar(f"{name} is null in every row"),
        pc.coalesce(with_nulls, bounded, bare),
    )


def _shown(values: pa.Array) -> pa.Array:
    if pa.types.is_null(values.type):
        return pa.nulls(len(values), pa.string())
    if pa.types.is_timestamp(values.type):
        return plain_times(render_values(values))
    return _quoted(values) if pa.types.is_string(values.type) else render_values(values)


def _quoted(texts: pa.Array) -> pa.Array:
    cut = pc.utf8_slice_codeunits(texts, 0, 60)
    return pc.binary_join_element_wise(string_scalar("'"), cut, string_scalar("'"), EMPTY)


def _join(left: Any, separator: str, right: Any) -> pa.Array:
    return pc.binary_join_element_wise(left, right, string_scalar(separator))


def _key(fact: str, path: tuple[str, ...]) -> str:
    return f"{fact} {render_path(path)}"


def _column(evidence: pa.Table, name: str) -> pa.Array:
    found = evidence.column(evidence.schema.get_field_index(name))
    return in_one_piece(found)
