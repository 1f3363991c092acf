"""A record is the frozen, slotted dataclass of keywords that `dataclass` makes of the class."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace
from typing import Any

import pytest

from explorer.records import compile_record, record


class _Body:
    """What both are made of."""

    version: int
    names: tuple[str, ...] = ()
    seen: list[int] = field(default_factory=list, compare=False, repr=False)
    extra: dict[str, int] = field(default_factory=dict, hash=False)

    @property
    def next(self) -> int:
        return self.version + 1


def _made(make: Callable[[type], type]) -> Any:
    own = {name: value for name, value in vars(_Body).items() if not name.startswith("__dict")}
    own = {name: value for name, value in own.items() if name != "__weakref__"}
    cls: Any = make(type("Made", (), own))
    return cls


OURS = _made(compile_record)
THEIRS = _made(dataclass(frozen=True, slots=True, kw_only=True))


@compile_record
class Kept:
    """At the top of a module, so that it can be pickled."""

    name: str
    sizes: tuple[int, ...] = ()


@compile_record
class Checked:
    """With rules of its own."""

    number: int

    def __post_init__(self) -> None:
        if self.number < 0:
            raise ValueError("below zero")

    def __repr__(self) -> str:
        return "checked"


@pytest.mark.parametrize("cls", [OURS, THEIRS], ids=["record", "dataclass"])
def test_values_are_equal_and_found_by_what_they_hold(cls: Any) -> None:
    one, same = cls(version=1, names=("a",)), cls(version=1, names=("a",), seen=[1])
    assert one == same
    assert hash(one) == hash(same)
    assert one != cls(version=2, names=("a",))
    assert one != cls(version=1, names=("a",), extra={"a": 1})
    assert len({one, same, cls(version=1)}) == 2
    assert one != (1, ("a",))
    assert one.seen is not same.seen
    assert one.next == 2


@pytest.mark.parametrize("cls", [OURS, THEIRS], ids=["record", "dataclass"])
def test_nothing_of_a_value_changes(cls: Any) -> None:
    one = cls(version=1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'version'"):
        one.version = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'version'"):
        del one.version
    # of names that it does not have, `dataclass` with slots says something else
    with pytest.raises((FrozenInstanceError, TypeError)):
        one.other = 2
    assert not hasattr(one, "__dict__")
    assert one.version == 1


@pytest.mark.parametrize("cls", [OURS, THEIRS], ids=["record", "dataclass"])
@pytest.mark.parametrize(
    "given", [{}, {"version": 1, "other": 2}, {"names": ()}], ids=["none", "odd", "others"]
)
def test_what_is_missing_or_odd_is_refused(cls: Any, given: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        cls(**given)
    with pytest.raises(TypeError):
        cls(1)


def test_both_look_alike() -> None:
    one, other = OURS(version=1, names=("a",)), THEIRS(version=1, names=("a",))
    assert repr(one) == repr(other)
    assert asdict(one) == asdict(other)
    assert asdict(replace(one, version=3)) == asdict(replace(other, version=3))
    assert [item.name for item in fields(one)] == [item.name for item in fields(other)]
    assert OURS.__slots__ == THEIRS.__slots__
    assert OURS.__match_args__ == THEIRS.__match_args__
    ours, theirs = (inspect.signature(cls).parameters.values() for cls in (OURS, THEIRS))
    assert [(each.name, each.kind, each.annotation) for each in ours] == [
        (each.name, each.kind, each.annotation) for each in theirs
    ]


def test_values_travel_and_are_copied() -> None:
    kept = Kept(name="a", sizes=(1, 2))
    for same in (
        pickle.loads(pickle.dumps(kept)),
        copy.copy(kept),
        copy.deepcopy(kept),
    ):  # our own bytes
        assert same == kept
        assert same is not kept


def test_what_a_class_defines_itself_stays() -> None:
    assert repr(Checked(number=1)) == "checked"
    with pytest.raises(ValueError, match="below zero"):
        Checked(number=-1)


def test_records_of_the_house_are_these_or_what_python_makes() -> None:
    @record
    class Small:
        """One field."""

        name: str

    assert Small(name="a") == Small(name="a")
    with pytest.raises(FrozenInstanceError):
        Small(name="a").name = "b"  # type: ignore[misc]


@compile_record
class One:
    """A single field."""

    value: Any


def test_one_field_is_compared_as_several_are() -> None:
    nan = float("nan")
    one = One(value=nan)
    assert one == one  # noqa: PLR0124  # itself, whatever it holds
    assert one == One(value=nan)
    assert hash(one) == hash(One(value=nan))
    assert one != One(value=float("nan"))
    assert One(value=1) != One(value=2)


def test_what_a_record_cannot_be_is_refused_where_it_is_declared() -> None:
    class Empty:
        """No field."""

    class Later:
        """A field that the constructor does not take."""

        at: int = field(init=False)

    for cls in (Empty, Later):
        with pytest.raises(TypeError, match="use `dataclass`"):
            compile_record(cls)
