"""Which files of a log are read into columns, and which together."""

import orjson
import pytest

from explorer.log.commits.prefetched_columns import (
    ENOUGH_JOINED,
    ENOUGH_SMALL,
    MANY,
    LogFile,
    LogFiles,
    joined_with_columns,
)
from tests.tables import add

_COMMIT = orjson.dumps(add("part-0.parquet", stats='{"numRecords":1}')) + b"\n"
_ENOUGH = 2 * ENOUGH_JOINED // len(_COMMIT)


@pytest.mark.parametrize(
    ("number", "kind"), [(0, LogFile), (MANY - 1, LogFile), (MANY, LogFiles), (10**6, LogFiles)]
)
def test_small_files_are_joined_from_the_first_where_there_are_many(
    number: int, kind: type[LogFile | LogFiles]
) -> None:
    files = [_COMMIT] * _ENOUGH
    assert sum(map(len, files)) < ENOUGH_SMALL
    found = list(joined_with_columns(iter(files), lambda _: True, number))
    assert {type(one) for one in found} == {kind}
    texts = [one.data if isinstance(one, LogFile) else b"".join(one.data) for one in found]
    assert b"".join(texts) == b"".join(files)
