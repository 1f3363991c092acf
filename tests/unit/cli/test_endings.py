"""How the command line ends: exit codes, messages, and never a traceback."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from explorer.cli import main as entry
from explorer.cli.main import run
from tests.tables import PROTOCOL, LogFolder, add, metadata

FIELDS = {"kind", "problem", "reason", "remedy", "spec"}
VERBS = ["inspect", "history", "files", "schema", "features", "log"]


@pytest.fixture
def folder(tmp_path: Path) -> LogFolder:
    folder = LogFolder(tmp_path / "table")
    folder.commit(0, [PROTOCOL, metadata(), add("a")])
    return folder


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "explorer.cli", *arguments]


@pytest.mark.parametrize("verb", VERBS)
def test_a_place_without_a_table_ends_with_one_json_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    assert run([verb, str(tmp_path / "nowhere"), "--json"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    (document,) = [json.loads(line) for line in err.splitlines()]
    assert set(document["error"]) == FIELDS
    assert document["error"]["kind"] == "table_not_found"


def test_an_error_for_people_says_problem_reason_and_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["inspect", str(tmp_path)]) == 1
    err = capsys.readouterr().err
    assert err.startswith("error: There is no Delta table at ")
    assert "  why: " in err
    assert "  what to do: " in err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--version", "7"], 1),
        (["--version", "-1"], 1),
        (["--timestamp", "1999-01-01T00:00:00Z"], 1),
        (["--timestamp", "1999-01-01"], 2),
        (["--version", "0", "--timestamp", "2026-01-01T00:00:00Z"], 2),
        (["--version", "seven"], 2),
        (["--option", "nonsense"], 2),
        (["--frobnicate"], 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_exit_codes_tell_usage_from_a_tables_problem(
    folder: LogFolder, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int
) -> None:
    assert run(["inspect", str(folder.root), "--json", *arguments]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert set(json.loads(err)["error"]) == FIELDS


def test_an_unknown_verb_is_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["frobnicate"]) == 2
    assert "frobnicate" in capsys.readouterr().err


def test_no_verb_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 2
    out, err = capsys.readouterr()
    assert "inspect" in out
    assert err == ""


@pytest.mark.parametrize(
    ("raised", "code", "kind"),
    [
        (KeyboardInterrupt(), 5, "cancelled"),
        (typer.Abort(), 5, "cancelled"),
        (MemoryError(), 1, "limit_exceeded"),
        (ZeroDivisionError("secret"), 1, "internal_error"),
        (RecursionError(), 1, "internal_error"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_whatever_happens_ends_in_a_message(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    raised: BaseException,
    code: int,
    kind: str,
) -> None:
    def build_failing_app() -> typer.Typer:
        app = typer.Typer()

        @app.command("fail")
        def fail(as_json: bool = typer.Option(False, "--json")) -> None:
            raise raised

        @app.command("other")
        def other() -> None: ...

        return app

    monkeypatch.setattr(entry, "build_app", build_failing_app)
    assert run(["fail", "--json"]) == code
    err = capsys.readouterr().err
    assert json.loads(err)["error"]["kind"] == kind
    assert "secret" not in err
    assert run(["fail"]) == code
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(("options", "start"), [(["--json"], b'{"format":'), ([], b"path")])
def test_a_reader_that_has_seen_enough_is_no_error(
    tmp_path: Path, options: list[str], start: bytes
) -> None:
    folder = LogFolder(tmp_path / "table")
    folder.commit(0, [PROTOCOL, metadata(), *(add("f" * 200 + str(at)) for at in range(3_000))])
    with subprocess.Popen(
        command("files", str(folder.root), "--limit", "3000", *options),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(len(start)) == start
        process.stdout.close()
        err = process.stderr.read()
    assert (process.returncode, err) == (0, b"")


def test_arguments_that_are_no_text_are_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    LogFolder(tmp_path / "table").commit(0, [PROTOCOL, metadata(), add("a.parquet")])
    root = str(tmp_path / "table")
    for arguments in (["dv", root, "--file", "\udcff"], ["files", root, "--contains", "\udcff"]):
        assert run(arguments) == 2
        assert "not UTF-8" in capsys.readouterr().err


@pytest.mark.slow
def test_a_terminal_that_knows_only_ascii_gets_every_answer(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "table")
    folder.commit(0, [PROTOCOL, metadata(name="Bestellungen für 表"), add("größe-é.parquet")])
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    for verb in ("inspect", "files"):
        done = subprocess.run(
            command(verb, str(folder.root)), capture_output=True, env=environment, check=False
        )
        assert (done.returncode, done.stderr) == (0, b""), verb
        assert b"\\x" in done.stdout


def test_a_process_that_ends_does_not_look_for_garbage_first(
    folder: LogFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """To look all that was imported through takes as long as to describe a small table."""
    thresholds = gc.get_threshold()
    monkeypatch.setattr(sys, "argv", ["delta-explorer", "inspect", str(folder.root)])
    try:
        with pytest.raises(SystemExit) as ended:
            entry.main()
        assert gc.get_freeze_count() > 1_000
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)
    assert ended.value.code == 0
    assert "files           1" in capsys.readouterr().out


@pytest.mark.parametrize("own", [None, "4"], ids=["unsaid", "said"])
def test_linear_algebra_gets_one_thread_unless_the_environment_says_otherwise(
    own: str | None,
) -> None:
    """None is done here, and each of its threads looks for some without a pause."""
    environment = {key: value for key, value in os.environ.items() if "BLAS" not in key}
    if own is not None:
        environment["OPENBLAS_NUM_THREADS"] = own
    program = (
        "import contextlib, os, sys; sys.argv[1:] = ['--version']\n"
        "from explorer.cli.__main__ import main\n"
        "with contextlib.suppress(SystemExit): main()\n"
        "print(os.environ['OPENBLAS_NUM_THREADS'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, env=environment, check=True, text=True
    )
    assert done.stdout.split()[-1] == (own or "1")


ENDING = """
import atexit, os, sys, threading
sys.argv[1:] = sys.argv[2:]
atexit.register(lambda: print("called at the end"))
end = os._exit
os._exit = lambda code: (print("ended at once", flush=True), end(code))
if {busy}:
    def outlast():
        threading.main_thread().join()
        print("a thread has ended")
    threading.Thread(target=outlast).start()
from explorer.cli.__main__ import run_process
run_process()
"""


@pytest.mark.parametrize("busy", [False, True], ids=["alone", "with a thread at work"])
def test_a_process_ends_without_taking_its_modules_apart_and_does_what_was_asked_for(
    folder: LogFolder, *, busy: bool
) -> None:
    program = ENDING.format(busy=busy)
    for place, code, told in ((folder.root, 0, "files"), (folder.root / "gone", 1, "")):
        done = subprocess.run(
            [sys.executable, "-c", program, "", "inspect", str(place)],
            capture_output=True,
            check=False,
            text=True,
        )
        assert done.returncode == code, done.stderr
        assert told in done.stdout
        assert bool(done.stderr) == (code != 0)
        assert "called at the end" in done.stdout
        assert ("a thread has ended" in done.stdout) == busy
        assert ("ended at once" in done.stdout) != busy


def test_a_closed_pipe_ends_a_process_without_a_word(folder: LogFolder) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            command("inspect", str(folder.root)),
            stdout=writer,
            stderr=subprocess.PIPE,
            check=False,
        )
    finally:
        os.close(writer)
    assert done.stderr == b""
    assert done.returncode == 0


def test_a_stream_that_is_closed_from_the_start_changes_no_exit_code() -> None:
    line = f"{sys.executable} -m explorer.cli --version"
    for closed, told in ((">/dev/null 2>&-", b""), (">&-", b""), ("", b"delta-explorer")):
        done = subprocess.run(
            ["/bin/sh", "-c", f"{line} {closed}"], capture_output=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, b""), closed
        assert told in done.stdout


def test_who_goes_on_by_hand_or_measures_comes_to_it() -> None:
    shown = subprocess.run(
        [sys.executable, "-i", "-m", "explorer.cli", "--version"],
        input=b"print('by hand')",
        capture_output=True,
        check=False,
    )
    assert b"by hand" in shown.stdout
    measured = subprocess.run(
        [sys.executable, "-m", "cProfile", "-m", "explorer.cli", "--version"],
        capture_output=True,
        check=False,
    )
    assert b"function calls" in measured.stdout
