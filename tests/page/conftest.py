"""The page of one small run, in Debian's Chromium; skipped where there is none."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
from lab import Lab, Run  # noqa: E402
from shown import Shown  # noqa: E402


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return Lab(sys.executable, tmp_path_factory.mktemp("lab"))


@pytest.fixture(scope="session")
def run(lab: Lab) -> Run:
    return lab.run("page_names.py", options=["--saved"])


@pytest.fixture(scope="session")
def page_file(lab: Lab, run: Run) -> Path:
    file = lab.folder / "page.html"
    result = lab.peakline("html", str(run.trace), "-o", str(file))
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(f"Wrote {file} (")
    return file


@pytest.fixture(scope="session")
def rank_runs(lab: Lab) -> list[Run]:
    """In the order in which they are given: not that of the ranks."""
    return [lab.once("differs_by_rank.py", environment={"RANK": str(rank)}) for rank in (1, 2, 0)]


@pytest.fixture(scope="session")
def ranks_file(lab: Lab, rank_runs: list[Run]) -> Path:
    file = lab.folder / "ranks.html"
    traces = [str(run.trace) for run in rank_runs]
    result = lab.peakline("html", *traces, "-o", str(file))
    assert result.returncode == 0, result.stderr
    return file


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no chromium: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        try:
            opened = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        except playwright.Error as error:
            pytest.skip(f"chromium does not start here: {str(error).splitlines()[0]}")
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
