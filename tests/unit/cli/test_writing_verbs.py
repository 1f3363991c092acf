"""`create` and `write`: a plan first, then exactly that."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer import pipeline
from explorer.answers.registry import ANSWERS
from explorer.cli.arguments.writing_options import watched_write
from explorer.cli.main import run
from explorer.cli.printing.writing_printing import command_words
from explorer.errors import CancelledError
from tests.unit.cli.test_hostile_text import EVIL
from widgets.served._json_addresses import served_answers

Command = Callable[..., tuple[int, str, str]]
ROWS = pa.table({"id": [1, 2, 3], "land": ["DE", "FR", "DE"]})


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pq.write_table(ROWS, "given.parquet")
    return tmp_path / "given.parquet"


@pytest.fixture
def command(given: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a verb in a folder where `given.parquet` lies."""
    assert given.exists()

    def call(*arguments: str) -> tuple[int, str, str]:
        code = run(arguments)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def planned(command: Command, *arguments: str) -> dict[str, Any]:
    code, out, err = command(*arguments, "--json")
    assert (code, err) == (0, "")
    document: dict[str, Any] = json.loads(out)
    assert document["format"] == 1
    return document


def printed_command(out: str) -> list[str]:
    line = next(line for line in out.splitlines() if "To apply this plan" in line)
    return shlex.split(line.partition("To apply this plan: ")[2])


def count_rows(place: Path) -> int:
    return explorer.read_rows(explorer.open_table(place).snapshot()).num_rows


@pytest.mark.slow
def test_the_command_that_a_plan_prints_does_what_it_says_in_a_process_of_its_own(
    command: Command, given: Path
) -> None:
    code, out, _ = command("write", "t", "given.parquet", "--partition-by", "land")
    assert code == 0
    assert out.startswith(f"Creates {given.parent}/t with 3 rows of 1 file (")
    assert "partitioned by land" in out
    assert not (given.parent / "t").exists()
    done = subprocess.run(
        [sys.executable, "-m", "explorer.cli", *printed_command(out)[1:]],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("WRITE: version 0, 3 rows in 2 files (")
    assert count_rows(given.parent / "t") == 3


def test_a_plan_says_what_is_written_what_is_removed_and_which_columns_change(
    command: Command, given: Path
) -> None:
    pipeline.write(ROWS, "t", partition_by="land")
    pq.write_table(ROWS.append_column("new", pa.array(["x"] * 3)), given)
    _, out, _ = command("write", "t", "given.parquet", "--merge-schema")
    assert out.startswith("Appends 3 rows of 1 file (")
    assert "new     string" in out
    layout = ["--overwrite-schema", "--cluster-by", "id"]
    _, out, _ = command("write", "t", "given.parquet", "--mode", "overwrite", *layout)
    assert out.startswith("Replaces 2 files (")
    assert "no longer partitioned" in out
    assert "clustered by id" in out
    assert "enables clustering, domainMetadata" in out
    document = planned(command, "write", "t", "given.parquet", "--merge-schema")
    assert document["column_changes"] == [{"name": "new", "before": None, "after": "string"}]
    assert document["version"] == 0
    assert [item["num_rows"] for item in document["files"]] == [3]


def test_a_write_that_needs_spark_says_so_before(command: Command, given: Path) -> None:
    pipeline.create("t", "id BIGINT, land STRING, u STRING GENERATED ALWAYS AS (upper(land))")
    code, out, _ = command("write", "t", given.name)
    assert code == 0
    assert "! Spark is needed: `u` is computed as upper(land)." in out


def test_every_option_reaches_the_write(command: Command, given: Path) -> None:
    options = ["--mode", "overwrite", "--property", "delta.enableChangeDataFeed=true"]
    options += ["--cluster-by", "id", "--transaction", "nightly: load:7", "--by", "ann"]
    options += ["--user-metadata", "why", "--target-size", "1mb"]
    digest = planned(command, "write", "t", "given.parquet", *options)["digest"]
    code, out, _ = command("write", "t", "given.parquet", *options, "--apply", digest, "--json")
    assert code == 0
    assert json.loads(out) == {
        "format": 1,
        "uri": str(given.parent / "t"),
        "version": 0,
        "operation": "WRITE",
        "metrics": json.loads(out)["metrics"],
        "is_repeated": False,
        "problems": [],
    }
    snapshot = explorer.open_table("t").snapshot()
    assert snapshot.metadata.configuration["delta.enableChangeDataFeed"] == "true"
    assert snapshot.transactions["nightly: load"].version == 7
    assert "delta.clustering" in snapshot.domains
    info = json.loads((given.parent / "t/_delta_log/00000000000000000000.json").open().readline())
    assert (info["commitInfo"]["userName"], info["commitInfo"]["userMetadata"]) == ("ann", "why")
    again = ["--transaction", "nightly: load:7"]
    _, out, _ = command("write", "t", "given.parquet", *again)
    assert out.startswith("Nothing would be committed. The table has version 7 ")
    digest = planned(command, "write", "t", "given.parquet", *again)["digest"]
    code, out, _ = command("write", "t", "given.parquet", *again, "--apply", digest)
    assert (code, out) == (0, "Nothing was committed. The table has this transaction already.\n")


def test_a_part_is_overwritten_as_asked(command: Command, given: Path) -> None:
    pipeline.write(ROWS, "t", partition_by="land")
    pq.write_table(pa.table({"id": [9], "land": ["DE"]}), given)
    for way in (["--replace-where", "land = 'DE'"], ["--partition-overwrite", "dynamic"]):
        options = ["write", "t", "given.parquet", "--mode", "overwrite", *way]
        code, out, _ = command(*options, "--apply", planned(command, *options)["digest"])
        assert code == 0
        assert "1 file removed" in out
        assert count_rows(given.parent / "t") == 2


@pytest.mark.parametrize("cause", ["file", "option", "table"])
def test_a_stale_plan_ends_with_3_and_changes_nothing(
    command: Command, given: Path, cause: str
) -> None:
    pipeline.write(ROWS, "t")
    options = ["write", "t", "given.parquet", "--mode", "overwrite"]
    digest = planned(command, *options)["digest"]
    if cause == "file":
        pq.write_table(ROWS.slice(1), given)
    elif cause == "option":
        options += ["--user-metadata", "x"]
    else:
        pipeline.write(ROWS, "t")
    latest = explorer.open_table("t").latest_version()
    code, out, err = command(*options, "--apply", digest, "--json")
    assert (code, out) == (3, "")
    assert json.loads(err)["error"]["kind"] == "plan_stale"
    assert explorer.open_table("t").latest_version() == latest


@pytest.mark.parametrize(
    ("arguments", "code", "kind"),
    [
        (["nope.parquet"], 2, "invalid_argument"),
        (["given.parquet", "given.parquet"], 2, "invalid_argument"),
        (["given.parquet", "--mode", "upsert"], 2, "invalid_argument"),
        (["given.parquet", "--partition-overwrite", "some"], 2, "invalid_argument"),
        (["given.parquet", "--transaction", "load"], 2, "invalid_argument"),
        (["given.parquet", "--transaction", ":5"], 2, "invalid_argument"),
        (["given.parquet", "--target-size", "large"], 2, "invalid_argument"),
        (["given.parquet", "--property", "x"], 2, "invalid_argument"),
        (["given.parquet", "--replace-where", "land = 'DE'"], 2, "invalid_argument"),
        (["given.parquet", "--apply", "x"], 2, "invalid_argument"),
        (["other.parquet"], 1, "schema_mismatch"),
        (["broken.parquet"], 1, "data_corrupt"),
        (["given.parquet", "--mode", "error"], 1, "already_exists"),
        ([], 2, "invalid_argument"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_written_is_told_with_its_exit_code(
    command: Command, given: Path, arguments: list[str], code: int, kind: str
) -> None:
    pipeline.write(ROWS, "t")
    pq.write_table(pa.table({"other": [1]}), given.with_name("other.parquet"))
    given.with_name("broken.parquet").write_bytes(given.read_bytes()[:-1])
    found = command("write", "t", *arguments, "--json")
    assert found[:2] == (code, "")
    assert json.loads(found[2])["error"]["kind"] == kind
    assert explorer.open_table("t").latest_version() == 0


def test_a_refused_row_is_told_and_nothing_is_committed(command: Command, given: Path) -> None:
    pipeline.create("t", "id BIGINT NOT NULL, land STRING")
    pq.write_table(pa.table({"id": [1, None], "land": ["DE", "no id"]}), given)
    options = ["write", "t", "given.parquet"]
    code, out, err = command(*options, "--apply", planned(command, *options)["digest"])
    assert (code, out) == (1, "")
    assert "no id" in err
    assert explorer.open_table("t").latest_version() == 0
    assert [path for path in (given.parent / "t").iterdir() if path.is_file()] == []


def test_a_table_is_created_by_its_columns(command: Command, given: Path) -> None:
    options = ["create", "t", "--schema", "id BIGINT NOT NULL COMMENT 'the key', land STRING"]
    options += ["--partition-by", "land", "--property", "delta.appendOnly=true"]
    options += ["--name", "orders", "--description", "of a shop"]
    code, out, _ = command(*options)
    assert code == 0
    assert out.startswith(f"Creates {given.parent}/t with 2 columns.")
    assert "id      long, not null  the key" in out
    assert "reader version 1, writer version 2" in out
    assert not (given.parent / "t").exists()
    document = planned(command, *options)
    assert document["features"] == ["appendOnly", "invariants"]
    code, out, _ = command(*printed_command(command(*options)[1])[1:])
    assert (code, out) == (0, "CREATE TABLE: version 0\n")
    metadata = explorer.open_table("t").snapshot().metadata
    assert (metadata.name, metadata.description) == ("orders", "of a shop")
    assert metadata.partition_columns == ("land",)
    code, _, err = command(*options, "--json")
    assert (code, json.loads(err)["error"]["kind"]) == (1, "already_exists")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--schema", "id TEXT"], 2),
        (["--schema", "id INT", "--partition-by", "nope"], 2),
        (["--schema", "id INT", "--apply", "0" * 12], 3),
        ([], 2),
    ],
    ids=["type", "partition", "stale", "none"],
)
def test_what_cannot_be_created_is_told(
    command: Command, given: Path, arguments: list[str], code: int
) -> None:
    found = command("create", "t", *arguments, "--json")
    assert found[:2] == (code, "")
    assert "error" in json.loads(found[2])
    assert not (given.parent / "t").exists()


def test_hostile_names_reach_the_terminal_as_text_alone(command: Command, given: Path) -> None:
    name = EVIL.replace("\x00", "").replace("/", "")
    pq.write_table(pa.table({name: [1]}), given.with_name(name))
    pipeline.write(pa.table({"a": [1]}), "t")
    for arguments in (
        ["write", "t", name, "--merge-schema"],
        ["write", "t", name],
        ["create", "u", "--schema", f"`{name}` int comment '{name}'", "--name", name],
    ):
        code, out, err = command(*arguments)
        assert code in {0, 1, 2}
        assert out + err
        assert (out + err).replace("\n", "").isprintable()


def test_a_name_that_is_no_text_is_usage(command: Command) -> None:
    code, _, err = command("write", "t", os.fsdecode(b"\xff.parquet"), "--json")
    assert (code, json.loads(err)["error"]["kind"]) == (2, "invalid_argument")


def test_what_may_be_a_secret_is_not_in_the_printed_command(command: Command) -> None:
    _, out, _ = command("write", "t", "given.parquet", "--option", "key=hush", "--by", "a b")
    assert "hush" not in out
    assert "--option key=…" in out
    assert "--by 'a b'" in out


def test_words_that_begin_like_options_stand_behind_them() -> None:
    words = command_words("write", ["t", "-x.parquet"], [("--mode", "append"), ("--merge", True)])
    assert words == ["write", "--mode", "append", "--merge", "--", "t", "-x.parquet"]
    assert command_words("write", ["a b"], [("--by", None), ("--p", ["1", "2"])]) == [
        "write",
        "'a b'",
        "--p",
        "1",
        "--p",
        "2",
    ]


def test_a_file_that_is_called_like_an_option_is_written(command: Command, given: Path) -> None:
    given.rename(given.with_name("--mode"))
    code, out, _ = command("write", "--", "t", "--mode")
    assert code == 0
    assert command(*printed_command(out)[1:])[0] == 0
    assert count_rows(given.parent / "t") == 3


def test_an_interrupt_stops_a_write_in_order() -> None:
    before = signal.getsignal(signal.SIGINT)
    with watched_write() as watch:
        watch.step(0, None, "Writing rows")
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(CancelledError):
            watch.step(1, None, "Writing rows")
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_neither_verb_is_served() -> None:
    assert not {"clone", "create", "delete", "update", "write"} & {*ANSWERS, *served_answers()}


def test_a_clone_is_made_of_the_version_that_its_plan_names(command: Command, given: Path) -> None:
    pipeline.write(ROWS, "t", partition_by="land")
    code, out, _ = command("clone", "t", "k")
    assert code == 0
    root = given.parent
    assert out.startswith(f"Clones version 0 of {root}/t to {root}/k: 3 rows in 2 files (")
    assert "once a vacuum has deleted them there" in out
    words = printed_command(out)[1:]
    assert words[:-1] == ["clone", f"{root}/t", f"{root}/k", "--version", "0", "--apply"]
    pipeline.write(ROWS, "t")
    # without a version it is the newest, which is another one now
    code, _, err = command("clone", "t", "k", "--apply", words[-1])
    assert (code, "The plan is out of date" in err, Path("k").exists()) == (3, True, False)
    code, out, _ = command(*words)
    assert (code, out[:40]) == (0, "CLONE: version 0, 2 files of the source ")
    assert count_rows(root / "k") == 3
    code, _, err = command(*words)
    assert (code, "There is a table at" in err) == (1, True)
    at = explorer.open_table("t").snapshot(0).timestamp
    own = ("--timestamp", str(at), "--property", "owner=me")
    code, out, _ = command("clone", "t", "k1", *own)
    assert "property owner = me" in out
    words = printed_command(out)[1:]
    assert words[3:-2] == ["--version", "0", "--property", "owner=me"]
    assert command(*words)[0] == 0
    snapshot = explorer.open_table("k1").snapshot()
    assert (snapshot.num_rows, dict(snapshot.metadata.configuration)) == (3, {"owner": "me"})
    code, _, err = command("clone", "t", "k3", "--timestamp", str(at), "--version", "0")
    assert (code, "Both a version and a timestamp" in err) == (2, True)
    document = planned(command, "clone", "t", "k2", "--user-metadata", "why", "--by", "ann")
    assert (document["version"], document["num_rows"], document["num_files"]) == (1, 6, 4)
