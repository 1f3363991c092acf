"""Azurite, Microsoft's emulator of Azure Storage, in a process of its own.

    with azure_server() as options:
        open_write_store("az://bucket/t", options)

It comes from npm: `npm install --prefix .cache/azurite azurite@3.35.0`, or
`DELTA_EXPLORER_AZURITE` says where it is.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import adlfs
import pytest

from tests.ports import free_port

ROOT = Path(__file__).resolve().parents[1]
AZURITE = Path(os.environ.get("DELTA_EXPLORER_AZURITE", ROOT / ".cache" / "azurite"))
CONTAINER = "bucket"

_QUIETLY = ("--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry")

# published with the emulator: every one has this account and this key
_ACCOUNT = "devstoreaccount1"
_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


@contextlib.contextmanager
def azure_server(key: str = _KEY) -> Iterator[dict[str, Any]]:
    """A server with one empty container, as the storage options that lead to it; `key` is that of
    the account, in base64."""
    script, node = AZURITE / "node_modules" / ".bin" / "azurite-blob", shutil.which("node")
    if node is None or not script.is_file():
        pytest.skip(f"no Azurite at {AZURITE}: npm install --prefix {AZURITE} azurite@3.35.0")
    port = free_port()
    place = ["--blobHost", "127.0.0.1", "--blobPort", str(port)]
    server = subprocess.Popen(
        [node, str(script), *place, *_QUIETLY],
        env=os.environ | {"AZURITE_ACCOUNTS": f"{_ACCOUNT}:{key}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert server.stdout is not None
        for line in server.stdout:
            if "successfully listens" in line:
                break
        parts = {
            "DefaultEndpointsProtocol": "http",
            "AccountName": _ACCOUNT,
            "AccountKey": key,
            "BlobEndpoint": f"http://127.0.0.1:{port}/{_ACCOUNT}",
        }
        options = {"connection_string": ";".join(f"{key}={parts[key]}" for key in parts)}
        adlfs.AzureBlobFileSystem(**options, skip_instance_cache=True).mkdir(CONTAINER)
        yield options
    finally:
        server.kill()
        server.wait()
