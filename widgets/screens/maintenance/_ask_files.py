"""The files of a plan as a page shows them: some at a time, whatever their number."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

_ORDER = ("delete", "remove", "add", "write", "leave")
"""What is lost for good comes first, what stays last."""

SORTABLE = ("path", "bytes", "deletable_from")


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionCount:
    """How many files something happens to; `num_bytes` is None where a size is unknown."""

    action: str
    num_files: int
    num_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFilesQuery:
    """Which page of the files, in what order; `action` None means all of them."""

    action: str | None = None
    contains: str = ""
    sort_by: str = "path"
    descending: bool = False
    offset: int = 0
    limit: int = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFilesPage:
    """Some files with the columns of the plan's list, and how many the query finds."""

    rows: pa.Table
    total: int


class PlanFiles:
    """One plan's files (`explorer.maintenance.plan.file_list.FILES_SCHEMA`); the order that was
    asked for last is kept, so that a page is turned without sorting again."""

    def __init__(self, files: pa.Table) -> None:
        self._files = files.unify_dictionaries().combine_chunks()
        self._found: tuple[PlanFilesQuery, pa.Array] | None = None

    @property
    def has_times(self) -> bool:
        """Whether the plan tells of any file from when it may go."""
        column = self._files.column("deletable_from")
        return bool(column.null_count < len(column))

    def count(self) -> list[ActionCount]:
        """The files by what happens to them."""
        if not self._files.num_rows:
            return []
        words, sizes = self._words("action"), self._files.column("bytes")
        counts = []
        for at, action in enumerate(words.dictionary.to_pylist()):
            of_it = sizes.filter(pc.equal(words.indices, at))
            size = None if of_it.null_count else pc.sum(of_it).as_py() or 0
            counts.append(ActionCount(action=action, num_files=len(of_it), num_bytes=size))
        return sorted(counts, key=lambda count: _rank(count.action))

    def read(self, query: PlanFilesQuery) -> PlanFilesPage:
        """One page."""
        order = self._order(query)
        at = order.slice(query.offset, query.limit)
        return PlanFilesPage(rows=self._files.take(at), total=len(order))

    def _order(self, query: PlanFilesQuery) -> pa.Array:
        asked = PlanFilesQuery(
            action=query.action,
            contains=query.contains,
            sort_by=query.sort_by,
            descending=query.descending,
        )
        found = self._found  # two pages may be read at once
        if found is None or found[0] != asked:
            found = self._found = (asked, self._find(asked))
        return found[1]

    def _find(self, query: PlanFilesQuery) -> pa.Array:
        order = pc.sort_indices(
            self._files.select([query.sort_by]),
            sort_keys=[(query.sort_by, "descending" if query.descending else "ascending")],
        )
        wanted: pa.Array | None = None
        if query.action is not None:
            words = self._words("action")
            wanted = pc.take(pc.equal(words.dictionary, query.action), words.indices)
        if query.contains:
            hit = self._matches(query.contains)
            wanted = hit if wanted is None else pc.and_(wanted, hit)
        if wanted is None:
            return order
        return order.filter(pc.take(pc.fill_null(wanted, fill_value=False), order))

    def _matches(self, text: str) -> pa.Array:
        paths = self._files.column("path").combine_chunks()
        reasons = self._words("reason")
        found = pc.match_substring(reasons.dictionary, text, ignore_case=True)
        return pc.or_(
            pc.match_substring(paths, text, ignore_case=True), pc.take(found, reasons.indices)
        )

    def _words(self, name: str) -> pa.DictionaryArray:
        return self._files.column(name).combine_chunks()


def _rank(action: str) -> int:
    return _ORDER.index(action) if action in _ORDER else len(_ORDER)
