"""A table begins where it is not part of another one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pytest

from explorer import pipeline
from explorer.errors import ConflictError, InvalidArgumentError
from explorer.pipeline.planned_writes.create_plan import (
    NewTableRequest,
    carry_out_create,
    plan_create,
)
from explorer.writing.schema.schema_text import parse_schema_text

ROWS = pa.table({"id": [1], "land": ["DE"]})
WAYS: dict[str, Callable[[str], object]] = {
    "create": lambda uri: pipeline.create(uri, "id BIGINT"),
    "write": lambda uri: pipeline.write(ROWS, uri),
    "plan": lambda uri: plan_create(uri, NewTableRequest(schema=parse_schema_text("id BIGINT"))),
}


@pytest.fixture(params=["disk", "objects"])
def outer(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    uri = f"{tmp_path}/t" if request.param == "disk" else f"memory://{uuid4().hex}/t"
    pipeline.write(ROWS, uri, partition_by="land")
    return uri


@pytest.mark.parametrize("below", ["land=DE", "land=DE/a/b"])
@pytest.mark.parametrize("way", WAYS)
def test_no_table_begins_in_the_folder_of_another_one(outer: str, way: str, below: str) -> None:
    with pytest.raises(InvalidArgumentError, match="lies inside the table at") as caught:
        WAYS[way](f"{outer}/{below}")
    assert f" {outer}:" in caught.value.reason
    assert "written to the outer table" in caught.value.remedy
    # beside it one may
    pipeline.write(ROWS, f"{outer}-2/{below}")


def test_a_table_begins_there_where_its_creator_insists(outer: str) -> None:
    uri = f"{outer}/land=DE/t"
    schema = parse_schema_text("id BIGINT, land STRING")
    insisting = NewTableRequest(schema=schema, inside_another_table=True)
    plan = plan_create(uri, insisting)
    with pytest.raises(ConflictError, match="plan"):
        carry_out_create(uri, replace(insisting, name="other"), plan.digest)
    carry_out_create(uri, insisting, plan.digest)
    pipeline.create(f"{outer}/u", schema, inside_another_table=True)
    for place in (uri, f"{outer}/u"):
        assert pipeline.write(ROWS, place).version == 1


def test_a_clone_does_not_begin_in_the_folder_of_a_third_table(outer: str) -> None:
    pipeline.write(ROWS, f"{outer}-2")
    with pytest.raises(InvalidArgumentError, match="lies inside the table at"):
        pipeline.clone(f"{outer}-2", f"{outer}/clone")


def test_a_table_begins_in_a_folder_that_vacuum_passes_over(outer: str) -> None:
    assert pipeline.write(ROWS, f"{outer}/_side/t").version == 0


@pytest.mark.parametrize("below", ["_day=1/t", "_change_data/t"])
def test_no_table_begins_in_a_folder_with_such_a_name_that_vacuum_looks_into(
    outer: str, below: str
) -> None:
    with pytest.raises(InvalidArgumentError, match="lies inside the table at"):
        pipeline.create(f"{outer}/{below}", "id BIGINT")


def test_whether_vacuum_passes_over_a_folder_its_own_name_says_and_not_that_of_a_link(
    tmp_path: Path,
) -> None:
    pipeline.write(ROWS, tmp_path / "t")
    for link, name in (("_link", "plain"), ("link", "_side")):
        (tmp_path / "t" / name).mkdir()
        (tmp_path / link).symlink_to(tmp_path / "t" / name)
    with pytest.raises(InvalidArgumentError, match="lies inside the table at"):
        pipeline.create(tmp_path / "_link", "id BIGINT")
    assert pipeline.create(tmp_path / "link", "id BIGINT").version == 0


def test_a_link_into_a_table_leads_inside_of_it(tmp_path: Path) -> None:
    pipeline.write(ROWS, tmp_path / "t")
    (tmp_path / "link").symlink_to(tmp_path / "t")
    with pytest.raises(InvalidArgumentError, match="lies inside the table at"):
        pipeline.create(f"{tmp_path}/link/new", "id BIGINT")
