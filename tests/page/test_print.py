"""On paper: the summary and the open tab, in the light colours, without controls."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from shown import Shown
from test_page import TABS

Show = Callable[..., Shown]

# While the printer looks: what is seen, and the colours.
LOOK = """() => {
  addEventListener("beforeprint", () => {
    const seen = (one) => getComputedStyle(one).display !== "none" && one.clientHeight > 0;
    const canvases = [...document.querySelectorAll("main canvas")].filter(seen);
    const isBlank = (canvas) => {
      const empty = Object.assign(document.createElement("canvas"),
        { width: canvas.width, height: canvas.height });
      return canvas.toDataURL() === empty.toDataURL();
    };
    window.printed = {
      sections: [...document.querySelectorAll("main > section")].filter(seen).map((s) => s.id),
      background: getComputedStyle(document.documentElement).backgroundColor,
      blank: canvases.filter(isBlank).length,
      canvases: canvases.length,
      text: document.querySelector("main").innerText,
    };
  });
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_paper_has_the_summary_and_the_open_tab(show: Show, theme: str, tmp_path: Path) -> None:
    shown = show(theme=theme)
    shown.page.evaluate(LOOK)
    screen = shown.page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    for tab in TABS:
        shown.tab(tab)
        before = shown.page.evaluate("document.querySelector('main').innerHTML.length")
        document = shown.page.pdf(path=str(tmp_path / f"{tab}.pdf"), format="A4")
        assert document.startswith(b"%PDF")
        printed = shown.page.evaluate("window.printed")
        assert printed["sections"] == list(dict.fromkeys(["summary", tab]))
        assert printed["background"] == "rgb(255, 255, 255)"
        assert printed["blank"] == 0 and printed["canvases"] > 0
        assert "at the peak" in printed["text"]
        shown.drawn()
        after = shown.page.evaluate("document.querySelector('main').innerHTML.length")
        assert abs(after - before) < 50, tab
        assert shown.page.evaluate("document.documentElement.dataset.printing") is None
    now = shown.page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert now == screen
    assert shown.console == []


def test_controls_are_not_on_paper(show: Show) -> None:
    shown = show(address="#tab=lines")
    shown.page.emulate_media(media="print")
    controls = "[role=tab], .tools, #theme, #bar, .skip, p > .link"
    assert shown.page.locator(controls).count() > 10
    seen: list[Any] = shown.page.evaluate(
        f"[...document.querySelectorAll('{controls}')].filter((one) => one.offsetParent)"
    )
    assert seen == []
    shown.page.emulate_media(media="screen")
    shown.tab("phases")
    shown.page.emulate_media(media="print")
    assert "step 0 forward" in shown.page.inner_text("#phases")
