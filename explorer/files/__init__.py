"""Which files a table needs, and which it does not (spec: Add File and Remove File, Data Files).

In: a table, and a listing of its folder. Out: the files that a version, the retention or the
change data feed still needs, by their names in the store; and when each other file is deletable.

Read first: `kept`, then `unkept`.
"""
