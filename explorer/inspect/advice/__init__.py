"""What to do first about a table: at most three steps, each with cost, benefit and operation.

In: a table. Out: steps from its health, layout, deletion vectors and reach, the best first, and
what has not been asked. Read first: `advice`; `ranking` says what comes first.
"""
