"""The only code that reads and writes files and objects.

In: a path or a URL. Out: a `ReadStore`, which cannot change anything, or a `WriteStore`.
`parquet` decodes Parquet files.

Read first: `ports`, then `open`.
"""
