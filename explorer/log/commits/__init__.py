"""Commit files: lines of JSON, one action each (spec: Delta Log Entries, Commit Provenance
Information).

In: the bytes of commit files. Out: actions line by line, or all file actions and all
`commitInfo` of a file as columns of Arrow.

Read first: `commit_file`, then `line_columns`.
"""
