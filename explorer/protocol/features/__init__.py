"""Table features: one registry, one entry each, a file where a feature has rules of its own.

In: a protocol and a metadata action. Out: which features are supported and active, and what
each asks. An entry stands in `named`, `legacy` or `proposed`; `legacy` has those of a
version number. What a feature asks of writers is in `explorer.transaction.rules`.

Read first: `table_feature`, then `registry`.
"""
