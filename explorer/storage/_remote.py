"""Every store that fsspec reaches, read through its own implementation.

No listing comes from fsspec's cache (new commits would go unseen) and no
instance is shared between callers (credentials would be).
"""

from __future__ import annotations

import contextlib
import copy
import inspect
from asyncio import run_coroutine_threadsafe
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import fsspec
import pyarrow as pa

from explorer.cycle_collector import with_fewer_searches
from explorer.errors import (
    DeltaError,
    InvalidArgumentError,
    NotFoundError,
    StorageError,
    UnsupportedError,
)
from explorer.storage._s3_session import prepare_session
from explorer.storage.concurrent_reads import (
    MOST_CONCURRENT,
    MOST_WITHOUT_THREADS,
    run_concurrently,
)
from explorer.storage.location import Location
from explorer.storage.ports import ByteRange, ObjectInfo
from explorer.storage.ranged_file import RangedFile
from explorer.storage.tree import FolderPiece

if TYPE_CHECKING:
    from concurrent.futures import Future

_USER_AGENT = "delta-explorer"

# of one object; several are often read at once
_RANGES_AT_ONCE = 8

_EXTRAS = {
    "s3": "s3",
    "s3a": "s3",
    "gs": "gcs",
    "gcs": "gcs",
    "abfs": "azure",
    "abfss": "azure",
    "az": "azure",
}

# the options that say which account of Azure; abfss:// has it in its address
_ACCOUNTS = frozenset({"account_name", "connection_string"})


class RemoteStore:
    """A `RangeStore` over an fsspec file system."""

    def __init__(self, location: Location, storage_options: Mapping[str, Any]) -> None:
        self._shown = location.shown
        try:
            file_system, root = fsspec.core.url_to_fs(
                location.target,
                use_listings_cache=False,
                skip_instance_cache=True,
                **_with_connections(location.scheme, storage_options),
            )
        except ImportError as error:
            raise _missing(location) from error
        except (ValueError, TypeError) as error:
            if location.scheme in _EXTRAS and str(error).startswith("Protocol not known"):
                raise _missing(location) from error
            if _EXTRAS.get(location.scheme) == "azure" and not _ACCOUNTS & storage_options.keys():
                raise _without_account(location) from error
            raise InvalidArgumentError(
                f"{self._shown} cannot be opened.",
                reason=f"The scheme {location.scheme}:// or a storage option is not known, or the "
                "value of an option is not understood.",
                remedy="Check the URL, and the names and values of the storage options.",
            ) from error
        # some clients ask somebody whether a token is good, each with its own errors
        except Exception as error:  # noqa: BLE001  # see above
            raise StorageError(
                f"{self._shown} cannot be opened.",
                reason=f"The client of the store failed with {type(error).__name__}.",
                remedy="Check the address, the network and the credentials, then try again.",
            ) from None  # its words may hold the token, and a traceback would show them
        prepare_session(file_system)
        self._fs: Any = file_system
        self._whole = _in_one_request(file_system)
        self._root = str(root).rstrip("/")

    def __repr__(self) -> str:
        """The root, without secrets."""
        return f"RemoteStore({self._shown!r})"

    @property
    def uri(self) -> str:
        """The root as it may be shown."""
        return self._shown

    def _full(self, path: str) -> str:
        if "://" in path:
            return str(self._fs._strip_protocol(path))
        return f"{self._root}/{path}" if path else self._root

    def has_folder(self, folder: str) -> bool:
        """Whether `folder` is there: on object stores, whether anything lies below it."""
        # not `isdir`: it takes a store that fails for a folder that is not there
        with speaking_of(folder, self._shown):
            try:
                found = self._fs.info(self._full(folder))
            except (FileNotFoundError, NotADirectoryError):
                return False
            return bool(found.get("type") == "directory")

    def list_names(self, folder: str) -> list[str]:
        """Names of the objects directly inside `folder`, sorted."""
        return [info.name for info in self.list_folder(folder)]

    def list_folder(self, folder: str) -> list[ObjectInfo]:
        """The objects directly inside `folder`, sorted by name."""
        full = self._full(folder)
        with speaking_of(folder, self._shown):
            self._fs.invalidate_cache(full)
            entries = self._fs.ls(full, detail=True)
        found = [_info(entry) for entry in entries if entry.get("type") != "directory"]
        # object stores may list a marker for the folder itself
        return sorted((info for info in found if info.name), key=lambda info: info.name)

    def list_prefix(self, folder: str, prefix: str) -> list[ObjectInfo] | None:
        """Those whose names begin with `prefix`, where the implementation says how."""
        if "prefix" not in inspect.signature(self._fs.find).parameters:
            return None
        full = self._full(folder)
        with speaking_of(folder, self._shown):
            try:
                entries = self._fs.find(full, prefix=prefix, detail=True).values()
            except FileNotFoundError:
                return []
        inside = len(full.strip("/").split("/")) + 1
        return [
            _info(entry)
            for entry in entries
            if entry.get("type") != "directory"
            and len(str(entry["name"]).strip("/").split("/")) == inside
        ]

    def list_neighbours(self) -> list[str]:
        """The other folders beside this one."""
        parent, _, own = self._root.rpartition("/")
        if not parent.strip("/"):
            return []  # a bucket, or the root of a file system
        with speaking_of("..", self._shown):
            self._fs.invalidate_cache(parent)
            entries = self._fs.ls(parent, detail=True)
        names = [_last_part(entry) for entry in entries if entry.get("type") == "directory"]
        return [name for name in names if name not in {"", own}]

    def open_neighbour(self, name: str) -> RemoteStore:
        """One of them, by the same client."""
        found = copy.copy(self)
        found._root = f"{self._root.rpartition('/')[0]}/{name}"
        found._shown = f"{self._shown.rpartition('/')[0]}/{name}"
        return found

    @property
    def own_name(self) -> str:
        """The last part of its place."""
        return self._root.rpartition("/")[2]

    def open_around(self) -> RemoteStore | None:
        """The folder, or the bucket, that its own is in, by the same client."""
        parent, _, _ = self._root.rpartition("/")
        if not parent.strip("/"):
            return None
        found = copy.copy(self)
        found._root, found._shown = parent, self._shown.rpartition("/")[0]
        return found

    def list_pieces(self, folder: str) -> Iterator[FolderPiece]:
        """What lies directly in `folder`, folders too, with sizes and times."""
        full = self._full(folder)
        with speaking_of(folder, self._shown):
            self._fs.invalidate_cache(full)
            entries = self._fs.ls(full, detail=True)
        folders = [_last_part(entry) for entry in entries if entry.get("type") == "directory"]
        files = [_info(entry) for entry in entries if entry.get("type") == "file"]
        # object stores may list a marker for the folder itself
        files = [info for info in files if info.name]
        yield FolderPiece(
            folder=folder,
            folders=folders,
            files=[info.name for info in files],
            others=[_last_part(entry) for entry in entries if entry.get("type") == "other"],
            sizes=[info.size for info in files],
            modified_ms=[info.modified_ms for info in files],
        )

    def stat_many(self, paths: Sequence[str]) -> list[tuple[int, int] | None]:
        """Size and modification time of each object, many at once."""

        def ask(path: str) -> tuple[int, int] | None:
            try:
                info = self.stat(path)
            except NotFoundError:
                return None
            return info.size, info.modified_ms

        return list(run_concurrently(ask, paths, MOST_CONCURRENT))

    def stat(self, path: str) -> ObjectInfo:
        """Size and modification time of one object."""
        with speaking_of(path, self._shown):
            return _info(self._fs.info(self._full(path)))

    def read(self, path: str, limit: int | None = None) -> bytes:
        """The whole object, or its first `limit` bytes."""
        with speaking_of(path, self._shown):
            full = self._full(path)
            if limit is None:
                # no range: that of an empty object would be refused
                return bytes(self._fs.cat_file(full, **self._whole))
            try:
                return bytes(self._fs.cat_file(full, start=0, end=limit))
            except (FileNotFoundError, NotADirectoryError, PermissionError):
                raise
            except Exception:
                # every implementation has an error of its own for a range of an empty object
                if self._fs.info(full).get("size") == 0:
                    return b""
                raise

    def read_many(self, paths: Iterable[str], limit: int | None = None) -> Iterator[bytes]:
        """Objects in order, many requests at once."""
        if not getattr(self._fs, "async_impl", False):
            return run_concurrently(lambda path: self.read(path, limit), paths, MOST_CONCURRENT)
        return self._read_on_loop(paths, limit)

    def _read_on_loop(self, paths: Iterable[str], limit: int | None) -> Iterator[bytes]:
        """The same without a thread for each request: a quarter of the time of small objects
        went into handing over between threads."""
        options = self._whole if limit is None else {"start": 0, "end": limit}
        waiting: deque[tuple[str, Future[Any]]] = deque()

        def take() -> bytes:
            path, asked = waiting.popleft()
            try:
                return bytes(asked.result())
            except Exception:  # noqa: BLE001  # asked for once more by what tells errors apart
                return self.read(path, limit)

        try:
            with with_fewer_searches():
                for path in paths:
                    request = self._fs._cat_file(self._full(path), **options)
                    waiting.append((path, run_coroutine_threadsafe(request, self._fs.loop)))
                    if len(waiting) >= MOST_WITHOUT_THREADS:
                        yield take()
                while waiting:
                    yield take()
        finally:
            for _, left in waiting:
                left.cancel()

    def read_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[bytes]:
        """Ranges of one object, requested at once."""
        full = self._full(path)

        def fetch(wanted: ByteRange) -> bytes:
            with speaking_of(path, self._shown):
                return bytes(self._fs.cat_file(full, start=wanted[0], end=wanted[1]))

        if len(ranges) < 2:  # without a thread
            return [fetch(wanted) for wanted in ranges]
        return list(run_concurrently(fetch, ranges, min(len(ranges), _RANGES_AT_ONCE)))

    def open_input(self, path: str) -> pa.NativeFile:
        """The object for random access, a range of it at a time."""
        return pa.PythonFile(RangedFile(self, path, self.stat(path).size), mode="r")


def _with_connections(scheme: str, storage_options: Mapping[str, Any]) -> dict[str, Any]:
    """The options, with as many connections as there are requests at once, and who asks, where they
    do not say: the client of S3 keeps ten connections, so that requests of small objects would wait
    for each other, and puts a name of itself together twice for each request, which is an eighth of
    the processor's time that one takes."""
    kept: Any = storage_options.get("config_kwargs") or {}
    accepted = inspect.signature(fsspec.get_filesystem_class(scheme).__init__).parameters
    if "config_kwargs" not in accepted or not isinstance(kept, Mapping):
        return dict(storage_options)
    ours = {"max_pool_connections": MOST_WITHOUT_THREADS, "user_agent": _USER_AGENT}
    return {**storage_options, "config_kwargs": {**ours, **kept}}


def _in_one_request(file_system: Any) -> dict[str, int]:
    """How a whole object is asked for: s3fs asks for its size before, to fetch a large one in
    parts, which doubles the time that a small one takes."""
    asked = getattr(file_system, "_cat_file", file_system.cat_file)
    can_divide = {"chunksize", "max_concurrency"} <= inspect.signature(asked).parameters.keys()
    return {"max_concurrency": 1} if can_divide else {}


def _missing(location: Location) -> UnsupportedError:
    extra = _EXTRAS.get(location.scheme)
    return UnsupportedError(
        f"{location.shown} cannot be opened yet.",
        reason=f"The package that reaches {location.scheme}:// is not installed.",
        remedy=f'Install it: pip install "delta-explorer[{extra}]".'
        if extra
        else "Install the fsspec implementation of this scheme.",
        kind="missing_dependency",
    )


def _without_account(location: Location) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{location.shown} cannot be opened.",
        reason="Neither the address nor an option names the Azure account.",
        remedy="Give account_name, with account_key or sas_token where the account asks for one, "
        "or connection_string as storage options, or set AZURE_STORAGE_CONNECTION_STRING or "
        "AZURE_STORAGE_ACCOUNT_NAME.",
    )


def _last_part(entry: Mapping[str, Any]) -> str:
    return str(entry["name"]).rstrip("/").rpartition("/")[2]


def _info(entry: Mapping[str, Any]) -> ObjectInfo:
    name = str(entry["name"]).rstrip("/").rpartition("/")[2]
    return ObjectInfo(
        name=name if entry.get("type") != "directory" else "",
        size=int(entry.get("size") or 0),
        modified_ms=_modified_ms(entry),
        tag=_tag(entry),
    )


def _tag(entry: Mapping[str, Any]) -> str:
    """The entity tag, as S3, Azure and Google Cloud Storage give one to each content."""
    found = entry.get("ETag") or entry.get("etag")
    return found.strip('"') if isinstance(found, str) else ""


def _modified_ms(entry: Mapping[str, Any]) -> int:
    """The modification time under whichever key the implementation keeps it; 0 if unknown."""
    for key in ("LastModified", "last_modified", "mtime", "updated", "modified", "created"):
        value = entry.get(key)
        if isinstance(value, datetime):
            aware = value if value.tzinfo else value.replace(tzinfo=UTC)
            return int(aware.timestamp() * 1000)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return int(value * 1000)
        if isinstance(value, str):
            with contextlib.suppress(ValueError):
                return int(datetime.fromisoformat(value).timestamp() * 1000)
    return 0


@contextlib.contextmanager
def speaking_of(path: str, root: str) -> Iterator[None]:
    """Whatever a client raises about `path` becomes an error of ours, without secrets."""
    shown = f"{root}/{path if len(path) <= 200 else path[:200] + '…'}"
    try:
        yield
    except DeltaError:
        raise
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFoundError(
            f"{shown} does not exist.",
            reason="The store has no such object.",
            remedy="Check the path, and whether a cleanup removed it.",
        ) from error
    except PermissionError as error:
        raise StorageError(
            f"{shown} may not be read or written.",
            reason="The store refused access.",
            remedy="Check the credentials and their rights on this place.",
            kind="storage_refused",
        ) from error
    # each implementation lets its client's own errors through, with no common base
    except Exception as error:
        raise StorageError(
            f"{shown} could not be read or written.",
            # the client's own words may hold a signed URL or a key
            reason=f"The store failed with {type(error).__name__}.",
            remedy="Check the address, the network and the credentials, then try again.",
        ) from error
