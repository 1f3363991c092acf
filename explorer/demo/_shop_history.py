"""Six weeks of a shop's table, told step by step.

Days count back from the moment at which the table is looked at. Three spans
matter: before day 30 log cleanup has something to do, before day 7 vacuum has,
and the vacuum of day 31 took the files of a mistake that was made, and undone,
more than a week before it. So the version in between can no longer be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from explorer.demo._authors import ANNA, BEN, IMPORTER, NIGHTLY, NIGHTLY_OLD, STREAM, Author
from explorer.demo._operations import append, end_vacuum, optimize, start_vacuum, stream
from explorer.demo._orders import build_orders
from explorer.demo._row_changes import RowFilter, delete, delete_inline, merge, update_status
from explorer.demo._shop_table import Outcome, ShopTable, Work
from explorer.demo._table_changes import (
    add_text_column,
    create,
    map_columns,
    rename_column,
    set_properties,
)
from explorer.protocol.actions import EPOCH

Operation = Callable[[ShopTable, Work], Outcome]

_DAY_MS = 24 * 3600 * 1000
_STREAM_ID = "6f2b8f0e-4f0c-4d7c-9a55-0c6a3f7b21d4"
_WRONG_COUNTRY = "XX"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryStep:
    """One commit of the story, `days` before now."""

    days: float
    author: Author
    operation: Operation


def write_history(shop: ShopTable, now_ms: int) -> Iterator[int]:
    """Make each step's commit, oldest first, and yield its version."""
    for step in STORY:
        # nobody commits on the second
        at = now_ms - int(step.days * _DAY_MS) - shop.new_milliseconds(0, 45_000)
        work = Work(author=step.author, at=at)
        shop.commit(work, step.operation(shop, work))
        yield shop.version


def _orders(shop: ShopTable, work: Work, count: int, window: timedelta) -> pa.Table:
    # a day's business is never quite like another's
    size = int(count * (0.75 + 0.5 * shop.rng.random()))
    return _made_up(shop, work, size, window)


def _made_up(shop: ShopTable, work: Work, size: int, window: timedelta) -> pa.Table:
    first = shop.next_order_id
    shop.next_order_id += size
    return build_orders(shop.rng, first_id=first, count=size, until_ms=work.at, window=window)


def _batch(count: int, window: timedelta = timedelta(days=1)) -> Operation:
    return lambda shop, work: append(shop, work, _orders(shop, work, count, window))


def _micro_batch(count: int) -> Operation:
    window = timedelta(hours=6)
    return lambda shop, work: stream(shop, work, _orders(shop, work, count, window), _STREAM_ID)


def _wrong_import(shop: ShopTable, work: Work) -> Outcome:
    """A supplier's test file, with a country that does not exist."""
    first, size = shop.next_order_id, 420
    shop.next_order_id += size
    rows = build_orders(
        shop.rng,
        first_id=first,
        count=size,
        until_ms=work.at,
        window=timedelta(hours=1),
        countries=(_WRONG_COUNTRY,),
    )
    return append(shop, work, rows)


def _undo_import(shop: ShopTable, work: Work) -> Outcome:
    wrong = RowFilter(
        text=f"(country#71 = {_WRONG_COUNTRY})",
        mask=lambda rows: pc.equal(rows.column("country"), _WRONG_COUNTRY),
    )
    return delete(shop, work, wrong)


def _ship(shop: ShopTable, work: Work) -> Outcome:
    """Paid orders between two and four days old are on their way."""
    return update_status(shop, work, _between("paid", work, 2.0, 4.0), "shipped")


def _carrier_report(shop: ShopTable, work: Work) -> Outcome:
    """Older paid orders are shipped, refused ones go, and late orders of a shop fair come in."""
    late = _made_up(shop, work, 60 + int(shop.rng.random() * 90), timedelta(days=2))
    shipped = _between("paid", work, 4.0, 6.0)
    refused = _between("cancelled", work, 4.0, 9.0)
    return merge(shop, work, shipped, refused, late)


def _forget_customers(shop: ShopTable, work: Work) -> Outcome:
    """Customers asked to be forgotten."""
    return delete(shop, work, _customers(10_000 + int(shop.rng.random() * 8_800), 120))


def _forget_few(shop: ShopTable, work: Work) -> Outcome:
    del work  # the vectors go into the log itself: no file, no time of writing
    return delete_inline(shop, _customers(10_000 + int(shop.rng.random() * 8_800), 6))


def _between(status: str, work: Work, newest: float, oldest: float) -> RowFilter:
    start, end = (_time_before(work, days) for days in (oldest, newest))
    return RowFilter(
        text=f"(((status#67 = {status}) AND (ordered_at#63 >= {start:%Y-%m-%d %H:%M:%S})) "
        f"AND (ordered_at#63 < {end:%Y-%m-%d %H:%M:%S}))",
        mask=lambda rows: pc.and_(
            pc.equal(rows.column("status"), status),
            pc.and_(
                pc.greater_equal(rows.column("ordered_at"), _instant(start)),
                pc.less(rows.column("ordered_at"), _instant(end)),
            ),
        ),
    )


def _customers(first: int, count: int) -> RowFilter:
    return RowFilter(
        text=f"((customer_id#62L >= {first}) AND (customer_id#62L < {first + count}))",
        mask=lambda rows: pc.and_(
            pc.greater_equal(rows.column("customer_id"), first),
            pc.less(rows.column("customer_id"), first + count),
        ),
    )


def _time_before(work: Work, days: float) -> datetime:
    return (EPOCH + timedelta(milliseconds=work.at - int(days * _DAY_MS))).replace(microsecond=0)


def _instant(time: datetime) -> pa.Scalar:
    return pa.scalar(time, pa.timestamp("us", "UTC"))


def _set(properties: Mapping[str, str], feature: str) -> Operation:
    return lambda shop, _: set_properties(shop, properties, feature)


def _add(name: str, comment: str) -> Operation:
    return lambda shop, _: add_text_column(shop, name, comment)


def _rename(old: str, new: str) -> Operation:
    return lambda shop, _: rename_column(shop, old, new)


def _trading(newest: float, oldest: float, author: Author, count: int) -> list[StoryStep]:
    """A nightly batch and a streamed micro-batch for each day of a span."""
    steps = []
    day = oldest
    while day > newest:
        steps.append(StoryStep(days=day, author=author, operation=_batch(count)))
        steps.append(StoryStep(days=day - 0.45, author=STREAM, operation=_micro_batch(count // 4)))
        day -= 2.0
    return steps


# the newest checkpoint has several commits after it
_LAST_HOURS = (0.75, 0.6, 0.45, 0.3, 0.1)
_CHANGE_FEED = {"delta.enableChangeDataFeed": "true"}
_VECTORS = {"delta.enableDeletionVectors": "true"}

_SPECIAL = [
    StoryStep(days=45.0, author=ANNA, operation=create),
    StoryStep(days=44.9, author=NIGHTLY_OLD, operation=_batch(9_000, timedelta(days=60))),
    StoryStep(days=44.2, author=STREAM, operation=_micro_batch(300)),
    StoryStep(days=43.6, author=IMPORTER, operation=_wrong_import),
    StoryStep(days=43.5, author=BEN, operation=_undo_import),
    StoryStep(
        days=36.1,
        author=ANNA,
        operation=_set(_CHANGE_FEED, "changeDataFeed"),
    ),
    StoryStep(days=35.3, author=NIGHTLY_OLD, operation=_ship),
    StoryStep(days=33.2, author=NIGHTLY_OLD, operation=_carrier_report),
    StoryStep(days=31.30, author=NIGHTLY_OLD, operation=start_vacuum),
    StoryStep(days=31.29, author=NIGHTLY_OLD, operation=end_vacuum),
    StoryStep(days=30.4, author=NIGHTLY_OLD, operation=optimize),
    StoryStep(
        days=27.1,
        author=ANNA,
        operation=_set(_VECTORS, "deletionVectors"),
    ),
    StoryStep(days=26.6, author=BEN, operation=_forget_customers),
    StoryStep(days=25.3, author=NIGHTLY, operation=_ship),
    StoryStep(
        days=23.4,
        author=ANNA,
        operation=_add("channel", "web, app or marketplace"),
    ),
    StoryStep(days=21.3, author=NIGHTLY, operation=_carrier_report),
    StoryStep(days=19.2, author=ANNA, operation=lambda shop, _: map_columns(shop)),
    StoryStep(days=19.1, author=ANNA, operation=_rename("price", "unit_price")),
    StoryStep(days=17.3, author=NIGHTLY, operation=_ship),
    StoryStep(days=15.6, author=BEN, operation=_forget_customers),
    StoryStep(days=14.4, author=NIGHTLY, operation=optimize),
    StoryStep(
        days=11.4,
        author=ANNA,
        operation=_add("gift_note", "what the card says"),
    ),
    StoryStep(days=9.3, author=NIGHTLY, operation=_carrier_report),
    StoryStep(days=8.6, author=BEN, operation=_forget_few),
    StoryStep(days=6.3, author=NIGHTLY, operation=_ship),
    StoryStep(days=5.6, author=BEN, operation=_forget_customers),
    StoryStep(days=3.3, author=NIGHTLY, operation=_carrier_report),
    StoryStep(days=1.3, author=NIGHTLY, operation=_ship),
]

STORY: tuple[StoryStep, ...] = tuple(
    sorted(
        [
            *_SPECIAL,
            *_trading(27.5, 42.8, NIGHTLY_OLD, 900),
            *_trading(1.0, 26.8, NIGHTLY, 1_100),
            *(
                StoryStep(days=day, author=STREAM, operation=_micro_batch(280))
                for day in _LAST_HOURS
            ),
        ],
        key=lambda step: -step.days,
    )
)
"""Every commit of the table, oldest first."""
