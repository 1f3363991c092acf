"""What surrounds a job of Spark: its progress, its end, its errors, what its workers see.

In: a session. Out: progress that is told while a job runs, a job that is stopped on request, and
errors of Spark as a person may meet them.

Read first: `watching_jobs`, then `failures`.
"""
