"""The tables that statements have written, once for all tests of this folder."""

from __future__ import annotations

import pytest

from tests.conformance.written import Table, Written
from tests.conformance.written_tables import TABLES


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """A written table by its name; each is written when it is first asked for."""
    known: dict[str, Written] = {}

    def written(name: str) -> Written:
        if name not in known:
            root = tmp_path_factory.mktemp("written") / name
            TABLES[name](root)
            known[name] = Written(root)
        return known[name]

    return written


@pytest.fixture(params=TABLES)
def each(request: pytest.FixtureRequest, table: Table) -> Written:
    return table(request.param)
