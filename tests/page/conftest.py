"""The page of one small run, in Debian's Chromium; skipped where there is none."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
from lab import Lab, Run  # noqa: E402

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


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return Lab(sys.executable, tmp_path_factory.mktemp("lab"))


@pytest.fixture(scope="session")
def run(lab: Lab) -> Run:
    return lab.once("page_names.py")


@pytest.fixture(scope="session")
def page_file(lab: Lab, run: Run) -> Path:
    file = lab.folder / "page.html"
    result = lab.peakline("html", str(run.trace), "-o", str(file))
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(f"Wrote {file} (")
    return file


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no chromium: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def show(browser: Any, page_file: Path) -> Iterator[Any]:
    """Open the page: show(width=1440, theme="light", address="")."""
    contexts = []

    def open_page(
        width: int = 1440, theme: str = "light", address: str = "", file: Path = page_file
    ) -> Shown:
        size = {"width": width, "height": 900}
        context = browser.new_context(viewport=size, color_scheme=theme, offline=True)
        contexts.append(context)
        shown = Shown(context.new_page())
        shown.page.on("console", lambda message: shown.console.append(message.text))
        shown.page.on("pageerror", lambda error: shown.console.append(str(error)))
        shown.page.on("request", lambda request: shown.requests.append(request.url))
        shown.page.goto(f"file://{file}{address}")
        shown.until("document.documentElement.dataset.ready")
        return shown

    yield open_page
    for context in contexts:
        context.close()
