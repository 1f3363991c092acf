"""Stores that fsspec reaches, written through its own implementations.

A commit is an object created only where none is: by `If-None-Match: *` on S3, on stores
that speak as it does, and on Azure, by generation 0 on Google's. Some servers take such
a condition and ignore it, and so do older clients: then two writers overwrite each other
and nobody notices. So each store is tried with an object of its own before the first
commit, and refuses all of them where its second creation is not refused.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Mapping
from typing import Any, Final

from explorer.errors import DeltaError, StorageError, UnsupportedError, UntouchedError
from explorer.protocol.filenames import LOG_FOLDER, TEMPORARY_PREFIX
from explorer.storage._remote import RemoteStore, speaking_of
from explorer.storage.location import Location
from explorer.storage.ports import Content, PutOutcome

_CONDITIONS: Final[Mapping[str, str]] = {
    "s3": "If-None-Match",
    "s3a": "If-None-Match",
    "gs": "ifGenerationMatch",
    "gcs": "ifGenerationMatch",
    "az": "If-None-Match",
    "abfs": "If-None-Match",
    "abfss": "If-None-Match",
    "memory": "a lock of this process",
}
"""By what a store of each scheme creates an object only where none is."""

# readers of the log know no such name
_TRIAL: Final = f"{LOG_FOLDER}/{TEMPORARY_PREFIX}trial-"

_NOT_FOUND: Final = 404
_ONE_REQUEST: Final = 32 * 2**20
"""Bytes that every client sends at once; with more of them, what is missing may be an upload that
is already complete."""

# objects in memory are looked for and made in two steps
_MEMORY = threading.Lock()


class RemoteWriteStore(RemoteStore):
    """A `WriteStore` over an fsspec file system."""

    def __init__(self, location: Location, storage_options: Mapping[str, Any]) -> None:
        if location.scheme not in _CONDITIONS:
            raise _refused(
                location.shown,
                f"For {location.scheme}:// no way is known to create an object only where "
                "none is, so two writers could overwrite each other's commit.",
            )
        super().__init__(location, storage_options)
        self._scheme = location.scheme
        self._tried = False
        self._trying = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """All but the lock: a worker of Spark that gets a copy has one of its own."""
        return {name: value for name, value in self.__dict__.items() if name != "_trying"}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """The copy."""
        self.__dict__.update(state)
        self._trying = threading.Lock()

    def put_if_absent(self, path: str, data: Content) -> PutOutcome:
        """Create the object on the store's own condition."""
        content = data if isinstance(data, bytes) else b"".join(data)
        with self._trying:
            if not self._tried:
                self._try_condition()
                self._tried = True
        try:
            with self._naming_buckets(len(content)):
                return self._create(path, content)
        except DeltaError:
            raise
        except PermissionError:
            with speaking_of(path, self._shown):
                raise
        # what a client that saw no answer lets through has no common base
        except Exception:  # noqa: BLE001  # the caller looks what became of it
            return PutOutcome.UNKNOWN

    def write(self, path: str, data: bytes) -> None:
        """Write the object, whatever was there."""
        with speaking_of(path, self._shown), self._naming_buckets(len(data)):
            self._fs.pipe_file(self._full(path), data)

    def delete(self, path: str) -> None:
        """Remove one object; one that is already gone is not an error."""
        with speaking_of(path, self._shown), contextlib.suppress(FileNotFoundError):
            self._fs.rm_file(self._full(path))

    @contextlib.contextmanager
    def _naming_buckets(self, size: int) -> Iterator[None]:
        """An object needs no folder: where it cannot be written because something is missing,
        that is its bucket, or container, and then no object of it is there, or appears later."""
        try:
            yield
        except Exception as error:
            if not _lacks_bucket(error, size):
                raise
            raise UntouchedError(
                f"{self._shown} cannot be written to.",
                reason="The store has no such bucket or container.",
                remedy="Check the address, or create the bucket first.",
            ) from error

    def _create(self, path: str, content: bytes) -> PutOutcome:
        lock = _MEMORY if self._scheme == "memory" else contextlib.nullcontext()
        try:
            with lock:
                self._fs.pipe_file(self._full(path), content, mode="create")
        except FileExistsError:
            return PutOutcome.ALREADY_THERE
        except OSError as error:
            if _is_precondition(error):
                return PutOutcome.ALREADY_THERE
            raise
        return PutOutcome.CREATED

    def _try_condition(self) -> None:
        """Create an object twice: the second time must be refused as the condition says. Whatever
        fails here, nobody's object was asked for."""
        path = f"{_TRIAL}{os.urandom(16).hex()}"
        condition = _CONDITIONS[self._scheme]
        try:
            first = self._first(path, condition)
            second = self._second(path, condition)
        except StorageError as error:
            raise UntouchedError(
                error.problem, reason=error.reason, remedy=error.remedy, kind=error.kind
            ) from error
        finally:
            with contextlib.suppress(DeltaError):
                self.delete(path)
        if (first, second) != (PutOutcome.CREATED, PutOutcome.ALREADY_THERE):
            raise _refused(
                self._shown,
                f"It was tried: the store, or its client, ignores the condition {condition}, "
                "so two writers could overwrite each other's commit.",
            )

    def _first(self, path: str, condition: str) -> PutOutcome:
        with speaking_of(path, self._shown), self._naming_buckets(1):
            try:
                return self._create(path, b"a")
            except TypeError as error:  # an older client, to which creation is not a mode
                reason = f"This client cannot ask for the condition {condition}."
                raise _refused(self._shown, reason) from error

    def _second(self, path: str, condition: str) -> PutOutcome:
        try:
            return self._create(path, b"b")
        except (ConnectionError, TimeoutError) as error:
            raise StorageError(
                f"{self._shown} could not be tried.",
                reason=f"The store failed with {type(error).__name__}.",
                remedy="Check the network, then try again; nothing was changed.",
            ) from error
        except OSError as error:
            raise _refused(
                self._shown,
                f"It was tried: the store answers the condition {condition} with "
                f"{type(error).__name__}.",
            ) from error


def _lacks_bucket(error: BaseException, size: int) -> bool:
    """Whether so many bytes were not written because there is no such bucket. S3 says what is
    missing: a gateway before it may not find the store, or an upload be complete already."""
    if (code := _code_of(error)) is not None:
        return code == "NoSuchBucket"
    # Azure's client raises its own
    is_missing = getattr(error, "status_code", None) == _NOT_FOUND
    return (is_missing or isinstance(error, FileNotFoundError)) and size <= _ONE_REQUEST


def _is_precondition(error: BaseException) -> bool:
    """Whether a server said 412: s3fs tells so only of those that name the condition."""
    return _code_of(error) in {"PreconditionFailed", "412"}


def _code_of(error: BaseException) -> object:
    """What S3 calls an error, as botocore has it; None for other errors."""
    response = getattr(error.__cause__, "response", None)
    found = response.get("Error") if isinstance(response, dict) else None
    return found.get("Code") if isinstance(found, dict) else None


def _refused(shown: str, reason: str) -> UnsupportedError:
    return UnsupportedError(
        f"{shown} cannot be committed to.",
        reason=reason,
        remedy="Commit through a store that can: a local disk, S3, Azure or Google Cloud "
        "Storage, with a current release of its fsspec implementation.",
        kind="store_unsupported",
    )
