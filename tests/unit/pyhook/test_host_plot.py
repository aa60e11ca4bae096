"""`peakline plot --kind host`: the drawn areas against the rows of the table."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

matplotlib = pytest.importorskip("matplotlib", reason="pip install matplotlib")
matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402
from peakline.base.engine import CommandError  # noqa: E402
from peakline.launch import host_memory  # noqa: E402
from peakline.launch.host_memory import HostMemory, Process, Sample, read_table  # noqa: E402
from peakline.pages.host_plot import draw_host  # noqa: E402

GB = 1 << 30


def written(folder: Path, processes: dict[int, dict[float, int]]) -> Path:
    """Write a table with these bytes by process and second."""
    host = HostMemory()
    for pid, levels in processes.items():
        samples = [Sample(seconds, resident, 0) for seconds, resident in levels.items()]
        host.processes[pid, ""] = Process(pid, "python train.py", samples)
    host.write(folder / "host.csv")
    return folder / "host.csv"


class Drawn:
    """The areas, marks and title of the figure of a table."""

    def __init__(self, path: Path, top: int = 12) -> None:
        figure, axes = plt.subplots()
        draw_host(axes, read_table(path), top)
        stairs: list[Any] = [patch.get_data() for patch in axes.patches]
        self.moments = [float(edge) for edge in stairs[0].edges[:-1]]
        self.labels = [str(patch.get_label()) for patch in axes.patches]
        self.areas = [
            [int(height) for height in one.values - one.baseline] for one in stairs
        ]  # by process, from below
        self.top = [int(value) for value in stairs[-1].values]
        self.peak_mark = [float(place[0]) for place in axes.lines[0].get_data()]
        self.limits = [float(line.get_ydata()[0]) for line in axes.lines[1:]]
        self.title = axes.get_title(loc="left")
        plt.close(figure)


def test_the_areas_are_the_rows_of_the_table(tmp_path: Path) -> None:
    levels = {seconds: GB + int(seconds) for seconds in (1.0, 2.0, 3.0, 4.0)}
    path = written(tmp_path, {10: levels, 12: {2.0: 5, 3.0: 3 * GB}, 11: {2.0: 7, 3.0: 8}})
    sums: dict[float, int] = defaultdict(int)
    rows: dict[str, dict[float, int]] = defaultdict(dict)
    for row in csv.DictReader(path.open()):
        sums[float(row["seconds"])] += int(row["resident_bytes"])
        rows[row["pid"]][float(row["seconds"])] = int(row["resident_bytes"])
    drawn = Drawn(path)
    assert drawn.moments == list(sums)
    assert drawn.top == list(sums.values())
    assert drawn.labels == [f"python train.py ({pid})" for pid in (10, 11, 12)]
    assert drawn.areas == [
        [rows[pid].get(seconds, 0) for seconds in sums] for pid in ("10", "11", "12")
    ]
    assert drawn.peak_mark == [3.0, max(sums.values())]
    assert drawn.title == "4.000 GB of host memory at the peak, in 3 processes"


def test_between_its_samples_a_process_has_its_latest_bytes(tmp_path: Path) -> None:
    path = written(tmp_path, {10: {1.0: 100, 3.0: 300, 5.0: 500}, 11: {2.0: 20, 4.0: 40}})
    drawn = Drawn(path)
    assert drawn.moments == [1, 2, 3, 4, 5]
    assert drawn.areas == [[100, 100, 300, 300, 500], [0, 20, 20, 40, 0]]


def test_the_smallest_processes_are_one_area_on_top(tmp_path: Path) -> None:
    drawn = Drawn(written(tmp_path, {10: {1.0: 1}, 11: {1.0: 3}, 12: {1.0: 2}}), top=1)
    assert drawn.labels == ["python train.py (11)", "2 other processes"]
    assert drawn.areas == [[3], [3]]


@pytest.mark.parametrize(
    ("limit", "lines", "shown"), [(2 * GB, [2.0 * GB], "2.000 GB"), (64 * GB, [], "64.00 GB")]
)
def test_a_limit_that_is_near_is_a_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, limit: int, lines: list[float], shown: str
) -> None:
    monkeypatch.setattr(host_memory, "limit_of_container", lambda: limit)
    drawn = Drawn(written(tmp_path, {10: {1.0: GB}}))
    assert drawn.limits == lines
    assert drawn.title == f"1.000 GB of the container's {shown} at the peak, in 1 process"


@pytest.mark.parametrize(
    "row",
    [
        "x,1,python,1,0,",
        "1,1,python,-1,0,",
        "inf,1,python,1,0,",
        "1,1,python",
        f"1,1,p,{1 << 70},0,",
    ],
)
def test_a_damaged_table_is_refused_with_its_line(tmp_path: Path, row: str) -> None:
    path = written(tmp_path, {10: {1.0: 1}})
    path.write_text(path.read_text() + row + "\n")
    with pytest.raises(CommandError, match=r"host\.csv: line 3 is not of a table"):
        read_table(path)


def test_a_table_without_samples_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="has no samples"):
        read_table(written(tmp_path, {}))
