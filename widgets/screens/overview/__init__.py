"""The first view of a table: what it is, what happened last, what to do first.

In: a table at a version. Out: figures, sentences, findings with their plans. Read first: `view`.
"""
