"""Both workers end together: who has nothing of its own left takes from the other."""

from __future__ import annotations

import pytest

from tests.distribution import next_scope, scope_of

_JVM = "tests/pipeline/test_read.py::test_rows[a]@spark"
_PAGE = "tests/browser/test_page.py::test_back@browser test_page"
_LIGHT = "tests/unit/log/folder/test_listing.py::test_name_that_is_foreign[a@b]"


@pytest.mark.parametrize(
    ("nodeid", "scope"),
    [
        (_JVM, "spark"),
        (_PAGE, "browser test_page"),
        (_LIGHT, "tests/unit/log/folder/test_listing.py"),
        ("tests/a/test_b.py::test_c[x@spark]", "tests/a/test_b.py"),
    ],
)
def test_a_piece_is_all_of_the_jvm_or_one_file(nodeid: str, scope: str) -> None:
    assert scope_of(nodeid) == scope


def _order(scopes: list[str], *, heavy_first: bool) -> list[str]:
    waiting, order = list(scopes), []
    while waiting:
        order.append(next_scope(waiting, heavy_first=heavy_first))
        waiting.remove(order[-1])
    return order


def test_the_first_worker_begins_with_the_jvm_and_ends_with_the_rest() -> None:
    unit, faults = "tests/unit/a/test_b.py", "tests/faults/test_c.py"
    scopes = [unit, "browser test_page", faults, "spark", "browser test_rows"]
    assert _order(scopes, heavy_first=True) == [
        *("spark", "browser test_page", "browser test_rows"),
        *(faults, unit),
    ]
    assert _order(scopes, heavy_first=False) == [
        *(faults, unit),
        *("spark", "browser test_page", "browser test_rows"),
    ]
