"""Work under way: how far it is, and a button that stops it."""

from __future__ import annotations

from explorer.progress import Progress
from widgets.markup import NOTHING, Markup, esc, html
from widgets.text import cut, format_count


def render_progress(progress: Progress) -> Markup:
    """A bar where the total is known, and a button that does `cancel`."""
    label = esc(cut(progress.label, 200))
    bar = NOTHING
    if progress.total:
        done = min(progress.done, progress.total)
        bar = html(
            '<span>{} of {}</span><progress max="{}" value="{}" aria-label="{}"></progress>',
            format_count(done),
            format_count(progress.total),
            progress.total,
            done,
            label,
        )
    return html(
        '<div class="dx-foot" role="status"><span class="dx-waiting">{}</span>{}'
        '<button type="button" data-do="cancel" data-value="">Cancel</button></div>',
        label,
        bar,
    )
