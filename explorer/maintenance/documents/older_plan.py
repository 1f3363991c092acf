"""Plans of format 1, as releases before this one made them.

Their steps name each other by positions. They are listed and shown, and no longer carried
out: whoever wants what they say plans again, which leaves out what is done. Where an
execution was begun and cut off, it is told how far it came, by its journal and, for what was
committed after the last line of it, by the log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from explorer.errors import ConflictError, DeltaError
from explorer.table.counts import count

OLDEST_FORMAT = 1

Journal = Sequence[Mapping[str, Any]]
CommitOf = Callable[[str], int | None]
"""From a transaction id to the version of its commit, None where there is none. Raises
`DeltaError` where the log no longer tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OlderStep:
    """A step of such a plan, as its document has it."""

    title: str
    reason: str
    num_files: int
    num_bytes: int | None
    transaction_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Progress:
    """What the journal says of a step: the line of its end, and the last one before that."""

    done: Mapping[str, Any] | None
    batch: Mapping[str, Any] | None

    @property
    def version(self) -> int | None:
        """The version that it made."""
        result = (self.done or {}).get("result")
        return _number(result.get("version")) if isinstance(result, Mapping) else None

    @property
    def num_done(self) -> int:
        """The files that are certainly done."""
        counts = (self.done or self.batch or {}).get("counts")
        return (_number(counts.get("done")) or 0) if isinstance(counts, Mapping) else 0


def older_plan(
    digest: str, document: Mapping[str, Any], journal: Journal, commit_of: CommitOf | None
) -> ConflictError:
    """The error for whoever would carry such a plan out. `commit_of` looks for commits in the
    log of its table; None where nobody may."""
    told = describe_run(document, journal, commit_of)
    return ConflictError(
        f"The plan {digest[:12]} was made by an older release.",
        reason=f"Such plans are no longer carried out. {told}",
        remedy="Plan again: the new plan omits what is done already.",
        kind="plan_stale",
    )


_EXECUTIONS = ("begun", "ended")
"""An execution that was cancelled may have been resumed, and cut off then."""


def describe_run(
    document: Mapping[str, Any], journal: Journal, commit_of: CommitOf | None = None
) -> str:
    """How far the execution of such a plan came, in sentences."""
    if not journal:
        return "It was never started: it changed nothing."
    last = next((line for line in reversed(journal) if line.get("event") in _EXECUTIONS), {})
    if last.get("event") == "ended":
        status, receipt = last.get("status"), last.get("receipt")
        return f"Its execution ended as {status}; the receipt {receipt} says what became of it."
    steps = [
        (step, _Progress(done=_last(journal, at, "done"), batch=_last(journal, at, "batch")))
        for at, step in enumerate(read_steps(document))
    ]
    done = [_end_of(*each) for each in steps if each[1].done is not None]
    left = [each for each in steps if each[1].done is None]
    first = f"Its execution was interrupted with {len(done)} of {count(len(steps), 'step')} done"
    said = [f"{first}: {', '.join(done)}." if done else f"{first}."]
    if left:
        said.append(_describe_next(*left[0], commit_of))
    return " ".join(said)


def read_steps(document: Mapping[str, Any]) -> list[OlderStep]:
    """The steps of a plan of format 1; none of a later one, whose words nobody here knows."""
    listed = document.get("steps") if document.get("format") == OLDEST_FORMAT else None
    found: list[OlderStep] = []
    for step in listed if isinstance(listed, list) else ():
        body = step if isinstance(step, Mapping) else {}
        arguments = body.get("arguments")
        arguments = arguments if isinstance(arguments, Mapping) else {}
        transaction_id = arguments.get("transaction_id")
        found.append(
            OlderStep(
                title=str(arguments.get("operation") or body.get("kind", "")).replace("_", " "),
                reason=str(body.get("reason", "")),
                num_files=_number(body.get("num_files")) or 0,
                num_bytes=_number(body.get("num_bytes")),
                transaction_id=transaction_id if isinstance(transaction_id, str) else None,
            )
        )
    return found


def _end_of(step: OlderStep, progress: _Progress) -> str:
    if step.transaction_id is not None and progress.version is not None:
        return f"{step.title} (version {progress.version})"
    if progress.num_done and step.num_files > 1:
        return f"{step.title} ({count(progress.num_done, 'file')})"
    return step.title


def _describe_next(step: OlderStep, progress: _Progress, commit_of: CommitOf | None) -> str:
    """What is known of the step at which the execution was cut off."""
    if step.transaction_id is not None:
        if commit_of is None:
            return f"Whether {step.title} was committed then, the table's history says."
        try:
            made = commit_of(step.transaction_id)
        except DeltaError:
            return f"Whether {step.title} was committed then can no longer be told from the log."
        if made is not None:
            return f"Then {step.title} was committed as version {made}."
        left = _LEFT if progress.batch is not None else ""
        return f"The next one, {step.title}, was not committed.{left}"
    if step.num_files > 1 or progress.batch is not None:
        return (
            f"The next one, {step.title}, had finished {progress.num_done:,} of "
            f"{count(step.num_files, 'file')} by the last line of the journal, and may have "
            "finished more."
        )
    return f"The next one, {step.title}, may have been finished."


_LEFT = (
    " Files that it may have written belong to no version: vacuum deletes them once they are older "
    "than the retention."
)


def _number(value: object) -> int | None:
    return value if type(value) is int else None


def _last(journal: Journal, index: int, event: str) -> Mapping[str, Any] | None:
    lines = (line for line in reversed(journal) if line.get("event") == event)
    return next((line for line in lines if line.get("step") == index), None)
