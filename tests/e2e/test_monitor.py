"""`peakline live --serve`: metrics of running programs, with torch's counters as the oracle."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from lab import ROOT, Lab
from peakline.monitor import server
from peakline.monitor.metrics import METRICS, Sample, metrics_text, with_labels
from peakline.monitor.server import address_of
from test_live import waiting_program

MONITORING = ROOT / "examples" / "monitoring"


@contextmanager
def served(lab: Lab, *words: str) -> Iterator[str]:
    """Serve at a free port, and yield the address of the metrics."""
    command = [sys.executable, "-m", "peakline", "live", "--serve", "127.0.0.1:0", *words]
    process = subprocess.Popen(
        command, env=lab.environment(None), stderr=subprocess.PIPE, text=True
    )
    with process:
        try:
            yield process.stderr.readline().split(" at ")[1].split()[0]
        finally:
            process.terminate()


def scraped(url: str) -> dict[str, list[Any]]:
    """Return the samples of each metric, as Prometheus's own reader sees them."""
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    with urllib.request.urlopen(url) as answer:
        assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
        families = parser.text_string_to_metric_families(answer.read().decode())
        return {one.name.removeprefix("peakline_"): one.samples for one in families}


def series_of_run(url: str, trace: Path, level: int) -> dict[str, list[Any]]:
    """Return the samples of a trace; a reading may be as old as four times its duration."""
    deadline = time.monotonic() + 30
    while True:
        own = {
            name: [one for one in samples if one.labels["file"] == trace.name]
            for name, samples in scraped(url).items()
        }
        levels = [one.value for one in own["end_bytes"]]
        if levels == [level] or time.monotonic() > deadline:
            assert levels == [level]
            return own
        time.sleep(0.05)


def test_a_running_program_has_series_until_it_ends(lab: Lab, tmp_path: Path) -> None:
    trace = tmp_path / "monitored.peak"  # other tests have programs of this machine, too
    with (
        served(lab, "--interval", "0.05", str(tmp_path)) as url,
        served(lab, "--interval", "0.05") as of_machine,
    ):
        assert scraped(url) == {}
        with waiting_program(lab, trace) as program:
            for _ in range(2):
                said = json.loads(program.stdout.readline())
                for address in (url, of_machine):
                    own = series_of_run(address, trace, said["level"])
                    [level], [peak] = own["end_bytes"], own["peak_bytes"]
                    assert peak.value == said["peak"]
                    assert sum(one.value for one in own["line_bytes"]) == said["level"]
                    [reserved], [cached] = own["reserved_bytes"], own["cached_bytes"]
                    assert reserved.value - cached.value == said["level"]
                    assert [one.value for one in own["refused_requests"]] == [0]
                    assert level.labels["program"] == "waits_for_reader"
                    assert level.labels["device"] == "0"
                    [other], [used] = own["other_bytes"], own["used_bytes"]
                    assert used.value == reserved.value + other.value
                program.stdin.write("\n")
                program.stdin.flush()
            program.stdin.write("\n")
            program.stdin.close()
            assert program.wait(timeout=60) == 0
        assert scraped(url) == {}
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(url.replace("metrics", "other"))


def test_no_request_waits_for_a_long_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    class Fake:
        def __init__(self, path: str) -> None:
            self.path = Path(path)

        def info(self) -> dict[str, Any]:
            return {"is_being_written": True, "pid": 7, "meta": {}}

    values = itertools.count(1)
    may_read, has_read = threading.Event(), threading.Event()

    def slow(*_: Any, **__: Any) -> list[Sample]:
        value = next(values)
        if value > 1:
            may_read.wait(30)
        return [Sample("allocations", value, {})]

    class Told(server.Monitor):
        def _work(self, path: str, recording: Any) -> None:
            super()._work(path, recording)
            has_read.set()

    monkeypatch.setattr(server, "Recording", Fake)
    monkeypatch.setattr(server, "samples_of", slow)
    monkeypatch.setattr(server, "_SLOW_SECONDS", -1.0)
    monkeypatch.setattr(server, "PAUSE_SHARE", 0)
    monitor = Told(lambda: ["./run.peak"], 0.0, 1)
    texts = [monitor.text() for _ in range(3)]
    assert all('file="run.peak"} 1\n' in text for text in texts)
    may_read.set()
    assert has_read.wait(30)
    assert 'file="run.peak"} 2\n' in monitor.text()


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--serve", "9464"], "'9464' is no address: 127.0.0.1:9464"),
        (["--serve", "127.0.0.1:99999"], "is no address"),
        (["--serve", "192.0.2.1:9464"], "cannot listen"),
        (["--serve", "127.0.0.1:0", "--once"], "needs neither --once nor --json"),
        ([], "name one process or its trace file"),
        (["1.peak", "2.peak"], "name one process or its trace file"),
    ],
)
def test_bad_use_is_refused(lab: Lab, words: list[str], error: str) -> None:
    done = lab.peakline("live", *words)
    assert (done.returncode, error in done.stderr) == (2, True), done.stderr


def test_an_address_is_a_host_and_a_port() -> None:
    assert address_of("127.0.0.1:9464") == ("127.0.0.1", 9464)
    assert address_of(":9464") == ("", 9464)
    assert address_of("[::1]:80") == ("::1", 80)


def test_a_metric_has_no_series_twice_and_no_name_breaks_a_line() -> None:
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    names = ['a"\\\n\x1b', 'a"\\\n\x07', "x" * 1000 + "end", "y" * 1000 + "x" * 997 + "end"]
    samples = [Sample("line_bytes", 2 + n, {"line": name}) for n, name in enumerate(names)]
    text = metrics_text(with_labels(samples, {}))
    [family] = parser.text_string_to_metric_families(text)
    assert [one.value for one in family.samples] == [5, 9]
    assert family.samples[0].labels["line"] == 'a"\\??'
    assert all(len(one.labels["line"]) < 210 for one in family.samples)


def metrics_in(text: str) -> set[str]:
    return set(re.findall(r"peakline_(\w+)", text))


def test_board_and_alerts_use_the_metrics_of_the_table() -> None:
    board = json.loads((MONITORING / "board.json").read_text())
    expressions = [one["expr"] for panel in board["panels"] for one in panel["targets"]]
    assert metrics_in(" ".join(expressions)) == METRICS.keys()
    assert metrics_in(json.dumps(board["templating"])) <= METRICS.keys()
    for name in ("alerts.yml", "test_alerts.yml"):
        used = metrics_in((MONITORING / name).read_text())
        assert used and used <= METRICS.keys()


def test_the_alerts_fire_as_their_tests_say() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed (Debian: prometheus)")
    for words in (["check", "config", "prometheus.yml"], ["test", "rules", "test_alerts.yml"]):
        done = subprocess.run(
            [promtool, *words], cwd=MONITORING, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
