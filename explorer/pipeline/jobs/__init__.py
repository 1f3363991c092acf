"""Spark jobs: progress, cancellation, errors, and what the workers can reach.

In: a session. Out: progress while a job runs, a job that stops on request, and errors of Spark
translated into `DeltaError`.

Read first: `watching_jobs`, then `failures`.
"""
