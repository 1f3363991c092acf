"""The kinds of step: what each does to a table, and what it checks again first.

In: a step of a plan and a `WriteStore`. Out: what became of it, written into the journal.

Read first: `context`, then `commit_step` and `deletion`.
"""
