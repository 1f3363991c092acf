"""`python -m tests.conformance.ledger`: brings the ledger's lists of tests and
`docs/protocol.md` in line with the marks of the tests."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.conformance.ledger.document import render_document
from tests.conformance.ledger.entries import FOLDER, read_ledger, render_area, with_marks
from tests.conformance.ledger.marks import ROOT, read_marks


def render_all() -> dict[Path, str]:
    """What every file of the ledger, and the document made from it, has to hold."""
    marks, _ = read_marks()
    areas = [with_marks(area, marks) for area in read_ledger()]
    files = {
        FOLDER / f"{area.name}.yaml": render_area(order, area)
        for order, area in enumerate(areas, start=1)
    }
    return {**files, ROOT / "docs" / "protocol.md": render_document(areas)}


def main() -> None:
    """Writes what is not up to date."""
    for path, text in render_all().items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            sys.stdout.write(f"written: {path.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
