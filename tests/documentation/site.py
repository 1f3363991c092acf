"""What mkdocs adds to `docs/` when it builds the site.

The reference is made from the code, and what the navigation of `mkdocs.yml` does not
name is put at its end: a page is never built without a way to it.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # mkdocs loads this file by itself, outside of any package

from mkdocs.structure.files import File, Files  # noqa: E402

from tests.documentation.reference import DOORS, render_commands, render_door  # noqa: E402

REPOSITORY_FILES = ("CHANGELOG.md", "CONTRIBUTING.md")
"""Pages of the site that people look for at the top of a repository."""


def on_files(files: Files, *, config: Any) -> Files:
    """The pages that are made from the code, and those that lie beside `docs/`."""
    made = {"reference/cli.md": render_commands()}
    made |= {f"reference/{door.replace('.', '-')}.md": render_door(door) for door in DOORS}
    for name in REPOSITORY_FILES:
        text = (ROOT / name).read_text(encoding="utf-8")
        text = text.replace("](docs/", "](")
        for other in REPOSITORY_FILES:  # they may link to each other
            text = text.replace(f"]({other}", f"]({other.lower()}")
        made[name.lower()] = text
    for place, text in made.items():
        files.append(File.generated(config, place, content=text))
    config.nav = [*_existing(config.nav, files), *_left_over(config.nav, files)]
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Files) -> str:
    """Links to files of the repository that are no page of the site become their names."""

    def name_only(link: re.Match[str]) -> str:
        return link[1] if (ROOT / link[2]).exists() else link[0]

    return re.sub(r"\[([^\]]*)\]\(\.\./((?!pictures/)[^)#]+)\)", name_only, markdown)


def _existing(entries: list[Any], files: Files) -> list[Any]:
    """The navigation without pages that are not there."""
    kept: list[Any] = []
    for entry in entries:
        if isinstance(entry, str):
            kept += [entry] if files.get_file_from_path(entry) else []
        else:
            ((title, below),) = entry.items()
            if isinstance(below, list):
                kept.append({title: _existing(below, files)})
            elif files.get_file_from_path(below):
                kept.append(entry)
    return kept


def _left_over(entries: list[Any], files: Files) -> list[Any]:
    named = set(_paths(entries))
    rest = [f.src_uri for f in files.documentation_pages() if f.src_uri not in named]
    return [{"More": sorted(rest)}] if rest else []


def _paths(entries: list[Any]) -> list[str]:
    found: list[str] = []
    for entry in entries:
        below = entry if isinstance(entry, str) else next(iter(entry.values()))
        found += _paths(below) if isinstance(below, list) else [below]
    return found
