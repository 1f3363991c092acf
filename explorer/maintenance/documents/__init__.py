"""Plans and receipts as documents in the user's state folder, never in the table.

In: a plan or a receipt. Out: its JSON document, and the plan or receipt read from one.

Read first: `state_folder`, then `receipt`.
"""
