"""How a verb that asks one question of a table answers it: as a document, or for people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from explorer.cli.hosting import open_named
from explorer.cli.json_lines import print_document
from explorer.cli.listings import Row
from explorer.cli.terminal import show_progress
from explorer.progress import ProgressCallback

if TYPE_CHECKING:
    from explorer.table.table import Table

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Generic[T]):
    """An answer's two forms. `document` takes how many rows of its longest list are wanted,
    None for all of them; `show` prints at most as many, `screenful` unless said otherwise."""

    document: Callable[[T, int | None], Row]
    show: Callable[[T, int], None]
    screenful: int = 50

    def tell(
        self,
        place: tuple[str, list[str] | None],
        ask: Callable[[Table, ProgressCallback | None], T],
        *,
        limit: int | None,
        as_json: bool,
    ) -> T:
        """Open the table at a URI with storage options, ask, print what it says, and return
        it."""
        uri, options = place
        table: Any = open_named(uri, options)
        with show_progress() as progress:
            found = ask(table, progress)
        if as_json:
            print_document(self.document(found, limit))
        else:
            self.show(found, limit or self.screenful)
        return found
