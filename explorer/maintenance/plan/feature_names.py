"""Features by the names that a person gives them, for plans that enable or drop one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from explorer.errors import InvalidArgumentError
from explorer.protocol.features.registry import find_feature


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What may be done to features here, `enabled` or `dropped`, and to which."""

    done: str
    names: Collection[str]

    def name_of(self, given: str) -> str:
        """The name as the registry has it; raises `InvalidArgumentError` for an unknown one."""
        item = find_feature(given)
        if item is None:
            raise self.refusal(given, "no feature of that name is known here")
        return item.name

    def refusal(self, name: str, why: str) -> InvalidArgumentError:
        """The error for a feature that this is not done to here."""
        return InvalidArgumentError(
            f"The feature {name[:120]} cannot be {self.done} here.",
            reason=f"It is refused: {why}.",
            remedy=f"Choose one of {', '.join(self.names)}.",
            spec="Table Features",
        )
