"""What Spark says of an exception in fields of its own: condition, SQLSTATE, parameters.

The text of an exception is not evidence: it quotes plans, which have every literal, name and
message of a query, and values of rows. What Spark names in fields is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

_MOST_CAUSES: Final = 12
_LONGEST: Final = 300
# a message begins with its condition where nothing else has it
_CONDITION: Final = re.compile(r"\[([A-Z][A-Z0-9_]*(?:\.[A-Z][A-Z0-9_]*)*)\] ")
# that a task which writes failed: a cause says why
_OUTER: Final = frozenset({"TASK_WRITE_FAILED", "WRITING_JOB_ABORTED"})
_PYTHON: Final = frozenset({"PythonException", "PYTHON_EXCEPTION"})
_PACKAGES: Final = frozenset({"pyspark", "py4j", "grpc"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkFault:
    """One exception: the classes of it, Spark's condition such as ``FAILED_READ_FILE.NO_HINT``
    (or nothing), its SQLSTATE and parameters, the first lines of it and of its causes, and
    all of its text."""

    kinds: frozenset[str]
    condition: str = ""
    state: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    lines: tuple[str, ...] = ()
    text: str = ""

    @property
    def is_from_python(self) -> bool:
        """Whether a Python worker raised it."""
        return bool(_PYTHON & {*self.kinds, self.condition})

    @property
    def said(self) -> str:
        """One line for a person."""
        told = [line for line in self.lines if line]
        return (told or ["It did not say why."])[0][:_LONGEST]


def fault_of(error: BaseException) -> SparkFault:
    """What is known of an exception of pyspark, py4j or grpc."""
    kinds = frozenset(kind.__name__ for kind in type(error).__mro__)
    text = str(error)
    java = getattr(error, "java_exception", None)
    if java is not None:
        return _from_java(java, kinds, text)
    line = _first_line(text)
    condition = str(_asked(error, "getCondition") or "")
    if not condition and (begun := _CONDITION.match(line)) is not None:
        condition = begun[1]
    return SparkFault(
        kinds=kinds,
        condition=condition,
        state=str(_asked(error, "getSqlState") or ""),
        parameters=_texts(_asked(error, "getMessageParameters")),
        lines=(line,),
        text=text,
    )


def is_of_spark(error: Exception) -> bool:
    """Whether Spark's Python packages raised it, as an exception of theirs, or of Python's
    own where a session was stopped: they find None then, or nobody who listens."""
    if _package(type(error).__module__) in _PACKAGES:
        return True
    if not isinstance(error, AttributeError | ConnectionError):
        return False
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return last is not None and _package(str(last.tb_frame.f_globals["__name__"])) in _PACKAGES


def _package(module: str) -> str:
    return module.partition(".")[0]


def _from_java(java: Any, kinds: frozenset[str], text: str) -> SparkFault:
    """By the first of an exception and its causes that has a condition which says what happened."""
    chain = list(_causes(java))
    conditions = [str(_asked(item, "getCondition") or "") for item in chain]
    told = [at for at, condition in enumerate(conditions) if condition]
    inner = [at for at in told if conditions[at] not in _OUTER]
    named = chain[(inner or told)[0]] if told else None
    parameters = {} if named is None else _asked(named, "getMessageParameters")
    return SparkFault(
        kinds=kinds | {str(item.getClass().getSimpleName()) for item in chain},
        condition="" if named is None else str(_asked(named, "getCondition")),
        state="" if named is None else str(_asked(named, "getSqlState") or ""),
        parameters=_texts(parameters),
        lines=tuple(_first_line(str(item.getMessage() or item)) for item in chain),
        text="\n".join([text, *(str(item.getMessage()) for item in chain)]),
    )


def _causes(java: Any) -> Iterator[Any]:
    for _ in range(_MOST_CAUSES):
        if java is None:
            return
        yield java
        java = java.getCause()


def _asked(holder: Any, method: str) -> Any:
    """What a method says, None where there is none: not every exception knows conditions."""
    try:
        return getattr(holder, method)()
    # of an exception in the JVM only a call tells, and to name its class would load py4j
    except Exception as error:
        if not (isinstance(error, AttributeError) or is_of_spark(error)):
            raise
        return None


def _texts(parameters: Any) -> dict[str, str]:
    return {str(name): str(value) for name, value in dict(parameters or {}).items()}


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
