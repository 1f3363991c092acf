"""What a page that may not change anything says of itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from widgets.screens.maintenance._parts import render_lock
from widgets.screens.maintenance._review_view import _placeholder
from widgets.served.settings import Settings
from widgets.session.maintenance import UNLOCKS
from widgets.ui.pieces import example_condition


@pytest.mark.parametrize(
    ("maintenance", "users", "by"),
    [(False, None, ""), (True, None, "link"), (True, Path("users"), "role"),
     (False, Path("users"), "")],
)  # fmt: skip
def test_the_way_to_carry_plans_out_is_the_one_that_there_is(
    maintenance: bool, users: Path | None, by: str
) -> None:
    settings = Settings(uris=("/lake/a",), maintenance=maintenance, users=users)
    assert settings.unlocked_by == by
    told = render_lock("/lake/a", is_notebook=False, unlocks=UNLOCKS[by] if by else "")
    assert ("--maintenance" in told) is not maintenance
    assert ("the link that was printed" in told) is (by == "link")
    assert ("maintenance role" in told) is (by == "role")


def test_examples_name_columns_that_the_table_has() -> None:
    assert example_condition(["`p q`", "id"]) == "for example `p q` IS NOT NULL, then Enter"
    assert example_condition(["x" * 99, "id"]) == "for example id IS NOT NULL, then Enter"
    assert example_condition([]) == "A condition, then Enter"
    assert _placeholder("{column} IS NOT NULL", ["id"]) == "id IS NOT NULL"
    assert _placeholder("{column} IS NOT NULL", []) == ""
    assert _placeholder("every file", ["id"]) == "every file"
