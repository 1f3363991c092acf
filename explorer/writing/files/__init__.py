"""New data files: how they look, where they lie, what is told of them, and what becomes of those
that no version knows.

In: rows with the names and types of `FileForm.schema`. Out: adds and removes for a commit.

Read first: `file_form`, then `new_file`. What copies most of a file: `copied_file`.
"""
