"""Servers of two test processes do not take each other's ports."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT
from tests.ports import free_port


def test_a_port_that_was_found_free_is_one_that_nobody_gets_by_chance() -> None:
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    found = [free_port() for _ in range(50)]
    assert len({*found}) == 50
    assert max(found) < lowest


def test_a_port_that_is_taken_is_passed_over() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", free_port()))
        taken.listen()
        assert taken.getsockname()[1] not in [free_port() for _ in range(12_000)]


def test_another_process_begins_elsewhere() -> None:
    code = "from tests.ports import free_port; print(free_port())"
    ask = [sys.executable, "-c", code]
    ports = {subprocess.check_output(ask, cwd=ROOT, text=True) for _ in range(3)}
    assert len(ports) == 3
