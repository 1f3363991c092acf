"""Work under way: how far it is, and a button that stops it."""

from __future__ import annotations

from explorer.progress import Progress
from widgets.text import cut, esc, format_count


def render_progress(progress: Progress) -> str:
    """A bar where the total is known, and a button that does `cancel`."""
    label = esc(cut(progress.label, 200))
    bar = ""
    if progress.total:
        done = min(progress.done, progress.total)
        bar = (
            f"<span>{format_count(done)} of {format_count(progress.total)}</span>"
            f'<progress max="{progress.total}" value="{done}" aria-label="{label}"></progress>'
        )
    return (
        f'<div class="dx-foot" role="status"><span class="dx-waiting">{label}</span>{bar}'
        '<button type="button" data-do="cancel" data-value="">Cancel</button></div>'
    )
