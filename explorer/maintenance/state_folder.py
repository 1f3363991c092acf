"""Where plans, receipts and journals lie: a folder of the user, never the table.

    plans/DIGEST.json, plans/DIGEST.arrow     a plan and its file list
    receipts/ID.json                          what became of it
    runs/DIGEST.journal                       how far an execution has come

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
from typing import Any, TypeVar

import orjson
import pyarrow as pa

from explorer.errors import DeltaError, InvalidArgumentError, NotFoundError, StorageError
from explorer.maintenance.plan import Plan, parse_plan
from explorer.maintenance.receipt import Receipt, parse_receipt
from explorer.protocol.unicode_text import with_encodable_texts
from explorer.table.table import Table

StateDir = str | os.PathLike[str] | None

_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
_RECEIPT = re.compile(r"[0-9]{13,}-[0-9a-f]{12}", re.ASCII)
_APPLICATION = "delta-explorer"
_PREFIX = 12

Document = TypeVar("Document")


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
                "Plans and receipts cannot be kept inside of the table.",
                reason=f"{self.place} lies below {table.uri}, where they would be stray files.",
                remedy="Name a folder outside of the table with --state-dir.",
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

    def load_plan(self, digest: str) -> Plan:
        """The plan with this digest, or the only one whose digest begins with it (twelve
        characters or more).

        Raises `NotFoundError` where there is none, `InvalidArgumentError` where several fit or
        the document is no longer what was saved.
        """
        full = self._find(digest)
        try:
            document = orjson.loads(self._read(f"plans/{full}.json"))
            with pa.ipc.open_file(pa.BufferReader(self._read(f"plans/{full}.arrow"))) as reader:
                plan = parse_plan(document, reader.read_all())
            intact = plan.digest == full
        except (KeyError, TypeError, ValueError, pa.ArrowException) as error:
            raise _altered(full) from error
        if not intact:
            raise _altered(full)
        return plan

    def list_plans(self) -> list[dict[str, Any]]:
        """The documents of all plans, newest first, each with its `digest`."""
        found = [
            {"digest": place.stem, **document}
            for place, document in self._documents("plans")
            if _DIGEST.fullmatch(place.stem)
        ]
        return sorted(found, key=_planned_at, reverse=True)

    def save_receipt(self, receipt: Receipt) -> None:
        """Keep a receipt, whatever its texts are: what was done has to be told."""
        self._write(f"receipts/{receipt.id}.json", _render(receipt.document))

    def load_receipt(self, identifier: str) -> Receipt:
        """The receipt with this id; raises `NotFoundError`."""
        if not _RECEIPT.fullmatch(identifier):
            raise _unknown("receipt", identifier)
        try:
            return parse_receipt(orjson.loads(self._read(f"receipts/{identifier}.json")))
        except FileNotFoundError as error:
            raise _unknown("receipt", identifier) from error
        except (KeyError, TypeError, ValueError) as error:
            raise _altered(identifier) from error

    def list_receipts(self) -> list[Receipt]:
        """All receipts that can be read, newest first."""
        found: list[Receipt] = []
        for _, document in self._documents("receipts"):
            with contextlib.suppress(KeyError, TypeError, ValueError):
                found.append(parse_receipt(document))
        return sorted(found, key=lambda receipt: receipt.id, reverse=True)

    def read_journal(self, digest: str) -> list[dict[str, Any]]:
        """What an execution has noted; lines that were cut off, as by a kill, are left out."""
        try:
            data = self._read(f"runs/{digest}.journal")
        except FileNotFoundError:
            return []
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

    def _find(self, digest: str) -> str:
        if _DIGEST.fullmatch(digest):
            if (self.place / f"plans/{digest}.json").is_file():
                return digest
            raise _unknown("plan", digest)
        if len(digest) < _PREFIX or not _DIGEST.fullmatch(digest.ljust(64, "0")):
            raise _unknown("plan", digest)
        folder = self.place / "plans"
        found = [place.stem for place in folder.glob(f"{digest}*.json")] if folder.is_dir() else []
        if len(found) > 1:
            raise InvalidArgumentError(
                f"Several plans begin with {digest}.",
                reason="Approval is given to exactly one plan.",
                remedy="Give the whole digest; `delta-explorer plans` lists them.",
            )
        if not found:
            raise _unknown("plan", digest)
        return found[0]

    def _documents(self, folder: str) -> Iterator[tuple[Path, dict[str, Any]]]:
        place = self.place / folder
        if not place.is_dir():
            return
        for file in sorted(place.glob("*.json")):
            with contextlib.suppress(OSError, orjson.JSONDecodeError):
                document = orjson.loads(file.read_bytes())
                if isinstance(document, dict):
                    yield file, document

    def _read(self, name: str) -> bytes:
        return (self.place / name).read_bytes()

    def _prepare(self, name: str) -> Path:
        place = self.place / name
        with _speaking_of(self.place):
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return place

    def _write(self, name: str, data: bytes | pa.Buffer) -> None:
        place = self._prepare(name)
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


def _planned_at(document: Mapping[str, Any]) -> int:
    value = document.get("planned_at")
    return value if isinstance(value, int) else 0


def _unknown(what: str, name: str) -> NotFoundError:
    return NotFoundError(
        f"There is no {what} {name[:80]}.",
        reason=f"The state folder holds no {what} of that name.",
        remedy=f"`delta-explorer {what}s` lists them; --state-dir names another folder.",
        kind="plan_not_found",
    )


def _altered(name: str) -> DeltaError:
    return InvalidArgumentError(
        f"The document {name} cannot be used.",
        reason="It is not what was saved: its digest no longer fits, or it cannot be read.",
        remedy="Make the plan again.",
    )
