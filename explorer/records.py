"""Frozen, slotted dataclasses of keywords, declared in a third of the time.

Before Python 3.13 `dataclass` compiles six functions for each class, one by one: 0.3 ms of
processor time, and what a line of the command line imports has some forty of them. A `record` is
the same dataclass, with one function of its own and the others shared, as far as these classes go:
it has no `InitVar` and no field that is left out of the constructor, and a frozen dataclass cannot
inherit from it. For classes that every start imports; elsewhere it is not worth a second name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from typing import Any, Final, TypeVar, dataclass_transform

_Class = TypeVar("_Class")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def record(cls: type[_Class]) -> type[_Class]:
    """The class as `dataclass(frozen=True, slots=True, kw_only=True)` makes it."""
    if sys.version_info >= (3, 13):  # all of a class is compiled at once there
        return dataclass(frozen=True, slots=True, kw_only=True)(cls)
    return compile_record(cls)


def compile_record(cls: type[_Class]) -> type[_Class]:
    """What `record` does before Python 3.13; methods that the class defines itself stay."""
    own = vars(cls)
    for name, method in _SHARED.items():
        if name not in own:
            setattr(cls, name, method)
    made = dataclass(init=False, repr=False, eq=False, slots=True, kw_only=True)(cls)
    _complete(made)
    return made


def _complete(cls: Any) -> None:
    """Its constructor, and what `==` and `hash` look at."""
    cls.__init__ = _compile_init(cls)
    compared = [found for found in fields(cls) if found.compare]
    hashed = [found for found in compared if found.hash is not False]
    cls._compared = staticmethod(_getter([found.name for found in compared]))
    cls._hashed = staticmethod(_getter([found.name for found in hashed]))


def _getter(names: Sequence[str]) -> Callable[[Any], Any]:
    """The fields of a value as a tuple, also where there is one: a tuple that holds NaN is equal to
    itself."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple(getattr(value, name) for name in names)


def _compile_init(cls: Any) -> Callable[..., None]:
    scope: dict[str, Any] = {"_set": object.__setattr__, "_missing": MISSING}
    arguments, lines = [], []
    for found in fields(cls):
        if not found.init:
            raise TypeError(f"{found.name} is left out of the constructor: use `dataclass`")
        name = value = found.name
        if found.default_factory is not MISSING:
            scope[f"_make_{name}"] = found.default_factory
            arguments.append(f"{name}=_missing")
            value = f"_make_{name}() if {name} is _missing else {name}"
        elif found.default is not MISSING:
            scope[f"_default_{name}"] = found.default
            arguments.append(f"{name}=_default_{name}")
        else:
            arguments.append(name)
        lines.append(f"    _set(self, {name!r}, {value})")
    if not lines:
        raise TypeError(f"{cls.__qualname__} has no fields: use `dataclass`")
    if hasattr(cls, "__post_init__"):
        lines.append("    self.__post_init__()")
    head = f"def __init__(self, *, {', '.join(arguments)}):\n"
    # of names of fields alone, as `dataclass` does it
    exec(head + "\n".join(lines), scope)
    init: Callable[..., None] = scope["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = {found.name: found.type for found in fields(cls)} | {"return": None}
    return init


def _equals(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return self._compared(self) == self._compared(other)


def _hash(self: Any) -> int:
    return hash(self._hashed(self))


def _repr(self: Any) -> str:
    shown = (f"{item.name}={getattr(self, item.name)!r}" for item in fields(self) if item.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _refuse_assignment(_self: Any, name: str, _value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(_self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, item.name) for item in fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for item, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, item.name, value)


_SHARED: Final[Mapping[str, Callable[..., Any]]] = {
    "__eq__": _equals,
    "__hash__": _hash,
    "__repr__": _repr,
    "__setattr__": _refuse_assignment,
    "__delattr__": _refuse_deletion,
    "__getstate__": _state,
    "__setstate__": _restore,
}
