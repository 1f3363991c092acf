"""What the properties of a table come to (spec: Table Properties).

In: the configuration of the metadata, strings by name. Out: values of their types, those that do
not parse as problems, and the name that was perhaps meant.

Read first: `properties`, then `known_properties`.
"""
