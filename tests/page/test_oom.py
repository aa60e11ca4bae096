"""The tab of refused requests: what torch's own observer saw at each, and the rows then."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from lab import Lab, Run
from peakline.base.sizes import size_of
from shown import Shown

Show = Callable[..., Shown]

FIGURES = """() => ({
    said: [...document.querySelectorAll("#oom .lead [data-bytes]")].map((b) => +b.dataset.bytes),
    parts: [...document.querySelectorAll("#oom .legend li")].map((one) =>
        [one.childNodes[1].textContent.trim(), +one.dataset.bytes]),
    rows: [...document.querySelectorAll("#oom tbody tr")].map((row) => row.cells[0].title),
    text: document.querySelector("#oom").innerText})"""


@pytest.fixture(scope="session")
def oom_run(lab: Lab) -> Run:
    return lab.once("runs_out_of_memory.py", device="h200:6GiB")


@pytest.fixture(scope="session")
def oom_file(lab: Lab, oom_run: Run) -> Path:
    file = lab.folder / "oom.html"
    assert lab.peakline("html", str(oom_run.trace), "-o", str(file)).returncode == 0
    return file


def test_every_refused_request_is_shown_with_the_figures_of_torch(
    show: Show, lab: Lab, oom_run: Run, oom_file: Path
) -> None:
    shown = show(file=oom_file, address="#tab=oom")
    requests = oom_run.said["refused"]
    assert len(requests) == 3
    for number, torchs in enumerate(requests):
        shown.select_option("#oom select", str(number))
        seen = shown.page.evaluate(FIGURES)
        parts = dict(map(tuple, seen["parts"]))
        assert seen["said"] == [torchs["asked"], torchs["free"]]
        assert sum(parts.values()) == torchs["total"]
        assert parts.pop("free") == torchs["free"]
        outside = parts.pop("outside torch’s allocator")
        assert outside == torchs["total"] - torchs["free"] - torchs["reserved"]
        unused = parts.pop("unused in torch’s segments", 0)
        assert unused == torchs["reserved"] - torchs["allocated"]
        assert sum(parts.values()) == torchs["allocated"]
        rows = [int(title.replace(",", "").removesuffix(" bytes")) for title in seen["rows"]]
        assert sum(rows) == torchs["allocated"]
        assert "runs_out_of_memory.py:" in seen["text"]
    assert "could not give back" in seen["text"]
    missing = requests[-1]["asked"] - requests[-1]["free"]
    assert f"{size_of(missing)} less in use" in seen["text"]
    assert "torch.empty(free + 200 * MB" in seen["text"]
    assert shown.console == []


def test_the_moment_of_a_request_can_be_shown_on_every_tab(
    show: Show, lab: Lab, oom_run: Run, oom_file: Path
) -> None:
    shown = show(file=oom_file, address="#tab=oom")
    shown.select_option("#oom select", "1")
    shown.click("#oom button.link")
    shown.tab("lines")
    said = shown.page.evaluate('() => ({...document.querySelector("#say [data-bytes]").dataset})')
    assert int(said["bytes"]) == oom_run.said["refused"][1]["allocated"]
    table = lab.table(oom_run.trace, "--at", repr(float(said["seconds"])))
    assert table["total_bytes"] == int(said["bytes"])


def test_the_map_of_a_request_is_that_of_its_moment(
    show: Show, oom_run: Run, oom_file: Path
) -> None:
    shown = show(file=oom_file, address="#tab=oom")
    for number, torchs in enumerate(oom_run.said["refused"]):
        shown.tab("oom")
        shown.select_option("#oom select", str(number))
        shown.click("#oom button.link:has-text('map')")
        assert shown.page.inner_text("#map .sub").startswith(f"refused request {number + 1}:")
        reserved = shown.page.get_attribute("#map .big", "data-bytes")
        assert int(reserved) == torchs["reserved"]
    assert shown.console == []


def test_a_run_that_served_every_request_has_no_such_tab(show: Show, lab: Lab) -> None:
    trace = lab.once("train_model.py", "transformer").trace
    file = lab.folder / "served.html"
    assert lab.peakline("html", str(trace), "-o", str(file)).returncode == 0
    shown = show(file=file, address="#tab=oom")
    assert shown.page.locator("#tab-oom").count() == 0
    assert shown.page.is_visible("#summary")


def test_of_all_devices_only_what_was_live_is_split(lab: Lab, oom_run: Run, show: Show) -> None:
    file = lab.folder / "oom-all.html"
    words = (str(oom_run.trace), "--device", "all", "-o", str(file))
    assert lab.peakline("html", *words).returncode == 0
    shown = show(file=file, address="#tab=oom")
    seen = shown.page.evaluate(FIGURES)
    assert sum(size for _, size in seen["parts"]) == oom_run.said["refused"][-1]["allocated"]
    assert "Live then" in seen["text"] and "could not give back" not in seen["text"]
    assert shown.page.inner_text("#facts").startswith("all devices, simulated")
