"""Makes the HTML page of a trace: one file that loads nothing. `peakline html` uses it.

The engine supplies names and columns, report/page the script and the style. All data from the
program enter the page as text: escaped in the summary, set by the script elsewhere.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peakline.base.sizes import size_of
from peakline.pages.categories import category_style, stacking_order
from peakline.pages.summary import at_the_peak, facts_of, footer_of, growth_of, summary_of, title_of
from peakline.pages.text import text_of

_ASSETS = Path(__file__).parents[1] / "page"


@dataclass(frozen=True)
class PageContent:
    """The settings of a page, beside its data."""

    tab: str = "summary"  # the tab that is open first
    is_part: bool = False  # the data leave out the beginning or the end of the run
    grows: tuple[str, ...] = ()  # certain growth, from recording/growth.py
    leaks: dict[str, Any] | None = None  # rows of `leaks`, for the device that it looked at
    plan: dict[str, Any] | None = None  # sets of layers, for the device that it looked at
    files: dict[str, Any] | None = None  # data of compared files, from files.files_data()


@dataclass(frozen=True)
class DeviceData:
    """One device of the trace: the result of `_report.Trace.page()` for it."""

    names: str
    columns: bytes
    file: int | None = None  # of a page that has several files in full: its number
    label: str = ""  # then: its name


def make_page(devices: Sequence[DeviceData], options: PageContent) -> str:
    """Return the page; it shows the first device until the user chooses another."""
    pages = [_page_of(one, options) for one in devices]
    page = pages[0]
    script = (_ASSETS / "page.js").read_text(encoding="utf-8")
    style = category_style() + (_ASSETS / "page.css").read_text(encoding="utf-8")
    body = _fill(
        (_ASSETS / "page.html").read_text(encoding="utf-8"),
        {
            "title": text_of(title_of(page)),
            "facts": text_of(page["facts"]),
            "summary": summary_of(pages, growth_of(options.grows)),
            "footer": text_of(page["footer"]),
        },
    )
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    blocks = "".join(
        _block(
            f'names-{i}" data-device="{one["device"]}" data-peak="{one["peak"]["bytes"]}"'
            f' data-address="{one["address"]}" data-label="{text_of(one["label"])}',
            one,
        )
        + _block(f"columns-{i}", data.columns)
        for i, (one, data) in enumerate(zip(pages, devices, strict=True))
    )
    if options.files is not None:
        blocks += _block("files", options.files)
    return (
        '<!doctype html>\n<html lang=en><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>{text_of(page['title'])}</title>"
        f'<style>{style}</style></head>\n<body data-tab="{text_of(options.tab)}">\n{body}'
        f"{blocks}<script>{script}</script></body></html>\n"
    )


def _page_of(device: DeviceData, options: PageContent) -> dict[str, Any]:
    """Return a device's data for the script: the engine's names, and the texts around the tabs."""
    page: dict[str, Any] = json.loads(device.names)
    page["is_part"] = options.is_part
    leaks = options.leaks
    page["leaks"] = leaks if leaks and leaks["device"] == page["device"] else None
    page["file"] = device.file
    page["label"] = device.label
    page["address"] = str(page["device"])
    if device.file is not None:
        page["address"] = f"{device.file}.{page['device']}"
    plan = options.plan
    page["plan"] = plan if plan and plan["device"] == page["device"] else None
    page["stacking"] = stacking_order(page["categories"])
    peak = size_of(page["peak"]["bytes"])
    page["title"] = f"{title_of(page)}: {peak} {at_the_peak(page)} - peakline"
    page["facts"] = " · ".join(facts_of(page))
    page["footer"] = footer_of(page)
    return page


def _block(name: str, data: bytes | dict[str, Any]) -> str:
    if isinstance(data, dict):
        data = json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode()
    return f'<script type="application/octet-stream;base64" id="{name}">{_pack(data)}</script>\n'


def _hash(text: str) -> str:
    """Return the hash of the exact text between the tags, as the content policy requires."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _pack(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, 6, mtime=0)).decode()


def _fill(template: str, values: dict[str, str]) -> str:
    """Fill all placeholders in one pass, so that a value that looks like one stays unchanged."""
    return re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], template)
