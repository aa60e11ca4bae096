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

    def tab(self, name: str) -> None:
        self.page.click(f"#tab-{name}")
        self.drawn()


def packed(file: Path, block: str) -> bytes:
    """Return a data block of a page."""
    found = re.search(rf'id="{block}"[^>]*>([^<]*)<', file.read_text())
    assert found is not None, block
    return gzip.decompress(base64.b64decode(found[1]))
