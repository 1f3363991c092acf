"""Whether the rows of a frame come from the very table that they are to be written to.

A frame says so by the files and folders that Spark reads for it, by the marks of frames of this
package, and by the options of our own format. In doubt it does: then the append is refused where
another commit changed the table's rows meanwhile, and no wrong one is made.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from explorer.errors import InvalidArgumentError
from explorer.pipeline.jobs.failures import clear_errors
from explorer.pipeline.session import is_connect
from explorer.pipeline.tasks.table_marks import table_mark
from explorer.storage.location import canonical_place, is_below, parse_location
from explorer.storage.ports import ReadStore

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_OUR_SCAN: Final = re.compile(r" delta_explorer\b")
_HIDING: Final = frozenset({"Any", "CachedRemoteRelation", "NamedTable", "SQL", "SqlCommand"})
"""Parts of a plan of Connect behind which the server finds others: tables, views, extensions."""

_AZURE: Final = frozenset({"abfs", "abfss", "az", "wasb", "wasbs"})
_LINE: Final = "\n"


def reads_table(frame: DataFrame, store: ReadStore) -> bool:
    """Whether a frame, of a classic session or Connect, reads the table at the store's root.

    Raises `InvalidArgumentError` for a frame that Spark cannot plan.
    """
    with clear_errors("Looking where the rows come from"):
        mark, root = table_mark(store), _place(store.uri)
        if is_connect(frame.sparkSession):
            return _reads_on_connect(frame, mark, root)
        for names, places in _sources(frame._jdf.queryExecution().analyzed()):
            if mark in names or _is_any_below(places, root):
                return True
        return False


def _sources(plan: Any) -> Iterator[tuple[list[str], list[str]]]:
    """Of each node of an analyzed plan, subqueries included, its alias and the places that it
    reads. Analyzed, because a cached frame is optimized into its cache."""
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        match str(node.getClass().getSimpleName()):
            case "SubqueryAlias":
                yield [str(node.alias())], []
            case "LogicalRelation":
                yield [], _places_of_relation(node.relation())
            case "DataSourceV2Relation":
                yield [], _places_of_v2(node)
        for inner in (node.children(), node.subqueries()):
            waiting += [inner.apply(at) for at in range(inner.size())]


def _places_of_relation(relation: Any) -> list[str]:
    """The folders or files of a relation of files; nothing of others, such as a database's."""
    kind = relation.getClass()
    while kind is not None:  # the reference has a kind of its own
        if str(kind.getSimpleName()) == "HadoopFsRelation":
            return str(relation.location().rootPaths().mkString(_LINE)).split(_LINE)
        kind = kind.getSuperclass()
    return []


def _places_of_v2(relation: Any) -> list[str]:
    found = [relation.options().get("path"), relation.table().properties().get("location")]
    return [str(place) for place in found if place is not None]


def _reads_on_connect(frame: Any, mark: str, root: str) -> bool:
    """By the plan as it is sent, which has whatever this client built; by what the server says of
    tables and views in it; and by the files that it finds."""
    sent = frame._plan.to_proto(frame.sparkSession.client)
    messages = list(_messages(sent))
    if mark.encode() in sent.SerializeToString() or _is_any_below(_named_in(messages), root):
        return True
    told = frame._explain_string(extended=True)
    if mark in told:
        return True
    # a plan of the server names our format, and not the place that is read by it
    is_hidden = any(message.DESCRIPTOR.name in _HIDING for message in messages)
    if is_hidden and _OUR_SCAN.search(told):
        return True
    return _is_any_below(frame.inputFiles(), root)


def _named_in(messages: Iterable[Any]) -> Iterator[str]:
    """The paths that a plan of Connect reads by name of a format."""
    for message in messages:
        if message.DESCRIPTOR.name == "DataSource":
            yield from message.paths
            yield from (text for key, text in message.options.items() if key.lower() == "path")


def _messages(message: Any) -> Iterator[Any]:
    """All parts of a plan of Connect."""
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for inner in _messages_in(value):
                yield inner
                yield from _messages(inner)


def _messages_in(value: Any) -> list[Any]:
    """Those of a field: one, several, or the values of a map. By what the value can do: versions
    of protobuf do not agree on how a field says which of these it is."""
    if hasattr(value, "ListFields"):
        return [value]
    values = value.values() if hasattr(value, "values") else value
    return [inner for inner in values if hasattr(inner, "ListFields")]


def _is_any_below(places: Iterable[str], root: str) -> bool:
    """Some are encoded as in URLs, and others not: a folder may be called either way."""
    return any(
        is_below(_place(form), root)
        for place in places
        if place
        for form in {place, unquote(place)}
    )


def _place(text: str) -> str:
    """One spelling for a place, for Spark and fsspec alike."""
    if text.startswith("file:"):
        text = "/" + text.removeprefix("file:").lstrip("/")
    try:
        found = canonical_place(parse_location(text))
    except InvalidArgumentError:
        return ""
    scheme, separator, rest = found.partition("://")
    if scheme not in _AZURE:
        return found
    container, slash, below = rest.partition("/")
    # the account stands in the address, or in an option
    return f"azure{separator}{container.partition('@')[0]}{slash}{below}"
