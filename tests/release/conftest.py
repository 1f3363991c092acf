"""What is released, built once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.release.install import build_distributions


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sdist of this checkout, and the wheel that is built from it."""
    return build_distributions(tmp_path_factory.mktemp("built"))
