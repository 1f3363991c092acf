"""What a written row and a written file are, without Spark (spec: Writer Version Requirements).

In: protocol, metadata and schema of the commit to come. Out: what a table becomes (`schema`),
the rows that it takes, the files that hold them.

Read first: `schema`.
"""
