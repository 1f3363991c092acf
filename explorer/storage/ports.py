"""The two ports through which every byte passes.

A `ReadStore` cannot change anything: snapshots, inspection and planning hold
nothing else. A `WriteStore` is given only to the committer and to the one
maintenance executor. Paths are relative to the table's root, decoded,
with `/` between the parts.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import (
    TYPE_CHECKING,
    BinaryIO,
    Protocol,
    TypeAlias,
    TypeGuard,
    TypeVar,
    runtime_checkable,
)

from explorer.records import record

if TYPE_CHECKING:
    import pyarrow as pa

ByteRange: TypeAlias = tuple[int, int]
"""Bytes of an object from the first number to before the second."""

Heads: TypeAlias = tuple[list[bytes], list[int]]
"""The first bytes of some objects, and for each its modification time in milliseconds since
the epoch (UTC)."""

FolderStamp: TypeAlias = tuple[int, ...]
"""Numbers that are others once a name came into a folder or went from it."""

Content: TypeAlias = bytes | Iterable[bytes]
"""What an object will hold: at once, or in pieces that may be gone through again, so that
a store that tries twice writes the same."""

Port = TypeVar("Port")

_KNOWN: dict[tuple[type, type], bool] = {}


def offers(store: object, port: type[Port]) -> TypeGuard[Port]:
    """Whether a store can do what `port`, one of the protocols of stores, asks for.

    `isinstance`, but asked once for each class: Python looks through all that a protocol
    inherits each time, which was a seventh of opening a small table.
    """
    asked = (type(store), port)
    known = _KNOWN.get(asked)
    if known is None:
        known = _KNOWN[asked] = isinstance(store, port)
    return known


@record
class ObjectInfo:
    """One stored object: its name inside the folder that was listed, its size
    in bytes, and its modification time in milliseconds since the epoch (UTC). `tag` is another one
    once the object holds something else; empty where the store has none."""

    name: str
    size: int
    modified_ms: int
    tag: str = ""


class PutOutcome(enum.Enum):
    """What `put_if_absent` can honestly answer."""

    CREATED = "created"
    ALREADY_THERE = "already there"
    UNKNOWN = "unknown"


@runtime_checkable
class ReadStore(Protocol):
    """Reads below one root.

    Every method raises `NotFoundError` for what is not there and
    `StorageError` where the store refuses or fails.
    """

    @property
    def uri(self) -> str:
        """The root as it may be shown: no secret, no trailing slash."""
        ...

    def has_folder(self, folder: str) -> bool:
        """Whether `folder` is there."""
        ...

    def list_names(self, folder: str) -> list[str]:
        """Names of the objects directly inside `folder`, in any order, folders left out."""
        ...

    def list_folder(self, folder: str) -> list[ObjectInfo]:
        """The objects directly inside `folder`, sorted by name, folders left out."""
        ...

    def stat(self, path: str) -> ObjectInfo:
        """Size and modification time of one object; `name` is its last part."""
        ...

    def read(self, path: str, limit: int | None = None) -> bytes:
        """The whole object, or its first `limit` bytes."""
        ...

    def read_many(self, paths: Iterable[str], limit: int | None = None) -> Iterator[bytes]:
        """`read` of each, in the order of `paths`, fetched ahead where that helps."""
        ...

    def open_input(self, path: str) -> pa.NativeFile:
        """The object for random access; the caller closes it."""
        ...


@runtime_checkable
class RangeStore(ReadStore, Protocol):
    """A `ReadStore` where a request takes long whatever it is for, and many take no longer
    than one: worth asking for everything at once, and for nothing twice. Its listings
    bring sizes and times at no further cost."""

    def read_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[bytes]:
        """Ranges of one object, in this order, requested at once; what lies beyond its
        end is missing from the answer."""
        ...

    def list_prefix(self, folder: str, prefix: str) -> list[ObjectInfo] | None:
        """Those objects of `list_folder` whose names begin with `prefix`, without paying for
        the others; None where the store cannot."""
        ...


@runtime_checkable
class HeadStore(ReadStore, Protocol):
    """A `ReadStore` where reading a file tells its time at next to no further cost, and
    asking for the time alone costs half as much as reading."""

    def read_heads(self, folder: str, names: Sequence[str], limit: int) -> Heads:
        """The first `limit` bytes of some objects directly inside `folder`, in the order of
        `names`; all of them are held, so that one asks for some thousand at a time."""
        ...


@runtime_checkable
class StampedStore(ReadStore, Protocol):
    """A `ReadStore` that can cheaply tell whether a folder still has the same names."""

    def folder_stamp(self, folder: str, listed_ns: int) -> FolderStamp | None:
        """Equal to the one of an earlier look where `folder`, as it was listed at or after
        `listed_ns` (nanoseconds since the epoch), holds the same names still; None where
        that cannot be told, or where it changed just then."""
        ...


@runtime_checkable
class NeighbourStore(ReadStore, Protocol):
    """A `ReadStore` that can look at the folders beside its own, by the same rights."""

    def list_neighbours(self) -> list[str]:
        """Names of the other folders in the folder that its own is in, in any order; none where
        it is in no folder."""
        ...

    def open_neighbour(self, name: str) -> ReadStore:
        """What lies below one of them."""
        ...


@runtime_checkable
class PlacedStore(ReadStore, Protocol):
    """A `ReadStore` that knows what it lies in."""

    @property
    def own_name(self) -> str:
        """The name of its folder, links followed."""
        ...

    def open_around(self) -> ReadStore | None:
        """The folder that its own is in, links followed, by the same rights; None for the root of
        a file system, and for a bucket."""
        ...


@runtime_checkable
class WriteStore(ReadStore, Protocol):
    """A `ReadStore` that may also change what lies below its root."""

    def put_if_absent(self, path: str, data: Content) -> PutOutcome:
        """Create `path` with exactly `data`, or leave what is there untouched.

        Raises `UnsupportedError` where the store cannot promise that, and `UntouchedError` where
        it failed before anything was asked for; then nothing appears later. After `UNKNOWN`
        the caller re-reads; after `ALREADY_THERE` too, for what is there may be his own:
        a client that saw no answer may have sent its request again.
        """
        ...

    def write(self, path: str, data: bytes) -> None:
        """Write an object whose name nobody else uses, or which may be replaced
        (`_last_checkpoint`). Readers see the old content or the new, never a part."""
        ...

    def delete(self, path: str) -> None:
        """Remove one object; one that is already gone is not an error."""
        ...


@runtime_checkable
class OutputStore(WriteStore, Protocol):
    """A `WriteStore` that takes a large object piece by piece, so that it need not fit into
    memory."""

    def open_output(self, path: str) -> AbstractContextManager[BinaryIO]:
        """What to write an object as for `write` through. Readers see all of it once the
        block has ended, and nothing of it where the block raises."""
        ...
