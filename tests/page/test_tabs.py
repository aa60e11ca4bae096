"""The tables of tabs and keys: a new row is on the page, with all that belongs to it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import peakline._report as engine
import pytest
from lab import Run
from peakline.pages import page as pages
from peakline.pages.page import DeviceData, PageContent, make_page
from shown import Shown
from test_page import TABS

ROOT = Path(__file__).resolve().parents[2]
Show = Callable[..., Shown]

VIEW = """// @ts-check
import { byId, make } from "../elements/dom.js";
export class NewView {
  constructor() {
    byId("new").append(make("p", "", "A new tab."));
  }
  show() {}
}
"""
KEYS = "[...document.querySelectorAll('#tabs button')].map((one) => one.ariaKeyShortcuts)"


def open_tab(shown: Shown) -> str:
    return shown.page.evaluate("document.querySelector('main > section:not([hidden])').id")


def test_every_tab_has_a_key(show: Show) -> None:
    shown = show()
    keys = shown.page.evaluate(KEYS)
    assert len(set(keys)) == len(TABS)
    for tab, key in zip(TABS, keys, strict=True):
        shown.key(key)
        assert open_tab(shown) == tab
    assert shown.page.text_content("#tab-keys").split() == keys
    assert shown.console == []


def test_a_view_and_a_row_are_a_tab(
    show: Show, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "source"
    shutil.copytree(ROOT / "report" / "page", source)
    (source / "views" / "new_view.js").write_text(VIEW)
    views = (source / "views.js").read_text()
    views = 'import { NewView } from "./views/new_view.js";\n' + views
    row = '  { id: "new", text: "New", make: () => new NewView() },\n];\n'
    assert views.count("\n];\n") == 1
    (source / "views.js").write_text(views.replace("];\n", row, 1))
    assets = tmp_path / "assets"
    subprocess.run([sys.executable, str(source / "join.py"), str(assets)], check=True)
    monkeypatch.setattr(pages, "_ASSETS", assets)
    file = tmp_path / "page.html"
    file.write_text(make_page([DeviceData(*engine.Trace(str(run.trace)).page())], PageContent()))
    shown = show(file=file)
    key = shown.page.evaluate(KEYS)[-1]
    assert key not in shown.page.evaluate(KEYS)[:-1]
    shown.key(key)
    assert open_tab(shown) == "new"
    assert shown.page.inner_text("#new") == "A new tab."
    again = show(file=file, address="#tab=new")
    assert open_tab(again) == "new"
    assert shown.console == []


def test_the_keys_of_the_engine_are_on_every_tab(show: Show, run: Run) -> None:
    names = json.loads(engine.Trace(str(run.trace)).page()[0])
    assert {key["by"] for key in names["keys"]} <= engine.CHOICES["by"].keys()
    keys = [key["name"] for key in names["keys"]]
    assert {"module", "operator", "category"} < set(keys)
    shown = show()
    for tab, choice, expected in (
        ("lines", "Rows are", ["line", "stack", "function", "file", *keys]),
        ("timeline", "Stacked by", ["line", *keys]),
        ("map", "Blocks are coloured by", ["line", *keys, "age"]),
        ("flame", "Flame of", ["whole stack", "own code", *(f"{key} first" for key in keys)]),
    ):
        shown.tab(tab)
        buttons = shown.page.locator(f"#{tab} [aria-label='{choice}'] button")
        assert buttons.all_inner_texts() == expected
        for i in range(buttons.count()):
            buttons.nth(i).click()
            shown.drawn()
    assert shown.console == []
