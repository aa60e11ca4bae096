"""A page in the browser."""

from __future__ import annotations

import base64
import gzip
import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WAIT_SECONDS = 60


@dataclass
class Shown:
    """A page in the browser, and what it did that it must not."""

    page: Any
    console: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def until(self, expression: str) -> Any:
        """Return the value once it is true. The policy forbids Playwright's own way to wait."""
        end = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < end:
            value = self.page.evaluate(expression)
            if value:
                return value
            self.page.wait_for_timeout(20)
        raise AssertionError(f"never true: {expression}; console: {self.console}")

    def drawn(self) -> None:
        """Wait for the frame after the next one."""
        self.page.evaluate(
            "new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))"
        )

    # The actions of a user. Each returns when the page is drawn again, which is in the next frame.

    def click(self, selector: str, **how: Any) -> None:
        self.page.click(selector, **how)
        self.drawn()

    def fill(self, selector: str, text: str) -> None:
        self.page.fill(selector, text)
        self.drawn()

    def press(self, selector: str, key: str) -> None:
        self.page.press(selector, key)
        self.drawn()

    def key(self, key: str) -> None:
        """Press a key where the focus is."""
        self.page.keyboard.press(key)
        self.drawn()

    def select_option(self, selector: str, value: str | None = None, **how: Any) -> None:
        self.page.select_option(selector, value, **how)
        self.drawn()

    def tab(self, name: str) -> None:
        self.click(f"#tab-{name}")


def packed(file: Path, block: str) -> bytes:
    """Return a data block of a page."""
    found = re.search(rf'id="{block}"[^>]*>([^<]*)<', file.read_text())
    assert found is not None, block
    return gzip.decompress(base64.b64decode(found[1]))
