"""How each kind of step is executed, and what it checks again first.

In: a step of a plan and a `WriteStore`. Out: the result, written into the journal.

Read first: `context`, then `commit_step` and `deletion`.
"""
