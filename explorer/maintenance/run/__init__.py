"""The one place where a plan is carried out.

In: a plan and the approval of its digest. Out: a `Receipt`, true also after a failure half-way.

Read first: `executor`, then `_step_kinds`.
"""
