"""Adds and removes as columns of Arrow (spec: Add File and Remove File).

In: the bodies of file actions, parsed or as structs of Arrow. Out: tables with `ADD_COLUMNS` or
`REMOVE_COLUMNS`, and the key by which they are reconciled.

Read first: `columns`, then `keys`.
"""
