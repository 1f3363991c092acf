"""What the page shows, as parameters, and its form in the address.

The address is `?table=…&version=…&view=…`, and `older`, `where`, `file`, `column`, `only`,
`operation`, `answers` and `other` where something is selected by them, and the names of `LISTS`
where something is chosen of these. What it says is from whoever wrote the link: every part is
checked. A version, a view or a text that cannot be meant becomes a notice, and the address is
rewritten from the state; what is chosen of a list, or answered in a form, and cannot be meant is
as if it were not there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Literal
from urllib.parse import parse_qs, parse_qsl, urlencode

import param

from explorer.errors import Problem
from widgets.text import cut, format_count, last_part

GROUPS = (
    ("", (("overview", "Overview"),)),
    (
        "History",
        (
            ("timeline", "Timeline"),
            ("compare", "Compare"),
            ("feed", "Change feed"),
            ("rows", "Rows"),
        ),
    ),
    (
        "Data",
        (
            ("files", "Files"),
            ("statistics", "Statistics"),
            ("vectors", "Deletion vectors"),
            ("layout", "Layout"),
        ),
    ),
    ("Storage", (("reach", "Time travel"), ("log", "Log"), ("health", "Health"))),
    (
        "Protocol",
        (
            ("schema", "Schema"),
            ("protocol", "Features"),
            ("engines", "Engines"),
            ("conflicts", "Conflicts"),
        ),
    ),
    ("", (("maintenance", "Maintenance"),)),
)
"""The views in groups, as the navigation has them: the name of each in the address, and its
title. A group without a name is one view that stands for itself."""

_NAMES = tuple(view for _, views in GROUPS for view in views)

VIEWS = tuple(name for name, _ in _NAMES)
"""The views in the order of the navigation; the first is where a page begins."""

VIEW_TITLES = dict(_NAMES) | {"commit": "Commit"}

BESIDE = {"commit": "timeline"}
"""Places that the navigation does not name, with the view that they belong to: the selected commit
alone."""

PLACES = (*VIEWS, *BESIDE)
"""What an address may name as its view."""

VIEW_OF_A_VERSION = "timeline"
"""Where a link leads that names a version, or which commits are shown, and no view: such links
are older than the views before it."""

LONGEST_TEXT = 10_000
"""Characters of a condition or path that an address may hold."""

_LARGEST_VERSION = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A place in the explorer; None and empty where the address says nothing.

    `older` is the version to compare with, `where` a condition on rows as SQL, `file`
    the path of one file as the log has it, `column` the way to one column, `only` which
    commits are shown, see `parse_filter`, `operation` what maintenance is about to plan, `answers`
    what its form is filled in with, `other` another table to compare with. The others are what
    is chosen of the lists in `LISTS`, see `parse_list`.
    """

    table: str = ""
    version: int | None = None
    view: str = VIEWS[0]
    older: int | None = None
    where: str = ""
    file: str = ""
    column: str = ""
    only: str = ""
    operation: str = ""
    answers: str = ""
    other: str = ""
    files: str = ""
    log: str = ""
    timeline: str = ""
    commits: str = ""
    engines: str = ""
    vectors: str = ""
    layout: str = ""
    statistics: str = ""
    feed: str = ""
    differences: str = ""
    rows: str = ""
    tables: str = ""

    def differing(self, other: Address) -> dict[str, Any]:
        """What this address says otherwise than the other, by name."""
        pairs = ((name, getattr(self, name)) for name in ADDRESSED)
        return {name: value for name, value in pairs if value != getattr(other, name)}


def name_table(place: str, called: str) -> str:
    """What a table is called wherever the page names it: as its metadata has it, else as the last
    part of its place. From a log: neither cut nor escaped."""
    return called.strip() or last_part(place)


def name_place(address: Address, called: str = "", *, has_list: bool = False) -> str:
    """What a window at this address is called, without the name of the product: the view, the
    table as `name_table` has it, and its folder where that has another name, so that two tables
    of one name are told apart. Without a table it is that of the list of tables, where the page
    `has_list`, or empty."""
    if not address.table:
        return "Tables" if has_list else ""
    view = VIEW_TITLES[address.view]
    if address.view == "commit" and address.version is not None:
        view = f"{view} {format_count(address.version)}"
    name, folder = name_table(address.table, called), last_part(address.table)
    beside = "" if name == folder else f" ({cut(folder, 40)})"
    return f"{view} \N{MIDDLE DOT} {cut(name, 80)}{beside}"


LISTS: Final[Mapping[str, tuple[str, ...]]] = {
    "files": ("text", "partition", "by", "order"),
    "layout": ("partition",),
    "log": ("text", "by", "order"),
    "timeline": ("measure", "window"),
    "commits": ("by", "order"),
    "engines": ("text", "verb", "verdict", "engine"),
    "vectors": ("by", "order"),
    "statistics": ("which",),
    "feed": ("kind",),
    "differences": ("files", "rows", "key"),
    "rows": ("text", "by", "order", "pinned", "hidden"),
    "tables": ("text", "finding", "by", "order"),
}
"""What can be chosen of the lists of the page, by the name that each list has in an address: that
of its view, or of what it lists."""

_TEXTS = ("where", "file", "column", "only", *LISTS, "operation", "answers", "other")

ADDRESSED = tuple(field.name for field in fields(Address))
"""What of the page's state its address holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A sentence above the views. Its text is plain and not yet escaped."""

    level: Literal["info", "warning", "error"]
    problem: str
    reason: str = ""
    remedy: str = ""

    @classmethod
    def of(cls, problem: Problem) -> Notice:
        """An error as a notice."""
        return cls(
            level="error",
            problem=problem.problem,
            reason=problem.reason,
            remedy=problem.remedy,
        )


def parse_address(search: str) -> tuple[Address, list[str]]:
    """The place that a query string names, and a sentence per part that names none."""
    query = parse_qs(search.lstrip("?"), keep_blank_values=True, errors="replace")

    def last(name: str) -> str:
        return query.get(name, [""])[-1]

    complaints = []
    version, older = (parse_version(last(name)) for name in ("version", "older"))
    if last("version") and version is None:
        complaints.append(f"{cut(last('version'), 40)!r} is not a version; the latest is shown.")
    if last("older") and older is None:
        complaints.append(f"{cut(last('older'), 40)!r} is not a version to compare with.")
    texts = {name: last(name).strip() for name in _TEXTS}
    for name, text in texts.items():
        if len(text) > LONGEST_TEXT:
            complaints.append(f"What it says for {name!r} is longer than any that is taken.")
            texts[name] = ""
    means_commits = version is not None or bool(texts["only"])
    view = last("view") or (VIEW_OF_A_VERSION if means_commits else VIEWS[0])
    if view not in PLACES:
        complaints.append(
            f"There is no view called {cut(view, 40)!r}; the {VIEW_TITLES[VIEWS[0]]} is shown."
        )
        view = VIEWS[0]
    table = last("table").strip()
    return Address(table=table, version=version, view=view, older=older, **texts), complaints


LISTED: Final = "?table="
"""The address of the list of tables, also where the server begins with the only one."""


def parse_version(text: str) -> int | None:
    """A version as people write it, `1,284` too; None where it is none."""
    digits = text.strip().replace(",", "")
    # int() would take other alphabets, signs and underscores, and any length
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 19):
        return None
    version = int(digits)
    return version if version <= _LARGEST_VERSION else None


def render_address(address: Address) -> str:
    """The query string of a place; empty while no table is open, unless something is chosen of
    the list of tables."""
    if not address.table:
        return f"{LISTED}&{urlencode({'tables': address.tables})}" if address.tables else ""
    if len(address.other) > LONGEST_TEXT:
        address = replace(address, other="", older=None)  # a version of that table
    parts = {"table": address.table}
    if address.version is not None:
        parts["version"] = str(address.version)
    parts["view"] = address.view
    if address.older is not None:
        parts["older"] = str(address.older)
    # one that is longer holds on this page, and would be refused by the next
    parts |= {
        name: text
        for name in _TEXTS
        if (text := getattr(address, name)) and len(text) <= LONGEST_TEXT
    }
    return "?" + urlencode(parts, errors="replace")


FILTERED_BY = ("operation", "engine", "user", "effect", "text")


def parse_filter(text: str) -> dict[str, str]:
    """The filter of commits that an address holds, `operation=MERGE&user=ann`; an empty value
    asks for what is not recorded. Parts that mean nothing are left out."""
    pairs = parse_qsl(text, keep_blank_values=True, errors="replace")
    return {name: value for name, value in pairs if name in FILTERED_BY}


def render_filter(wanted: Mapping[str, str]) -> str:
    """A filter as it stands in an address."""
    return urlencode([(name, wanted[name]) for name in FILTERED_BY if name in wanted])


def parse_list(name: str, text: str) -> dict[str, str]:
    """What an address chooses of a list, `text=emea&by=size&order=descending`: what its lines
    have to hold, and the column that they are sorted by. Parts that mean nothing are left out."""
    pairs = parse_qsl(text, errors="replace")
    return {key: value for key, value in pairs if key in LISTS[name]}


def render_list(name: str, chosen: Mapping[str, str]) -> str:
    """What is chosen of a list as it stands in an address; empty for all in its usual order."""
    return urlencode([(key, chosen[key]) for key in LISTS[name] if chosen.get(key)])


Partition = tuple[tuple[str, str | None], ...]
"""The values of a partition by the logical names of its columns, as strings of the log; None for
null."""


def parse_partition(text: str) -> Partition:
    """The values of a partition as they stand in what is chosen of a list, `country=DE&day=`; empty
    where there are none. Null and the empty text are the same value."""
    pairs = parse_qsl(text, keep_blank_values=True, errors="replace")
    return tuple((name, value or None) for name, value in dict(pairs).items())


def name_partition(values: Mapping[str, str | None]) -> str:
    """The same values as they stand there."""
    return urlencode([(name, value or "") for name, value in values.items()])


def is_typed_on(before: str, after: str) -> bool:
    """Whether two query strings differ in what is looked for in one list alone, where something
    was looked for before and still is."""
    was, now = (dict(parse_qsl(search.removeprefix("?"))) for search in (before, after))
    changed = [name for name in was.keys() | now.keys() if was.get(name) != now.get(name)]
    if len(changed) != 1 or "text" not in LISTS.get(changed[0], ()):
        return False
    texts = [parse_list(changed[0], search.get(changed[0], "")) for search in (was, now)]
    return all(text.pop("text", "") for text in texts) and texts[0] == texts[1]


HEALTH_WORDS = {
    "sound": "Healthy",
    "note": "Notes",
    "warning": "Warnings",
    "error": "Errors",
    "unknown": "Unknown",
}
"""The health of a table's log in a word, by the gravest finding."""


class PageState(param.Parameterized):
    """One person's page. Views watch it; nothing in it is Panel's."""

    table = param.String(default="", doc="The open table as it may be shown, without secrets.")
    version = param.Integer(default=None, allow_None=True, doc="The selected version.")
    latest = param.Integer(default=None, allow_None=True, doc="The table's latest version.")
    view: Any = param.Selector(default=VIEWS[0], objects=list(PLACES), doc="The view in front.")
    older = param.Integer(default=None, allow_None=True, doc="The version to compare with.")
    where = param.String(default="", doc="A condition on rows, as SQL.")
    file = param.String(default="", doc="The selected file, its path as in the log.")
    column = param.String(default="", doc="The selected column, as `address.city`.")
    only = param.String(default="", doc="Which commits are shown, see `parse_filter`.")
    operation = param.String(default="", doc="The operation that maintenance is about.")
    answers = param.String(
        default="", doc="What the form of that operation is filled in with, see `render_answers`."
    )
    other = param.String(default="", doc="Another table to compare with, or empty.")
    files = param.String(default="", doc="What is chosen of the files, see `parse_list`.")
    log = param.String(default="", doc="What is chosen of the files of the log.")
    timeline = param.String(default="", doc="What is counted on the timeline, and its window.")
    commits = param.String(default="", doc="What is chosen of the commits beside `only`.")
    engines = param.String(default="", doc="What is chosen of the engines.")
    vectors = param.String(default="", doc="What is chosen of the deletion vectors.")
    layout = param.String(default="", doc="Which partition is chosen of the layout.")
    statistics = param.String(default="", doc="What is chosen of the files of a query.")
    feed = param.String(default="", doc="What is chosen of the changed rows.")
    differences = param.String(default="", doc="What is chosen of what differs.")
    rows = param.String(default="", doc="What is chosen of the rows and their columns.")
    tables = param.String(default="", doc="What is chosen of the list of tables.")
    called = param.String(
        default="", doc="The open table's name in its metadata; empty without one, or unread."
    )
    health: Any = param.Selector(
        default="", objects=["", *HEALTH_WORDS], doc="How the log is, as far as it is known."
    )
    newer = param.Integer(
        default=None, allow_None=True, doc="A newer version that is there and not yet shown."
    )
    gone = param.ClassSelector(
        class_=Notice,
        default=None,
        allow_None=True,
        doc="That the open table was deleted, or created again, since it was read.",
    )
    refreshing = param.Boolean(default=False, doc="Whether the open table is refreshed.")
    entering = param.Boolean(
        default=False, doc="Whether a place is being gone to: each view is shown afterwards, once."
    )
    plan_request = param.Parameter(
        default=None, doc="An operation whose form is to be filled in: its name and answers."
    )
    plans_at_once = param.Boolean(default=False, doc="Whether that operation is planned at once.")
    ahead = param.Event(doc="Somebody points at the timeline.")
    changes = param.Integer(default=0, doc="How often this page has changed the table.")
    dark = param.Boolean(default=False, doc="Whether the dark theme is on.")
    notice = param.ClassSelector(
        class_=Notice, default=None, allow_None=True, doc="Above the views."
    )
    opening = param.String(default="", doc="The table that is being opened, or empty.")

    @property
    def address(self) -> Address:
        """Where the page is now."""
        return Address(**{name: getattr(self, name) for name in ADDRESSED})

    @property
    def since(self) -> int | None:
        """The version to compare with where it is one of the open table, not of `other`."""
        return None if self.other else self.older

    def compare(self, version: int | None, older: int | None = None) -> None:
        """Compare two versions of the open table; without `older`, with the one before."""
        self.param.update(version=version, older=older, other="", view="compare")

    def select_range(self, older: int | None, version: int | None) -> None:
        """Select two versions of the open table; another one is no longer compared with."""
        self.param.update(older=older, version=version, other="")

    def find_version(self, text: str) -> int | None:
        """The version of the open table that was typed or clicked; None where there is none."""
        version, latest = parse_version(text), self.latest
        if version is None or latest is None or version > latest:
            return None
        return version

    def tell_no_version(self, text: str) -> str:
        """What is said of a text for which `find_version` has no version. Plain text."""
        said = f"{cut(text.strip(), 40)!r} is not a version of this table"
        return said + (
            "." if self.latest is None else f": the latest is {format_count(self.latest)}."
        )

    def step(self, by: int) -> None:
        """Select an older (-1) or newer (+1) version, within what exists."""
        if self.version is None or self.latest is None:
            return
        self.version = min(max(self.version + by, 0), self.latest)


class HistoryState(param.Parameterized):
    """The commits as far as they are read, shared by plot, table and detail."""

    commits = param.Parameter(
        default=None, doc="Drawable commits, or None before the first window."
    )
    live = param.Parameter(
        default={}, doc="What is live after each commit by measure, where it can be told."
    )
    removed = param.Parameter(
        default={}, doc="Rows removed by version, of commits that do not count them themselves."
    )
    compactions = param.Parameter(default=(), doc="First and last version of each log compaction.")
    left = param.Integer(default=0, doc="Commits of the log that are not read yet.")
    reading = param.Boolean(default=False, doc="Whether a window is being read.")
    problem = param.ClassSelector(
        class_=Problem, default=None, allow_None=True, doc="What ended it."
    )
