"""Finds dead links in a built site, and whatever a page would load from another server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

# A browser loads these by itself; an `a` waits for a click.
LOADED = {"script", "img", "source", "iframe", "video", "audio", "embed", "object", "link"}
# A link of these relations is only named.
NAMED = {"canonical", "next", "prev", "edit"}
REMOTE = re.compile(r"(?:[a-z]+:)?//", re.IGNORECASE)


class Page(HTMLParser):
    """The targets and the anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[tuple[str, str]] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note ids, names and the addresses that a tag refers to."""
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "link" and found.get("rel", "") in NAMED:
            return
        for name in ("href", "src", "data"):
            if value := found.get(name):
                self.targets.append((tag, value))
        for one in filter(None, found.get("srcset", "").split(",")):
            self.targets.append((tag, one.split()[0]))


@cache
def page(path: Path) -> Page:
    """Return the parsed page."""
    return Page(path.read_text())


def faults_of(folder: Path) -> list[str]:
    """Return a line for each fault in the pages of a folder."""
    return [
        f"{path.relative_to(folder)}: {fault}"
        for path in sorted(folder.rglob("*.html"))
        for fault in _faults(path, folder)
    ]


def _faults(path: Path, folder: Path) -> Iterator[str]:
    for tag, target in page(path).targets:
        if REMOTE.match(target):
            if tag in LOADED:
                yield f"loads {target}"
        elif not re.match(r"[a-z]+:", target) and not _is_there(path, target, folder):
            yield f"dead link {target}"


def _is_there(path: Path, target: str, folder: Path) -> bool:
    file, _, anchor = unquote(target).partition("#")
    # The page "not found" is shown at any address, so its links begin at the root.
    start = folder if file.startswith("/") else path.parent
    aimed = start / file.partition("?")[0].lstrip("/") if file else path
    if aimed.is_dir():
        aimed /= "index.html"
    if not aimed.is_file():
        return False
    return not anchor or aimed.suffix != ".html" or anchor in page(aimed).anchors
