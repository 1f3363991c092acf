"""Tables as files to take away: CSV that no spreadsheet runs, Parquet with its types."""

from __future__ import annotations

import base64
import csv
import io
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.errors import CancelledError
from explorer.progress import UNWATCHED, Cancel, Progress, Watch
from widgets.session.access import Access
from widgets.session.page_services import OpenTables, PageServices
from widgets.session.recents import Recents
from widgets.session.work import InlineRunner
from widgets.state import PageState
from widgets.ui.exporting import Export, Exports
from widgets.ui.exports import PART_ROWS, build_frame, convert, write_export
from widgets.ui.live_html import FILES_KEPT, PIECE_BYTES, LiveHtml

MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
FRAME = pa.table(
    {
        "=name": pa.array(["=1+1", "@x", None, '"quoted",\n'], pa.string()),
        "size": pa.array([1, -2, None, 4], pa.int64()),
        "at": pa.array([MOMENT, None, None, None], pa.timestamp("ms", "UTC")),
        "parts": pa.array([["=a"], [], None, ["b", "c"]], pa.list_(pa.string())),
        "raw": pa.array([b"\x00\xff", None, None, None], pa.binary()),
    }
)


def csv_rows(frame: pa.Table) -> list[list[str]]:
    with write_export(frame, "csv", UNWATCHED) as file:
        return list(csv.reader(io.StringIO(file.read().decode())))


def test_csv_neutralises_formulas_in_cells_and_headers_and_leaves_numbers() -> None:
    head, first, second, third, fourth = csv_rows(FRAME)
    assert head == ["'=name", "size", "at", "parts", "raw"]
    assert first == ["'=1+1", "1", MOMENT.isoformat(), '["=a"]', "00ff"]
    assert second[:2] == ["'@x", "-2"]
    assert third == ["", "", "", "", ""]
    assert fourth[0] == '"quoted",\n'


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff20"])
def test_each_start_that_some_spreadsheet_runs_is_neutralised(start: str) -> None:
    (_, row) = csv_rows(pa.table({"a": [f"{start}1"]}))
    assert row[0].startswith("'")


def test_parquet_claims_nothing_of_numbers_that_may_be_nan() -> None:
    frame = pa.table({"x": [1.0, float("nan")], "n": [1, 2]})
    with write_export(frame, "parquet", UNWATCHED) as file:
        group = pq.read_metadata(io.BytesIO(file.read())).row_group(0)
    assert group.column(0).statistics is None
    assert (group.column(1).statistics.min, group.column(1).statistics.max) == (1, 2)


def test_parquet_of_no_tables_at_all_is_a_file() -> None:
    with write_export(iter([]), "parquet", UNWATCHED) as file:
        assert pq.read_table(io.BytesIO(file.read())).num_columns == 0


def test_parquet_has_the_same_rows_with_their_types() -> None:
    with write_export(FRAME, "parquet", UNWATCHED) as file:
        assert pq.read_table(io.BytesIO(file.read())).equals(FRAME)


def test_frames_without_rows_still_say_their_columns() -> None:
    assert csv_rows(FRAME.slice(0, 0)) == [["'=name", "size", "at", "parts", "raw"]]
    with write_export(FRAME.slice(0, 0), "parquet", UNWATCHED) as file:
        assert pq.read_schema(io.BytesIO(file.read())).names == FRAME.column_names


def test_many_frames_become_one_file() -> None:
    part = pa.table({"n": list(range(PART_ROWS + 5))})
    with write_export(iter([part, part]), "parquet", UNWATCHED) as file:
        assert pq.read_table(io.BytesIO(file.read())).num_rows == 2 * (PART_ROWS + 5)


def test_rows_that_are_converted_keep_the_types_even_where_all_are_missing() -> None:
    frame = pa.table({"n": [None, None]})
    (found,) = convert(frame, {"n": pa.int64(), "text": pa.string()}, lambda row: [row["n"], None])
    assert found.schema == pa.schema([("n", pa.int64()), ("text", pa.string())])


def test_mixed_and_unreadable_values_become_text() -> None:
    frame = build_frame(["a", "b"], [[1, "\ud800"], ["x", "y"]])
    assert frame["a"].to_pylist() == ["1", "x"]
    assert frame["b"].to_pylist() == ["?", "y"]


def test_writing_reports_how_far_it_is_and_stops_when_told_to() -> None:
    cancel, told = Cancel(), list[Progress]()

    def hear(progress: Progress) -> None:
        told.append(progress)
        if progress.done:
            cancel.cancel()

    frame = pa.table({"n": list(range(3 * PART_ROWS))})
    with pytest.raises(CancelledError):
        write_export(frame, "csv", Watch(progress=hear, cancel=cancel))
    assert [progress.done for progress in told] == [0, PART_ROWS]


def messages_of(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = []
    monkeypatch.setattr(LiveHtml, "_send_msg", lambda _, message: sent.append(message))
    return sent


def test_a_file_is_sent_piece_by_piece_as_the_browser_asks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent, part = messages_of(monkeypatch), LiveHtml()
    content = io.BytesIO(bytes(range(256)) * (PIECE_BYTES // 256) + b"end")
    whole = content.getvalue()
    part.download("files.parquet", content)
    assert [message["is_last"] for message in sent] == [False]
    part._handle_msg({"action": "piece", "value": sent[0]["file"]})
    assert [message["is_last"] for message in sent] == [False, True]
    assert b"".join(base64.b64decode(message["data"]) for message in sent) == whole
    assert sent[0]["type"] == "application/vnd.apache.parquet"
    assert content.closed
    part._handle_msg({"action": "piece", "value": sent[0]["file"]})
    part._handle_msg({"action": "piece", "value": "of a file that nobody sends"})
    assert len(sent) == 2


def test_files_that_a_browser_forgot_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    messages_of(monkeypatch)
    part, files = LiveHtml(), [io.BytesIO(b" " * (PIECE_BYTES + 1)) for _ in range(FILES_KEPT + 1)]
    for file in files:
        part.download("a.csv", file)
    assert [file.closed for file in files] == [True, *[False] * FILES_KEPT]


def services() -> PageServices:
    return PageServices(
        runner=InlineRunner(), tables=OpenTables(), access=Access(), recents=Recents()
    )


def test_a_failed_export_is_told_above_the_view_and_the_page_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(_: Watch) -> pa.Table:
        raise CancelledError("Lost.", reason="Gone.", remedy="None.")

    sent, state, part = messages_of(monkeypatch), PageState(), LiveHtml()
    chosen = [Export(stem="a", read=fail), None, Export.of("b", FRAME)]
    Exports(services(), state, part, lambda: chosen.pop(0))
    part._handle_msg({"action": "export", "value": "csv"})
    assert state.notice is not None
    assert state.notice.problem == "Lost."
    part._handle_msg({"action": "export", "value": "csv"})
    assert sent == []
    part._handle_msg({"action": "export", "value": "nonsense"})
    assert [message["name"] for message in sent] == ["b.csv"]
