"""Rows of a DataFrame held against those of the engine, and settings for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
from pyspark.sql import SparkSession

from tests.row_values import column_figures, counted_rows

_LARGE = 100_000


def same_rows(found: pa.Table, wanted: pa.Table) -> None:
    """The same columns of the same types, and the same rows in whatever order."""
    assert found.column_names == wanted.column_names
    # as text: what a schema says of nulls and of columns stands elsewhere
    assert list(map(str, found.schema.types)) == list(map(str, wanted.schema.types))
    assert found.num_rows == wanted.num_rows
    if wanted.num_rows < _LARGE:
        assert counted_rows(found) == counted_rows(wanted)
        return
    for name in wanted.column_names:
        assert column_figures(found.column(name)) == column_figures(wanted.column(name))


@contextmanager
def set_to(spark: SparkSession, **settings: str) -> Iterator[None]:
    """Settings of the session, for a while."""
    names = {name.replace("__", "."): value for name, value in settings.items()}
    before = {name: spark.conf.get(name, None) for name in names}
    for name, value in names.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)
