"""Who may have a plan executed: one digest, and where a guard asks for it more."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.protocol.unicode_text import check_unicode


@dataclass(frozen=True, slots=True)
class Approval:
    """The consent of a person to exactly one plan.

    `digest` is that of the plan which the person saw. `by` is who that is: the receipt and
    the commits that are made carry the name, and none where it is None. `table_name` and
    `reason` are needed where a verdict asks for them; both go into the receipt. Raises
    `InvalidArgumentError` for text that a receipt could not hold.
    """

    digest: str
    by: str | None = None
    table_name: str | None = None
    reason: str | None = None

    def __post_init__(self) -> None:
        """Ask each text whether it is one."""
        for what, text in (
            ("The name of the person", self.by),
            ("The table's name", self.table_name),
            ("The reason", self.reason),
        ):
            if text is not None:
                check_unicode(text, f"{what} in the approval cannot be read.")
