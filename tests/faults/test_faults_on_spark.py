"""The operation that needs a session under the same faults: every row is looked at on Spark
between two readings of the log. A tenth of the faults has its turn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from explorer.table.table import Table
from tests.faults.faulty_store import CHANGING, FaultyStore, is_change
from tests.faults.maintained_copies import Copies, names_of, operations_of
from tests.faults.maintained_table import ON_SPARK, approval_of, check_whole
from tests.interop.spark_session import start_session
from tests.sampling import sample

pytestmark = pytest.mark.spark


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = start_session()
    yield session
    session.stop()


@pytest.mark.parametrize("operation", ON_SPARK)
def test_store_that_fails_at_any_single_operation_of_what_looks_at_rows(
    spark: SparkSession, tmp_path: Path, operation: str
) -> None:
    copies = Copies(tmp_path, operation)
    lake, plan = copies.lake, copies.plan
    operations = operations_of(copies, spark=spark)
    faults = [(number, "before") for number in range(len(operations))]
    for number, what in enumerate(operations):
        faults += [(number, when) for when in CHANGING if is_change(what)]
    for number, when in sample(faults, 20, operation):
        copies.fresh()
        store = FaultyStore(str(lake.root), number, when=when)  # type: ignore[arg-type]
        receipt = lake.execute(plan, table=Table(store), approval=approval_of(plan), spark=spark)
        store.settle()
        if names_of(lake) == copies.names:
            assert receipt.status == "failed", (number, when)
            continue
        check_whole(lake, copies.before, plan)
        again = lake.execute(plan, table=lake.table, approval=approval_of(plan), spark=spark)
        assert again.status == "completed", (number, when, again.problem)
        check_whole(lake, copies.before, plan)
        assert lake.table.metadata().configuration["delta.constraints.small"] == "id < 1000"
