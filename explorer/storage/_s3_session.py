"""The session of S3's client, without what makes it slow.

botocore reads each time by trying every way that people write one, 0.2 ms of processor time for
each name of a listing: two thirds of what a page of a thousand names takes. And each session reads
botocore's own description of S3 and of its regions, 0.2 s for each table that is opened.
"""

from __future__ import annotations

import contextlib
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

_LOADERS: dict[object, Any] = {}
"""What read botocore's descriptions, by where they lie. They hold nothing of any caller's."""


def prepare_session(file_system: Any) -> None:
    """Give an s3fs file system, before its first request, a session that reads times in the two
    ways in which S3 writes them and others as before, and descriptions that were read already.
    Other file systems, and one whose caller gave it a session, stay as they are."""
    if not type(file_system).__module__.startswith("s3fs") or file_system.session is not None:
        return
    with contextlib.suppress(ImportError):
        from aiobotocore.session import AioSession  # noqa: PLC0415  # only for S3
        from botocore.exceptions import BotoCoreError  # noqa: PLC0415  # only for S3

        # with names that a later client does not have, or a profile that is not there, s3fs makes
        # its own session, which is slower, or says what is wrong
        with contextlib.suppress(AttributeError, TypeError, ValueError, BotoCoreError):
            session = AioSession(**file_system.kwargs)
            parsers = session.get_component("response_parser_factory")
            parsers.set_parser_defaults(timestamp_parser=parse_time)
            place = session.get_config_variable("data_path")
            loader = _LOADERS.setdefault(place, session.get_component("data_loader"))
            session.register_component("data_loader", loader)
            file_system.session = session


def parse_time(value: Any) -> datetime:
    """A time of a listing (ISO 8601) or of a header (RFC 9110), with its zone."""
    if isinstance(value, str):
        parse = datetime.fromisoformat if value[:1].isdigit() else parsedate_to_datetime
        with contextlib.suppress(ValueError, TypeError):
            found = parse(value)
            if found.tzinfo is not None:
                return found
    from botocore.utils import parse_timestamp  # noqa: PLC0415  # only for S3

    parsed: datetime = parse_timestamp(value)
    return parsed
