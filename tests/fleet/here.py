"""What of the engines this machine has."""

from __future__ import annotations

import importlib.util
import os
import shutil

LACKING = [name for name in ("pyarrow", "duckdb") if importlib.util.find_spec(name) is None]


def spark_is_lacking() -> str:
    """Return what Spark lacks here; "" where it works."""
    if importlib.util.find_spec("pyspark") is None:
        return "pyspark is not installed: make setup"
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        return "there is no Java: make setup"
    return ""
