"""What of the engines this machine has."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LACKING = [name for name in ("pyarrow", "duckdb") if importlib.util.find_spec(name) is None]


def spark_is_lacking() -> str:
    """Return what Spark lacks here; "" where it works."""
    if importlib.util.find_spec("pyspark") is None:
        return "pyspark is not installed: make setup"
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        return "there is no Java: make setup"
    return ""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def answers(port: int) -> bool:
    """Whether somebody listens at a port of this machine."""
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True
