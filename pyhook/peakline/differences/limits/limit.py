"""One limit of a run, and the words that a file of limits uses for the kinds of limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PEAK, RESERVED, GROWTH, PHASE, LINE = "peak", "reserved", "growth-per-step", "phase", "line"
# Kinds with one value; docs/ci.md has the same texts.
LEVELS: Mapping[str, str] = {
    PEAK: "the highest level of allocated memory",
    RESERVED: "the highest level of memory in torch's segments",
    GROWTH: "bytes that each step adds and keeps, as in `peakline leaks`; the run needs six steps",
}
# Kinds with a value for each name.
TABLES: Mapping[str, str] = {
    PHASE: "the highest level within a phase: `forward`, `backward`, `optimizer`, a name of yours",
    LINE: "bytes of a line at the peak",
    "function": "bytes of the lines of a function at the peak",
    "file": "bytes of the lines of a file at the peak",
    "module": "bytes of a module of torch at the peak",
    "category": "bytes of a category at the peak: `activation`, `parameter` ...",
    "op": "bytes of an operator of torch at the peak",
}
DEVICE = "device"
MAX, CODE = "max", "code"  # of a limit that is a table of its own


@dataclass(frozen=True)
class Limit:
    """The most bytes that something may have.

    ``name`` is that of a phase, or the text or glob of a row of `table --by KIND`. ``device``:
    None is the device of the options. ``code`` finds a line that moved. ``source`` is where the
    limit is written: "limits.toml:7".
    """

    kind: str
    name: str
    most_bytes: int
    device: str | None = None
    measure: str = "allocated"
    code: str = ""
    source: str = ""

    @property
    def title(self) -> str:
        """Return the name of its verdict: "peak", "phase backward", "device 1: module h.0"."""
        device = "" if self.device is None else f"{DEVICE} {self.device}: "
        words = self.kind.replace("-", " ")
        return device + (f"{words} {self.name}" if self.name else words)

    def problem(self, sentence: str) -> str:
        """Return a sentence about this limit with the place where it is written."""
        return f"{self.source}: {sentence}" if self.source else sentence
