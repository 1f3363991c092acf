"""The pages to sign in and out: plain HTML in the colours of the explorer, without a script,
a font or a picture from anywhere."""

from __future__ import annotations

from widgets.markup import NOTHING, Markup, html, style_sheet
from widgets.state import LISTED
from widgets.text import cut
from widgets.theme import DARK, LIGHT, render_tokens


def render_login(*, next_url: str, sentence: str = "", name: str = "") -> Markup:
    """The form; `sentence` says what went wrong, `next_url` where it leads afterwards."""
    wrong = html('<p class="wrong" role="alert">{}</p>', sentence) if sentence else NOTHING
    focus = ("", " autofocus") if name else (" autofocus", "")
    return _page(
        "Sign in",
        html(
            """<form method="post">{}
<label for="name">Name</label>
<input id="name" name="name" value="{}" autocomplete="username" autocapitalize="none"
 spellcheck="false" required{}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password"
 required{}>
<input type="hidden" name="next" value="{}">
<button type="submit">Sign in</button></form>""",
            wrong,
            name,
            focus[0],
            focus[1],
            next_url,
        ),
    )


def render_logout(name: str, *, home: str) -> Markup:
    """The question before signing out."""
    return _page(
        "Sign out",
        html(
            """<form method="post"><p>You are signed in as <strong>{}</strong>.</p>
<button type="submit">Sign out</button>
<p class="more"><a href="{}">Back to the tables</a></p></form>""",
            cut(name, 200),
            home,
        ),
    )


def render_signed_out(home: str) -> Markup:
    """After signing out of a page that another server signs people in to."""
    return _page(
        "Signed out",
        html(
            "<p>This browser holds nothing of the page any more. The provider that you signed in "
            'with may still know you.</p><p class="more"><a href="{}">Sign in again</a></p>',
            home,
        ),
    )


def render_oauth_problem(home: str) -> Markup:
    """A template, filled by Panel: why the provider let nobody in."""
    return _page(
        "Sign-in did not work",
        html(
            '<p class="wrong" role="alert">{{{{ error_msg }}}}</p>'
            "<p>The provider said: {{{{ error }}}}.</p>"
            '<p class="more"><a href="{}">Try again</a></p>',
            home,
        ),
    )


def render_not_found(path: str, home: str) -> Markup:
    """An address of this server that leads nowhere."""
    return _page(
        "There is no such page",
        html(
            "<p>This server has nothing at <code>{}</code>.</p>"
            '<p class="more"><a href="{}{}">To the tables</a></p>',
            cut(path, 200),
            home,
            LISTED,
        ),
    )


def _page(title: str, inner: str) -> Markup:
    dark = f"@media (prefers-color-scheme: dark){{{render_tokens(DARK, ':root')}}}"
    return html(
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<title>{} \N{MIDDLE DOT} Delta Explorer</title>"
        "{}</head>"
        "<body><main><header><p>Delta Explorer</p><h1>{}</h1></header>"
        "{}</main></body></html>",
        title,
        style_sheet(render_tokens(LIGHT, ":root") + dark + _STYLE),
        title,
        inner,
    )


_STYLE = """
:root { color-scheme: light dark }
body { margin: 0; min-height: 100vh; display: grid; place-items: center;
  background: var(--dx-page); color: var(--dx-text);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif }
main { box-sizing: border-box; width: min(372px, calc(100vw - 32px)); margin: 24px 0;
  padding: 26px 28px 28px; background: var(--dx-card); border: 1px solid var(--dx-line);
  border-radius: 12px }
header p { margin: 0; color: var(--dx-muted); font-size: 13px }
h1 { margin: 0 0 16px; font-size: 21px; line-height: 1.3 }
label { display: block; margin: 14px 0 4px; font-size: 13px; color: var(--dx-muted) }
input { box-sizing: border-box; width: 100%; padding: 9px 11px; font: inherit;
  color: var(--dx-text); background: var(--dx-page); border: 1px solid var(--dx-muted);
  border-radius: 8px }
button { width: 100%; margin-top: 20px; padding: 10px; font: inherit; font-weight: 600;
  color: var(--dx-on-accent); background: var(--dx-accent); border: 0; border-radius: 8px;
  cursor: pointer }
input:focus-visible, button:focus-visible, a:focus-visible { outline: 2px solid var(--dx-accent);
  outline-offset: 2px }
a { color: var(--dx-accent) }
p { margin: 0 0 10px; overflow-wrap: anywhere }
.more { margin: 16px 0 0; font-size: 13px; color: var(--dx-muted) }
.wrong { padding: 9px 11px; border: 1px solid var(--dx-error); border-radius: 8px;
  background: var(--dx-error-ground); color: var(--dx-error); font-size: 14px }
"""
