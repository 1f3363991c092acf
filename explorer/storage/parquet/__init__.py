"""One Parquet file: its footer, its pages, its columns (Parquet: File Format).

In: a store and the name of a file. Out: batches of Arrow, after the footer and the page headers
were checked against the size of the file.

Read first: `reader`, then `file_bytes`. A file without some of its rows: `without_rows`.
"""
