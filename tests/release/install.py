"""The wheel in a clean environment, with the newest or the oldest versions it allows.

    python -m tests.release.install                            this Python, newest versions
    python -m tests.release.install --oldest                   the least that pyproject.toml allows
    python -m tests.release.install /path/to/python3.13 ...    other Pythons

Each run makes an environment in a temporary folder, installs the wheel of this checkout
with pip, and asks the installed command for answers. It needs pip's index.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONSTRAINTS = ROOT / "constraints.txt"
# a wheel that is new by itself must not make an old release need a compiler; what is imported
# is compiled then
PIP = ("-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-compile")
PIP += ("--only-binary", ":all:")

ASK = """
import sys
from datetime import UTC, datetime
from pathlib import Path
import explorer, widgets
from explorer.demo.write import write_demo
home = Path(sys.prefix)
assert home in Path(explorer.__file__).parents, explorer.__file__
assert home in Path(widgets.__file__).parents, widgets.__file__
write_demo("shop", now=datetime(2026, 11, 1, tzinfo=UTC))
table = explorer.open_table("shop")
snapshot = table.snapshot()
assert snapshot.num_rows == 37690, snapshot.num_rows
assert explorer.read_rows(snapshot, columns=["order_id"]).num_rows == 37690
assert explorer.plan_scan(snapshot, "country = 'SE'").num_kept == 23
assert explorer.diff(table.snapshot(version=52), snapshot).files.added.num_rows == 114
shown = widgets.TableExplorer(table, live=False)._repr_mimebundle_()
assert "shop_orders" in str(shown), shown
"""


def build_distributions(folder: Path) -> tuple[Path, Path]:
    """The sdist of this checkout, and the wheel that is built from that sdist."""
    _run([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder)], ROOT)
    (sdist,) = folder.glob("delta_explorer-*.tar.gz")
    (wheel,) = folder.glob("delta_explorer-*.whl")
    return sdist, wheel


def read_oldest() -> list[str]:
    """The least version of each direct dependency, as pip's constraints."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = [re.match(r"([\w-]+)>=([\d.]+)", line) for line in project["dependencies"]]
    return [f"{match[1]}=={match[2]}" for match in found if match is not None]


def install(python: str, wheel: Path, folder: Path, constraints: Path | None) -> list[str]:
    """Install into a new environment below `folder` and ask; what is wrong ends in an error.

    Gives the versions of all that was installed, as `name==version`.
    """
    home = folder / "home"
    home.mkdir()
    _run([python, "-m", "venv", str(folder / "env")], folder)
    clean = str(folder / "env" / "bin" / "python")
    chosen = [] if constraints is None else ["--constraint", str(constraints)]
    _run([clean, *PIP, *chosen, str(wheel)], folder)
    _run([clean, "-m", "pip", "check"], folder)
    _run([clean, "-c", ASK], home)
    command = str(folder / "env" / "bin" / "delta-explorer")
    answer = json.loads(_run([command, "inspect", "shop", "--json"], home))
    assert answer["version"] == 74, answer
    parts = json.loads(_run([command, "doctor", "--json"], home))["parts"]
    wrong = [part for part in parts if part["is_needed"] and part["status"] != "ok"]
    assert not wrong, wrong
    assert "--maintenance" in _run([command, "serve", "--help"], home)
    return _run([clean, "-m", "pip", "freeze"], folder).splitlines()


def _run(command: list[str], folder: Path) -> str:
    kept = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "PYTHONHOME"}}
    done = subprocess.run(
        command,
        cwd=folder,
        # the width of the help does not depend on the terminal
        env={**kept, "COLUMNS": "200", "XDG_STATE_HOME": str(folder / "state")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.release.install")
    parser.add_argument("pythons", nargs="*", default=[sys.executable])
    parser.add_argument("--oldest", action="store_true")
    parser.add_argument("--locked", action="store_true", help="by constraints.txt")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        _, wheel = build_distributions(Path(place))
        for number, python in enumerate(asked.pythons):
            folder = Path(place) / str(number)
            folder.mkdir()
            constraints = CONSTRAINTS if asked.locked else None
            if asked.oldest:
                constraints = folder / "oldest.txt"
                constraints.write_text("\n".join(read_oldest()), encoding="utf-8")
            versions = install(python, wheel, folder, constraints)
            said = [python, _run([python, "--version"], folder).strip(), *versions]
            sys.stdout.write("\n  ".join(said) + "\n")


if __name__ == "__main__":
    main()
