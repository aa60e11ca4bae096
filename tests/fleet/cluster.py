"""A Spark cluster on this machine: a master and workers, each in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

WAIT_SECONDS = 60
# Java spends more on compiling for queries to come than on the few of a test.
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
# The least that an executor takes, and that Java leaves to its system.
EXECUTOR_MB = 512


def environment() -> dict[str, str]:
    """Return the environment of the master, the workers and the program that asks them."""
    conf = f"--conf spark.executor.memory={EXECUTOR_MB}m"
    conf += f" --conf 'spark.executor.extraJavaOptions={QUICK_JAVA}'"
    return os.environ | {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_SUBMIT_OPTS": QUICK_JAVA,
        "SPARK_DAEMON_JAVA_OPTS": QUICK_JAVA,
        "SPARK_DAEMON_MEMORY": "256m",
        "PYSPARK_SUBMIT_ARGS": f"{conf} pyspark-shell",
    }


@contextmanager
def spark_cluster(folder: Path, workers: int) -> Iterator[str]:
    """Start a cluster of workers with a core each; gives its URL, and ends it."""
    with ExitStack() as started:
        log = folder / "master.log"
        started.enter_context(_process(log, "master.Master", "--port", "0"))
        master = _said(log, r"Starting Spark master at (spark://\S+)")
        logs = [folder / f"worker{number}.log" for number in range(workers)]
        for log in logs:
            size = ("--cores", "1", "--memory", f"{EXECUTOR_MB}m", "--work-dir", str(folder))
            started.enter_context(_process(log, "worker.Worker", *size, master))
        for log in logs:
            _said(log, "(Successfully registered) with master")
        yield master


@contextmanager
def _process(log: Path, name: str, *words: str) -> Iterator[None]:
    import pyspark

    start = Path(pyspark.__file__).parent / "bin" / "spark-class"
    command = [start, f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1"]
    with log.open("w") as output:
        process = subprocess.Popen(
            [*command, "--webui-port", "0", *words],
            env=environment(),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield
    finally:
        process.terminate()
        process.wait(WAIT_SECONDS)


def _said(log: Path, pattern: str) -> str:
    """Wait for a line of a log."""
    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end:
        if found := re.search(pattern, log.read_text()):
            return found[1]
        time.sleep(0.1)
    raise AssertionError(f"no line '{pattern}' in:\n{log.read_text()}")
