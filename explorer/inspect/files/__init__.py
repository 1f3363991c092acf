"""Files of a table: live, with deleted rows, kept, or not managed by Delta (spec: Add File and
Remove File, Deletion Vectors).

In: a snapshot or a table. Out: pages of its files, their statistics and deletion vectors, and why
a file still exists.

Read first: `file_pages`, then `file_reasons`.
"""
