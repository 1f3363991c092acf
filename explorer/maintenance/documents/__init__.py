"""Plans and receipts as they are kept in the user's folder, never in the table.

In: a plan or a receipt. Out: the document, read back when it is asked for.

Read first: `state_folder`, then `receipt`.
"""
