"""Several devices of one trace: each is shown with the engine's figures, one at a time."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import peakline._report as engine
import pytest
from lab import Lab, Run
from shown import Shown, packed
from test_page import ROWS, SAID, TABS, bytes_of

Show = Callable[..., Shown]


@pytest.fixture(scope="session")
def devices_run(lab: Lab) -> Run:
    return lab.once("train_model.py", "two_devices", device="h200x3")


@pytest.fixture(scope="session")
def devices_file(lab: Lab, devices_run: Run) -> Path:
    file = lab.folder / "devices.html"
    assert lab.peakline("html", str(devices_run.trace), "-o", str(file)).returncode == 0
    return file


def test_a_choice_shows_another_device_on_every_tab(
    show: Show, lab: Lab, devices_run: Run, devices_file: Path
) -> None:
    shown = show(file=devices_file, address="#tab=lines")
    offered = shown.page.evaluate(
        "[...document.querySelectorAll('#device option')].map(o => o.value)"
    )
    tables = {
        device: lab.table(devices_run.trace, "--device", device) for device in sorted(offered)
    }
    assert sorted(offered) == ["0", "1"]
    assert offered[0] == str(lab.table(devices_run.trace)["device"])
    for device in (offered[1], offered[0], offered[1]):
        shown.select_option("#device", device)
        expected = tables[device]["peak_bytes"]
        shown.until(f"document.querySelector('#say [data-bytes]').dataset.bytes === '{expected}'")
        shown.drawn()
        rows = [bytes_of(title) for _, title in shown.page.evaluate(ROWS)]
        assert sorted(rows) == sorted(row["bytes"] for row in tables[device]["rows"])
        assert not shown.page.is_visible("#tab-oom")
        for tab in (one for one in TABS if one != "oom"):
            shown.tab(tab)
            assert shown.page.evaluate(f"document.getElementById('{tab}').innerText").strip()
        assert f"{expected:,} bytes" in shown.page.inner_text("footer")
        shown.tab("summary")
        assert f"{expected:,} bytes" in shown.page.inner_text("#summary")
        assert shown.page.is_visible("#summary-timeline")
        assert f"device {device}: " in shown.page.inner_text("#facts")
        shown.tab("lines")
    assert shown.console == []
    assert len(shown.requests) == 1


def test_the_address_keeps_the_device(show: Show, devices_run: Run, devices_file: Path) -> None:
    shown = show(file=devices_file, address="#tab=lines")
    other = shown.page.evaluate("document.querySelector('#device').options[1].value")
    shown.select_option("#device", other)
    shown.until(f"location.hash.includes('device={other}')")
    again = show(file=devices_file, address=shown.page.evaluate("location.hash"))
    assert again.page.evaluate(SAID) == shown.page.evaluate(SAID)
    assert again.page.input_value("#device") == other


def test_one_device_asked_for_is_the_only_one(lab: Lab, devices_run: Run, show: Show) -> None:
    file = lab.folder / "device1.html"
    options = ("--device", "1", "-o", str(file))
    assert lab.peakline("html", str(devices_run.trace), *options).returncode == 0
    shown = show(file=file)
    assert not shown.page.is_visible("#device")
    page = json.loads(engine.Trace(str(devices_run.trace)).page(device=1)[0])
    assert f"{page['peak']['bytes']:,} bytes" in shown.page.inner_text("#summary")


def test_devices_share_the_budget(lab: Lab, devices_run: Run) -> None:
    file = lab.folder / "small.html"
    budget = 20
    options = ("--budget", str(budget / 1e6), "-o", str(file))
    assert lab.peakline("html", str(devices_run.trace), *options).returncode == 0
    trace = engine.Trace(str(devices_run.trace))
    for block in (0, 1):
        device = json.loads(packed(file, f"names-{block}"))["device"]
        columns = packed(file, f"columns-{block}")
        assert columns == trace.page(device=device, budget=budget / 2)[1]
        assert len(columns) < len(trace.page(device=device)[1])
