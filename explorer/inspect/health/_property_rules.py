"""Findings about the properties of a table: values that cannot be read, names that
no reader uses, and retentions that contradict each other (spec: Table Properties).

No I/O: facts in, findings out.
"""

from __future__ import annotations

from collections.abc import Iterator

from explorer.inspect.health._log_facts import LogFacts
from explorer.inspect.health.findings import Finding, finding_of
from explorer.protocol.table_properties.properties import ignored_properties, validate_properties
from explorer.table.retention import describe_short_log


def judge_properties(facts: LogFacts) -> Iterator[Finding]:
    """Every finding that the properties in force give."""
    for problem in validate_properties(facts.configuration):
        yield finding_of(problem, "unreadable property", "error")
    for problem in ignored_properties(facts.configuration):
        yield finding_of(problem, "ignored property")
    if (sentence := describe_short_log(facts.configuration)) is not None:
        problem_, _, reason = sentence.partition(": ")
        yield Finding(
            severity="note",
            finding="log kept for less time than files",
            problem=f"{problem_}.",
            reason=f"{reason[0].upper()}{reason[1:]}",
            spec="Metadata Cleanup",
            remedy="Keep the log at least as long as removed files.",
        )
