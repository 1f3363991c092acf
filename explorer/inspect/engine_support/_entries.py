"""Entries of `engines.yaml`: lists, cells, conditions and where they come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias

from explorer.inspect.engine_support._cells import (
    NO,
    YES,
    Evidence,
    Support,
    parse_evidence,
    parse_reading,
    parse_writing,
    parse_writing_condition,
    weakest,
)
from explorer.inspect.engine_support._releases import Ability
from explorer.protocol.features.registry import (
    FEATURES,
    READER_FEATURES_VERSION,
    WRITER_FEATURES_VERSION,
)

Entry: TypeAlias = Mapping[str, Any]
"""An engine or a release as the file has it."""

Direction: TypeAlias = Literal["read", "write"]

NAMES_OF_CELLS: Final = {"liquid_clustering": "clustering"}
"""How a source calls a feature -> its name."""

_LEGACY: Final = "legacy only: everything up to these versions, no table features"
_FLAG: Final = Support(verdict="conditional", text="only if built with its flag")
_THROUGH_CATALOG: Final = Support(verdict="conditional", text="only through its catalog")
_CATALOG_FEATURES: Final = ("catalogManaged", "catalogOwned-preview")
_NOT_LOOKED_FOR: Final = Support(verdict="unknown", text="not researched")
_NEWEST: Final = {"read": READER_FEATURES_VERSION, "write": WRITER_FEATURES_VERSION}
_MAX_VERSION: Final = {"read": "max_reader_version", "write": "max_writer_version"}


def ability_of_list(
    entry: Entry, item: Entry, direction: Direction, collected: frozenset[str]
) -> Ability:
    """From a whole list: what it does not have, the release does not know.

    `collected` are the features that were looked for; of those that only we know nothing
    can be said. A text where the list should stand says nothing either.
    """
    newest: int = item.get(_MAX_VERSION[direction], _NEWEST[direction])
    names = item.get(direction)
    if item.get("features") == _LEGACY:
        names = list(_legacy_features(direction, newest))
    if not isinstance(names, list):
        evidence = weakest_evidence(entry, item)
        return Ability(max_version=item.get(_MAX_VERSION[direction]), evidence=evidence)
    flagged = dict.fromkeys(item.get("behind_build_flag", ()), _FLAG)
    ours = {name: _NOT_LOOKED_FOR for name in FEATURES if name not in collected}
    conditions = {
        **{name: text for name, text in _conditions(entry, direction) if name in names},
        **dict(_conditions(item, direction)),
    }
    features = {
        **ours,
        **flagged,
        **dict.fromkeys(names, YES),
        **{name: _THROUGH_CATALOG for name in _CATALOG_FEATURES if name in names},
        **{name: parse_writing_condition(text) for name, text in conditions.items()},
    }
    return Ability(
        features=features,
        others=NO,
        max_version=newest,
        names_only=bool(item.get("names_only") or entry.get("names_only")),
        evidence=weakest_evidence(entry, item),
    )


def ability_of_cells(entry: Entry, item: Entry, direction: Direction) -> Ability:
    """From short texts, feature by feature; of the others nothing is known."""
    cells = entry.get("features", {}).get(direction, {})
    parse = parse_reading if direction == "read" else parse_writing
    evidence = weakest_evidence(entry, item)
    if isinstance(cells, str):
        found = parse(cells)
        if found.verdict != "no":
            return Ability(evidence=evidence)
        return Ability(never=found.text or cells, evidence=evidence)
    supports = {NAMES_OF_CELLS.get(name, name): parse(text) for name, text in cells.items()}
    return Ability(
        features=supports,
        max_version=entry.get(_MAX_VERSION[direction]),
        by_name=supports.pop("table_features", None),
        evidence=evidence,
    )


def weakest_evidence(entry: Entry, item: Entry) -> Evidence:
    """What a row rests on: its own confidence, the engine's, or the weakest of its claims."""
    confidence = item.get("confidence") or entry.get("confidence")
    if confidence is not None:
        return parse_evidence(confidence)
    return weakest([parse_evidence(claim["confidence"]) for claim in entry.get("claims", ())])


def source_of(entry: Entry, item: Entry) -> str | None:
    """The address of a row: its own, the engine's, or that of the first claim."""
    addresses = [item.get("source"), entry.get("source")]
    addresses += [claim["source"] for claim in entry.get("claims", ())]
    return next((address for address in addresses if address), None)


def notes_of(entry: Entry, item: Entry) -> tuple[str, ...]:
    """What else the file says, those about the release first."""
    return tuple(_notes(entry, item))


def _notes(entry: Entry, item: Entry) -> Iterator[str]:
    if "disabled" in item:
        yield f"disabled since {item['disabled']}"
    for row in (item, entry):
        if "note" in row:
            yield row["note"]
    yield from entry.get("notes", ())
    for claim in entry.get("claims", ()):
        day = f"{claim['as_of']}, " if "as_of" in claim else ""
        yield f"{claim['claim']} ({day}{claim['confidence']}: {claim['source']})"


def _conditions(row: Entry, direction: Direction) -> Iterator[tuple[str, str]]:
    yield from row.get(f"{direction}_conditional", {}).items()


def _legacy_features(direction: Direction, newest: int) -> Iterator[str]:
    for name, feature in FEATURES.items():
        version = feature.legacy_min_reader if direction == "read" else feature.legacy_min_writer
        if version is not None and version <= newest:
            yield name
