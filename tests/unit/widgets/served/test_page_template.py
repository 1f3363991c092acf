"""Which of Bokeh's and Panel's scripts a page asks for."""

from __future__ import annotations

import pytest

from widgets.served import _page_template

SCRIPTS = """
<script type="esms-options">{"shimMode": true}</script>
<script src="static/extensions/panel/bundled/es-module-shims.min.js"></script>
<script src="static/js/bokeh.min.js?v=1"></script>
<script src="static/js/bokeh-gl.min.js?v=2"></script>
<script src="static/js/bokeh-widgets.min.js?v=3"></script>
<script src="static/js/bokeh-tables.min.js?v=4"></script>
<script src="static/extensions/panel/panel.min.js?v=5"></script>
"""


@pytest.mark.parametrize("is_known", [True, False], ids=["known", "another"])
def test_few_models_are_taken_of_a_panel_that_we_know_and_all_of_another(
    monkeypatch: pytest.MonkeyPatch,
    is_known: bool,
) -> None:
    assert _page_template._can_take_few_models()
    monkeypatch.setattr(_page_template, "_can_take_few_models", lambda: is_known)
    parts = _page_template._needed(SCRIPTS)
    found = "\n".join(parts)
    assert len(parts) == (2 if is_known else 1)
    assert "/bokeh.min" in parts[0]
    assert "panel.min" in parts[-1]
    assert ("bokeh-tables" in found) is not is_known
    assert "bokeh-widgets" in parts[-1]
    assert not any(name in found for name in ("bokeh-gl", "shims", "esms"))
