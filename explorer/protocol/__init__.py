"""What the specification says: values in, values out, no I/O.

In: the bytes, strings and numbers of a log. Out: typed values, and the way back to text. One
module for each section of the specification, and its first lines name the section; table
features have a folder, `features`. `filenames` has the names of all files of the log, `paths`
those of data files. What takes I/O stands above: commits and checkpoints are read in
`explorer.log`, rows in `explorer.rows`, and `explorer.transaction.rules` has what each feature
asks of writers.

Read first: `actions`, then the module named after the section that you look for.
"""
