"""`python -m tests.interop.disagreements`: writes `docs/interop.md`."""

from __future__ import annotations

import sys

from tests.conftest import ROOT
from tests.corpus import TABLES
from tests.interop.disagreements.document import render_document

DOCUMENT = ROOT / "docs" / "interop.md"


def main() -> None:
    """Writes it where it is not up to date."""
    text = render_document(TABLES)
    if not DOCUMENT.is_file() or DOCUMENT.read_text(encoding="utf-8") != text:
        DOCUMENT.write_text(text, encoding="utf-8")
        sys.stdout.write(f"written: {DOCUMENT.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
