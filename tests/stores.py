"""The object stores that tests write to: a server of each, by the scheme of its URLs."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

import explorer
from tests.azure_server import azure_server
from tests.gcs_server import BUCKET, ENVIRONMENT, gcs_server
from tests.s3_server import s3_server
from tests.store_proxy import Proxy, proxied

_SECRET: Final = "open-sesame-77c1"
_KEY: Final = b64encode(_SECRET.encode() * 4).decode()


@contextmanager
def _s3() -> Iterator[dict[str, Any]]:
    with s3_server() as options:
        yield options | {"secret": _SECRET}


@contextmanager
def _gcs() -> Iterator[dict[str, Any]]:
    with gcs_server() as options:
        yield options | {"token": _SECRET}


SERVERS: Final[Mapping[str, Callable[[], AbstractContextManager[dict[str, Any]]]]] = {
    "s3": _s3,
    "az": lambda: azure_server(_KEY),
    "gs": _gcs,
}


@dataclass(frozen=True, kw_only=True)
class Store:
    """A server behind a proxy, and the storage options that lead through it, those that a caller
    gives and those of a profile. `environment` is what other processes need that use them."""

    scheme: str
    options: Mapping[str, Any]
    profile: Mapping[str, Any]
    proxy: Proxy
    environment: Mapping[str, str]

    @property
    def secret(self) -> str:
        """Of the options, what nobody may see: letters that stand nowhere else."""
        return _KEY if self.scheme == "az" else _SECRET

    def place(self) -> str:
        """Where nothing is yet."""
        return f"{self.scheme}://{BUCKET}/{uuid4().hex}"


@contextmanager
def running(scheme: str) -> Iterator[Store]:
    """A server of the stores with this scheme."""
    with SERVERS[scheme]() as direct, proxied(direct) as found:
        yield Store(
            scheme=scheme,
            options=found.options,
            profile=found.profile,
            proxy=found.proxy,
            environment=ENVIRONMENT if scheme == "gs" else {},
        )


def ids_at(uri: str, options: Mapping[str, Any] | None) -> list[int]:
    """The column `id` of the newest version, all of whose files are read."""
    snapshot = explorer.open_table(uri, options).snapshot()
    found: list[int] = explorer.read_rows(snapshot, columns=["id"]).column("id").to_pylist()
    return sorted(found)
