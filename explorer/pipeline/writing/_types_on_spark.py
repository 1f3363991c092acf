"""What a session that is there says of the types of generated columns (spec: Generated Columns)."""

from __future__ import annotations

import sys

import pyarrow as pa

from explorer.errors import DeltaError
from explorer.pipeline.session import active_session
from explorer.pipeline.tasks.spark_faults import is_of_spark
from explorer.pipeline.tasks.spark_types import spark_schema
from explorer.protocol.actions import EPOCH
from explorer.protocol.arrow_types import arrow_type
from explorer.protocol.schema import StructType, parse_schema
from explorer.scan.sql.table_expressions import StatementTime, check_table_expression
from explorer.writing.schema.generated_types import (
    check_generated_type,
    generated_columns,
    type_of_expression,
)


def check_types_on_spark(schema: StructType) -> None:
    """Raise `InvalidArgumentError` where an active session finds another type for the expression
    of a generated column than the column has. What is known without Spark is not asked for, and
    no session is started; what is wrong with an expression otherwise is told by others."""
    if "pyspark" not in sys.modules or (session := active_session()) is None:
        return
    for item, text in generated_columns(schema):
        try:
            checked = check_table_expression(text, schema, "rule", StatementTime(moment=EPOCH))
            if type_of_expression(checked.text, schema) is not None:
                continue
            used = [field for field in schema.fields if field.name in checked.columns]
            rows = pa.schema([(field.name, arrow_type(field.data_type)) for field in used])
            columns = spark_schema(rows)
        except DeltaError:
            continue
        try:
            frame = session.createDataFrame([], columns).selectExpr(checked.text)
            found = parse_schema(frame.schema.json()).fields[0].data_type
        except Exception as error:
            if not is_of_spark(error):
                raise
            continue
        check_generated_type(item, text, found)
