"""`delete` and `update`: a plan first, then exactly that, or nothing."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer import pipeline
from explorer.cli.changing.change_verbs import parse_values
from explorer.cli.main import run
from explorer.errors import ConflictError, InvalidArgumentError
from explorer.pipeline.planned_writes.change_plan import (
    ChangeRequest,
    carry_out_change,
    plan_change,
)
from explorer.pipeline.removing import workplace
from explorer.progress import Watch

Command = Callable[..., tuple[int, str, str]]
VECTORS = {"delta.enableDeletionVectors": "true"}


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Run a verb in the folder of the table `t`, of three files with ten rows each."""
    monkeypatch.chdir(tmp_path)
    pipeline.create("t", "id BIGINT, day BIGINT, price DOUBLE", properties=VECTORS)
    for day in range(3):
        ids = range(10 * day, 10 * day + 10)
        rows = {"id": list(ids), "day": [day] * 10, "price": [float(number) for number in ids]}
        pipeline.write(pa.table(rows), "t")

    def call(*arguments: str) -> tuple[int, str, str]:
        code = run(arguments)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def ids() -> list[int]:
    rows = explorer.read_rows(explorer.open_table("t").snapshot())
    return sorted(rows.column("id").to_pylist())


def printed_command(out: str) -> list[str]:
    line = next(line for line in out.splitlines() if "To apply this plan" in line)
    return shlex.split(line.partition("To apply this plan: ")[2])[1:]


def planned(command: Command, *arguments: str) -> dict[str, Any]:
    code, out, err = command(*arguments, "--json")
    assert (code, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


def test_a_plan_says_which_rows_go_and_how_and_its_command_deletes_them(command: Command) -> None:
    where = "day = 0 OR id BETWEEN 12 AND 15"
    code, out, _ = command("delete", "t", "--where", where)
    assert code == 0
    assert out.startswith("Deletes at least 10 rows, at most 20 rows, of ")
    assert "2 files (" in out
    assert "of 3 may hold such rows; all rows of 1 match" in out
    assert "rows leave their files by deletion vectors" in out
    words = printed_command(out)
    _, counted, _ = command("delete", "t", "--where", where, "--count")
    assert counted.startswith("Deletes 14 rows of ")
    assert printed_command(counted) == words
    assert ids() == [*range(30)]
    code, out, _ = command(*words)
    assert code == 0
    assert out.startswith("DELETE: version 4, 14 rows deleted, 1 deletion vector added, 1 file ")
    assert ids() == [10, 11, *range(16, 30)]
    assert explorer.open_table("t").latest_version() == 4


def test_a_plan_is_stale_after_any_other_commit_and_nothing_is_changed(command: Command) -> None:
    words = printed_command(command("delete", "t", "--where", "id = 3")[1])
    pipeline.write(pa.table({"id": [99], "day": [9], "price": [0.0]}), "t")
    code, _, err = command(*words)
    assert (code, "The plan is out of date" in err) == (3, True)
    digest = planned(command, "update", "t", "--set", "price=1", "--where", "id = 3")["digest"]
    other = ["update", "t", "--set", "price=2", "--where", "id = 3", "--apply", digest]
    assert command(*other)[0] == 3
    assert ids() == [*range(30), 99]


def test_a_plan_does_not_follow_a_commit_that_is_made_while_it_is_carried_out(
    command: Command,
) -> None:
    assert command is not None
    request = ChangeRequest(where="id IN (3, 4)")
    plan = plan_change("t", request)
    before = {each for each in Path("t").rglob("*") if "_delta_log" not in each.parts}
    meanwhile: list[int | None] = []

    def progress(*_: Any) -> None:
        if not meanwhile:
            meanwhile.append(None)
            meanwhile[0] = pipeline.delete("t", "id = 3").version

    with pytest.raises(ConflictError) as told:
        carry_out_change("t", request, plan.digest, watch=Watch(progress=progress))
    assert told.value.kind == "plan_stale"
    assert meanwhile == [4]
    assert ids() == [0, 1, 2, *range(4, 30)]
    assert {each for each in Path("t").rglob("*") if "_delta_log" not in each.parts} == before


@pytest.mark.parametrize("where", [[], ["--where", "day >= 0"]], ids=["no condition", "all match"])
def test_every_row_is_deleted_only_by_the_typed_name(command: Command, where: list[str]) -> None:
    _, out, _ = command("delete", "t", *where)
    assert out.startswith("Deletes every row (30 rows) of ")
    assert "whole files are removed, and no row is read" in out
    assert "! Every row goes: type the table's name as NAME, t" in out
    words = printed_command(out)
    assert words[-4:-1] == ["--confirm", "NAME", "--apply"]
    for given in (words, [*words[:-4], *words[-2:]]):
        code, _, err = command(*given)
        assert (code, "Add `--confirm t`" in err) == (3, True)
        assert len(ids()) == 30
    words[words.index("NAME")] = "t"
    code, out, _ = command(*words)
    assert (code, out[:40]) == (0, "DELETE: version 4, 30 rows deleted, 3 fi")
    assert ids() == []


@pytest.mark.slow
def test_an_update_gives_new_values_keeps_the_rules_and_says_where_spark_is_needed(
    command: Command,
) -> None:
    options = ["--where", "day = 1", "--by", "ann", "--user-metadata", "why"]
    code, out, _ = command("update", "t", "--set", "price=price * 2", "--set", "id=-id", *options)
    assert code == 0
    assert out.startswith("Updates 10 rows of ")
    assert "the new rows are written to new files" in out
    code, out, _ = command(*printed_command(out))
    assert (code, out[:34]) == (0, "UPDATE: version 4, 10 rows updated")
    rows = explorer.read_rows(explorer.open_table("t").snapshot(), where="day = 1")
    assert sorted(rows.column("price").to_pylist()) == [2.0 * number for number in range(10, 20)]
    info = json.loads(Path(f"t/_delta_log/{4:020}.json").read_text().splitlines()[0])
    assert (info["commitInfo"]["userName"], info["commitInfo"]["userMetadata"]) == ("ann", "why")
    _, out, _ = command("update", "t", "--set", "price=sqrt(price)")
    assert "! Spark is needed: `price` is set to sqrt(price)." in out
    _, out, _ = command("delete", "t", "--where", "id % 2 = 1", "--engine", "local")
    code, _, err = command(*printed_command(out))
    assert (code, "cannot be carried out in this process" in err) == (1, True)
    _, out, _ = command("delete", "t", "--where", "day = 77")
    assert out.startswith("Deletes no row of ")
    digest = planned(command, "delete", "t", "--where", "id = 13")["digest"]
    code, out, _ = command("delete", "t", "--where", "id = 13", "--apply", digest)
    assert (code, out) == (0, "Nothing was committed. No row matched.\n")


def test_new_values_are_parted_at_the_first_equals_sign_outside_of_backticks() -> None:
    assert parse_values(["a=b = c", "`x=y` = '='"]) == {"a": "b = c", "`x=y`": "'='"}
    for wrong in (["a"], ["=1"], ["a="], ["a=1", "a=2"]):
        with pytest.raises(InvalidArgumentError):
            parse_values(wrong)


def test_rows_are_counted_here_whatever_their_new_values_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "t"
    pipeline.write(pa.table({"id": [1, 2, 3], "name": ["a", "b", "c"]}), place)

    def no_spark(*_: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(workplace, "choose_watched", no_spark)
    request = ChangeRequest(where="id > 1", values={"name": "reverse(name)"})
    plan = plan_change(place, request, looks=True)
    assert plan.needs_spark is not None
    assert plan.num_rows == 2
    shown = plan.first_rows
    assert shown is not None
    assert shown.before.column("name").to_pylist() == ["b", "c"]
    assert shown.after is None


def test_a_counted_plan_shows_the_first_rows_before_and_after(command: Command) -> None:
    where = ["--where", "day = 0 AND id > 7 OR day = 1", "--count"]
    document = planned(command, "update", "t", "--set", "price=price / 4", *where)
    shown = document["first_rows"]
    # those that were looked for first, then those of files that go as a whole; ten of them
    numbers = [8, 9, *range(10, 18)]
    assert [row["id"] for row in shown["before"]] == numbers
    assert [row["price"] for row in shown["before"]] == [float(each) for each in numbers]
    assert [row["price"] for row in shown["after"]] == [each / 4 for each in numbers]
    assert [row["id"] for row in shown["after"]] == numbers
    assert planned(command, "update", "t", "--set", "price=price / 4")["first_rows"] is None
    assert (
        document["digest"]
        == (planned(command, "update", "t", "--set", "price=price / 4", *where[:2])["digest"])
    )
    _, out, _ = command("update", "t", "--set", "price=price / 4", *where)
    assert "the first rows, before:" in out
    assert "the first rows, after:" in out
    pipeline.delete("t", "id IN (10, 11, 12)")
    found = planned(command, "delete", "t", "--count")
    assert found["first_rows"]["after"] is None
    assert len(found["first_rows"]["before"]) == 10
    hidden = planned(command, "delete", "t", "--where", "day = 1", "--count")["first_rows"]
    assert [row["id"] for row in hidden["before"]] == [*range(13, 20)]
    _, out, _ = command("delete", "t", "--where", "day = 1", "--count")
    assert "the first rows:" in out
    assert ids() == [*range(10), *range(13, 30)]


def test_a_counted_plan_of_an_update_says_what_a_row_would_break(command: Command) -> None:
    assert command is not None
    with pytest.raises(InvalidArgumentError) as told:
        plan_change("t", ChangeRequest(values={"price": "1 / (id - 3)"}), looks=True)
    assert told.value.kind == "rows_refused"
