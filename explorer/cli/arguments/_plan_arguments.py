"""An argument beside `--apply` must be what the plan says: a plan is carried out
as it was made, and no argument changes it.

What is needed of the engine is imported inside: `--help` does without Arrow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from explorer.cli.arguments.options import parse_duration, parse_pairs
from explorer.errors import InvalidArgumentError
from explorer.inspect.answer import check_one_point_in_time
from explorer.protocol.table_properties.byte_sizes import render_byte_size

if TYPE_CHECKING:
    from explorer.maintenance.plan.plan import Operation, Plan
    from explorer.table.table import Table

_SHOWN: Final = 120
_WORDS: Final = "the command"
"""How an argument is called that has no name on the command line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Argument:
    """One argument of a verb, and where its plans keep it.

    `says` is what a plan does by it, `kept` reads the plan's parameters, `meaning` is the
    value that the argument stands for on a table, and `shown` tells people of either. Of a
    flag, which has no `says`, `kept` is whether the plan was made with it.
    """

    option: str
    kept: Callable[[Mapping[str, Any]], Any]
    says: str = ""
    meaning: Callable[[Any, Table], Any] = lambda given, _: given
    shown: Callable[[Any], str] = str

    def difference(self, plan: Plan, given: Any, table: Table) -> str | None:
        """How the plan differs from the argument, in a sentence; None where it does not."""
        kept, meant = self.kept(plan.parameters), self.meaning(given, table)
        if kept == meant:
            return None
        if not self.says:
            return f"The plan was made without {self.option}."
        if kept is None or kept in ({}, []):
            first = "The plan does not have it"
        else:
            first = f"The plan {self.says.format(self.shown(kept)[:_SHOWN])}"
        return f"{first}, but {self.option} says {self.shown(meant)[:_SHOWN]}."


def check_arguments(plan: Plan, given: Mapping[str, Any], table: Table) -> None:
    """Raise `InvalidArgumentError` where an argument that was given, by the name that its
    planner has for it, is another than the plan's."""
    check_one_point_in_time(given.get("version"), given.get("timestamp"))
    for name, value in given.items():
        if value is None or value is False or value == []:
            continue
        argument = ARGUMENTS[plan.operation][name]
        if (text := argument.difference(plan, value, table)) is not None:
            raise InvalidArgumentError(
                f"The plan {plan.digest[:12]} does not match the arguments.",
                reason=text,
                remedy="Leave it out, or plan again.",
            )


def _flag(option: str, kept: Callable[[Mapping[str, Any]], Any]) -> _Argument:
    return _Argument(option=option, kept=kept)


def _key(name: str) -> Callable[[Mapping[str, Any]], Any]:
    return lambda parameters: parameters.get(name)


def _retention(says: str) -> _Argument:
    return _Argument(
        option="--retention",
        says=says,
        kept=lambda parameters: timedelta(milliseconds=parameters["retention_ms"]),
        meaning=lambda given, _: _in_milliseconds(parse_duration(given)),
        shown=_in_words,
    )


def _in_milliseconds(duration: timedelta | None) -> timedelta:
    """As plans keep it."""
    unit = timedelta(milliseconds=1)
    return (duration or timedelta(0)) // unit * unit


def _in_words(duration: timedelta) -> str:
    from explorer.maintenance.plan.guards import in_words  # noqa: PLC0415  # see above

    return in_words(duration)


def _version_at(timestamp: str, table: Table) -> int:
    return table.snapshot(timestamp=timestamp).version


def _target(given: str, _: Table) -> int:
    from explorer.table.target_size import parse_target  # noqa: PLC0415  # see above

    return parse_target(given, "Write it as 128mb or 1gb.")


def _enabled(names: list[str], _: Table) -> list[str]:
    from explorer.maintenance.features.upgrade_rules import check_enabled_here  # noqa: PLC0415  # see above

    return sorted({check_enabled_here(name) for name in names})


def _dropped(name: str, _: Table) -> str:
    from explorer.maintenance.features.drop_rules import check_droppable  # noqa: PLC0415  # see above

    return check_droppable(name)


def _columns(names: list[str]) -> list[str]:
    """Columns as anybody may spell them."""
    return [name.replace("`", "").lower() for name in names]


def _pairs(found: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in found.items())


ARGUMENTS: Final[Mapping[Operation, Mapping[str, _Argument]]] = {
    "checkpoint": {},
    "clean-log": {"retention": _retention("keeps the log for {}")},
    "compact-log": {
        "first": _Argument(option="--from", says="begins with version {}", kept=_key("first")),
        "last": _Argument(option="--to", says="ends with version {}", kept=_key("last")),
    },
    "cluster-by": {
        "columns": _Argument(
            option=_WORDS,
            says="clusters by {}",
            kept=lambda parameters: _columns(parameters["columns"]),
            meaning=lambda given, _: _columns(given),
            shown=", ".join,
        ),
        "by_none": _flag("--none", lambda parameters: not parameters["columns"]),
    },
    "column": {
        "action": _Argument(option=_WORDS, says="says {}", kept=_key("action")),
        "asked": _Argument(
            option=_WORDS,
            says="is about {}",
            kept=lambda parameters: _columns(parameters["asked"]),
            meaning=lambda given, _: _columns(given),
            shown=", ".join,
        ),
        "data_type": _Argument(option="--type", says="makes it {}", kept=_key("data_type")),
        "comment": _Argument(option="--comment", says="says {}", kept=_key("comment")),
        "default": _Argument(option="--default", says="has {}", kept=_key("default")),
        "no_default": _flag("--no-default", lambda found: found.get("default") == ""),
        "not_null": _flag("--not-null", lambda found: found.get("nullable") is False),
        "nullable": _flag("--nullable", lambda found: found.get("nullable") is True),
        "first": _flag("--first", lambda found: found.get("first") is True),
        "after": _Argument(option="--after", says="puts it behind {}", kept=_key("after")),
        "map_columns": _flag("--map-columns", lambda found: found.get("map_columns") is True),
    },
    "constraint": {
        "action": _Argument(option=_WORDS, says="says {}", kept=_key("action")),
        "name": _Argument(option=_WORDS, says="is about {}", kept=_key("name")),
        "expression": _Argument(option=_WORDS, says="asks for {}", kept=_key("expression")),
        "if_exists": _flag("--if-exists", _key("if_exists")),
    },
    "drop-feature": {
        "feature": _Argument(
            option=_WORDS, says="drops {}", kept=_key("feature"), meaning=_dropped
        ),
        "truncate_history": _flag("--truncate-history", _key("truncate_history")),
    },
    "optimize": {
        "where": _Argument(option="--where", says="takes files by {}", kept=_key("where")),
        "target_size": _Argument(
            option="--target-size",
            says="makes files of {}",
            kept=_key("target_size"),
            meaning=_target,
            shown=render_byte_size,
        ),
        "zorder": _Argument(
            option="--zorder",
            says="orders rows by {}",
            kept=lambda parameters: _columns(parameters["names"]),
            meaning=lambda given, _: _columns(given),
            shown=", ".join,
        ),
        "purge": _flag("--purge", _key("purge")),
    },
    "repair": {"what": _Argument(option=_WORDS, says="repairs the {}", kept=_key("what"))},
    "restore": {
        "version": _Argument(option="--version", says="restores version {}", kept=_key("version")),
        "timestamp": _Argument(
            option="--timestamp",
            says="restores {}",
            kept=_key("version"),
            meaning=_version_at,
            shown=lambda version: f"version {version}",
        ),
    },
    "set-properties": {
        "pairs": _Argument(
            option=_WORDS,
            says="sets {}",
            kept=_key("set"),
            meaning=lambda given, _: parse_pairs(given),
            shown=_pairs,
        ),
        "unset": _Argument(
            option="--unset",
            says="unsets {}",
            kept=lambda parameters: sorted(set(parameters["unset"])),
            meaning=lambda given, _: sorted(set(given)),
            shown=", ".join,
        ),
    },
    "upgrade": {
        "features": _Argument(
            option=_WORDS,
            says="enables {}",
            kept=lambda parameters: sorted(parameters["features"]),
            meaning=_enabled,
            shown=", ".join,
        ),
        "reader_version": _Argument(
            option="--reader-version", says="asks for {}", kept=_key("reader_version")
        ),
        "writer_version": _Argument(
            option="--writer-version", says="asks for {}", kept=_key("writer_version")
        ),
        "only_used": _flag("--only-used", _key("only_used")),
    },
    "vacuum": {
        "retention": _retention("keeps files for {}"),
        "lite": _flag("--lite", lambda parameters: parameters["mode"] == "lite"),
    },
}
