"""The pages of `docs/` are complete, and what they show can be done."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from explorer.cli.main import run
from tests.demo_story import AUTUMN, copy_demo
from tests.documentation.pictures import LARGEST
from widgets.state import VIEW_TITLES, VIEWS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
ORDERS = "path/to/orders"
SHOWN = [DOCS / "start.md", *sorted((DOCS / "how-to").glob("*.md"))]
SHOWN += sorted((DOCS / "views").glob("*.md"))
ANSWERS = {path.name: path.read_text(encoding="utf-8") for path in (DOCS / "how-to").glob("*.md")}
COMMANDS = sorted(
    {
        line.strip()
        for path in SHOWN
        for line in re.findall(r"^    (delta-explorer .*)$", path.read_text("utf-8"), re.MULTILINE)
        if ORDERS in line and " serve " not in line and " FILE" not in line
    }
)


@pytest.fixture(scope="module")
def beside_orders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder below which the table of the examples lies: the demo, of autumn 2026."""
    folder = tmp_path_factory.mktemp("docs")
    copy_demo(folder / ORDERS, AUTUMN)
    return folder


@pytest.fixture
def there(beside_orders: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    monkeypatch.chdir(beside_orders)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return beside_orders


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_has_its_page_and_two_pictures(view: str) -> None:
    page = (DOCS / "views" / f"{view}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {VIEW_TITLES[view]}\n")
    for theme in ("light", "dark"):
        picture = DOCS / "pictures" / f"{view}-{theme}.png"
        assert f"(../pictures/{picture.name}#only-{theme})" in page
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert picture.stat().st_size <= LARGEST
    assert f"]({view}.md)" in (DOCS / "views" / "index.md").read_text(encoding="utf-8")


def test_there_is_no_page_or_picture_of_a_view_that_is_gone() -> None:
    assert {path.stem for path in (DOCS / "views").glob("*.md")} == {*VIEWS, "index"}
    pictures = {path.stem for path in (DOCS / "pictures").glob("*.png")}
    assert pictures == {f"{view}-{theme}" for view in VIEWS for theme in ("light", "dark")}


@pytest.mark.parametrize("number", range(1, 26))
def test_every_question_has_its_answer(number: int) -> None:
    sections = [text for text in ANSWERS.values() if f"{{#q{number}}}" in text]
    assert len(sections) == 1
    heading, _, rest = sections[0].partition(f"{{#q{number}}}")
    assert heading.rstrip().rpartition("\n## ")[2].startswith(f"{number}. ")
    assert "    delta-explorer " in rest.partition("\n## ")[0]


def test_there_are_commands_to_be_tried() -> None:
    assert len(COMMANDS) > 30


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_of_the_pages_answers(
    there: Path, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(shlex.split(line)[1:])
    said = capsys.readouterr()
    assert code == 0, said.err
    assert said.out.strip()


@pytest.mark.parametrize("path", SHOWN, ids=lambda path: path.stem)
def test_the_python_of_a_page_can_be_parsed(path: Path) -> None:
    for text in re.findall(r"```python\n(.*?)```", path.read_text("utf-8"), re.DOTALL):
        ast.parse(text)
