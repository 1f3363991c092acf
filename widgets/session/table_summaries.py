"""The health of many tables at a glance: version, age, files, size and the worst finding.

One process looks, and all its pages are told. A few tables are looked at at once, beside the
pages, and what is found is kept for a while. A table that cannot be read is one that says
why, and keeps nobody from the others.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import explorer
import explorer.inspect as look
from explorer.errors import DeltaError, Problem
from explorer.inspect.advice.ranking import FEWEST_FILES
from explorer.inspect.health.findings import SEVERITIES
from explorer.inspect.layout.sizes import small_files
from explorer.progress import Cancel, Progress, Watch
from widgets.session.catalog import Offered, scan_tables
from widgets.session.work import unexpected
from widgets.text import last_part

AT_ONCE = 3
"""Tables looked at at once: pages that are open go on being answered meanwhile."""

FRESH_SECONDS = 300.0
"""A summary is as old as this at most when somebody opens the list."""

SMALL_FILES = "small files"
"""The finding of a table whose files are worth a compaction."""

_PAUSE = 0.05

Listener = Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSummary:
    """One table of the list. `shown` is its place without secrets. Figures are None while
    they are not known: see `is_waiting` and `problem`. `severity` is that of the worst finding,
    None without any; `finding` says it, `num_findings` how many there are, and `findings` are
    their kinds. `files_saved`: by how many files a compaction leaves fewer."""

    shown: str
    name: str
    version: int | None = None
    timestamp: datetime | None = None
    num_files: int | None = None
    size_in_bytes: int | None = None
    severity: str | None = None
    finding: str = ""
    num_findings: int | None = None
    findings: tuple[str, ...] = ()
    files_saved: int | None = None
    problem: Problem | None = None
    is_waiting: bool = True
    looked_at: float = field(default=-1e9, repr=False)


class TableSummaries:
    """What is known of all tables of a catalog.

    `scans` are folders or URLs that are searched for further tables. `open_table` opens one
    for the look alone, by its whole place and options.
    """

    def __init__(
        self,
        tables: Sequence[Offered],
        *,
        scans: Sequence[str] = (),
        storage_options: Mapping[str, Any] | None = None,
        open_table: Callable[[str, Mapping[str, Any] | None], Any] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._options = dict(storage_options or {})
        self._open_table = open_table or explorer.open_table
        self._clock = clock
        self._tables: dict[str, Offered] = {}
        self._known: dict[str, TableSummary] = {}
        self._due: deque[str] = deque()
        self._looking: set[str] = set()
        self._scans = deque(scans)
        self._all_scans = tuple(scans)
        self._scan_problems: dict[str, Problem] = {}
        self._scanning: str | None = None
        self._listeners: dict[Listener, None] = {}
        self._working = 0
        self._cancel = Cancel()
        self._lock = threading.Lock()
        for table in tables:
            self._add(table)

    def places(self) -> tuple[str, ...]:
        """The places of all tables as they may be shown, in the catalog's order."""
        with self._lock:
            return tuple(self._tables)

    def target_of(self, shown: str) -> str | None:
        """The whole place of a table that is known by what may be shown of it."""
        table = self._tables.get(shown)
        return None if table is None else table.target

    def options_of(self, target: str) -> Mapping[str, Any]:
        """What the catalog says a place is opened with."""
        with self._lock:
            found = [one for one in self._tables.values() if one.target == target]
        return found[0].storage_options if found else {}

    def list(self) -> tuple[TableSummary, ...]:
        """What is known now, in the catalog's order."""
        with self._lock:
            return tuple(self._known[shown] for shown in self._tables)

    def problems(self) -> tuple[Problem, ...]:
        """Why folders could not be searched."""
        with self._lock:
            return tuple(self._scan_problems.values())

    @property
    def progress(self) -> Progress | None:
        """How far the look has come; None while nothing is being looked at."""
        with self._lock:
            if self._scanning is not None or self._scans:
                return Progress(done=len(self._tables), total=None, label="Looking for tables")
            waiting = len(self._due) + len(self._looking)
            if not waiting:
                return None
            total = len(self._tables)
            return Progress(done=max(0, total - waiting), total=total, label="Looking at tables")

    def follow(self, listener: Listener) -> None:
        """Tell a page whenever something more is known, from any thread; look at what was
        not looked at for a while."""
        with self._lock:
            self._listeners[listener] = None
        self.refresh(older_than=FRESH_SECONDS)

    def leave(self, listener: Listener) -> None:
        """The page is gone."""
        with self._lock:
            self._listeners.pop(listener, None)

    def refresh(self, older_than: float = 0.0) -> None:
        """Read the tables again that were last read longer ago than these seconds."""
        now = self._clock()
        with self._lock:
            for shown, summary in self._known.items():
                is_under_way = shown in self._due or shown in self._looking
                if now - summary.looked_at >= older_than and not is_under_way:
                    self._due.append(shown)
            if older_than == 0.0 and self._scanning is None and not self._scans:
                self._scans.extend(self._all_scans)
            wanted = min(AT_ONCE, len(self._due) + len(self._scans)) - self._working
            starting = max(0, wanted)
            self._working += starting
        for _ in range(starting):
            threading.Thread(target=self._work, name="delta-explorer-summary", daemon=True).start()

    def wait_for_places(self, seconds: float) -> bool:
        """Wait until all folders were searched, at most so long; whether they were."""
        until = self._clock() + seconds
        while self._is_searching() and not self._cancel.is_cancelled:
            if self._clock() >= until:
                return False
            time.sleep(_PAUSE)
        return True

    def _is_searching(self) -> bool:
        with self._lock:
            return self._scanning is not None or bool(self._scans)

    def stop(self) -> None:
        """Look at nothing more."""
        self._cancel.cancel()
        with self._lock:
            self._due.clear()
            self._scans.clear()

    def _add(self, table: Offered) -> bool:
        shown = table.shown
        with self._lock:
            if shown in self._tables:
                return False
            self._tables[shown] = table
            self._known[shown] = TableSummary(shown=shown, name=table.name or last_part(shown))
            return True

    def _work(self) -> None:
        while (work := self._next()) is not None:
            work()
            self._tell()
        self._tell()

    def _next(self) -> Callable[[], None] | None:
        with self._lock:
            if self._scans and self._scanning is None:
                root = self._scanning = self._scans.popleft()
                return lambda: self._scan(root)
            if self._due:
                shown = self._due.popleft()
                self._looking.add(shown)
                return lambda: self._look(shown)
            self._working -= 1
            return None

    def _scan(self, root: str) -> None:
        problem = None
        try:
            for table in scan_tables(root, self._options, Watch(cancel=self._cancel)):
                if self._add(table):
                    with self._lock:
                        self._due.append(table.shown)
                    self._tell()
        except DeltaError as error:
            problem = Problem.of(error) if error.kind != "cancelled" else None
        except Exception as error:  # noqa: BLE001 - else the list would wait without end
            problem = unexpected(error)
        with self._lock:
            self._scanning = None
            if problem is not None:
                self._scan_problems[root] = problem
            else:
                self._scan_problems.pop(root, None)

    def _look(self, shown: str) -> None:
        table, known = self._tables[shown], self._known[shown]
        try:
            found = self._summary(table, known)
        except DeltaError as error:
            found = replace(_unknown(known), problem=Problem.of(error))
        except Exception as error:  # noqa: BLE001 - else the list would wait without end
            found = replace(_unknown(known), problem=unexpected(error))
        with self._lock:
            self._looking.discard(shown)
            self._known[shown] = replace(found, is_waiting=False, looked_at=self._clock())

    def _summary(self, table: Offered, known: TableSummary) -> TableSummary:
        options = {**self._options, **table.storage_options}
        # opened for this look alone: a thousand tables would keep what nobody asks for again
        opened = self._open_table(table.target, options or None)
        health = look.log_health(opened, cancel=self._cancel)
        severities = health.findings.column("severity").to_pylist()
        worst = next((one for one in SEVERITIES if one in severities), None)
        said = health.findings.column("problem").to_pylist()
        found = replace(
            _unknown(known),
            version=health.version,
            severity=worst,
            finding=said[severities.index(worst)] if worst is not None else "",
            num_findings=len(severities),
            findings=_kinds(health),
        )
        if not health.opens:
            return found
        snapshot = opened.snapshot(cancel=self._cancel)
        saved = small_files(snapshot, cancel=self._cancel).files_saved
        is_small = saved >= FEWEST_FILES
        return replace(
            found,
            timestamp=snapshot.timestamp,
            num_files=snapshot.num_files,
            size_in_bytes=snapshot.size_in_bytes,
            findings=(*found.findings, SMALL_FILES) if is_small else found.findings,
            files_saved=saved,
        )

    def _tell(self) -> None:
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            try:
                listener()
            except Exception as error:  # noqa: BLE001 - one page must not stop the others
                unexpected(error)


def _kinds(health: look.Health) -> tuple[str, ...]:
    """Of all that an operation mends, or that is worse than a note."""
    names = ("finding", "severity", "repair")
    found = zip(*(health.findings.column(name).to_pylist() for name in names), strict=True)
    return tuple(
        dict.fromkeys(
            kind for kind, severity, repair in found if severity != "note" or repair is not None
        )
    )


def _unknown(known: TableSummary) -> TableSummary:
    return TableSummary(shown=known.shown, name=known.name)
