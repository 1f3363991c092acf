"""Single values as a log and its files write them (spec: Partition Value Serialization, Variant).

In: texts of partition values and times, bytes of variants. Out: typed values, and texts rendered
from them.

Read first: `partition_values`.
"""
