"""What commits did, and who made them (spec: Delta Log Entries, Commit Provenance Information).

In: a table. Out: a row for each commit or for each action of one, with the log file and the line.

Read first: `commit_timeline`, then `_commit_summary`.
"""
