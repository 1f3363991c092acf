"""What a person has chosen of a list: its filter, its order, which of its parts."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from widgets.state import PageState, parse_list, render_list

Sort = tuple[str, bool]
"""The column that a list is sorted by, and whether it descends."""

LONGEST_FILTER = 500
"""Characters of what is looked for in a list."""


class Choices:
    """What is chosen of the list called `name`, one of `LISTS`, as the page's address has it.

    `changed` is called with the names of what was chosen otherwise, by this page or by where an
    address, or Back, has led.
    """

    def __init__(
        self, state: PageState, name: str, changed: Callable[[frozenset[str]], object]
    ) -> None:
        self._state = state
        self._name = name
        self._changed = changed
        state.param.watch(self._follow, name)

    def get(self, key: str, among: Collection[str] | None = None) -> str:
        """What is chosen; empty where nothing is, or none of those that there are."""
        chosen = self._values().get(key, "")
        return chosen if among is None or chosen in among else ""

    @property
    def text(self) -> str:
        """What is looked for in the list."""
        return self.get("text").strip()[:LONGEST_FILTER]

    def choose(self, **chosen: str) -> None:
        """Choose otherwise; an empty text is the default, which the address does not hold."""
        setattr(self._state, self._name, self.address(**chosen))

    def address(self, **chosen: str) -> str:
        """The list as an address has it once this is chosen too."""
        return render_list(self._name, self._values() | chosen)

    def look_for(self, text: str) -> None:
        """Look for a text."""
        self.choose(text=text.strip()[:LONGEST_FILTER])

    def sort(self, columns: Collection[str], default: Sort) -> Sort:
        """How the list is sorted: by `default`, unless one of its `columns` is chosen."""
        return read_sort(self._values(), columns, default)

    def sort_by(self, chosen: Sort, default: Sort) -> None:
        """Sort the list."""
        self.choose(**name_sort(chosen, default))

    def _values(self) -> dict[str, str]:
        return parse_list(self._name, getattr(self._state, self._name))

    def _follow(self, event: Any) -> None:
        before, after = (parse_list(self._name, text) for text in (event.old, event.new))
        keys = before.keys() | after.keys()
        names = frozenset(key for key in keys if before.get(key) != after.get(key))
        if names:
            self._changed(names)


def read_sort(chosen: dict[str, str], columns: Collection[str], default: Sort) -> Sort:
    """The sorting that an address names; `default` where it names none that can be meant."""
    by = chosen.get("by", default[0] if "order" in chosen else "")
    if by in columns:
        return by, chosen.get("order") == _DESCENDING
    return default


def name_sort(chosen: Sort, default: Sort) -> dict[str, str]:
    """A sorting as it stands in an address: empty for the default."""
    by, descending = ("", False) if chosen == default else chosen
    return {"by": by, "order": _DESCENDING if descending else ""}


_DESCENDING = "descending"
