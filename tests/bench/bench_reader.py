"""How fast a trace is read: the recorder alone writes one, the report engine makes its reports.

On one core, and on all there are: then a second thread decodes, where one of them is idle.
"""

import argparse
import os
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import peakline._report as engine
from peakline.pages.page import DeviceData, PageContent, make_page

ROOT = Path(__file__).resolve().parents[2]
REPORTS = ("stats", "table", "phases", "layers", "ops", "stages", "tensors")


def seconds_for(trace: Path, report: str, repetitions: int) -> float:
    times = []
    for _ in range(repetitions):
        begin = time.perf_counter()
        engine.Trace(str(trace)).report(report, top=10)
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def print_page(trace: Path, repetitions: int) -> None:
    times = []
    for _ in range(repetitions):
        begin = time.perf_counter()
        page = make_page([DeviceData(*engine.Trace(str(trace)).page())], PageContent())
        times.append(time.perf_counter() - begin)
    print(f"  html     {statistics.median(times):6.2f} s, a page of {len(page) / 1e6:.1f} MB")


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
        cores = os.sched_getaffinity(0)
        for report in REPORTS:
            os.sched_setaffinity(0, {min(cores)})
            alone = seconds_for(trace, report, arguments.repetitions)
            os.sched_setaffinity(0, cores)
            seconds = seconds_for(trace, report, arguments.repetitions)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(
                f"  {report:<8} {alone:6.2f} s on one core, {seconds:6.2f} s on {len(cores)};"
                f" {arguments.events / seconds / 1e6:6.1f} million events per second,"
                f" process peak so far {peak:.0f} MB"
            )
        print_page(trace, arguments.repetitions)


if __name__ == "__main__":
    main()
