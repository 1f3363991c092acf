"""Places as people write them, and what of them may be shown."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from explorer.errors import InvalidArgumentError
from explorer.storage.location import Location, parse_location


@pytest.mark.parametrize(
    ("written", "target"),
    [
        ("/data/orders", "/data/orders"),
        ("/data/orders/", "/data/orders"),
        ("/data//x/../orders", "/data/orders"),
        ("/data/50% off", "/data/50% off"),
        ("/data/a%20b", "/data/a%20b"),
        ("/data/a b#c?d", "/data/a b#c?d"),
        ("/data/größe/表", "/data/größe/表"),
        ("/data/a:b", "/data/a:b"),
        ("file:/data/orders", "/data/orders"),
        ("file:///data/orders/", "/data/orders"),
        ("FILE:///data/orders", "/data/orders"),
        ("file://localhost/data/orders", "/data/orders"),
        ("file:///data/a%20b", "/data/a b"),
        ("file:///data/a%2520b", "/data/a%20b"),
        ("file:///data/gr%C3%B6%C3%9Fe", "/data/größe"),
        ("file:///data/größe", "/data/größe"),
        ("local:///data/orders", "/data/orders"),
    ],
)
def test_local_place(written: str, target: str) -> None:
    found = parse_location(written)
    assert (found.scheme, found.target, found.shown) == ("file", target, target)


def test_relative_place_is_below_the_working_folder() -> None:
    here = Path.cwd()
    assert parse_location("orders").target == f"{here}/orders"
    assert parse_location(Path("orders")).target == f"{here}/orders"
    # a folder of that name, and no drive and no scheme
    assert parse_location("c:orders").target == f"{here}/c:orders"


def test_home_is_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    assert parse_location("~/orders").target == "/home/somebody/orders"
    assert parse_location("/x/~/orders").target == "/x/~/orders"


@pytest.mark.parametrize(
    ("written", "scheme", "target", "shown"),
    [
        ("s3://bucket/a/b/", "s3", "s3://bucket/a/b", "s3://bucket/a/b"),
        ("S3://bucket/a%20b", "s3", "S3://bucket/a%20b", "S3://bucket/a%20b"),
        ("memory://", "memory", "memory://", "memory://"),
        ("memory:///t", "memory", "memory:///t", "memory:///t"),
        (
            "abfss://box@account.dfs.core.windows.net/t",
            "abfss",
            "abfss://box@account.dfs.core.windows.net/t",
            "abfss://box@account.dfs.core.windows.net/t",
        ),
        ("s3://host:9000/t", "s3", "s3://host:9000/t", "s3://host:9000/t"),
        ("gs://bucket/owner=a@b.c", "gs", "gs://bucket/owner=a@b.c", "gs://bucket/owner=a@b.c"),
    ],
)
def test_remote_place(written: str, scheme: str, target: str, shown: str) -> None:
    found = parse_location(written)
    assert (found.scheme, found.target, found.shown) == (scheme, target, shown)


@pytest.mark.parametrize(
    "written",
    [
        "s3://key:hunter2@bucket/t",
        "s3://hunter2@bucket/t",
        "s3://key:hun/ter2/hunter2@bucket/t",
        "https://user:hunter2@host:8443/t",
        "https://user:p@hunter2@host/t",
        "https://host/t?sig=hunter2",
        "https://host/t?a=b&sig=hunter2#x",
        "https://host/t#hunter2",
        "abfss://box@account/t?sv=2024&sig=hunter2",
        "simplecache::https://user:hunter2@host/t",
        "simplecache::https://host/t?sig=hunter2",
    ],
)
def test_secret_is_for_the_store_and_not_for_the_eyes(written: str) -> None:
    found = parse_location(written)
    assert "hunter2" in found.target
    assert "hunter2" not in found.shown
    assert "hunter2" not in repr(found)
    assert found.shown.endswith("/t")


@pytest.mark.parametrize("written", ["", " ", "\t", "a\0b", b"/data", None, 5])
def test_what_is_no_place(written: object) -> None:
    with pytest.raises(InvalidArgumentError):
        parse_location(written)  # type: ignore[arg-type]  # that is the point


@pytest.mark.parametrize("written", ["file:orders", "file:", "file://", "file://elsewhere/t"])
def test_file_url_that_names_no_folder_of_this_machine(written: str) -> None:
    with pytest.raises(InvalidArgumentError):
        parse_location(written)


def test_refused_file_url_keeps_its_secret() -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        parse_location("file://user:hunter2@elsewhere/t")
    assert "hunter2" not in str(caught.value)


def test_location_is_a_value() -> None:
    assert parse_location(os.sep) == Location(scheme="file", target="/", shown="/")
