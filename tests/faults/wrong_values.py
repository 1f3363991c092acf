"""Every field of every action with values that do not belong there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.tables import PROTOCOL, Action, add, metadata, remove, vector

_TEXT, _NUMBER, _TRUTH, _OBJECT, _LIST = "text", 7, True, {"k": 5}, [[1]]
_FILE_FIELDS: dict[str, tuple[Any, ...]] = {
    "path": (_NUMBER, _TRUTH, _OBJECT, _LIST, None),
    "partitionValues": (_NUMBER, _TEXT, {"k": _OBJECT}, _LIST),
    "size": (_TEXT, _TRUTH, _OBJECT, _LIST, 1.5),
    "dataChange": (_TEXT, _NUMBER, _OBJECT, _LIST),
    "stats": (_NUMBER, _TRUTH, _OBJECT, _LIST),
    "tags": (_NUMBER, _TEXT, _OBJECT, _LIST),
    "baseRowId": (_TEXT, _TRUTH, _OBJECT, _LIST, 1.5),
    "defaultRowCommitVersion": (_TEXT, _TRUTH, _LIST),
    "deletionVector": (
        _NUMBER,
        _TEXT,
        _LIST,
        vector(storageType=5),
        vector(pathOrInlineDv=5),
        vector(offset="1"),
        vector(offset=2**31),
        vector(sizeInBytes="x"),
        vector(cardinality=1.5),
    ),
}
_FIELDS: dict[str, tuple[Action, dict[str, tuple[Any, ...]]]] = {
    "add": (
        add("c"),
        _FILE_FIELDS | {"modificationTime": (_TEXT, _TRUTH), "clusteringProvider": (_NUMBER,)},
    ),
    "remove": (
        remove("a"),
        _FILE_FIELDS | {"deletionTimestamp": (_TEXT, _TRUTH), "extendedFileMetadata": (_NUMBER,)},
    ),
    "metaData": (
        metadata(),
        {
            "id": (_NUMBER, None),
            "name": (_NUMBER, _LIST),
            "description": (_TRUTH,),
            "format": (_NUMBER, _TEXT, {"provider": 5}, {"options": {"k": 5}}),
            "schemaString": (_NUMBER, _OBJECT),
            "partitionColumns": (_NUMBER, _TEXT, _OBJECT, [5]),
            "configuration": (_NUMBER, _TEXT, _OBJECT, _LIST),
            "createdTime": (_TEXT, 1.5, 2**63),
        },
    ),
    "protocol": (
        PROTOCOL,
        {
            "minReaderVersion": (_TEXT, _TRUTH, 1.5, None),
            "minWriterVersion": (_TEXT, _LIST, None),
            "readerFeatures": (_TEXT, _NUMBER, [5]),
            "writerFeatures": (_TEXT, _OBJECT, [None]),
        },
    ),
    "txn": (
        {"txn": {"appId": "x", "version": 1}},
        {
            "appId": (_NUMBER, None, _LIST),
            "version": (_TEXT, _TRUTH, None, 2**63),
            "lastUpdated": (_TEXT, 1.5),
        },
    ),
    "domainMetadata": (
        {"domainMetadata": {"domain": "d", "configuration": "{}", "removed": False}},
        {
            "domain": (_NUMBER, None),
            "configuration": (_NUMBER, None, _LIST),
            "removed": (_TEXT, _NUMBER, None),
        },
    ),
}


def wrong_lines() -> Iterator[tuple[str, str, str]]:
    """What is wrong, the kind of action, and the line of a commit."""
    for kind, (action, fields) in _FIELDS.items():
        for name, values in fields.items():
            for value in values:
                line = json.dumps({kind: {**action[kind], name: value}})
                yield f"{kind}.{name} is {json.dumps(value)[:30]}", kind, line
