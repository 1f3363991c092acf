"""What an expression is for, which decides how much it may say."""

from __future__ import annotations

from typing import Literal

ExpressionUse = Literal["condition", "rule", "value"]
"""A `condition` is what a person asks of rows, or the rule that is about to be added; a `rule` is
one that the table has: a CHECK, an invariant, a generated column; a `value` is what is written: a
default, or a value of an insert or update."""
