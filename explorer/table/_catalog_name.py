"""Where a table lies that a session's catalog knows by name.

The catalog is asked by SQL, through the session that is handed in: nothing of Spark is
imported here, and no jar of Delta's is needed.
"""

from __future__ import annotations

import re
from typing import Any, Final

from explorer.errors import InvalidArgumentError, NotFoundError, UnsupportedError

_PART: Final = re.compile(r"`((?:[^`]|``)+)`|([^`.\s]+)")
_MOST_PARTS: Final = 8
_DETAILS: Final = "# Detailed Table Information"


def location_by_name(name: str, spark: Any) -> str:
    """The place of the Delta table `name`, such as ``main.sales.orders``; parts with odd
    characters stand in backticks.

    Raises `InvalidArgumentError` for what is not a name, `NotFoundError` where the catalog
    has no such table, `UnsupportedError` where it is none of Delta's or has no place.
    """
    quoted = ".".join("`" + part.replace("`", "``") + "`" for part in _parts(name))
    facts = _facts(_described(quoted, name, spark))
    provider, place = facts.get("Provider", ""), facts.get("Location", "")
    if provider.lower() != "delta":
        raise UnsupportedError(
            f"{name[:120]} is not a Delta table.",
            reason=f"The catalog says that its provider is {provider[:60] or 'unknown'!r}.",
            remedy="Name a Delta table, or give its folder.",
        )
    if not place:
        raise UnsupportedError(
            f"The catalog does not say where {name[:120]} is.",
            reason="It may be a view, or its place may be hidden from this session.",
            remedy="Give the folder of the table.",
        )
    return place


def _parts(name: Any) -> list[str]:
    found: list[str] = []
    at = 0
    while isinstance(name, str) and (match := _PART.match(name, at)) is not None:
        found.append(match[2] or match[1].replace("``", "`"))
        at = match.end()
        if at == len(name) and len(found) <= _MOST_PARTS:
            return found
        if name[at : at + 1] != ".":
            break
        at += 1
    raise InvalidArgumentError(
        f"{str(name)[:120]!r} is not a valid table name.",
        reason="A name has parts joined by dots; other characters are quoted by backticks.",
        remedy="Write main.sales.orders, or leave the session out to give a folder.",
    )


def _described(quoted: str, name: str, spark: Any) -> list[tuple[str, str]]:
    try:
        rows = spark.sql(f"DESCRIBE TABLE EXTENDED {quoted}").collect()
    # to name the class would load pyspark, which only the pipeline may
    except Exception as error:
        # by what Spark names the error: its text may quote any name
        condition = getattr(error, "getCondition", lambda: None)()
        if not str(condition).partition(".")[0].endswith("NOT_FOUND"):
            raise
        raise NotFoundError(
            f"The catalog has no table {name[:120]}.",
            reason="The session's catalog does not know the name, or may not show it.",
            remedy="Look at spark.catalog.listTables(), or give the folder of the table.",
        ) from error
    return [(str(row[0]), str(row[1])) for row in rows]


def _facts(rows: list[tuple[str, str]]) -> dict[str, str]:
    """What stands below the columns: one of these may be called `Location` too."""
    names = [name for name, _ in rows]
    start = names.index(_DETAILS) + 1 if _DETAILS in names else len(rows)
    return dict(rows[start:])
