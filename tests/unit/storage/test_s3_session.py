"""What the client of S3 is given: times as botocore reads them, and its descriptions read once."""

from __future__ import annotations

from typing import Any

import pytest
from aiobotocore.session import AioSession
from botocore.utils import parse_timestamp

from explorer.storage._s3_session import parse_time
from explorer.storage.open import open_read_store


def _file_system(**options: Any) -> Any:
    return open_read_store("s3://bucket/t", {"key": "a", "secret": "b", **options})._fs  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "value",
    [
        "2026-11-27T12:24:40.000Z",
        "2026-11-27T12:24:40Z",
        "2026-11-27T12:24:40.123456+02:00",
        "Fri, 27 Nov 2026 12:24:40 GMT",
        "2026-11-27",
        "20261127T122440Z",
        "Fri Nov 27 12:24:40 2026",
        "1764246280",
        1764246280,
        1764246280.5,
    ],
)
def test_time_is_what_botocore_reads(value: Any) -> None:
    assert parse_time(value) == parse_timestamp(value)


def test_text_that_is_no_time_is_refused_as_before() -> None:
    with pytest.raises(ValueError, match="Invalid timestamp"):
        parse_time("no time")


def test_each_table_has_a_session_of_its_own_and_they_share_the_descriptions_of_s3() -> None:
    one, two = _file_system().session, _file_system().session
    assert one is not two
    assert one.get_component("data_loader") is two.get_component("data_loader")
    parser = one.get_component("response_parser_factory").create_parser("rest-xml")
    assert parser._timestamp_parser is parse_time


def test_session_of_the_caller_is_left_alone_and_one_that_cannot_be_made_is_s3fs_own_matter() -> (
    None
):
    session = AioSession()
    assert _file_system(session=session).session is session
    assert _file_system(profile="there is no such profile").session is None
