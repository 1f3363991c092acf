"""What a table is to become: protocol, metadata and domains of a commit (spec: Change Metadata).

In: the columns of the rows or of a statement, properties, partition and clustering columns.
Out: a `NewTable`, or the `SchemaChange` of one that is there.

Read first: `new_table`, then `schema_change`.
"""
