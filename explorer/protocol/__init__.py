"""The Delta specification as functions from values to values, without I/O.

In: the bytes, strings and numbers of a log. Out: typed values, and text rendered from them. Each
module is a section of the specification, which its first lines name; table features are in
`features`, their properties in `table_properties`, deletion vectors in `vectors`, and single
values, of partitions and of variants, in `values`. `filenames` has the names of all log files,
`paths` those of data files. Sections that need I/O are in packages above: commits and checkpoints
in `explorer.log`, rows in `explorer.rows`, and what each feature requires of writers in
`explorer.transaction.rules`.

Read first: `actions`, then the module named after the section that you need.
"""
