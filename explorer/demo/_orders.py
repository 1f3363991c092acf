"""The orders of an online shop, made up from a seeded generator."""

from __future__ import annotations

import random
from datetime import timedelta
from decimal import Decimal

import pyarrow as pa

from explorer.protocol.schema import (
    LONG,
    STRING,
    TIMESTAMP,
    DecimalType,
    PrimitiveType,
    StructField,
    StructType,
)

PARTITION_COLUMN = "country"

FIRST_SCHEMA = StructType(
    fields=(
        StructField(name="order_id", data_type=LONG),
        StructField(name="customer_id", data_type=LONG),
        StructField(name="ordered_at", data_type=TIMESTAMP),
        StructField(name="product", data_type=STRING),
        StructField(name="quantity", data_type=PrimitiveType(name="integer")),
        StructField(name="price", data_type=DecimalType(precision=10, scale=2)),
        StructField(name="status", data_type=STRING),
        StructField(name=PARTITION_COLUMN, data_type=STRING),
    )
)
"""The schema at version 0; columns come and change their names later."""

# guests who buy without an account have no country: the null partition
_COUNTRIES = ("DE", "FR", "GB", "NL", "SE", None)
_COUNTRY_WEIGHTS = (34, 22, 20, 13, 9, 2)
_PRODUCTS = (
    ("Espresso machine", 24900),
    ("Coffee grinder", 8950),
    ("Filter papers, 100", 349),
    ("Milk jug", 1990),
    ("Cup and saucer", 1250),
    ("Beans, house blend 1 kg", 1890),
    ("Beans, decaf 250 g", 690),
    ("Kettle", 5490),
    ("Cleaning tablets", 1190),
)
_PRODUCT_WEIGHTS = (2, 4, 18, 6, 9, 30, 14, 4, 13)
_CHANNELS = ("web", "app", "marketplace")
_GIFT_NOTES = (None, "Happy birthday!", "Thank you – see you soon", "Für Oma ♥")
_FIRST_CUSTOMER, _CUSTOMERS = 10_000, 9_000

_TYPES = {
    "order_id": pa.int64(),
    "customer_id": pa.int64(),
    "ordered_at": pa.timestamp("us", "UTC"),
    "product": pa.string(),
    "quantity": pa.int32(),
    "price": pa.decimal128(10, 2),
    "status": pa.string(),
    "country": pa.string(),
    "channel": pa.string(),
    "gift_note": pa.string(),
}


def build_orders(
    rng: random.Random,
    *,
    first_id: int,
    count: int,
    until_ms: int,
    window: timedelta,
    countries: tuple[str | None, ...] = _COUNTRIES,
) -> pa.Table:
    """`count` orders placed within `window` before `until_ms` (milliseconds since the
    epoch), oldest first, with every column that the table will ever have."""
    width = window // timedelta(milliseconds=1)
    times = sorted(until_ms - int(rng.random() * width) for _ in range(count))
    products = rng.choices(_PRODUCTS, _PRODUCT_WEIGHTS, k=count)
    weights = _COUNTRY_WEIGHTS if countries is _COUNTRIES else None
    columns = {
        "order_id": range(first_id, first_id + count),
        "customer_id": [_FIRST_CUSTOMER + int(rng.random() * _CUSTOMERS) for _ in range(count)],
        "ordered_at": [time * 1000 for time in times],
        "product": [name for name, _ in products],
        "quantity": rng.choices((1, 2, 3, 5, 10), (60, 22, 10, 5, 3), k=count),
        # sales and currencies move prices a little
        "price": [
            Decimal(round(cents * (0.9 + 0.2 * rng.random()))).scaleb(-2) for _, cents in products
        ],
        "status": rng.choices(("placed", "paid", "cancelled"), (30, 65, 5), k=count),
        "country": rng.choices(countries, weights, k=count),
        "channel": rng.choices(_CHANNELS, (55, 35, 10), k=count),
        "gift_note": rng.choices(_GIFT_NOTES, (90, 4, 4, 2), k=count),
    }
    return pa.table({name: pa.array(columns[name], kind) for name, kind in _TYPES.items()})
