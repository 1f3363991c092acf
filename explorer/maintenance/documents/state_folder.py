"""Where plans, receipts and journals lie: a folder of the user, never the table.

    plans/DIGEST.json, plans/DIGEST.arrow     a plan and its file list
    receipts/ID.json                          what became of it
    runs/DIGEST.journal                       how far an execution has come
    format.json                               the format of all this

A folder without a format was left by a release that wrote format 1: its documents stay as they
are, and new ones lie beside them. One of a later format is refused, and nothing is written there.

Every file is written beside its place, then renamed, and is for its owner alone. None
holds credentials: a table is named by the place that may be shown.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from explorer.errors import (
    ConflictError,
    DeltaError,
    InvalidArgumentError,
    NotFoundError,
    StorageError,
    UnsupportedError,
)
from explorer.maintenance.documents.older_plan import (
    OLDEST_FORMAT,
    CommitOf,
    older_plan,
)
from explorer.maintenance.documents.receipt import LATEST_MS, Receipt, parse_receipt
from explorer.maintenance.plan.newer_commits import find_own_commit
from explorer.maintenance.plan.plan import FORMAT, Plan, digest_document, parse_plan
from explorer.protocol.values.unicode_text import with_encodable_texts
from explorer.storage.local_file import read_local_file
from explorer.table.table import Table

StateDir = str | os.PathLike[str] | None

_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
_RECEIPT = re.compile(r"[0-9]{13,}-[0-9a-f]{12}", re.ASCII)
_APPLICATION = "delta-explorer"
_PREFIX = 12
_LARGEST = 64 * 2**20
"""Bytes of a plan without its file list, a receipt or a journal: some hundred times the
largest that a table of ten million files has led to."""
_UNREADABLE = (AttributeError, KeyError, OSError, TypeError, ValueError)
"""What comes of a document that is missing, or was changed by hand."""

_FORMAT_FILE = "format.json"


def default_state_dir() -> Path:
    """The user's folder for it: `$XDG_STATE_HOME/delta-explorer`, or below `~/.local/state`."""
    home = os.environ.get("XDG_STATE_HOME", "")
    base = Path(home) if os.path.isabs(home) else Path.home() / ".local" / "state"
    return base / _APPLICATION


class StateFolder:
    """The documents below one folder; nothing is created before something is saved."""

    def __init__(self, place: StateDir = None) -> None:
        chosen = default_state_dir() if place is None else Path(place)
        self.place = Path(os.path.abspath(chosen))

    def check_outside(self, table: Table) -> None:
        """Raise `InvalidArgumentError` where the folder lies inside of the table."""
        root = os.path.realpath(table.uri)
        if os.path.isdir(root) and Path(os.path.realpath(self.place)).is_relative_to(root):
            raise InvalidArgumentError(
                "Plans and receipts cannot be kept inside the table.",
                reason=f"{self.place} is inside {table.uri}, where they would be orphaned files.",
                remedy="Name a folder outside the table with --state-dir.",
            )

    def save_plan(self, plan: Plan) -> None:
        """Keep a plan; its file list comes first, so that a plan which is there is whole."""
        name = f"plans/{plan.digest}"
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(
            sink, plan.files.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")
        ) as writer:
            writer.write_table(plan.files)
        self._write(f"{name}.arrow", sink.getvalue())
        self._write(f"{name}.json", orjson.dumps(plan.document))

    def load_plan(self, digest: str, table: Table | None = None) -> Plan:
        """The plan with this digest, or the only one whose digest begins with it (twelve
        characters or more).

        Raises `NotFoundError` where there is none, `InvalidArgumentError` where several fit or
        the document is no longer what was saved, and `ConflictError` (`plan_stale`) for a plan
        that another release made; `table` is the one whose log is asked how far that came.
        """
        document = self.load_document(digest)
        full = str(document["digest"])
        match document.get("format"):
            case int(found) if found == OLDEST_FORMAT:
                journal = self.read_journal(full)
                raise older_plan(full, document, journal, _commit_of(document, table))
            case int(found) if found > FORMAT:
                raise _later_plan(full)
            case _:
                pass
        try:
            plan = parse_plan(document, self.load_files(full))
        except (*_UNREADABLE, pa.ArrowException) as error:
            raise _altered(full) from error
        if plan.digest != full:
            raise _altered(full)
        return plan

    def load_document(self, digest: str) -> dict[str, Any]:
        """The document of a plan of any format, with its whole `digest`, and a `note` where
        another release made it; `digest` and what is raised as in `load_plan`."""
        full = self._find(digest)
        try:
            found = orjson.loads(self._read(f"plans/{full}.json"))
            intact = digest_document(found) == full and _can_be_listed(found)
        except _UNREADABLE as error:
            raise _altered(full) from error
        if not intact:
            raise _altered(full)
        return _with_note(full, found)

    def load_files(self, digest: str) -> pa.Table:
        """The file list of the plan with this whole digest; raises `OSError` or
        `pyarrow.ArrowException` where it cannot be read."""
        # from the file, and not from its bytes: one that is no list is not read whole
        with (
            pa.OSFile(os.fspath(self.place / f"plans/{digest}.arrow")) as file,
            pa.ipc.open_file(file) as reader,
        ):
            return reader.read_all()

    def list_plans(self) -> list[dict[str, Any]]:
        """The documents of all plans of any format, newest first, each with its `digest`, and a
        `note` where another release made it; of one that is no longer what was saved only that,
        its place as it says it, and `altered`. The file lists, which may be long, are not looked
        at."""
        found = [
            _listed_plan(place, data)
            for place, data in self._files("plans")
            if _DIGEST.fullmatch(place.stem)
        ]
        return sorted(found, key=lambda document: document["planned_at"] or 0, reverse=True)

    def save_receipt(self, receipt: Receipt) -> None:
        """Keep a receipt, whatever its texts are: what was done has to be told."""
        self._write(f"receipts/{receipt.id}.json", _render(receipt.document))

    def load_receipt(self, identifier: str) -> Receipt:
        """The receipt with this id; raises `NotFoundError`."""
        if not _RECEIPT.fullmatch(identifier):
            raise _unknown("receipt", identifier)
        try:
            data = self._read(f"receipts/{identifier}.json")
        except FileNotFoundError as error:
            raise _unknown("receipt", identifier) from error
        except OSError:
            data = b""
        if (found := _parse_receipt(identifier, data)) is None:
            raise _altered(identifier, "See the table's history for what was done.")
        return found

    def list_receipts(self) -> list[Receipt]:
        """All receipts that can be read, newest first."""
        return [found for found in self.receipts_by_id().values() if found is not None]

    def receipts_by_id(self) -> dict[str, Receipt | None]:
        """All receipts, newest first; None for one that is no longer what was saved."""
        found: dict[str, Receipt | None] = {}
        for place, data in self._files("receipts"):
            if _RECEIPT.fullmatch(place.stem):
                found[place.stem] = _parse_receipt(place.stem, data)
        return dict(sorted(found.items(), reverse=True))

    def read_journal(self, digest: str) -> list[dict[str, Any]]:
        """What an execution has noted; lines that were cut off, as by a kill, are left out.

        Raises `InvalidArgumentError` for a journal that cannot be read: it is then unknown how
        far the execution has come.
        """
        try:
            data = self._read(f"runs/{digest}.journal")
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InvalidArgumentError(
                f"The journal of the plan {digest[:_PREFIX]} cannot be read.",
                reason=f"{error.strerror or 'The file system refused'}, so that it is unknown how "
                "far its execution has come.",
                remedy="Plan again: the new plan omits what is done already.",
            ) from error
        lines: list[dict[str, Any]] = []
        for line in data.split(b"\n")[:-1]:
            with contextlib.suppress(orjson.JSONDecodeError):
                found = orjson.loads(line)
                if isinstance(found, dict):
                    lines.append(found)
        return lines

    def append_journal(self, digest: str, line: Mapping[str, Any]) -> None:
        """Note how far an execution has come, before it goes on."""
        place = self._prepare(f"runs/{digest}.journal")
        with _speaking_of(self.place):
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            descriptor = os.open(place, flags, 0o600)
            try:
                _write_all(descriptor, _after_a_cut(descriptor) + _render(line) + b"\n")
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    @contextlib.contextmanager
    def running(self, digest: str) -> Iterator[bool]:
        """Hold the plan against other processes while it is executed; False where another
        has it."""
        place = self._prepare(f"runs/{digest}.lock")
        with _speaking_of(self.place):
            descriptor = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True
        finally:
            os.close(descriptor)

    def _known_format(self) -> int:
        """The format of this folder; raises `UnsupportedError` where a later release keeps its
        documents here, and `InvalidArgumentError` where that is unknown."""
        found: Any = None
        try:
            found = _parse_object(self._read_any(_FORMAT_FILE)).get("format")
        except (FileNotFoundError, NotADirectoryError):
            return OLDEST_FORMAT
        except OSError:
            pass
        if type(found) is not int or found < OLDEST_FORMAT:
            raise InvalidArgumentError(
                f"The state folder {self.place} cannot be used.",
                reason=f"Its {_FORMAT_FILE} is not what was saved, so that the format of its "
                "documents is unknown.",
                remedy=f'Write {{"format":{FORMAT}}} into it, or name another folder with '
                "--state-dir.",
            )
        if found > FORMAT:
            raise UnsupportedError(
                f"The state folder {self.place} belongs to a later release.",
                reason=f"Its documents have format {found}, and this release knows those up to "
                f"{FORMAT}; nothing is read from it or written to it.",
                remedy="Use that release, or name another folder with --state-dir.",
            )
        return found

    def _find(self, digest: str) -> str:
        self._known_format()
        if _DIGEST.fullmatch(digest):
            if (self.place / f"plans/{digest}.json").is_file():
                return digest
            raise _unknown("plan", digest)
        if len(digest) < _PREFIX or not _DIGEST.fullmatch(digest.ljust(64, "0")):
            raise _unknown("plan", digest)
        folder = self.place / "plans"
        places = folder.glob(f"{digest}*.json") if folder.is_dir() else ()
        found = [place.stem for place in places if _DIGEST.fullmatch(place.stem)]
        if len(found) > 1:
            raise InvalidArgumentError(
                f"Several plans begin with {digest}.",
                reason="An approval is for exactly one plan.",
                remedy="Give the whole digest; `delta-explorer plans` lists them.",
            )
        if not found:
            raise _unknown("plan", digest)
        return found[0]

    def _files(self, folder: str) -> Iterator[tuple[Path, bytes]]:
        """What each document of a folder holds; nothing where it cannot be read."""
        self._known_format()
        place = self.place / folder
        if not place.is_dir():
            return
        for file in sorted(place.glob("*.json")):
            data = b""
            with contextlib.suppress(OSError):
                data = read_local_file(file, _LARGEST)
            yield file, data

    def _read(self, name: str) -> bytes:
        self._known_format()
        return self._read_any(name)

    def _read_any(self, name: str) -> bytes:
        return read_local_file(self.place / name, _LARGEST)

    def _prepare(self, name: str) -> Path:
        """The place of a document that is about to be written, whose folder is there; this
        folder says its format from then on."""
        is_older = self._known_format() < FORMAT
        place = self.place / name
        with _speaking_of(self.place):
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if is_older:
            self._replace(self.place / _FORMAT_FILE, orjson.dumps({"format": FORMAT}))
        return place

    def _write(self, name: str, data: bytes | pa.Buffer) -> None:
        self._replace(self._prepare(name), data)

    def _replace(self, place: Path, data: bytes | pa.Buffer) -> None:
        beside = place.with_name(f".{place.name}.{os.urandom(8).hex()}")
        with _speaking_of(self.place):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            descriptor = os.open(beside, flags, 0o600)
            try:
                _write_all(descriptor, data)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            os.replace(beside, place)


def _render(document: Mapping[str, Any]) -> bytes:
    """As JSON, also where a text of it cannot be encoded, as from an error of the system."""
    try:
        return orjson.dumps(document)
    except orjson.JSONEncodeError:
        return orjson.dumps(with_encodable_texts(dict(document)))


def _write_all(descriptor: int, data: bytes | pa.Buffer) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _after_a_cut(descriptor: int) -> bytes:
    """What ends a line that was cut off, so that the next one stands alone."""
    size = os.fstat(descriptor).st_size
    return b"\n" if size and os.pread(descriptor, 1, size - 1) != b"\n" else b""


@contextlib.contextmanager
def _speaking_of(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"The state folder {place} cannot be written.",
            reason=os.strerror(error.errno) if error.errno else "The file system refused.",
            remedy="Name a folder that you may write with --state-dir, or set XDG_STATE_HOME.",
        ) from error


def _listed_plan(place: Path, data: bytes) -> dict[str, Any]:
    digest, document = place.stem, _parse_object(data)
    if (
        digest_document(document) == digest
        and _can_be_listed(document)
        and place.with_suffix(".arrow").is_file()
    ):
        return _with_note(digest, document)
    subject = document.get("subject")
    uri = subject.get("uri") if isinstance(subject, dict) else None
    return {
        "digest": digest,
        "altered": True,
        "operation": "altered",
        "planned_at": None,
        "subject": {"uri": uri if isinstance(uri, str) else ""},
        "summary": "The document is not what was saved, and cannot be used.",
    }


def _with_note(digest: str, document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with its digest and the note on its format, whatever it says of either."""
    found = {"digest": digest, **document} | {"digest": digest}
    found.pop("note", None)
    match document.get("format"):
        case int(form) if form == OLDEST_FORMAT:
            found["note"] = "Made by an older release: plan again."
        case int(form) if form > FORMAT:
            found["note"] = "Made by a later release."
    return found


def _can_be_listed(document: Mapping[str, Any]) -> bool:
    """Whether it has what a listing says; its digest may be right all the same."""
    subject, time = document.get("subject"), document.get("planned_at")
    uri = subject.get("uri") if isinstance(subject, dict) else None
    texts = (uri, document.get("operation"), document.get("summary"))
    is_time = type(time) is int and 0 <= time <= LATEST_MS
    return is_time and all(isinstance(text, str) for text in texts)


def _parse_object(data: bytes) -> dict[str, Any]:
    """An empty one in the place of what is none."""
    found: Any = None
    with contextlib.suppress(orjson.JSONDecodeError):
        found = orjson.loads(data)
    return found if isinstance(found, dict) else {}


def _parse_receipt(identifier: str, data: bytes) -> Receipt | None:
    """The receipt of that name; None where it is no longer what was saved."""
    try:
        found = parse_receipt(_parse_object(data))
    except _UNREADABLE:
        return None
    return found if found.id == identifier else None


def _unknown(what: str, name: str) -> NotFoundError:
    return NotFoundError(
        f"There is no {what} {name[:80]}.",
        reason=f"The state folder holds no {what} of that name.",
        remedy=f"`delta-explorer {what}s` lists them; --state-dir names another folder.",
        kind="plan_not_found",
    )


def _commit_of(document: Mapping[str, Any], table: Table | None) -> CommitOf | None:
    """What finds the commits of a plan in the log of its table; None for another one."""
    anchor = document.get("anchor")
    after = anchor.get("version") if isinstance(anchor, dict) else None
    if table is None or table.uri != document["subject"]["uri"] or type(after) is not int:
        return None

    def find(transaction_id: str) -> int | None:
        made = find_own_commit(table.store, after, transaction_id)
        commits = table.listing().commits
        newer = range(after + 1, max((*commits, after)) + 1)
        if made is None and not set(commits).issuperset(newer):
            raise NotFoundError(
                "Commits after the plan are gone.",
                reason="The log was cleaned up since.",
                remedy="Look at the history.",
            )
        return made

    return find


def _later_plan(digest: str) -> DeltaError:
    return ConflictError(
        f"The plan {digest[:_PREFIX]} was made by a later release.",
        reason="Its format is not supported here.",
        remedy="Carry it out with that release, or plan again.",
        kind="plan_stale",
    )


def _altered(name: str, remedy: str = "Make the plan again.") -> DeltaError:
    return InvalidArgumentError(
        f"The document {name} cannot be used.",
        reason="It is not what was saved: its digest no longer fits, or it cannot be read.",
        remedy=remedy,
    )
