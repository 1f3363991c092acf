"""What is wrong with a log, or worth knowing: one value per finding, with its evidence, the rule
that it rests on, and the safe repair."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from explorer.errors import Problem
from explorer.inspect.frames import Column, build_frame
from explorer.log.actions.columns import string_column

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")

COLUMNS: dict[str, Column] = {
    "severity": (string_column, pa.string()),
    "finding": (string_column, pa.string()),
    "problem": (string_column, pa.string()),
    "reason": (string_column, pa.string()),
    "evidence": (string_column, pa.string()),
    "spec": (string_column, pa.string()),
    "remedy": (string_column, pa.string()),
    "repair": (string_column, pa.string()),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """`finding` names the kind in a few words. An error prevents reading or writing by some engine,
    a warning misleads or costs, a note is worth knowing. `evidence` is a log file, `spec` a
    section of the specification, `repair` the verb that mends it, as `repair hint`."""

    severity: Severity
    finding: str
    problem: str
    reason: str
    evidence: str | None = None
    spec: str | None = None
    remedy: str = ""
    repair: str | None = None


def finding_of(
    problem: Problem, finding: str, severity: Severity = "warning", repair: str | None = None
) -> Finding:
    """A problem as a finding."""
    return Finding(
        severity=severity,
        finding=finding,
        problem=problem.problem,
        reason=problem.reason,
        evidence=problem.place,
        spec=problem.spec,
        remedy=problem.remedy,
        repair=repair,
    )


def findings_frame(findings: Iterable[Finding]) -> pa.Table:
    """One row per finding, the gravest first."""
    ordered = sorted(findings, key=lambda found: SEVERITIES.index(found.severity))
    return build_frame(
        COLUMNS,
        [
            (
                found.severity,
                found.finding,
                _text(found.problem),
                _text(found.reason),
                None if found.evidence is None else _text(found.evidence),
                found.spec,
                found.remedy or None,
                found.repair,
            )
            for found in ordered
        ],
    )


def _text(text: str) -> str:
    # a file name need not be UTF-8; Arrow's strings are
    return text.encode(errors="backslashreplace").decode()
