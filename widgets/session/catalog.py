"""The tables that a page offers: named one by one, in a file, or found below a folder.

A catalog file is YAML or TOML:

    tables:
      - uri: s3://lake/orders
        name: Orders
        storage_options: {key: "${ORDERS_KEY}", secret: "${ORDERS_SECRET}"}
      - /lake/customers
    roots:
      - s3://lake/archive

`roots` are places whose tables may be opened, and where the logs of tables may lead, without
being offered. `${NAME}` within storage options is read from the environment, so that no
secret need stand in the file.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from explorer.errors import DeltaError, InvalidArgumentError
from explorer.progress import Watch
from explorer.storage.local_file import read_local_text
from explorer.storage.location import parse_location
from explorer.storage.open import open_read_store
from explorer.storage.ports import offers
from explorer.storage.tree import TreeStore

LOG = "_delta_log"
MOST_TABLES = 1_000
"""Of a scan; a page with more of them is a file of names."""
MOST_FOLDERS = 50_000
DEEPEST = 8

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_KEYS = {"uri", "name", "storage_options"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """One table of a catalog. `target` and `storage_options` may hold secrets, and are in no
    text of this object; `shown` holds none."""

    target: str = field(repr=False)
    name: str = ""
    storage_options: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def shown(self) -> str:
        """The place as it may be shown."""
        return parse_location(self.target).shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """What is offered, and further places that may be opened."""

    tables: tuple[Offered, ...] = ()
    roots: tuple[str, ...] = field(default=(), repr=False)

    def places(self) -> tuple[str, ...]:
        """Everything that this catalog allows to be opened."""
        return (*(table.target for table in self.tables), *self.roots)


def read_catalog(file: str | os.PathLike[str]) -> Catalog:
    """The catalog in a YAML or TOML file; raises `InvalidArgumentError`."""
    path = Path(file)
    try:
        text = read_local_text(path)
        document = tomllib.loads(text) if path.suffix == ".toml" else yaml.safe_load(text)
    except OSError as error:
        raise _unreadable(path, error.strerror or "The system refused.") from error
    except (ValueError, yaml.YAMLError):
        # the text of such an error quotes the file, and that may hold secrets
        form = "TOML" if path.suffix == ".toml" else "YAML"
        raise _unreadable(path, f"It is no {form}.") from None
    return parse_catalog(document, str(path), os.environ)


def parse_catalog(document: Any, place: str, environment: Mapping[str, str]) -> Catalog:
    """A catalog from its document. No message repeats a value, for it may be a secret."""
    if not isinstance(document, dict) or not document.keys() <= {"tables", "roots"}:
        raise _unreadable(place, "It holds something else than `tables` and `roots`.")
    tables, roots = document.get("tables") or [], document.get("roots") or []
    if not isinstance(tables, list) or not isinstance(roots, list):
        raise _unreadable(place, "`tables` and `roots` are lists.")
    for number, root in enumerate(roots, 1):
        _check_place(root, f"{place}, root {number}")
    return Catalog(
        tables=tuple(
            _parse_table(entry, f"{place}, table {number}", environment)
            for number, entry in enumerate(tables, 1)
        ),
        roots=tuple(roots),
    )


def _parse_table(entry: Any, place: str, environment: Mapping[str, str]) -> Offered:
    if isinstance(entry, str):
        entry = {"uri": entry}
    if not isinstance(entry, dict) or not entry.keys() <= _KEYS:
        raise _unreadable(place, "A table has `uri`, and may have `name` and `storage_options`.")
    _check_place(entry.get("uri"), place)
    name, options = entry.get("name") or "", entry.get("storage_options") or {}
    if not isinstance(name, str) or not isinstance(options, dict):
        raise _unreadable(place, "`name` is a text and `storage_options` is a mapping.")
    return Offered(
        target=entry["uri"],
        name=name,
        storage_options={str(key): _fill(value, place, environment)
                         for key, value in options.items()},
    )  # fmt: skip


def _check_place(uri: Any, place: str) -> None:
    if not isinstance(uri, str):
        raise _unreadable(place, "A place is a text, a folder or a URL.")
    try:
        parse_location(uri)
    except InvalidArgumentError as error:
        raise _unreadable(place, error.reason) from error


def _fill(value: Any, place: str, environment: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _fill(inner, place, environment) for key, inner in value.items()}
    if not isinstance(value, str):
        return value

    def look_up(match: re.Match[str]) -> str:
        if match[1] not in environment:
            raise _unreadable(place, f"The environment has no variable {match[1]}.")
        return environment[match[1]]

    return _VARIABLE.sub(look_up, value)


def _unreadable(place: object, reason: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"The catalog {place} cannot be used.",
        reason=reason,
        remedy="Write `tables:` with a list of places, each a text or with `uri:`, `name:` and "
        "`storage_options:`, and optionally `roots:`.",
    )


def scan_tables(
    root: str, storage_options: Mapping[str, Any] | None, watch: Watch
) -> Iterator[Offered]:
    """The tables below a folder or URL, by name, folder after folder.

    What lies within a table is not looked into, hidden folders and links are not followed,
    and the search ends at `MOST_TABLES` tables, `MOST_FOLDERS` folders and `DEEPEST` levels.
    Raises `DeltaError` where the root cannot be listed, and `CancelledError`.
    """
    store = open_read_store(root, storage_options)
    if not offers(store, TreeStore):
        raise InvalidArgumentError(
            "This store cannot be searched for tables.",
            reason="It does not list folders.",
            remedy="Name its tables in a catalog file.",
        )
    level, found, looked = [""], 0, 0
    for _ in range(DEEPEST + 1):
        deeper: list[str] = []
        for folder in level:
            watch.step(found, None, f"Looking for tables, in folder {looked + 1:,}")
            looked += 1
            inside = _folders(store, folder, is_root=not folder)
            if LOG in inside:
                yield Offered(target=f"{root.rstrip('/')}/{folder}" if folder else root)
                found += 1
            else:
                start = f"{folder}/" if folder else ""
                deeper += [start + name for name in sorted(inside) if name[0] not in "._"]
            if found >= MOST_TABLES or looked >= MOST_FOLDERS:
                return
        level = deeper


def _folders(store: TreeStore, folder: str, *, is_root: bool) -> Sequence[str]:
    try:
        return [name for piece in store.list_pieces(folder) for name in piece.folders if name]
    except DeltaError:
        if is_root:
            raise
        return []  # one folder that is refused or gone hides no other
