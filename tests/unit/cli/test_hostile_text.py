"""A table's strings are data, whatever they look like to a terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
from pathlib import Path

import pytest

from explorer.cli.main import run
from tests.tables import LogFolder, add, metadata

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m[red]m[/red][link=http://evil]x[/link]\n\r\t\u202e:boom:\x00"
VERBS = ["inspect", "history", "files", "schema", "features", "log"]
COLOURS = re.compile(rb"\x1b\[[0-9;]*m")


@pytest.fixture
def hostile(tmp_path: Path) -> LogFolder:
    """A table that says `EVIL` in every place where it may say something."""
    fields = [{"name": EVIL, "type": "string", "nullable": True, "metadata": {"comment": EVIL}}]
    said = metadata(
        name=EVIL,
        description=EVIL,
        schemaString=json.dumps({"type": "struct", "fields": fields}),
        partitionColumns=[EVIL],
        configuration={EVIL: EVIL},
    )
    protocol = {
        "protocol": {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": [EVIL]}
    }
    info = {
        "operation": EVIL,
        "userName": EVIL,
        "engineInfo": EVIL,
        "operationParameters": {"predicate": json.dumps([EVIL]), "mode": EVIL},
    }
    folder = LogFolder(tmp_path / "table")
    # a path with NUL is refused when it is read
    file = add(EVIL.replace("\x00", ""), partitionValues={EVIL: EVIL})
    folder.commit(0, [{"commitInfo": info}, protocol, said, file])
    folder.commit(1, [{EVIL: EVIL}])
    folder.write("00000000000000000002.json", '{"add":{"path":"x","size":"\x1b[2J')
    (folder.log / "\x1b[2J\n[red]stray").write_text("")
    return folder


@pytest.mark.parametrize("verb", VERBS)
def test_no_control_character_of_a_table_reaches_a_pipe(
    hostile: LogFolder, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    (hostile.log / "00000000000000000002.json").unlink()
    assert run([verb, str(hostile.root)]) == 0
    out, err = capsys.readouterr()
    assert all(character.isprintable() or character == "\n" for character in out + err)
    assert "[red]" in out


def test_a_broken_line_is_quoted_harmlessly(
    hostile: LogFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["history", str(hostile.root)]) == 0
    assert run(["inspect", str(hostile.root)]) == 1
    assert run(["inspect", str(hostile.root) + "/\x1b[2J"]) == 1
    out, err = capsys.readouterr()
    assert all(character.isprintable() or character == "\n" for character in out + err)


@pytest.mark.slow
@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("verb", VERBS)
def test_only_our_colours_reach_a_terminal(hostile: LogFolder, verb: str) -> None:
    (hostile.log / "00000000000000000002.json").unlink()
    shown = on_terminal(verb, str(hostile.root))
    assert COLOURS.search(shown)
    plain = COLOURS.sub(b"", shown).replace(b"\r\n", b"\n").decode()
    assert all(character.isprintable() or character == "\n" for character in plain)


@pytest.mark.slow
def test_no_color_is_heeded(hostile: LogFolder) -> None:
    (hostile.log / "00000000000000000002.json").unlink()
    assert b"\x1b[1;31m" in on_terminal("features", str(hostile.root))
    assert b"\x1b[1;31m" not in on_terminal("features", str(hostile.root), NO_COLOR="1")


def on_terminal(*arguments: str, **environment: str) -> bytes:
    """What the command writes to a terminal; a progress bar, which moves the cursor,
    goes elsewhere."""
    ours, theirs = pty.openpty()
    plain = {key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "COLUMNS"}}
    with subprocess.Popen(
        [sys.executable, "-m", "explorer.cli", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env={**plain, "TERM": "xterm-256color", "COLUMNS": "120", **environment},
    ):
        os.close(theirs)
        shown = b""
        while select.select([ours], [], [], 30)[0]:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # how Linux says that the other side has closed
                break
            if not piece:
                break
            shown += piece
    os.close(ours)
    return shown


@pytest.mark.parametrize(
    "place",
    ["hostile", "javakernel-basic_catalog_managed", "golden-dv-partitioned-with-checkpoint"],
)
def test_a_pipe_gets_the_same_words_as_a_terminal(
    place: str,
    hostile: LogFolder,
    corpus: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Rich is imported for those who look, and what it prints is the same but for its colours."""
    table = str(hostile.root if place == "hostile" else corpus / "tables" / place)
    monkeypatch.delenv("COLUMNS", raising=False)
    run(["inspect", table])
    piped = capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "5000")
    run(["inspect", table])
    looked_at = capsys.readouterr().out
    assert piped.splitlines() == [line.rstrip() for line in looked_at.splitlines()]
    assert len(piped.splitlines()) > 8
