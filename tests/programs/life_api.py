"""Records itself through the API: ranges, files, phases, steps, notes. Prints what torch counted.

Arguments: a folder for the traces.
"""

import io
import sys
from collections.abc import Callable
from pathlib import Path

import peakline
import torch
from counters import finish

MIB = 1 << 20


def hold(mebibytes: int) -> torch.Tensor:
    return torch.empty(mebibytes * MIB, dtype=torch.uint8, device="cuda")


def torch_peak_of(work: Callable[[], object]) -> int:
    torch.cuda.reset_peak_memory_stats()
    work()
    return torch.cuda.max_memory_allocated()


def traced(mebibytes: int) -> int:
    peakline.start_tracing()
    peak = torch_peak_of(lambda: hold(mebibytes))
    peakline.stop_tracing()
    return peak


def report() -> str:
    text = io.StringIO()
    peakline.report_stats(file=text)
    return text.getvalue()


def record_file(path: Path) -> int:
    def work() -> None:
        for index in range(2):
            peakline.step(f"step {index}")
            with peakline.phase("forward"):
                kept = hold(10 + 10 * index)
            with peakline.phase("backward"):
                hold(5)
            peakline.mark("after backward")
            del kept

    with peakline.trace(path) as trace:
        assert trace.path == path
        return torch_peak_of(work)


def refused(action: Callable[[], object], error: type[Exception]) -> str:
    try:
        action()
    except error as refusal:
        return str(refusal)
    return "not refused"


def open_existing(path: Path) -> None:
    with peakline.trace(path):
        pass


def main() -> None:
    folder = Path(sys.argv[1])
    said: dict[str, object] = {"before": refused(peakline.stop_tracing, peakline.RecorderError)}
    with peakline.phase("without a recorder nothing happens"):
        peakline.step()
        peakline.mark("nothing")
    peakline.switch_allocator()
    peakline.switch_allocator()
    said["backend"] = peakline.status().backend
    model = hold(8)
    said["ranges"] = [traced(20), traced(40)]
    hold(100)
    said["report"] = report()
    said["ranges"] += [traced(30)]
    said["report_after_smaller_range"] = report()
    peakline.reset()
    said["first"] = record_file(folder / "first.peak")
    said["second"] = record_file(folder / "new folder" / "second.peak")
    first = folder / "first.peak"
    said["existing"] = refused(lambda: open_existing(first), FileExistsError)
    said["status"] = vars(peakline.status())
    said["files"] = sorted(path.name for path in folder.rglob("*.peak"))
    del model
    finish(**said)


if __name__ == "__main__":
    main()
