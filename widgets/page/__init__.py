"""The page around the screens: header, palette, address, the explorer of one table.

In: a services and the state. Out: the whole view that the server and the notebook show.

Read first: `explorer`.
"""
