"""Tables whose files and commits have every age, made from a seed: encoded and odd paths,
shared deletion vectors, change data, clones, strays and strangers."""

from __future__ import annotations

import json
import os
import random
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from tests.interop.vacuum_by_hand import DAY_MS, encode_uuid, replay
from tests.tables import add, metadata, remove
from tests.unit.maintenance.lake import NOW_MS, Lake, ms_ago

_FOLDERS = ("", "p=1/", "p=a%20b/", "p=a%2520b/", "p=%C3%BC/", "p=ü/", "100%25/", "_part=x/")
_COLUMNS = ("part", "_part", "p")
_RETENTIONS = (None, "interval 2 days", "interval 20 days")
_HIDDEN = ("_hidden", ".hidden", "_part=y", "_partly=x", "p=1/_temporary", "_change_data/_x", "_")
_STRAYS = (
    "stray-{}.parquet",
    "p=a b/stray-{}.parquet",
    "p=a%20b/stray-{}.parquet",
    "日本/stray-{}.snappy.parquet",
    "deletion_vector_{}.bin",
    "ab/deletion_vector_{}.bin",
    "_change_data/stray-{}",
    "_change_data/p=1/stray-{}.parquet",
    "notes-{}.txt",
    "metadata/v{}.metadata.json",
    "stray-{}.parquet.crc",
    "not-deletion_vector_{}.bin",
    "stray-{}.PARQUET",
    ".tmp-{:032x}",
    "p=a b/.tmp-{:032x}",
    ".tmp-{:031x}",
)
_PROTOCOL = {
    "protocol": {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["columnMapping", "deletionVectors"],
        "writerFeatures": ["changeDataFeed", "columnMapping", "deletionVectors"],
    }
}


class RandomLake:
    """A table made from `seed`; `lake` is where it lies. Without `has_true_times` it was
    copied, or a tombstone has no time, so that times do not tell when versions were current."""

    def __init__(self, scratch: Path, seed: int) -> None:
        self.lake = Lake(scratch, f"t{seed}")
        self.has_true_times = True
        self._any = random.Random(seed)
        self._live: list[dict[str, Any]] = []
        self._gone: list[dict[str, Any]] = []
        self._vectors: list[dict[str, Any]] = []
        self._elsewhere = scratch / f"elsewhere{seed}"
        self._ages = self._make_ages()
        for version in range(len(self._ages)):
            self._commit(version)
        self._add_strays()
        if self._any.random() < 0.5:
            self._checkpoint()
        if self._any.random() < 0.2:
            self._copy_times()

    def _make_ages(self) -> list[float]:
        count = self._any.randint(2, 12)
        ages = sorted((self._any.uniform(1.1, 40) for _ in range(count)), reverse=True)
        return [age + 0.001 * (count - at) for at, age in enumerate(ages)]

    def _commit(self, version: int) -> None:
        age = self._ages[version]
        actions: list[Any] = []
        touched: set[str] = set()
        for _ in range(self._any.randint(0, 4)):
            self._change(actions, touched, age)
        if version == 0:
            actions += [_PROTOCOL, self._metadata()]
        elif self._any.random() < 0.3:
            path = self._any.choice(("_change_data/", "_change_data/p=%C3%BC/", "p=1/"))
            path = f"{path}cdc-{version}.parquet"
            # a long job: it wrote the file days before its commit
            self.lake.file(unquote(path), age_days=age + self._any.choice((0, 5)))
            cdc = {"path": path, "partitionValues": {}, "size": 100, "dataChange": False}
            actions.append({"cdc": cdc})
        self.lake.commit(version, actions, age_days=age)

    def _change(self, actions: list[Any], touched: set[str], age: float) -> None:
        what = self._any.choice(("add", "add", "remove", "vector", "again"))
        free = [body for body in self._live if body["path"] not in touched]
        gone = [body for body in self._gone if body["path"] not in touched]
        if what == "add":
            body = self._new_file(age)
        elif what == "again" and gone:
            body = self._any.choice(gone)
            if any(held["path"] == body["path"] for held in self._live):
                return
            self._gone.remove(body)
        elif what in {"remove", "vector"} and free:
            old = self._any.choice(free)
            self._live.remove(old)
            self._gone.append(old)
            touched.add(old["path"])
            stamp = ms_ago(age + self._any.choice((0.0, 0.0005)))
            fields = {k: old[k] for k in ("deletionVector", "partitionValues") if k in old}
            if self._any.random() < 0.05:
                fields["deletionTimestamp"] = None
                self.has_true_times = False
            stamps = {"deletionTimestamp": stamp, "size": 100} | fields
            actions.append(remove(old["path"], **stamps))
            if what == "remove":
                return
            body = {k: old[k] for k in old if k != "deletionVector"} | self._vector(age)
            if body.get("deletionVector") == old.get("deletionVector"):
                return
        else:
            return
        touched.add(body["path"])
        self._live.append(body)
        actions.append({"add": body})

    def _new_file(self, age: float) -> dict[str, Any]:
        path = f"{self._any.choice(_FOLDERS)}part-{self._any.getrandbits(40):x}.parquet"
        if self._any.random() < 0.1:
            path = path.replace(".parquet", "%25%2B.c000")
        self.lake.file(unquote(path), age_days=age)
        body = dict(add(path, modificationTime=ms_ago(age))["add"])
        style = self._any.random()
        if style < 0.06:
            body["path"] = f"{self.lake.root}/{path}"
        elif style < 0.12:
            body["path"] = f"file://{self.lake.root}/{path}"
        elif style < 0.18:
            self._elsewhere.mkdir(exist_ok=True)
            body["path"] = f"{self._elsewhere}/{path.rpartition('/')[2]}"
        return body | (self._vector(age) if self._any.random() < 0.3 else {})

    def _vector(self, age: float) -> dict[str, Any]:
        kind = self._any.random()
        if self._vectors and kind < 0.3:  # several vectors in one file
            shared = dict(self._any.choice(self._vectors))
            shared["offset"] = self._any.randint(1, 10_000)
            return {"deletionVector": shared}
        found = {"storageType": "u", "offset": 1, "sizeInBytes": 36, "cardinality": 2}
        name = uuid.UUID(int=self._any.getrandbits(128))
        if kind < 0.4:
            inline = {"storageType": "i", "pathOrInlineDv": "wi5b=000010000siXQKl0rr91000f55"}
            return {"deletionVector": {"sizeInBytes": 40, "cardinality": 6} | inline}
        if kind < 0.5:
            place = f"vectors/deletion_vector_{name}.bin"
            found |= {"storageType": "p", "pathOrInlineDv": f"file://{self.lake.root}/{place}"}
        else:
            folder = self._any.choice(("", "", "ab", "xYz"))
            place = f"{folder}/deletion_vector_{name}.bin".lstrip("/")
            found["pathOrInlineDv"] = folder + encode_uuid(name)
        self.lake.file(place, age_days=age)
        self._vectors.append(found)
        return {"deletionVector": found}

    def _metadata(self) -> Any:
        column = self._any.choice(_COLUMNS)
        mapped = self._any.random() < 0.3
        names = {"delta.columnMapping.id": 2, "delta.columnMapping.physicalName": "_part"}
        fields = [
            {"name": "id", "type": "long", "nullable": True, "metadata": {}},
            {
                "name": "logical" if mapped else column,
                "type": "string",
                "nullable": True,
                "metadata": names if mapped else {},
            },
        ]
        if mapped:
            fields[0]["metadata"] = {
                "delta.columnMapping.id": 1,
                "delta.columnMapping.physicalName": "col-1",
            }
        settings = {"delta.enableChangeDataFeed": "true"}
        if mapped:
            settings |= {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}
        if duration := self._any.choice(_RETENTIONS):
            settings["delta.deletedFileRetentionDuration"] = duration
        return metadata(
            schemaString=json.dumps({"type": "struct", "fields": fields}),
            partitionColumns=[fields[1]["name"]],
            configuration=settings,
        )

    def _add_strays(self) -> None:
        for number in range(self._any.randint(0, 14)):
            path = self._any.choice(_STRAYS).format(number)
            if self._any.random() < 0.25:
                path = f"{self._any.choice(_HIDDEN)}/{path.rpartition('/')[2]}"
            self.lake.file(path, age_days=self._any.uniform(1.05, 40))
        if self._any.random() < 0.2:  # two files of one name: one may be the other's other name
            for body in self._live:
                if body["path"].startswith(str(self._elsewhere)):
                    self.lake.file(f"p=1/{unquote(body['path'].rpartition('/')[2])}")

    def _checkpoint(self) -> None:
        version = self._any.randrange(len(self._ages))
        state = replay(self.lake.root, version)
        retention = {"interval 2 days": 2, "interval 20 days": 20}.get(
            state.metadata["configuration"].get("delta.deletedFileRetentionDuration", ""), 7
        )
        oldest = NOW_MS - retention * DAY_MS
        kept = [body for body in state.removed if (body["deletionTimestamp"] or 0) > oldest]
        actions = [
            _PROTOCOL,
            {"metaData": dict(state.metadata)},
            *({"add": body} for body in state.live),
            *({"remove": body} for body in kept),
        ]
        self.lake.log.checkpoint(version, actions)

    def _copy_times(self) -> None:
        self.has_true_times = False
        time = ms_ago(self._any.uniform(1.1, 20)) / 1000
        for place in self.lake.root.rglob("*"):
            os.utime(place, (time, time))
