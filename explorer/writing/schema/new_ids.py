"""Ids and names that nobody else gives (spec: Column Mapping)."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from explorer.protocol.schema import StructField

NewIds = Callable[[], UUID]
"""Where new ids and names come from: each call gives another one."""


def new_name(ids: NewIds) -> Callable[[StructField], str]:
    """How a column that comes into a table with mapped columns is called in files."""
    return lambda field: f"col-{ids()}"  # noqa: ARG005  # others are called as they are
