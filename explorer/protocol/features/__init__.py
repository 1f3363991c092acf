"""The registry of table features (spec: Table Features).

In: a protocol and a metadata action. Out: which features are supported and active, and what
each requires. Entries are in `named`, `legacy` (those of a version number) and `proposed`; a
feature with rules of its own has a module. What a feature requires of writers is in
`explorer.transaction.rules`.

Read first: `table_feature`, then `registry`.
"""
