"""The request for an export."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Asked:
    """A moment, part of the run and device; the values are those of `peakline table`."""

    at: str = "peak"
    during: str | None = None
    device: str | None = None  # None: the one with the highest peak; for events, all
    min_bytes: int = 0  # smaller blocks are left out

    def of_moment(self, **more: Any) -> dict[str, Any]:
        """Return the options of a report about a moment."""
        return {"at": self.at, "device": self.device, "full_paths": True, **more}

    def of_part(self) -> dict[str, Any]:
        """Return the options of a report about a part of the run."""
        return {"during": self.during, "device": self.device, "full_paths": True}
