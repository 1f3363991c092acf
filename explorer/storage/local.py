"""Local folders, without fsspec between us and the operating system."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from stat import S_ISFIFO
from typing import TYPE_CHECKING, BinaryIO

from explorer.errors import (
    DeltaError,
    NotFoundError,
    StorageError,
    UnsupportedError,
    UntouchedError,
)
from explorer.protocol.filenames import TEMPORARY_PREFIX
from explorer.storage.ports import Content, FolderStamp, Heads, ObjectInfo, PutOutcome

if TYPE_CHECKING:
    import pyarrow as pa

    from explorer.storage.tree import FolderPiece

# what file systems without hard links answer
_NO_LINKS = frozenset({errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.EMLINK})

# a path of a log may name a pipe, which would be waited for without an end
_READING = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK

_FOLDER = os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY

# most files of a log are smaller: two reads tell so for less than asking for the size
_FIRST_BYTES = 2**16

# and where they are very many, they are even smaller than this
_SMALL_BYTES = 2**13

# files of a folder; to ask for fewer takes no longer than to load what asks for many at once
_MANY = 4096

# a disk waits less for files that are synced side by side
_SYNCED_AT_ONCE = 8


class LocalStore:
    """A `WriteStore` below one local folder."""

    def __init__(self, root: str) -> None:
        self._root = root

    def __repr__(self) -> str:
        """The folder."""
        return f"LocalStore({self._root!r})"

    @property
    def uri(self) -> str:
        """The folder's absolute path."""
        return _text(self._root)

    def _full(self, path: str) -> str:
        # absolute paths stand in the logs of shallow clones, and may name sidecars
        if path[:1] not in "/fF":  # nearly all: `_delta_log/…`
            return f"{self._root}/{path}"
        if path[:5].lower() == "file:":
            return "/" + path[5:].lstrip("/")
        if path.startswith("/"):
            return path
        return f"{self._root}/{path}" if path else self._root

    def has_folder(self, folder: str) -> bool:
        """Whether `folder` is there."""
        try:
            return os.path.isdir(self._full(folder))
        except ValueError:  # a NUL character: no such folder
            return False

    def list_names(self, folder: str) -> list[str]:
        """Names of the files directly inside `folder`, in the order of the file system."""
        with _speaking_of(folder), os.scandir(self._full(folder)) as entries:
            names = [entry.name for entry in entries if entry.is_file()]
        return names if "".join(names).isascii() else list(map(_text, names))

    def list_folder(self, folder: str) -> list[ObjectInfo]:
        """The files directly inside `folder`, sorted by name."""
        with _speaking_of(folder):
            place = self._full(folder)
            with os.scandir(place) as entries:
                names = [entry.name for entry in entries if entry.is_file()]
            found = list(_infos(place, names))
        found.sort(key=attrgetter("name"))
        return found

    def list_neighbours(self) -> list[str]:
        """The other folders beside this one; links to folders count."""
        parent, own = os.path.split(self._root)
        with _speaking_of(".."), os.scandir(parent) as entries:
            names = [entry.name for entry in entries if entry.is_dir()]
        return [_text(name) for name in names if name != own]

    def open_neighbour(self, name: str) -> LocalStore:
        """One of them."""
        return LocalStore(os.path.join(os.path.dirname(self._root), name))

    @property
    def own_name(self) -> str:
        """The name of its folder, links followed."""
        return os.path.basename(os.path.realpath(self._root))

    def open_around(self) -> LocalStore | None:
        """The folder that its own is in, links followed."""
        parent, own = os.path.split(os.path.realpath(self._root))
        return LocalStore(parent) if own else None

    def folder_stamp(self, folder: str, listed_ns: int) -> FolderStamp | None:
        """What is equal as long as no name comes into `folder` or goes from it."""
        # only long listings are kept
        from explorer.storage._folder_stamp import read_folder_stamp  # noqa: PLC0415

        with _speaking_of(folder):
            return read_folder_stamp(self._full(folder), listed_ns)

    def list_pieces(self, folder: str) -> Iterator[FolderPiece]:
        """What lies directly in `folder`, folders and links too."""
        from explorer.storage.tree import scan_local  # noqa: PLC0415  # only to look for strays

        with _speaking_of(folder):
            yield from scan_local(self._full(folder), folder)

    def stat_many(self, paths: Sequence[str]) -> list[tuple[int, int] | None]:
        """Size and modification time of each file."""
        from explorer.storage.tree import stat_local  # noqa: PLC0415  # as above

        with _speaking_of(self.uri):
            return [stat_local(self._full(path)) for path in paths]

    def stat(self, path: str) -> ObjectInfo:
        """Size and modification time of one file."""
        with _speaking_of(path):
            return _info(path.rpartition("/")[2], os.stat(self._full(path)))

    def read(self, path: str, limit: int | None = None) -> bytes:
        """The whole file, or its first `limit` bytes."""
        # not `_speaking_of`: a log may be a hundred thousand of these
        try:
            descriptor = os.open(self._full(path), _READING)
            try:
                if limit is not None:
                    return _read_open(descriptor, limit)
                data = os.read(descriptor, _SMALL_BYTES)
                if not os.read(descriptor, 1):
                    return data
                return _read_again(descriptor)
            finally:
                os.close(descriptor)
        except (OSError, ValueError) as error:
            raise _told(path, error) from error

    def read_many(self, paths: Iterable[str], limit: int | None = None) -> Iterator[bytes]:
        """One after the other: threads make thousands of tiny reads slower."""
        # a store that reads one in its own way reads many in that way
        if limit is None and type(self).read is _OWN_READ:
            return self._read_whole(paths)
        return (self.read(path, limit) for path in paths)

    def _read_whole(self, paths: Iterable[str]) -> Iterator[bytes]:
        """As `read`; each name is looked up in its folder alone, and nothing is called that need
        not be, for a log may be a hundred thousand of these."""
        open_, read, close = os.open, os.read, os.close
        folder: str | None = None
        inside: int | None = None
        try:
            for path in paths:
                full = self._full(path)
                before, _, name = full.rpartition("/")
                try:
                    if before != folder:
                        if inside is not None:
                            close(inside)
                        folder, inside = None, None
                        folder, inside = before, _open_folder(before)
                    descriptor = open_(full if inside is None else name, _READING, dir_fd=inside)
                    try:
                        data = read(descriptor, _SMALL_BYTES)
                        if read(descriptor, 1):
                            data = _read_again(descriptor)
                    finally:
                        close(descriptor)
                except (OSError, ValueError) as error:
                    raise _told(path, error) from error
                yield data
        finally:
            if inside is not None:
                close(inside)

    def read_heads(self, folder: str, names: Sequence[str], limit: int) -> Heads:
        """The first `limit` bytes of each, and its modification time in milliseconds."""
        heads: list[bytes] = []
        times: list[int] = []
        with _speaking_of(folder):
            inside = os.open(self._full(folder), _FOLDER)  # each name is looked up in it alone
        try:
            # of a hundred thousand, whatever is done here counts
            open_, stat, read, close = os.open, os.fstat, os.read, os.close
            for name in names:
                try:
                    descriptor = open_(name, _READING, dir_fd=inside)
                    try:
                        found = stat(descriptor)
                        wanted = min(found.st_size, limit)
                        head = read(descriptor, wanted)
                        if len(head) < wanted:
                            head = _read_on(descriptor, wanted, head)
                    finally:
                        close(descriptor)
                except (OSError, ValueError) as error:
                    raise _told(f"{folder}/{name}", error) from error
                heads.append(head)
                times.append(found.st_mtime_ns // 1_000_000)
        finally:
            os.close(inside)
        return heads, times

    def open_input(self, path: str) -> pa.NativeFile:
        """The file for random access."""
        from pyarrow import OSFile  # noqa: PLC0415  # a small table opens without Arrow

        with _speaking_of(path):
            full = self._full(path)
            if S_ISFIFO(os.stat(full).st_mode):
                raise OSError(errno.ESPIPE, "a pipe")
            return OSFile(full, "rb")

    def put_if_absent(self, path: str, data: Content) -> PutOutcome:
        """Link a finished, synced temporary file to `path`; a link never replaces."""
        target = self._full(path)
        folder = os.path.dirname(target)
        temporary = f"{folder}/{TEMPORARY_PREFIX}{os.urandom(16).hex()}"
        try:
            with _before_anything(path):
                _make_folder(folder)
                _write_synced(temporary, data)
            with _speaking_of(path):
                if not _link(temporary, target, self._root):
                    return PutOutcome.ALREADY_THERE
        finally:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        try:
            _sync(folder)
        except OSError:  # it is there, and may be gone after a power cut
            return PutOutcome.UNKNOWN
        return PutOutcome.CREATED

    def write(self, path: str, data: bytes) -> None:
        """Write beside `path`, then rename over it."""
        target = self._full(path)
        folder = os.path.dirname(target)
        temporary = f"{folder}/{TEMPORARY_PREFIX}{os.urandom(16).hex()}"
        with _speaking_of(path):
            _make_folder(folder)
            try:
                _write_synced(temporary, data)
                os.replace(temporary, target)
            except OSError:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(temporary)
                raise
            _sync(folder)

    @contextlib.contextmanager
    def open_output(self, path: str) -> Iterator[BinaryIO]:
        """Write beside `path`, then rename over it where the block ends without an error."""
        target = self._full(path)
        folder = os.path.dirname(target)
        temporary = f"{folder}/{TEMPORARY_PREFIX}{os.urandom(16).hex()}"
        published = False
        try:
            with _speaking_of(path):
                _make_folder(folder)
                sink = open(temporary, "xb")  # noqa: SIM115  # closed before it is renamed
            try:
                yield sink
                sink.flush()
                os.fsync(sink.fileno())
            finally:
                sink.close()
            os.replace(temporary, target)
            published = True
            _sync(folder)
        except OSError as error:
            raise _told(path, error) from error
        finally:
            if not published:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)

    def publish(self, names: Sequence[tuple[str, str]]) -> None:
        """Give whole files that another program made below the root their names: pairs of what
        they are called and are to be called, which no other file is. Where this raises, some may
        have their names."""
        from explorer.storage.concurrent_reads import run_concurrently  # noqa: PLC0415  # as above

        for _ in run_concurrently(self._sync_file, [made for made, _ in names], _SYNCED_AT_ONCE):
            pass
        folders = dict.fromkeys(os.path.dirname(self._full(path)) for _, path in names)
        with _speaking_of(self.uri):
            for folder in folders:
                _make_folder(folder)
            for made, path in names:
                self._move(made, path)
            for folder in folders:
                _sync(folder)

    def _move(self, made: str, path: str) -> None:
        try:
            os.rename(self._full(made), self._full(path))
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            import shutil  # noqa: PLC0415  # a table opens without it

            # a folder of the table may be a link to another disk
            with open(self._full(made), "rb") as source, self.open_output(path) as sink:
                shutil.copyfileobj(source, sink)

    def _sync_file(self, path: str) -> None:
        with _speaking_of(path):
            _sync(self._full(path))

    def delete(self, path: str) -> None:
        """Remove one file; one that is already gone is not an error. A folder of the path that is a
        link, `_delta_log` apart, is one, because it leads to what may be another table's."""
        from explorer.storage.tree import leads_through_link  # noqa: PLC0415  # as above

        if leads_through_link(self, path):
            raise _leads_away(path)
        with _speaking_of(path), contextlib.suppress(FileNotFoundError):
            os.unlink(self._full(path))

    def real_path(self, path: str) -> str:
        """Where a path leads, links followed."""
        # no fence: nothing is read there
        full = LocalStore._full(self, path)
        try:
            return os.path.realpath(full)
        except ValueError:  # a NUL character: no such file
            return full


_OWN_READ = LocalStore.read


def _text(name: str) -> str:
    """A name that can be shown and stored, even where its bytes are not UTF-8. No file
    of the log has such a name, so that it need not lead back to the file."""
    return name if name.isascii() else os.fsencode(name).decode("utf-8", "replace")


def _info(name: str, found: os.stat_result) -> ObjectInfo:
    return ObjectInfo(name=name, size=found.st_size, modified_ms=found.st_mtime_ns // 1_000_000)


def _infos(place: str, names: Sequence[str]) -> Iterator[ObjectInfo]:
    """What the files in a folder are; what went away between the listing and this look was never
    there."""
    if len(names) >= _MANY and "".join(names).isascii() and place.isascii():
        # a small table opens without Arrow
        from explorer.storage._many_files import read_infos  # noqa: PLC0415

        yield from read_infos(place, names)
        return
    for name in names:
        with contextlib.suppress(FileNotFoundError):
            yield _info(_text(name), os.stat(f"{place}/{name}"))


def _make_folder(folder: str) -> None:
    """Make a folder and those above it, each in such a way that a power cut keeps it."""
    if os.path.isdir(folder):
        return
    above = os.path.dirname(folder)
    _make_folder(above)
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder)
    _sync(above)


def _write_synced(path: str, data: Content) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        for piece in (data,) if isinstance(data, bytes) else data:
            view = memoryview(piece)
            while view:
                view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _link(temporary: str, target: str, root: str) -> bool:
    """Whether `target` is now the temporary file; False where another was there first.

    A network file system may lose the answer to the first request and refuse the second:
    then both names lead to the same file, whatever the error says.
    """
    try:
        os.link(temporary, target)
    except OSError as error:
        with contextlib.suppress(OSError):
            if os.path.samefile(temporary, target):
                return True
        if isinstance(error, FileExistsError):
            return False
        if error.errno in _NO_LINKS:
            raise _no_links(root) from error
        raise
    return True


def _leads_away(path: str) -> UnsupportedError:
    return UnsupportedError(
        f"{path} was not deleted.",
        reason="A folder of its path is a link, so the file is somewhere else.",
        remedy="Delete it there, if nothing else needs it.",
    )


def _no_links(root: str) -> UnsupportedError:
    return UnsupportedError(
        f"{_text(root)} cannot be committed to.",
        reason="This file system has no hard links, so two writers could overwrite each "
        "other's commit.",
        remedy="Keep the table on a file system with hard links, such as ext4.",
        kind="store_unsupported",
    )


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _open_folder(path: str) -> int | None:
    """A folder in which names are looked up; None where it may be passed and not be listed."""
    try:
        return os.open(path or "/", _FOLDER)
    except PermissionError:
        return None


def _read_again(descriptor: int) -> bytes:
    """All of what is larger than it was taken to be."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    return _read_open(descriptor, None)


def _read_open(descriptor: int, limit: int | None) -> bytes:
    first = _FIRST_BYTES if limit is None else min(limit, _FIRST_BYTES)
    data = os.read(descriptor, first)
    if len(data) < first:
        data = _read_on(descriptor, first, data)
    if len(data) < first or first == limit:
        return data
    # a device has no size and no end
    size = os.fstat(descriptor).st_size
    wanted = size if limit is None else min(size, limit)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return _read_on(descriptor, wanted, os.read(descriptor, wanted))


def _read_on(descriptor: int, wanted: int, start: bytes) -> bytes:
    """Up to `wanted` bytes, which begin with `start`, or what there is: one read returns
    at most 2 GiB, and less where a signal came between."""
    pieces = [start]
    missing = wanted - len(start)
    while missing and (piece := os.read(descriptor, missing)):
        pieces.append(piece)
        missing -= len(piece)
    return start if len(pieces) == 1 else b"".join(pieces)


@contextlib.contextmanager
def _speaking_of(path: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        raise _told(path, error) from error


@contextlib.contextmanager
def _before_anything(path: str) -> Iterator[None]:
    """What fails in here, such as a full disk, has made nothing that a reader sees."""
    try:
        with _speaking_of(path):
            yield
    except StorageError as error:
        raise UntouchedError(
            error.problem, reason=error.reason, remedy=error.remedy, kind=error.kind
        ) from error


def _told(path: str, error: OSError | ValueError) -> DeltaError:
    """What the operating system says about `path`, as our error."""
    shown = path if len(path) <= 200 else path[:200] + "…"
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return NotFoundError(
            f"{shown} does not exist.",
            reason="The file system has no such file or folder.",
            remedy="Check the path, and whether a cleanup removed it.",
        )
    if isinstance(error, PermissionError):
        return StorageError(
            f"{shown} may not be read or written.",
            reason="The file system refused access.",
            remedy="Ask for the permission, or run as a user who has it.",
            kind="storage_refused",
        )
    told = isinstance(error, OSError) and error.errno
    detail = os.strerror(told) if told else str(error)[:200]
    return StorageError(
        f"{shown} could not be read or written.",
        reason=f"The file system says: {detail}.",
        remedy="Check the path and the disk, then try again.",
    )
