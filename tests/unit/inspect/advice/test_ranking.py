"""What comes first of all that a table asks for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from explorer.inspect.advice.ranking import SOURCES, Source, Step, rank_steps
from explorer.inspect.health.findings import SEVERITIES, Severity


def step(
    severity: Severity = "note",
    gain: float = 0.0,
    source: Source = "health",
    operation: str | None = None,
    endangers: bool = False,
    **arguments: str,
) -> Step:
    return Step(
        source=source,
        severity=severity,
        problem="p",
        cost="c",
        benefit="b",
        operation=operation,
        arguments=arguments,
        gain=gain,
        endangers=endangers,
    )


def test_what_breaks_comes_before_what_costs_whatever_it_gains() -> None:
    broken, dear, small = step("error"), step("warning", 0.2), step("note", 1.0)
    assert rank_steps([small, dear, broken]) == [broken, dear, small]


def test_what_gains_most_comes_first_among_equals_and_then_the_order_of_sources() -> None:
    much, little = step(gain=0.9, source="reach"), step(gain=0.1)
    alike = step(gain=0.1, source="vectors")
    assert rank_steps([alike, little, much]) == [much, little, alike]


def test_what_endangers_the_table_comes_before_what_gains_as_long_as_it_is_as_grave() -> None:
    lost, slow = step("warning", endangers=True), step("warning", 0.9, "layout")
    odd = step("note", endangers=True)
    assert rank_steps([odd, slow, lost]) == [lost, slow, odd]


def test_one_operation_stands_once_for_the_gravest_thing_that_it_mends() -> None:
    found = [
        step("note", operation="checkpoint"),
        step("error", operation="checkpoint"),
        step("warning", operation="checkpoint"),
        step("note", operation="optimize", what="compact"),
        step("note", operation="optimize", what="purge"),
    ]
    ranked = rank_steps(found)
    assert [(one.operation, one.severity, one.others) for one in ranked] == [
        ("checkpoint", "error", 2),
        ("optimize", "note", 0),
        ("optimize", "note", 0),
    ]


def test_things_that_no_operation_mends_are_never_one() -> None:
    assert len(rank_steps([step("error"), step("error")])) == 2


STEPS = st.builds(
    Step,
    source=st.sampled_from(SOURCES),
    severity=st.sampled_from(SEVERITIES),
    problem=st.just("p"),
    cost=st.just("c"),
    benefit=st.just("b"),
    operation=st.sampled_from([None, "vacuum", "checkpoint"]),
    gain=st.floats(0, 1),
)


@given(st.lists(STEPS, max_size=12))
def test_nothing_graver_ever_stands_below_and_nothing_is_lost(found: list[Step]) -> None:
    ranked = rank_steps(found)
    grave = [SEVERITIES.index(one.severity) for one in ranked]
    assert grave == sorted(grave)
    assert sum(1 + one.others for one in ranked) == len(found)
    assert {one.operation for one in ranked} == {one.operation for one in found}
