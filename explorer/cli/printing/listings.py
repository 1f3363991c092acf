"""Frames as tables on a terminal.

Cells are `Text` made of printable characters, so that neither Rich's markup nor
the terminal obeys what a table says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from explorer.cli.printing.wording import UNKNOWN, printable
from explorer.protocol.values.utc_times import render_times

Row = Mapping[str, Any]

Spans = Sequence[tuple[str, str]]
"""A line: texts, each with its style."""

_GAP = 2
"""Blanks between columns."""
_LEAST = 12
"""Characters of a column's text that a narrow terminal still shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a listing.

    `render` gives the cell's text; `style` may look at the row for a colour.
    `shrinks` says that the text may be cut where the terminal is narrow, but not below the
    title; below `from_width` columns of the terminal the column is left out. `limit` is the
    longest text: a path may be longer than any screen.
    """

    title: str
    render: Callable[[Row], str]
    align: Literal["left", "right"] = "left"
    style: Callable[[Row], str] | None = None
    shrinks: bool = False
    limit: int = 400
    from_width: int = 0

    def texts(self, rows: Sequence[Row]) -> list[str]:
        """The cells' texts."""
        return [self.render(row) for row in rows]

    def cells(self, rows: Sequence[Row]) -> list[Text]:
        """The cells, inert."""
        return [
            Text(
                printable(text, self.limit),
                style="" if self.style is None else self.style(row),
                no_wrap=True,
                overflow="ellipsis",
            )
            for row, text in zip(rows, self.texts(rows), strict=True)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeColumn(Column):
    """A column of times, to the second only where two of them could be confused.

    `moment` gives the time of a row, `unknown` stands where there is none.
    """

    render: Callable[[Row], str] = str
    moment: Callable[[Row], datetime | None]
    unknown: str = UNKNOWN

    def texts(self, rows: Sequence[Row]) -> list[str]:
        """The times."""
        return render_times([self.moment(row) for row in rows], self.unknown)


def print_listing(console: Console, columns: Iterable[Column], rows: Iterable[Row]) -> None:
    """All rows, one a line; columns without any text are left out."""
    held = list(rows)
    made = [
        (column, cells)
        for column in columns
        if console.width >= column.from_width and any(cells := column.cells(held))
    ]
    wanted = [_width(column, cells) for column, cells in made]
    least = [_least_width(column, cells) for column, cells in made]
    grid = Grid(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="dim")
    room = console.width - _GAP * (len(made) - 1)
    for (column, _), width in zip(made, _fitted(wanted, least, room), strict=True):
        title = Text(column.title, no_wrap=True, overflow="ellipsis")
        grid.add_column(title, justify=column.align, no_wrap=True, width=width)
    for at in range(len(held)):
        grid.add_row(*(cells[at] for _, cells in made))
    print_grid(console, grid)


def count_fitting(console: Console, columns: Sequence[Column], rows: Sequence[Row]) -> int:
    """How many of the first columns fit beside each other with titles that are whole; at
    least one."""
    used, found = -_GAP, 0
    for column in columns:
        used += _GAP + _least_width(column, column.cells(rows))
        if used > console.width and found:
            break
        found += 1
    return found


def _width(column: Column, cells: Sequence[Text]) -> int:
    return max([Text(column.title).cell_len, *(cell.cell_len for cell in cells)])


def _least_width(column: Column, cells: Sequence[Text]) -> int:
    wanted = _width(column, cells)
    if not column.shrinks:
        return wanted
    return min(wanted, max(Text(column.title).cell_len, _LEAST))


def _fitted(wanted: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """The widths of columns: the widest ones give way first, none below its least."""
    widths = list(wanted)
    while sum(widths) > room:
        loose = [at for at, width in enumerate(widths) if width > least[at]]
        if not loose:
            break
        widest = max(loose, key=lambda at: widths[at])
        second = max((widths[at] for at in loose if at != widest), default=0)
        over = sum(widths) - room
        step = max(1, min(over, widths[widest] - max(second, least[widest])))
        widths[widest] -= step
    return widths


def print_grid(console: Console, grid: Grid) -> None:
    """A grid; in a pipe without the blanks that fill its last column."""
    if console.is_terminal:
        console.print(grid)
        return
    with console.capture() as captured:
        console.print(grid)
    for text in captured.get().splitlines():
        console.out(text.rstrip(), highlight=False)


def print_facts(
    console: Console, lines: Sequence[Spans], facts: Sequence[tuple[str, Spans]]
) -> None:
    """Lines, and below them a label and a value in each row; what is too long is folded.

    A first span of blanks is an indent, which the folded lines keep.
    """
    for line in lines:
        console.print(_line(line))
    grid = Grid.grid(padding=(0, 2), pad_edge=False)
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, value in facts:
        grid.add_row(Text(label), Text.assemble(*value))
    print_grid(console, grid)


def _line(spans: Spans) -> Text | Padding:
    indent = spans[0][0]
    if indent.strip():
        return Text.assemble(*spans)
    return Padding(Text.assemble(*spans[1:]), (0, 0, 0, len(indent)), expand=False)


def print_note(console: Console, text: str) -> None:
    """A line below a listing."""
    console.print(Text(printable(text), style="dim"))


def print_cut(console: Console, shown: int, total: int, what: str) -> None:
    """Say so where a listing does not show everything."""
    if shown < total:
        print_note(console, f"{shown:,} of {total:,} {what}; --limit {total} shows all")
