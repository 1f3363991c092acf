"""Rows that are written, on Spark.

In: a DataFrame of the caller and the plan of `explorer.writing.gate`. Out: a DataFrame with the
table's columns, whose rows keep the table's rules.

Read first: `spark_gate`.
"""
