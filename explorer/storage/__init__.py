"""The only door to bytes.

In: a place as people write it. Out: a `ReadStore`, which cannot change anything, or a
`WriteStore`. Bytes of Parquet files are decoded in `parquet`.

Read first: `ports`, then `open`.
"""
