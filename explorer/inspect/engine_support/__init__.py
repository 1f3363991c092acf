"""Which engines can read and write a table, and what stops the others (spec: Reader Version
Requirements, Writer Version Requirements).

In: a snapshot, and the matrix `engines.yaml` beside these modules. Out: a verdict for each
release of each engine, with its source.

Read first: `matrix`, then `_judgement`.
"""
