"""The matrix of engines that travels with the package: `engines.yaml`, as values.

The file keeps what was collected, each row with its source, date and confidence. Some
rows are whole lists parsed from source code, some are short texts of a documentation,
and some engines are built upon another one, whose lists then count for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, Final, TypeAlias

from explorer.inspect.engine_support._cells import (
    UNKNOWN,
    Support,
    parse_reading,
    parse_runtimes,
    parse_writing,
    release_number,
    weakest,
)
from explorer.inspect.engine_support._entries import (
    NAMES_OF_CELLS,
    Entry,
    ability_of_cells,
    ability_of_list,
    notes_of,
    source_of,
    weakest_evidence,
)
from explorer.inspect.engine_support._releases import Ability, Engine, Release
from explorer.protocol.features.registry import FEATURES

_DATA: Final = "engines.yaml"
_Number: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Span:
    """A release that others may be built upon, and up to which one its lists count;
    None where they count up to the next one."""

    first: _Number
    last: _Number | None
    release: Release


@cache
def collected_engines() -> tuple[Engine, ...]:
    """Every engine of the file, in its order."""
    document = _read_document()
    default = str(document["meta"]["collected"])
    spans: dict[str, list[_Span]] = {}
    found: list[Engine] = []
    for entry in document["engines"]:
        for engine in _engines_of(entry, frozenset(document["features"]), spans):
            dated = tuple(replace(item, as_of=item.as_of or default) for item in engine.releases)
            found.append(replace(engine, releases=dated))
        spans[entry["id"]] = list(_spans(entry, found[-1]))
    return tuple(found)


def _read_document() -> Any:
    import yaml  # opening a table does without

    data = files("explorer.inspect.engine_support").joinpath(_DATA).read_bytes()
    # the one in C is ten times faster, and not everywhere
    return yaml.load(data, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def _engines_of(
    entry: Entry, collected: frozenset[str], spans: Mapping[str, list[_Span]]
) -> Iterator[Engine]:
    if "workloads" in entry:
        yield from _workloads(entry, collected, spans)
        return
    name, kind = entry["name"], entry["kind"]
    if "min_runtime" in entry:
        releases = [_runtimes(entry)]
    elif "releases" in entry:
        listed = sorted(entry["releases"], key=lambda item: release_number(item["version"]))
        releases = [_release(entry, item, collected, spans) for item in listed]
    elif "history" in entry:
        releases = [_period(entry, item) for item in entry["history"]]
    else:
        releases = [_release(entry, {}, collected, spans)]
    yield Engine(id=entry["id"], name=name, kind=kind, releases=tuple(releases))


def _workloads(
    entry: Entry, collected: frozenset[str], spans: Mapping[str, list[_Span]]
) -> Iterator[Engine]:
    """The workloads of a service, and last its Spark, whose runtimes are built upon releases
    of the reference; those tell more than the cells of the same runtime."""
    names = {f"Spark runtime {item['runtime']}" for item in entry["runtimes"]}
    for workload in entry["workloads"]:
        if workload["workload"] not in names:
            yield _workload(entry, workload)
    # the day is that of the cells
    spark = {**entry, "derives_from": "delta-spark", "as_of": None}
    releases = [
        _release(
            spark,
            {**item, "version": item["runtime"], "source": entry["runtimes_source"]},
            collected,
            spans,
        )
        for item in sorted(entry["runtimes"], key=lambda item: release_number(item["runtime"]))
    ]
    yield _part(entry, "Spark runtime", tuple(releases))


def _part(entry: Entry, name: str, releases: tuple[Release, ...]) -> Engine:
    service = str(entry["name"]).removesuffix(" workloads")
    return Engine(
        id=f"{entry['id']}: {name}",
        name=f"{service}: {name}",
        kind=entry["kind"],
        releases=releases,
    )


def _release(
    entry: Entry, item: Entry, collected: frozenset[str], spans: Mapping[str, list[_Span]]
) -> Release:
    """A release with lists, built upon another engine, or with nothing but cells."""
    notes = notes_of(entry, item)
    if (base := _base(entry, item, spans)) is not None:
        return _derived(entry, item, base)
    if isinstance(item.get("read"), list) or isinstance(item.get("features"), str):
        read = ability_of_list(entry, item, "read", collected)
        write = ability_of_list(entry, item, "write", collected)
    else:
        read = ability_of_cells(entry, item, "read")
        write = ability_of_cells(entry, item, "write")
    return Release(
        version=item.get("version"),
        released=item.get("released"),
        read=read,
        write=write,
        source=source_of(entry, item),
        as_of=item.get("as_of") or entry.get("as_of"),
        notes=notes,
    )


def _base(entry: Entry, item: Entry, spans: Mapping[str, list[_Span]]) -> Release | None:
    """The release that this one is built upon, where the file says which."""
    version = item.get("kernel") or item.get("delta")
    engine = str(entry.get("derives_from", "")).partition(" ")[0]
    if version is None or engine not in spans:
        return None
    wanted = release_number(version)
    older = [span for span in spans[engine] if span.first <= wanted]
    if not older or (older[-1].last is not None and older[-1].last < wanted):
        return None
    return older[-1].release


def _derived(entry: Entry, item: Entry, base: Release) -> Release:
    scope, own = str(entry["derives_from"]), weakest_evidence(entry, item)
    engine = scope.partition(" ")[0]
    read = replace(base.read, evidence=weakest([own, base.read.evidence]))
    write = replace(base.write, evidence=weakest([own, base.write.evidence]))
    if "read set" in scope:
        write = ability_of_cells(entry, item, "write")
    version = item.get("kernel") or item.get("delta")
    said = f"is built upon {engine} {version}, whose list is at {base.source}"
    return Release(
        version=item["version"],
        released=item.get("released"),
        read=read,
        write=write,
        source=source_of(entry, item),
        as_of=item.get("as_of") or entry.get("as_of"),
        notes=(said, *notes_of(entry, item)),
    )


def _period(entry: Entry, item: Entry) -> Release:
    """A service as it was since a day; features stand beside the other fields."""
    cells = {name: parse_reading(text) for name, text in item.items() if name in FEATURES}
    evidence = weakest_evidence(entry, item)
    read = Ability(features=cells, max_version=item["max_reader_version"], evidence=evidence)
    return Release(
        version=item["since"],
        released=item["since"],
        read=read,
        write=ability_of_cells(entry, item, "write"),
        source=source_of(entry, item),
        as_of=entry.get("as_of"),
        notes=notes_of(entry, item),
    )


def _workload(entry: Entry, item: Entry) -> Engine:
    """One workload of a service. Its cells do not tell reading from writing, so that a yes
    counts for reading alone, and a no for both."""
    cells = {
        NAMES_OF_CELLS.get(name, name): text for name, text in item.items() if name != "workload"
    }
    evidence = weakest_evidence(entry, item)
    never = cells.pop("read", None)
    read = Ability(
        features={name: parse_reading(text) for name, text in cells.items()},
        never=None if never is None else parse_reading(never).text,
        evidence=evidence,
    )
    writing = {name: parse_writing(text) for name, text in cells.items()}
    write = Ability(
        features={
            name: found if found.verdict == "no" else UNKNOWN for name, found in writing.items()
        },
        evidence=evidence,
    )
    release = Release(
        version=None,
        released=None,
        read=read,
        write=write,
        source=source_of(entry, item),
        as_of=entry.get("as_of"),
        notes=notes_of(entry, item),
    )
    return _part(entry, item["workload"], (release,))


def _runtimes(entry: Entry) -> Release:
    """A service of which is known since which runtime it has each feature."""
    both = {name: parse_runtimes(text) for name, text in entry["min_runtime"].items()}
    by_name = both.pop("table_features", (None, None))
    evidence = weakest_evidence(entry, {})
    reading = {name: read for name, (read, _) in both.items()}
    writing = _with_older_versions({name: write for name, (_, write) in both.items()})
    return Release(
        version=None,
        released=None,
        read=Ability(features=reading, by_name=by_name[0], evidence=evidence),
        write=Ability(features=writing, by_name=by_name[1], evidence=evidence),
        source=source_of(entry, {}),
        as_of=entry.get("as_of"),
        notes=notes_of(entry, {}),
    )


def _with_older_versions(cells: Mapping[str, Support]) -> dict[str, Support]:
    """A writer version has everything of the versions below it, so that a runtime that has
    a feature of a higher one has the features of the lower ones too."""
    legacy = [
        (FEATURES[name].legacy_min_writer or 0, found)
        for name, found in cells.items()
        if name in FEATURES and FEATURES[name].legacy_min_writer and found.since is not None
    ]
    filled = dict(cells)
    for name, item in FEATURES.items():
        above = [found for version, found in legacy if version > (item.legacy_min_writer or 99)]
        if name not in cells and above:
            filled[name] = min(above, key=lambda found: release_number(found.since or ""))
    return filled


def _spans(entry: Entry, engine: Engine) -> Iterator[_Span]:
    open_ended = {item["version"]: "applies_until" in item for item in entry.get("releases", ())}
    for release in engine.releases:
        version = release.version
        if version is None or "<" in version:
            continue
        first, _, last = version.partition(" - ")
        end = None if open_ended.get(version) else release_number(last or first)
        yield _Span(first=release_number(first), last=end, release=release)
