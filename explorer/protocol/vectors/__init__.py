"""Which rows of a file are deleted (spec: Deletion Vectors).

In: descriptors as actions carry them, and stored bytes. Out: the positions of deleted rows, and
bytes to store. `z85` is the encoding of ids and inline vectors, `roaring` that of positions.

Read first: `deletion_vectors`.
"""
