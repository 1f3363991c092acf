"""JSON documents as lines: one document, or one per line for lists.

Each document begins with `"format": 1`; times are ISO 8601 in UTC with a `Z`, maps are objects,
what is unknown is null.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

import orjson

from explorer.errors import Problem
from explorer.protocol.values.utc_times import iso_time

FORMAT = 1
"""Raised when the meaning of a field changes; a new field does not raise it."""


def render_documents(documents: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Each document on a line of its own, with the line's end."""
    for document in documents:
        yield render_json({"format": FORMAT, **document}) + "\n"


def render_problems(problems: Iterable[Problem]) -> Iterator[str]:
    """What is wrong with a table that still answers, each on a line, with the line's end."""
    for problem in problems:
        yield render_json({"problem": problem.as_dict()}) + "\n"


def render_json(document: Mapping[str, Any]) -> str:
    """`document` on one line, whatever strings it holds."""
    try:
        return orjson.dumps(document, default=_render_other, option=_OPTIONS).decode()
    except TypeError:
        # Lone surrogates (a file name that is not UTF-8), nesting beyond what
        # orjson takes and integers beyond 64 bits are rare, and not our error.
        return json.dumps(document, default=_render_other)


_OPTIONS = orjson.OPT_PASSTHROUGH_DATETIME


def _render_other(value: object) -> str:
    return iso_time(value) if isinstance(value, datetime) else str(value)
