"""What a table has for the fields of a form to offer: the features and columns that may be
named."""

from __future__ import annotations

from collections.abc import Mapping

from explorer.maintenance.features.drop_rules import DROP_RULES
from explorer.maintenance.features.upgrade_rules import RULES
from explorer.protocol.features.registry import is_supported, supported_features
from widgets.session.operations import Operation
from widgets.session.tables import TableService, read_column_names

Offers = Mapping[str, tuple[str, ...]]
"""By the names of the fields."""


def read_offers(service: TableService, operation: Operation) -> Offers:
    """What the newest version lets a person choose in the fields of an operation; raises
    `DeltaError` where it cannot be read."""
    named = [field.name for field in operation.fields if field.kind == "sql"]
    if named:
        names = read_column_names(service, service.table.latest_version())
        return dict.fromkeys(named, names)
    if operation.name not in {"upgrade", "drop-feature"}:
        return {}
    protocol = service.table.snapshot().protocol
    if operation.name == "upgrade":
        return {"features": tuple(name for name in RULES if not is_supported(protocol, name))}
    held = supported_features(protocol)
    return {"feature": tuple(name for name in DROP_RULES if name in held)}
