"""The registry of table features and what a table supports (spec: Table Features).

A feature is *supported* when the protocol has it, by a listed name or by the
number of a version below those that list names; it is *active* when it is
supported and its metadata requirements are met.

A protocol that lists a feature for readers in only one of its two lists contradicts
itself, and clients go by either list. What that means is decided here, for every feature:
it is supported. Its data is read by its rules, because without them values come back as
nulls and deleted rows as live ones; the protocol has a problem (`validate_protocol`); and
nothing is committed before a protocol lists it in both (`half_listed_features`), because
whoever goes by the other list would read the new files without those rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

from explorer.errors import Problem, UnsupportedError
from explorer.protocol.actions import Metadata, Protocol
from explorer.protocol.features.legacy import LEGACY_FEATURES
from explorer.protocol.features.named import NAMED_FEATURES
from explorer.protocol.features.proposed import PROPOSED_FEATURES
from explorer.protocol.features.table_feature import TableFacts, TableFeature

if TYPE_CHECKING:
    from explorer.protocol.schema import StructType

READER_FEATURES_VERSION: Final = 3
"""The reader version that lists features by name, and the newest one known."""

WRITER_FEATURES_VERSION: Final = 7
"""The writer version that lists features by name, and the newest one known."""

FEATURES: Final[Mapping[str, TableFeature]] = MappingProxyType(
    {item.name: item for item in (*LEGACY_FEATURES, *NAMED_FEATURES, *PROPOSED_FEATURES)}
)
"""Every known feature by name, in the order in which features are shown."""

TIMESTAMP_FEATURES: Final = ("inCommitTimestamp", "inCommitTimestamp-preview")
"""The names under which commits carry their own times."""

_SHOWN_CHARACTERS: Final = 120
_SHOWN_NAMES: Final = 20

_BY_SPELLING: Final[Mapping[str, TableFeature]] = MappingProxyType(
    {
        spelling.lower(): item
        for item in FEATURES.values()
        for spelling in (item.name, *item.aliases)
    }
)

_CATALOG_FEATURES: Final = frozenset({"catalogManaged", "catalogOwned-preview"})
_UNREADABLE: Final = "The table cannot be read: "


def find_feature(name: str) -> TableFeature | None:
    """The entry for a name in a protocol, or None; old spellings count, and so, as in the
    reference, does any mixture of upper and lower case."""
    return _BY_SPELLING.get(name.lower())


def entry_name(name: str) -> str:
    """The name of the entry for a name in a protocol; one that is not known stays as it is."""
    item = find_feature(name)
    return name if item is None else item.name


def listed_features(protocol: Protocol) -> tuple[str, ...]:
    """The names in both lists of a protocol, known ones under the name of their entry."""
    names = (*(protocol.reader_features or ()), *(protocol.writer_features or ()))
    return _in_order(names)


@lru_cache(maxsize=16)  # asked by every rule of a commit
def supported_features(protocol: Protocol) -> tuple[str, ...]:
    """The features that a protocol supports: known ones in registry order, then the others.

    Writer version 7 supports only what is listed; below it the number gives
    support. A feature for readers too needs the number of both.
    """
    by_number = [item.name for item in FEATURES.values() if _is_implied(item, protocol)]
    return _in_order((*by_number, *listed_features(protocol)))


def is_supported(protocol: Protocol, name: str) -> bool:
    """Whether a protocol supports the feature called `name`, under any spelling of it."""
    return entry_name(name) in supported_features(protocol)


def binds_readers(protocol: Protocol, name: str) -> bool:
    """Whether readers go by a feature: it is supported, or the reader version alone has it."""
    item = find_feature(name)
    return is_supported(protocol, name) or (item is not None and _is_read_by_number(item, protocol))


@dataclass(frozen=True, slots=True)
class HalfListing:
    """A feature, as the protocol spells it, and the only list that has it."""

    name: str
    listed_for: Literal["readers", "writers"]


@lru_cache(maxsize=16)  # asked where a table is opened and by every commit
def half_listed_features(protocol: Protocol) -> tuple[HalfListing, ...]:
    """What one list has and the other, or the number in its place, does not: names for
    readers alone, which belong into both lists, then features for readers and writers that
    writers alone are told of."""
    readers, writers = protocol.reader_features or (), protocol.writer_features or ()
    read, written = set(map(entry_name, readers)), set(map(entry_name, writers))
    read.update(item.name for item in FEATURES.values() if _is_read_by_number(item, protocol))
    written.update(item.name for item in FEATURES.values() if _is_implied(item, protocol))
    alone = [HalfListing(name, "readers") for name in readers if entry_name(name) not in written]
    alone += [
        HalfListing(name, "writers")
        for name in writers
        if (item := find_feature(name)) is not None
        and item.kind == "reader-writer"
        and item.name not in read
    ]
    return tuple(dict.fromkeys(alone))


def is_catalog_managed(protocol: Protocol) -> bool:
    """Whether a catalog decides which commits of the table count."""
    return any(is_supported(protocol, name) for name in _CATALOG_FEATURES)


def is_active(
    name: str,
    protocol: Protocol,
    metadata: Metadata,
    schema: StructType | None,
    domains: Mapping[str, str] | None = None,
) -> bool:
    """Whether a feature is supported and its metadata requirements are met.

    Without a readable schema, what only columns could tell counts as absent, and so does what
    only `domains` (their configurations, by name) could tell without these. Of a feature that
    is not known nothing more can be told than that it is listed: it does not count as active.
    """
    item = find_feature(name)
    if item is None or not is_supported(protocol, name):
        return False
    return item.is_active(TableFacts(metadata=metadata, schema=schema, domains=domains))


def active_features(
    protocol: Protocol,
    metadata: Metadata,
    schema: StructType | None,
    domains: Mapping[str, str] | None = None,
) -> tuple[str, ...]:
    """The features of a table that are active, in the order of `supported_features`; see
    `is_active`."""
    facts = TableFacts(metadata=metadata, schema=schema, domains=domains)
    found = ((name, find_feature(name)) for name in supported_features(protocol))
    return tuple(name for name, item in found if item is not None and item.is_active(facts))


def validate_reader(protocol: Protocol) -> list[Problem]:
    """Every reason why this engine must not read a table; none where it may.

    Names that only `writerFeatures` has stand in a reader's way where they are those of
    features for readers too; unknown ones never do.
    """
    return list(_obstacles(protocol))


def obstacles_in_words(problems: Iterable[Problem]) -> str:
    """`unsupported reader feature x; …`: what `validate_reader` found, without whose it is."""
    return "; ".join(item.problem.removeprefix(_UNREADABLE).removesuffix(".") for item in problems)


def check_reader(protocol: Protocol, uri: str) -> None:
    """Raise `UnsupportedError` where this engine must not read the table at `uri`."""
    problems = validate_reader(protocol)
    if not problems:
        return
    first = problems[0]
    raise UnsupportedError(
        f"The table at {uri} cannot be read: {obstacles_in_words(problems)}.",
        reason=" ".join(dict.fromkeys(item.reason for item in problems)),
        remedy=" ".join(dict.fromkeys(item.remedy for item in problems)),
        kind=first.kind,
        spec=first.spec,
    )


def _is_implied(item: TableFeature, protocol: Protocol) -> bool:
    if item.legacy_min_writer is None:
        return False
    if not item.legacy_min_writer <= protocol.min_writer_version < WRITER_FEATURES_VERSION:
        return False
    if item.legacy_min_reader is None:
        return True
    return item.legacy_min_reader <= protocol.min_reader_version < READER_FEATURES_VERSION


def _is_read_by_number(item: TableFeature, protocol: Protocol) -> bool:
    """Whether the reader version has it; from writer version 7 on the list decides too."""
    least = item.legacy_min_reader
    if least is None or not least <= protocol.min_reader_version < READER_FEATURES_VERSION:
        return False
    if protocol.min_writer_version < WRITER_FEATURES_VERSION:
        return True
    return item.name in map(entry_name, protocol.writer_features or ())


def _in_order(names: Iterable[str]) -> tuple[str, ...]:
    known: set[str] = set()
    others: dict[str, None] = {}
    for name in names:
        if (item := find_feature(name)) is None:
            others[name] = None
        else:
            known.add(item.name)
    return (*(name for name in FEATURES if name in known), *others)


def _obstacles(protocol: Protocol) -> Iterator[Problem]:
    version = protocol.min_reader_version
    if version > READER_FEATURES_VERSION:
        yield Problem(
            kind="unsupported_feature",
            problem=f"{_UNREADABLE}unsupported reader version {version}.",
            reason=f"The newest version known here is {READER_FEATURES_VERSION}; "
            "what a newer one asks of readers must not be guessed.",
            remedy="Read it with a newer release, or with the engine that wrote it.",
            spec="Reader Version Requirements",
        )
    if version == READER_FEATURES_VERSION and protocol.reader_features is None:
        yield Problem(
            kind="log_corrupt",
            problem=f"{_UNREADABLE}reader version {version} without a list of reader features.",
            reason="At this version the list says what a reader must know; "
            "without it any answer would be a guess.",
            remedy="Restore the commit that wrote the protocol.",
            spec="Table Features",
        )
    halves = (half.name for half in half_listed_features(protocol))
    yield from _feature_obstacles((*(protocol.reader_features or ()), *halves))


def _listed(names: list[str]) -> str:
    """Names for a message, which a hostile protocol must not blow up."""
    shown = [name if len(name) <= _SHOWN_CHARACTERS else f"{name[:117]}..." for name in names]
    more = len(shown) - _SHOWN_NAMES
    return ", ".join(shown[:_SHOWN_NAMES]) + (f" and {more} more" if more > 0 else "")


def _feature_obstacles(names: tuple[str, ...]) -> Iterator[Problem]:
    # listed below version 3 they do not belong there, but a reader may never ignore them
    entries = {name: find_feature(name) for name in names}
    unknown = [
        name
        for name, item in entries.items()
        if item is None or not (item.reads or item.name in _CATALOG_FEATURES)
    ]
    if unknown:
        known = [item for name in unknown if (item := entries[name]) is not None]
        yield Problem(
            kind="unsupported_feature",
            problem=f"{_UNREADABLE}unsupported reader feature {_listed(unknown)}.",
            reason=_why([name for name in unknown if entries[name] is None], known),
            remedy=f"Read it with a newer release, or with {_readers(known)}; "
            "protocol, history and log are still shown.",
            spec="Table Features",
        )
    catalog = [
        item for item in entries.values() if item is not None and item.name in _CATALOG_FEATURES
    ]
    if catalog:
        yield Problem(
            kind="catalog_managed",
            problem=f"{_UNREADABLE}catalog-managed table: cannot be read without its catalog.",
            reason="The catalog decides which commits count; the files may lag behind. "
            + catalog[0].if_ignored,
            remedy=f"Read it through its catalog, with {_readers(catalog)}; protocol, history and "
            "log are still shown as published.",
            spec=FEATURES["catalogManaged"].spec,
        )


def _why(unknown: list[str], known: list[TableFeature]) -> str:
    """What would go wrong without the features."""
    texts = [f"{item.name}: {item.description} {item.if_ignored}" for item in known]
    if unknown:
        texts.append(
            f"{_listed(unknown)}: not known here. A writer lists a reader feature where reading "
            "without it gives wrong rows, so a reader must support all of them."
        )
    return " ".join(texts)


def _readers(known: list[TableFeature]) -> str:
    releases = dict.fromkeys(item.read_by for item in known if item.read_by)
    since = " and ".join(f"{release} or newer" for release in releases)
    return since or "the engine that wrote it"
