"""Statements that change rows of a table: delete and update.

In: a condition, and for an update the new values. Out: a version, by the floor
`explorer.writing.changes`, whose guide says how rows leave files and come into others.

Read first: `beginning`, then `delete`, then `update`.
"""
