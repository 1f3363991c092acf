"""Every Parquet file leaves through one module, which decides what footers claim, and comes
through one, which follows a footer before pyarrow does."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.test_sources import PRODUCT, ROOT

DOOR = ROOT / "explorer" / "storage" / "parquet" / "writer.py"
WRITERS = {
    "ParquetFileFormat",
    "ParquetWriter",
    "make_write_options",
    "to_parquet",
    "write_dataset",
    "write_metadata",
    "write_metadata_file",
    "write_to_dataset",
}
# each makes room for what a footer claims before anybody has looked at it
READERS = {"ParquetDataset", "ParquetFile", "ParquetReader", "read_table"}
READING_DOOR = ROOT / "explorer" / "storage" / "parquet" / "reader.py"

# a writer of Arrow's own stream has a method of this name, the module has a function
OF_THE_MODULE = "write_table"


def _opened(source: str) -> Iterator[str]:
    """The ways around the one module that a source takes, as it calls them."""
    nodes = list(ast.walk(ast.parse(source)))
    modules: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            modules |= {name.asname or name.name for name in node.names if "parquet" in name.name}
        elif isinstance(node, ast.ImportFrom):
            names = {name.name: name.asname or name.name for name in node.names}
            modules |= {names["parquet"]} if "parquet" in names else set()
            functions = WRITERS | ({OF_THE_MODULE} if node.module == "pyarrow.parquet" else set())
            yield from names.keys() & functions
    for node in nodes:
        if isinstance(node, ast.Attribute) and _writes(node, modules):
            yield node.attr


def _writes(node: ast.Attribute, modules: set[str]) -> bool:
    owner = ast.unparse(node.value)
    by_spark = node.attr == "parquet" and owner.endswith(".write")
    by_module = node.attr == OF_THE_MODULE and owner in modules
    return node.attr in WRITERS or by_module or by_spark


@pytest.mark.slow
def test_no_parquet_writer_is_opened_around_the_module_that_decides_on_footers() -> None:
    around = {
        path.relative_to(ROOT).as_posix(): found
        for path in PRODUCT
        if path != DOOR and (found := list(_opened(path.read_text(encoding="utf-8"))))
    }
    assert around == {}


def test_the_one_module_opens_them() -> None:
    assert set(_opened(DOOR.read_text(encoding="utf-8"))) == {"ParquetWriter"}


@pytest.mark.parametrize(
    "source",
    [
        "import pyarrow.parquet as pq\npq.write_table(t, f)",
        "import pyarrow.parquet\npyarrow.parquet.write_table(t, f)",
        "from pyarrow import parquet\nparquet.ParquetWriter(f, s)",
        "from pyarrow.parquet import write_table",
        "from pyarrow.parquet import ParquetWriter as Other",
        "import pyarrow.parquet as pq\nopened = pq.ParquetWriter",
        "import pyarrow.dataset as ds\nds.write_dataset(t, p, format='parquet')",
        "frame.write.parquet(p)",
        "frame.to_parquet(p)",
    ],
)
def test_each_way_around_it_is_seen(source: str) -> None:
    assert list(_opened(source))


def test_a_stream_of_arrow_is_none() -> None:
    assert list(_opened("writer = pa.ipc.new_stream(f, s)\nwriter.write_table(t)")) == []


def _read_around(source: str) -> set[str]:
    nodes = ast.walk(ast.parse(source))
    named = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    imported = {
        name.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pyarrow")
        for name in node.names
    }
    return (named | imported) & READERS


@pytest.mark.slow
def test_no_parquet_file_is_opened_around_the_module_that_follows_footers() -> None:
    around = {
        path.relative_to(ROOT).as_posix(): found
        for path in PRODUCT
        if path != READING_DOOR and (found := _read_around(path.read_text(encoding="utf-8")))
    }
    assert around == {}
    assert _read_around(READING_DOOR.read_text(encoding="utf-8")) == {"ParquetReader"}
    assert _read_around("import pyarrow.parquet as pq\npq.ParquetFile(f)") == {"ParquetFile"}
    assert _read_around("from pyarrow.parquet import read_table") == {"read_table"}
