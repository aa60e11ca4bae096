"""Checks whether a Spark cluster answers: Spark itself would retry for a minute."""

from __future__ import annotations

import socket

from peakline.fleet.engines import FleetError

_SCHEME = "spark://"
_SECONDS = 5  # timeout per machine


def need_master(master: str) -> None:
    """Raise an error if no master answers; one of several (`spark://A:7077,B:7077`) is enough.

    Clusters other than Spark's own are found by Spark alone.

    Raises:
        FleetError: no master answers, or the text is no address.
    """
    if not master.startswith(_SCHEME):
        return
    reasons = []
    for address in master.removeprefix(_SCHEME).split(","):
        host, colon, port = address.rpartition(":")
        if not (host and colon and port.isdigit()):
            raise FleetError(f"{master} is no master of Spark; name it as spark://HOST:7077")
        try:
            socket.create_connection((host.strip("[]"), int(port)), _SECONDS).close()
            return
        except (OSError, OverflowError) as error:
            why = error.strerror if isinstance(error, OSError) else None
            reasons.append(f"{address} ({(why or str(error)).lower()})")
    raise FleetError(
        f"no Spark master answers at {', '.join(reasons)}; is it running, and is that its port?"
    )
