"""How fast a trace is read: the recorder alone writes one, the report engine makes its reports."""

import argparse
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import peakline._report as engine

ROOT = Path(__file__).resolve().parents[2]
REPORTS = ("stats", "table", "phases", "layers", "ops", "stages", "tensors")


def seconds_for(trace: Path, report: str, repetitions: int) -> float:
    times = []
    for _ in range(repetitions):
        begin = time.perf_counter()
        engine.Trace(str(trace)).report(report, top=10)
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
        megabytes = trace.stat().st_size / 1e6
        print(f"reader: {arguments.events:,} events ({megabytes:.0f} MB)")
        for report in REPORTS:
            seconds = seconds_for(trace, report, arguments.repetitions)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(
                f"  {report:<8} {seconds:6.2f} s {arguments.events / seconds / 1e6:6.1f} million"
                f" events per second, process peak so far {peak:.0f} MB"
            )


if __name__ == "__main__":
    main()
