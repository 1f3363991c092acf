"""What a verb prints: answers, plans and results for people, JSON documents, and errors.

In: what the engine answered, or what went wrong. Out: text on one of the two consoles of
`terminal`; every string of a table passes through `wording`, and `failures` has the exit codes.

Read first: `listings`, then `answer_printing`.
"""
