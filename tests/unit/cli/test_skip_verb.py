"""The verb `skip`: files by what decided about them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from explorer.cli.main import run
from tests.tables import PROTOCOL, LogFolder, add, metadata

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def place(tmp_path: Path) -> str:
    """30 files with an amount each, in two partitions."""
    folder = LogFolder(tmp_path / "orders")
    fields = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in (("amount", "long"), ("country", "string"))
    ]
    actions = [
        add(
            f"country={country}/part-{number:05}-4d5f4a0c-8b6e-4f39-9d4e-0d9b2c1a7e11.parquet",
            size=1024,
            partitionValues={"country": country},
            stats=json.dumps(
                {
                    "numRecords": 10,
                    "minValues": {"amount": number},
                    "maxValues": {"amount": number},
                    "nullCount": {"amount": 0},
                }
            ),
        )
        for number in range(30)
        for country in [("DE", "SE")[number % 2]]
    ]
    schema = json.dumps({"type": "struct", "fields": fields})
    described = metadata(schemaString=schema, partitionColumns=["country"])
    folder.commit(0, [PROTOCOL, described, *actions])
    return str(folder.root)


def test_files_are_grouped_by_reason_and_fit_80_columns(
    place: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["skip", place, "country = 'SE' and amount > 20"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[:5] == [
        "5 of 30 files must be read: 5.0 KiB of 30.0 KiB",
        "         files      size  why",
        "read         5   5.0 KiB  may match",
        "skipped     15  15.0 KiB  country = 'SE' cannot be true",
        "skipped     10  10.0 KiB  amount > 20 cannot be true",
    ]
    assert lines.count("skipped: amount > 20 cannot be true") == 1
    kept = lines[lines.index("read: may match") + 2]
    assert "country is 'SE', amount is 21, nev" in kept
    assert "10 of 15 files; --limit 15 shows all" in lines


def test_one_file_is_told_in_the_singular(tmp_path: Path, capsys: Capture) -> None:
    folder = LogFolder(tmp_path / "one")
    folder.commit(0, [PROTOCOL, metadata(), add("a")])
    assert run(["skip", str(folder.root), "true"]) == 0
    assert capsys.readouterr().out.startswith("1 of 1 file must be read: ")


def test_json_has_the_groups_beside_every_file(place: str, capsys: Capture) -> None:
    assert run(["skip", place, "country = 'SE' and amount > 20", "--json", "--limit", "3"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [(row["kept"], row["num_files"], row["bytes"]) for row in document["reasons"]] == [
        (True, 5, 5120),
        (False, 15, 15360),
        (False, 10, 10240),
    ]
    assert len(document["files"]) == 3
    assert all(": country is '" in row["reason"] for row in document["files"][::2])
