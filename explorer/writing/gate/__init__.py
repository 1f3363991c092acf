"""The gate of rows: what the rows of a caller become, and which rules of the table they keep.

In: protocol, metadata and schema of the version that is to be, and the columns that a caller
gives. Out: a `GatePlan`, made once for each statement; then rows with the table's columns, or an
error that names the column, the rule and one row. `arrow_gate` carries a plan out in this process
where Arrow can, `explorer.pipeline.writing.spark_gate` on Spark.

Read first: `plan`, then `planning`.
"""
