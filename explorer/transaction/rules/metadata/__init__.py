"""What a new schema, its columns and its properties have to keep to.

In: a `Change` that brings metadata. Out: problems, all of them.

Read first: `metadata_rules`.
"""
