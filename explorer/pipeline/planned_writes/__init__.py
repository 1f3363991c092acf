"""Writes that a person looks at before they happen, as the command line makes them.

In: what is asked for, and files that bring rows. Out: a plan with a digest, which is not stored;
with the same request and that digest, a new version.

Read first: `write_plan`, then `_file_inputs` for what makes a file the one that was planned.
"""
