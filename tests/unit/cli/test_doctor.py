"""`doctor`: what is installed, and what each missing part would be for."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from explorer.cli.main import run
from explorer.inspect import installation


def parts(capsys: pytest.CaptureFixture[str], code: int = 0) -> dict[str, dict[str, Any]]:
    assert run(["doctor", "--json"]) == code
    document = json.loads(capsys.readouterr().out)
    assert document["format"] == 1
    return {"": document} | {part["name"]: part for part in document["parts"]}


def test_every_dependency_is_named_with_what_fits(capsys: pytest.CaptureFixture[str]) -> None:
    found = parts(capsys)
    required = metadata.requires("delta-explorer") or []
    # what the documentation and the tests are made with is nobody's but ours
    ours = ("extra == 'dev'", "extra == 'docs'")
    of_users = [
        text for text in required if not any(mark in text.replace('"', "'") for mark in ours)
    ]
    assert len(of_users) > 10
    for text in of_users:
        name = text.split(";")[0].split("[")[0].rstrip("<>=0123456789., ")
        assert found[name]["status"] == "ok"
        assert found[name]["found"] == metadata.version(name)
    assert found["pyarrow"]["is_needed"]
    assert not found["pyspark"]["is_needed"]
    assert found["Python"]["wanted"] == "<3.14,>=3.11"


def test_a_missing_package_is_named_with_its_purpose_and_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def version(name: str) -> str:
        if name == "s3fs":
            raise metadata.PackageNotFoundError(name)
        return metadata.version(name)

    monkeypatch.setattr(installation, "version", version)
    found = parts(capsys)
    assert found["s3fs"]["status"] == "missing"
    assert found["s3fs"]["remedy"] == 'pip install "delta-explorer[s3]"'
    assert "tables at s3://" in found[""]["sentence"]
    assert found["gcsfs"]["status"] == "ok"


def test_a_needed_package_of_another_version_ends_with_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def version(name: str) -> str:
        return "3.0.1" if name == "pandas" else metadata.version(name)

    monkeypatch.setattr(installation, "version", version)
    found = parts(capsys, 1)
    assert found["pandas"]["status"] == "does not fit"
    assert found[""]["sentence"] == "Something is wrong with pandas."


def test_a_package_that_cannot_be_imported_is_broken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def import_module(name: str) -> None:
        if name == "adlfs":
            raise OSError("a library is missing")

    monkeypatch.setattr(installation, "import_module", import_module)
    found = parts(capsys)
    assert found["adlfs"]["status"] == "broken"
    assert "OSError" in found["adlfs"]["remedy"]


def test_java_is_looked_for_where_spark_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    found = parts(capsys)
    assert (found["Java"]["status"], found["Java"]["found"]) == ("missing", None)
    assert "openjdk-17" in found["Java"]["remedy"]
    (tmp_path / "bin").mkdir()
    java = tmp_path / "bin" / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    java.chmod(0o755)
    old = parts(capsys)["Java"]
    assert old["status"] == "missing"
    assert "Java 11" in old["found"]


def test_a_state_folder_that_cannot_be_written_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "state").write_text("a file")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert parts(capsys)["state folder"]["status"] == "broken"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "new"))
    assert parts(capsys)["state folder"]["status"] == "ok"


def test_people_get_the_sentence_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("All requirements of delta-explorer ")
