"""OAuth by the providers that Panel knows, with pages of our own where Panel's ask a CDN."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from panel.auth import AUTH_PROVIDERS

from explorer.errors import InvalidArgumentError
from widgets.served._signin_pages import render_oauth_problem, render_signed_out
from widgets.served.settings import OAuth


def oauth_options(oauth: OAuth, secret: str, home: str) -> dict[str, Any]:
    """What Panel's server is given for it; raises `InvalidArgumentError` for a provider that
    it does not know."""
    known = sorted(set(AUTH_PROVIDERS) - {"basic", "pam", "password"})
    if oauth.provider not in known:
        raise InvalidArgumentError(
            f"There is no OAuth provider called {oauth.provider[:40]!r}.",
            reason=f"The providers are {', '.join(known)}.",
            remedy="For any other use `generic` with TOKEN_URL, AUTHORIZE_URL and USER_URL in "
            "`extra_params`.",
        )
    # Panel takes templates as files only, and has read them when the server is built
    folder = Path(tempfile.mkdtemp(prefix="delta-explorer-pages-"))
    pages = {"logout": render_signed_out(home), "error": render_oauth_problem(home)}
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {
        "oauth_provider": oauth.provider,
        "oauth_key": oauth.key,
        "oauth_secret": oauth.secret,
        "oauth_redirect_uri": oauth.redirect_uri,
        "oauth_extra_params": dict(oauth.extra_params),
        "oauth_error_template": str(folder / "error.html"),
        "logout_template": str(folder / "logout.html"),
        "cookie_secret": secret,
        "cookie_path": home,
        "root_path": home,
    }
