"""Serves the metrics of running programs over HTTP, for ``peakline live --serve``.

Nothing runs in the programs: their traces are read. A request reads a trace again only if enough
time has passed since, so that reading takes a small share of a processor however long traces are.
"""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from peakline.base.engine import report_engine
from peakline.monitor.metrics import (
    CONTENT_TYPE,
    Sample,
    metrics_text,
    samples_of,
    with_labels,
)
from peakline.recording import Recording
from peakline.recording.live_state import PAUSE_SHARE

_SLOW_SECONDS = 1.0  # of a reading that no request waits for, except the first
_PATH = "/metrics"


@dataclass(frozen=True)
class _Reading:
    samples: list[Sample]
    began: float
    seconds: float


class Monitor:
    """The metrics of the traces that programs write now."""

    def __init__(self, find: Callable[[], Iterable[str]], interval: float, line_count: int) -> None:
        """`find` returns the traces; each is read at most once per `interval` seconds."""
        self._find = find
        self._interval = interval
        self._line_count = line_count
        self._lock = threading.Lock()
        self._readings: dict[str, _Reading] = {}  # Guarded by _lock.
        self._in_work: set[str] = set()  # Read in the background; guarded by _lock.

    def text(self) -> str:
        """Return the metrics of all traces; a program that ended has none any more."""
        with self._lock:
            kept = {}
            for path in dict.fromkeys(self._find()):
                reading = self._read(path)
                if reading is not None:
                    kept[path] = reading
            self._readings = kept
            samples = [one for reading in kept.values() for one in reading.samples]
        return metrics_text(samples)

    def _read(self, path: str) -> _Reading | None:
        now = time.monotonic()
        try:
            recording = Recording(path)
            if not recording.info()["is_being_written"]:
                return None
            last = self._readings.get(path)
            if last and now < last.began + max(self._interval, PAUSE_SHARE * last.seconds):
                return last
            if last and last.seconds > _SLOW_SECONDS:
                self._read_later(path, recording)
                return last
            return self._reading_of(recording)
        except (report_engine().TraceError, OSError):  # new and still empty, or removed meanwhile
            return None

    def _read_later(self, path: str, recording: Recording) -> None:
        """Read in the background: Prometheus waits for ten seconds only."""
        if path not in self._in_work:
            self._in_work.add(path)
            threading.Thread(target=self._work, args=(path, recording), daemon=True).start()

    def _work(self, path: str, recording: Recording) -> None:
        reading = None
        with contextlib.suppress(report_engine().TraceError, OSError):
            reading = self._reading_of(recording)
        with self._lock:
            self._in_work.discard(path)
            if reading is not None and path in self._readings:
                self._readings[path] = reading

    def _reading_of(self, recording: Recording) -> _Reading:
        began = time.monotonic()
        samples = samples_of(recording, at="end", line_count=self._line_count)
        info = recording.info()
        meta = info["meta"]
        labels = {"pid": str(info["pid"]), "program": str(meta.get("script", ""))}
        labels["file"] = recording.path.name
        if "rank" in meta:
            labels["rank"] = str(meta["rank"])
        return _Reading(with_labels(samples, labels), began, time.monotonic() - began)


def address_of(text: str) -> tuple[str, int]:
    """Return host and port of "127.0.0.1:9464", ":9464" (all interfaces) or "[::1]:9464".

    Raises:
        ValueError: the text is no address.
    """
    found = re.fullmatch(r"(?:\[([0-9a-fA-F:.]+)\]|([^:\[\]]*)):([0-9]{1,5})", text)
    if found is None or int(found[3]) > 65535:
        raise ValueError(f"'{text}' is no address: 127.0.0.1:9464, or :9464 for all interfaces")
    return found[1] or found[2] or "", int(found[3])


def server_of(monitor: Monitor, address: tuple[str, int]) -> ThreadingHTTPServer:
    """Return a server that listens.

    Raises:
        OSError: the address cannot be used.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # noqa: N802
            if self.path.partition("?")[0] != _PATH:
                self.send_error(404, f"the metrics are at {_PATH}")
                return
            body = monitor.text().encode(errors="replace")
            self.send_response(200)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass  # a line for each request would fill the terminal

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        address_family = _family_of(address[0])

        def handle_error(self, *_: object) -> None:
            pass  # the client closed its connection

    return Server(address, Handler)


def _family_of(host: str) -> int:
    import socket

    return socket.AF_INET6 if ":" in host else socket.AF_INET


def url_of(server: ThreadingHTTPServer) -> str:
    """Return the address of the metrics."""
    host, port = server.server_address[:2]
    name = str(host)
    return f"http://{f'[{name}]' if ':' in name else name}:{port}{_PATH}"
