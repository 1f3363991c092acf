"""What the specification says: values in, values out, no I/O.

In: the bytes, strings and numbers of a log. Out: typed values, and the way back to text. One
module for each section of the specification, and its first lines name the section; table
features have a folder, `features`.

Read first: `actions`, then the module named after the section that you look for.
"""
