"""How fast a trace is read: the recorder alone writes one, the report engine makes the table."""

import argparse
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import peakline._report as engine

ROOT = Path(__file__).resolve().parents[2]


def seconds_for(trace: Path, repetitions: int) -> float:
    times = []
    for _ in range(repetitions):
        begin = time.perf_counter()
        engine.Trace(str(trace)).table(top=10)
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--repetitions", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "reader.peak"
        subprocess.run(
            [ROOT / "build" / "recorder_bench", trace, str(arguments.events)], check=True
        )
        seconds = seconds_for(trace, arguments.repetitions)
        megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"reader: {arguments.events:,} events ({trace.stat().st_size / 1e6:.0f} MB) to the "
            f"table in {seconds:.2f} s: {arguments.events / seconds / 1e6:.1f} million events "
            f"per second, process peak {megabytes:.0f} MB"
        )


if __name__ == "__main__":
    main()
