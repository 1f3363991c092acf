"""Frames as tables on a terminal.

Cells are `Text` made of printable characters, so that neither Rich's markup nor
the terminal obeys what a table says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from explorer.cli.wording import printable

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a listing.

    `render` gives the cell's text; `style` may look at the row for a colour.
    `shrinks` says that the text may be cut where the terminal is narrow; below
    `from_width` columns of the terminal the column is left out. `limit` is the
    longest text: a path may be longer than any screen.
    """

    title: str
    render: Callable[[Row], str]
    align: Literal["left", "right"] = "left"
    style: Callable[[Row], str] | None = None
    shrinks: bool = False
    limit: int = 400
    from_width: int = 0

    def cell(self, row: Row) -> Text:
        """The cell of one row, inert."""
        style = "" if self.style is None else self.style(row)
        text = printable(self.render(row), self.limit)
        return Text(text, style=style, no_wrap=True, overflow="ellipsis")


def print_listing(console: Console, columns: Iterable[Column], rows: Iterable[Row]) -> None:
    """All rows, one a line; columns without any text are left out."""
    shown = [column for column in columns if console.width >= column.from_width]
    cells = [[column.cell(row) for column in shown] for row in rows]
    used = [at for at in range(len(shown)) if any(line[at] for line in cells)]
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for at in used:
        column = shown[at]
        grid.add_column(Text(column.title), justify=column.align, no_wrap=not column.shrinks)
    for line in cells:
        grid.add_row(*(line[at] for at in used))
    print_grid(console, grid)


def print_grid(console: Console, grid: Grid) -> None:
    """A grid; in a pipe without the blanks that fill its last column."""
    if console.is_terminal:
        console.print(grid)
        return
    with console.capture() as captured:
        console.print(grid)
    for text in captured.get().splitlines():
        console.out(text.rstrip(), highlight=False)


def print_note(console: Console, text: str) -> None:
    """A line below a listing."""
    console.print(Text(printable(text), style="dim"))


def print_cut(console: Console, shown: int, total: int, what: str) -> None:
    """Say so where a listing does not show everything."""
    if shown < total:
        print_note(console, f"{shown:,} of {total:,} {what}; --limit {total} shows all")
