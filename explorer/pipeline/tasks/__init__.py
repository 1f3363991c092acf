"""What a task of Spark is given and gives back.

In: files of a table in groups of about the same work. Out: their rows, read through the table's
own door, in the types that Spark has for them.

Read first: `file_tasks`.
"""
