"""What a receipt tells of files that were written in vain."""

from __future__ import annotations

import pytest

from explorer.maintenance.documents.leftovers import leftovers_of
from explorer.maintenance.documents.receipt import MAX_EXCEPTIONS, parse_receipt
from explorer.writing.files.leftovers import Leftovers
from tests.unit.maintenance.vain import receipt_of


def test_all_steps_are_told_together_and_long_lists_with_their_number() -> None:
    many = tuple(f"part=a/{number}.parquet" for number in range(MAX_EXCEPTIONS + 5))
    receipt = receipt_of(
        Leftovers(num_removed=2, left=("a.parquet",)), Leftovers(left=many, unlisted=("b/part-1",))
    )
    found = leftovers_of(parse_receipt(receipt.document))
    assert (found.num_removed, found.num_left, found.num_unlisted) == (2, len(many) + 1, 1)
    assert found.left == ("a.parquet", *many[:MAX_EXCEPTIONS])
    assert found.unlisted == ("b/part-1",)


@pytest.mark.parametrize(
    ("left", "words"),
    [
        (Leftovers(), []),
        (Leftovers(num_removed=1), ["1 file that it had written was removed again."]),
        (Leftovers(num_removed=1200), ["1,200 files that it had written were removed again."]),
        (Leftovers(left=("a",)), ["1 file that it had written is still there", "vacuum deletes"]),
        (
            Leftovers(num_removed=3, left=("a", "b")),
            ["3 files that it had written were removed", "2 files that it had written are still"],
        ),
        (Leftovers(unlisted=("x/part-",)), ["a folder could not be listed"]),
    ],
)
def test_sentence_says_what_was_removed_and_what_becomes_of_the_rest(
    left: Leftovers, words: list[str]
) -> None:
    sentence = leftovers_of(receipt_of(left)).sentence
    assert bool(sentence) is bool(words)
    assert all(word in sentence for word in words)


def test_result_that_is_of_another_form_tells_nothing() -> None:
    document = receipt_of(Leftovers(left=("a",))).document
    document["steps"][0]["result"] = {"staged_removed": "x", "staged_left": 5, "num_staged_left": 0}
    assert leftovers_of(parse_receipt(document)) == Leftovers()
