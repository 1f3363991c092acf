"""The only code that executes a plan.

In: a plan and the approval of its digest. Out: a `Receipt`, correct also after a failure.

Read first: `executor`, then `_step_kinds`.
"""
