"""What Bokeh's properties are where nobody has set them, worked out once."""

from __future__ import annotations

from functools import wraps
from typing import Any

from bokeh.core.has_props import HasProps
from bokeh.core.property.descriptors import PropertyDescriptor

_UNKNOWN = object()
_PLAIN = (bool, int, float, str, type(None))


def remember_defaults() -> None:
    """Let Bokeh look a plain default up by class and name from now on.

    For each model that it sends Bokeh works out the default of every property that nobody has set,
    and drops it: half of the time that a page's first message takes. A default that is a plain
    value is the same for all models of a class, unless a theme says otherwise; all others are
    worked out as before.
    """
    work_out = PropertyDescriptor._get_default
    if hasattr(work_out, "__wrapped__"):
        return  # it does already
    known: dict[tuple[type[HasProps], str], Any] = {}

    @wraps(work_out)
    def get_default(self: PropertyDescriptor[Any], model: HasProps) -> Any:
        themed = model.themed_values()
        if themed is not None and self.name in themed:
            return work_out(self, model)
        key = (type(model), self.name)
        found = known.get(key, _UNKNOWN)
        if found is _UNKNOWN:
            found = work_out(self, model)
            if type(found) in _PLAIN and not self.has_unstable_default(model):
                known[key] = found
        return found

    PropertyDescriptor._get_default = get_default
