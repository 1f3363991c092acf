"""Which files a table needs, and which it does not (spec: Add File and Remove File, Data Files).

In: a table, and a listing of what lies below its root. Out: the files that a version, a retention
or the change data feed still needs, as names of the store; and of the others, from when on each
may be deleted.

Read first: `kept`, then `unkept`.
"""
