"""What a program of this folder says of the device, for the check to compare."""

from __future__ import annotations

import json
import time


def say(used_bytes: int, held_bytes: int, library: str) -> None:
    """Print the device's use now, what is held by request, and the library that asked for it."""
    now_ns = time.monotonic_ns()
    time.sleep(0.005)  # nothing else happens at that moment
    print(
        json.dumps(
            {
                "monotonic_ns": now_ns,
                "used_bytes": used_bytes,
                "held_bytes": held_bytes,
                "library": library,
            }
        ),
        flush=True,
    )
