"""Names of columns with the name of their table before them, for where another one has them too."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from explorer.protocol.schema_walk import render_path
from explorer.scan.predicate.parse import parse_sql
from explorer.scan.sql._sql_text import check_words


def with_qualifier(text: str, names: Collection[str], qualifier: str) -> str:
    """A checked expression with `qualifier` before each of these names (in lower case) that nothing
    qualifies.

    The text is changed word by word, and holds to it what its tree is to be: where a word is not
    what it looks like, the text comes back as it was, and Spark says which name it cannot tell.
    """
    shown = render_path((qualifier,))
    found = "".join(_pieces(text, names, shown))
    return found if parse_sql(found) == _qualified(parse_sql(text), names, shown) else text


def _pieces(text: str, names: Collection[str], qualifier: str) -> Iterator[str]:
    at, before = 0, ""
    tokens = check_words(text, "rule")
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        start = text.index(token.text, at)  # there is only space between them
        yield text[at:start]
        name = token.text[1:-1].replace("``", "`") if token.kind == "quoted" else token.text
        is_name = token.kind in {"word", "quoted"} and name.lower() in names
        is_called = following is not None and following.text == "("
        if is_name and before != "." and not is_called:
            yield f"{qualifier}."
        yield token.text
        at, before = start + len(token.text), token.text
    yield text[at:]


def _qualified(tree: Any, names: Collection[str], qualifier: str) -> Any:
    """The same tree with the qualifier before these names."""
    found = tree.copy()
    for node in list(found.walk()):
        if type(node).__name__ == "Column" and node.parts[0].name.lower() in names:
            way = ".".join(part.sql(dialect="spark") for part in node.parts)
            replaced = parse_sql(f"{qualifier}.{way}")
            if node is found:
                return replaced
            node.replace(replaced)
    return found
