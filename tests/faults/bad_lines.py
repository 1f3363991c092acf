"""Commits with something wrong in their lines."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.faults.case import Answered, Case, Refused, commit_2
from tests.faults.wrong_values import wrong_lines
from tests.tables import add, commit_name, metadata

DEEP = 100_000
"""Levels of nesting that no parser may follow with its own stack."""


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


_ADD_C = json.dumps(add("c"))
_CORRUPT_2 = Refused(kind="log_corrupt", words=(f"{commit_name(2)}:1",))

LINES = [
    *(
        Case(name=f"line that is {what}", build=commit_2(data), ends=_CORRUPT_2)
        for what, data in {
            "not JSON": "no JSON\n",
            "a number": "42\n",
            "a string": '"add"\n',
            "an array": f"[{_ADD_C}]\n",
            "null": "null\n",
            "true": "true\n",
            "two objects": _ADD_C + _ADD_C + "\n",
            "an action that is a number": '{"add":5}\n',
            "an action that is a list": '{"add":[]}\n',
            "an action without a path": '{"add":{}}\n',
            "an action behind a byte order mark twice": "\ufeff\ufeff" + _ADD_C + "\n",
            "an action before two stray x": _ADD_C + "xx\n",
            "NUL bytes": b"\0" * 64,
            "not UTF-8": _ADD_C.encode().replace(b'"c"', b'"\xff\xfe"'),
            "half a surrogate pair": _ADD_C.replace('"c"', '"\\ud800"'),
            "nested 100,000 deep": f'{{"add":{{"path":"c","tags":{nested(DEEP)}}}}}\n',
            "nested 100,000 deep where nobody looks": f'{{"unknown":{nested(DEEP)}}}\n',
            "nested 1,000 deep where a path belongs": f'{{"add":{{"path":{nested(1000)}}}}}\n',
            "nested 1,000 deep where a number belongs": (
                f'{{"protocol":{{"minReaderVersion":{nested(1000)},"minWriterVersion":2}}}}\n'
            ),
            "an integer of 70 bits": _ADD_C.replace("100", str(2**70)),
            "an integer of 64 bits": _ADD_C.replace("100", str(2**64 - 1)),
            "a number beyond floats": _ADD_C.replace("100", "1e400"),
            "a fraction": _ADD_C.replace("100", "1.5"),
            "NaN": _ADD_C.replace("100", "NaN"),
            "a vector without its place": json.dumps(add("c", deletionVector={})),
            "a map given as a list": json.dumps(metadata(configuration=["ab"])),
            "a map given as numbers": json.dumps(metadata(configuration=[1, 2])),
            "a path with a NUL": json.dumps(add("a\0uab")),
        }.items()
    ),
    *(
        Case(
            name=name,
            build=commit_2(data),
            ends=Answered(files=3, problem="log_corrupt", place=f"{commit_name(2)}:1"),
        )
        for name, data in {
            "byte order mark": "\ufeff" + _ADD_C + "\n",
            "stray x": _ADD_C + "x\n",
            "partition value that is a number": json.dumps(add("c", partitionValues={"k": 5})),
        }.items()
    ),
    Case(
        name="second line is broken",
        build=commit_2(f"{_ADD_C}\nno JSON\n"),
        ends=Refused(kind="log_corrupt", words=(f"{commit_name(2)}:2",)),
    ),
    Case(
        name="broken line in an older version",
        build=commit_2("no JSON\n"),
        at={"version": 1},
        ends=Answered(files=2),
    ),
    Case(
        name="empty commit",
        build=commit_2(""),
        ends=Answered(files=2, problem="log_corrupt", place=commit_name(2)),
    ),
    Case(
        name="commit of blank lines",
        build=commit_2("\n \r\n\t\n"),
        ends=Answered(files=2, problem="log_corrupt", place=commit_name(2)),
    ),
    Case(name="carriage returns", build=commit_2(f"{_ADD_C}\r\n\r\n"), ends=Answered(files=3)),
    Case(
        name="a time that no calendar has",  # the specification asks for a number alone
        build=commit_2(json.dumps(metadata(createdTime=2**62))),
        ends=Answered(files=2),
    ),
    Case(name="no newline at the end", build=commit_2(_ADD_C), ends=Answered(files=3)),
    Case(
        name="actions that are not known",
        build=commit_2(f'{{"newThing":{{"a":1}}}}\n{{}}\n{_ADD_C}\n'),
        ends=Answered(files=3),
    ),
    Case(
        name="a key twice",
        build=commit_2(_ADD_C.replace('"path"', '"path": "x", "path"')),
        ends=Answered(files=3),
    ),
    Case(
        name="one file twice in a commit",
        build=commit_2(f"{_ADD_C}\n{_ADD_C}\n"),
        ends=Answered(files=3, problem="log_corrupt", place=f"{commit_name(2)}:1"),
    ),
    Case(
        name="file name of 10,000 characters",
        build=commit_2(json.dumps(add("n" * 10_000))),
        ends=Answered(files=3),
    ),
    Case(
        name="indented by more than a screen",
        build=commit_2(" " * 10_000 + _ADD_C),
        ends=Answered(files=3),
    ),
    Case(
        name="provenance of wrong types",
        build=commit_2(
            '{"commitInfo":{"timestamp":"x","operation":5,"operationParameters":[1],'
            '"operationMetrics":"x","userName":{},"readVersion":1e300,"isBlindAppend":"no",'
            f'"inCommitTimestamp":true}}}}\n{_ADD_C}\n'
        ),
        ends=Answered(files=3),
    ),
    Case(
        name="provenance nested 900 deep",
        build=commit_2(
            f'{{"commitInfo":{{"operationParameters":{{"a":{nested(900)}}}}}}}\n{_ADD_C}\n'
        ),
        ends=Answered(files=3),
    ),
    Case(
        name="statistics nested 100,000 deep",
        build=commit_2(
            json.dumps(add("c", stats=f'{{"numRecords":1,"minValues":{nested(DEEP)}}}'))
        ),
        ends=Answered(files=3),
    ),
]


def cut_commits() -> Iterator[Case]:
    """The last line cut at every place that leaves something of it."""
    for at in range(1, len(_ADD_C)):
        yield Case(name=f"line cut at {at}", build=commit_2(_ADD_C[:at]), ends=_CORRUPT_2)


def wrong_types() -> Iterator[Case]:
    """A value of the wrong type in every field."""
    for name, kind, line in wrong_lines():
        words = (f"{commit_name(2)}:1", kind)
        yield Case(name=name, build=commit_2(line), ends=Refused(kind="log_corrupt", words=words))
