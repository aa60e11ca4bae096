"""The other views of a stored trace: summary, stats, phases, tensors, timeline, packed traces."""

import json

import pytest
from command_line import NEEDS_ENGINE, TRACE, peakline, python

pytestmark = NEEDS_ENGINE


def test_summary_names_the_program():
    text = peakline("summary", TRACE).stdout
    assert "Command:         python train.py --steps 2\n" in text
    assert "Python 3.11.7, torch 2.11.0, backend delegate" in text
    assert "Device 0 peak:   16.00 MB allocated, 15.91 MB requested" in text
    assert "Recording:       complete" in text
    summary = json.loads(peakline("summary", "--json", TRACE).stdout)
    assert summary["devices"][0]["requested"]["peak_bytes"] == (14 << 20) + 2000000
    assert summary["table"]["peak_bytes"] == 16 << 20


def test_the_summary_of_stacks_is_rows_in_a_pipe():
    lines = peakline("summary", "--by", "stack", TRACE).stdout.splitlines()
    at = lines.index("Top of device 0 at peak")
    assert lines[at + 1].split() == ["Held", "%", "Stack"]
    assert lines[at + 3].endswith("model.py:41 (forward) <- /project/train.py:9 (main)")


def test_phases_have_the_levels_around_them_and_of_each_device():
    lines = peakline("phases", TRACE).stdout.splitlines()
    heads = [" ".join(line.split()) for line in lines if "Before" in line]
    assert set(heads) == {"Step Phase Before After Delta Peak Allocated Freed Time"}
    at = lines.index("Devices:")
    assert [" ".join(line.split()) for line in lines[at + 1 : at + 4]] == [
        "Device Peak At the end",
        "0 16.00 MB 12.00 MB",
        "1 3.000 MB 3.000 MB",
    ]
    phases = json.loads(peakline("phases", "--json", TRACE).stdout)
    assert [device["peak_bytes"] for device in phases["devices"]] == [16 << 20, 3 << 20]
    for phase in phases["phases"] + phases["named"]:
        assert phase["delta_bytes"] == phase["end_bytes"] - phase["begin_bytes"]


def test_tensors_are_filtered_by_size_and_bad_sizes_are_refused():
    whole, large = (
        json.loads(peakline("tensors", "--json", *options, TRACE).stdout)
        for options in ([], ["--min", "1.5MiB"])
    )
    assert sum(row["bytes"] for row in whole["tensors"]) == whole["total_bytes"] == 16 << 20
    assert min(row["bytes"] for row in large["tensors"]) >= 3 << 19
    assert large["row_count"] + large["hidden_count"] == whole["row_count"]
    bad = peakline("tensors", "--min", "many", TRACE)
    assert bad.returncode == 2
    assert "'many' is not a size: 512, 64K, 1.5MiB" in bad.stderr


@pytest.mark.parametrize("command", ["layers", "ops", "stages", "tensors"])
def test_views_of_calls_read_a_trace_without_modules(command):
    result = peakline(command, TRACE)
    assert (result.returncode, result.stderr.splitlines()[0][:15]) == (0, "Next: peakline ")


def test_stats_counts_the_whole_trace():
    stats = json.loads(peakline("stats", "--json", TRACE).stdout)
    assert stats["alloc_count"] == 8
    assert stats["records"]["free_deferred"] == 1
    assert stats["phases"] == ["step"]
    assert stats["by_bytes"][0] == {
        "key": "untraced",
        "keys": ["untraced"],
        "bytes": 12 << 20,
        "count": 2,
        "location": None,
        "via": [],
    }
    assert sum(size["count"] for size in stats["sizes"]) == 8
    assert "Allocation sizes" in peakline("stats", TRACE).stdout


def test_a_trace_in_memory_reads_like_its_file():
    script = (
        "import peakline._report as report, sys, pathlib\n"
        "path = pathlib.Path(sys.argv[1])\n"
        "steps = []\n"
        "memory = report.Trace(memoryview(path.read_bytes()), steps.append)\n"
        "assert memory.report('table') == report.Trace(path).report('table')\n"
        "assert memory.info()['meta']['host'] == 'test-host'\n"
        "assert memory.summary_data()['devices'][1]['peak_bytes'] == 3 << 20\n"
        "try:\n"
        "    report.Trace(b'')\n"
        "except report.TraceError as error:\n"
        "    print(error)\n"
    )
    result = python(script)
    assert result.stderr == ""
    assert "trace in memory: the file is empty" in result.stdout


def test_timeline_is_drawn_and_has_its_documented_fields():
    shown = peakline("timeline", "--points", "40", TRACE)
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert lines[0].startswith("Simulated device: ")
    assert lines[1].startswith("Highest level: ")
    assert sum("|" in line for line in lines) == 12
    assert "█" in lines[13]
    data = json.loads(peakline("timeline", "--json", "--points", "40", TRACE).stdout)
    assert len(data["points"]) in (40, 41)
    assert max(point["max_bytes"] for point in data["points"]) == data["peak_bytes"]
    for point in data["points"]:
        assert set(point) == {"seconds", "level_bytes", "max_bytes"}


def test_timeline_of_a_device_has_its_peak():
    for device in ("0", "1"):
        timeline = json.loads(peakline("timeline", "--json", "--device", device, TRACE).stdout)
        table = json.loads(peakline("table", "--json", "--device", device, TRACE).stdout)
        assert timeline["peak_bytes"] == table["peak_bytes"]


def test_timeline_of_selected_blocks_keeps_the_highest_level_of_all():
    def words(*where):
        return ("timeline", "--points", "40", "--device", "0", *where, TRACE)

    where = ("--where", "line=*/model.py:*")
    data = json.loads(peakline(*words("--json", *where)).stdout)
    assert (data["peak_bytes"], data["where_bytes"]) == (16 << 20, 4 << 20)
    assert max(point["max_bytes"] for point in data["points"]) == 4 << 20
    whole = json.loads(peakline(*words("--json")).stdout)
    assert (whole["where"], whole["where_bytes"]) == ([], whole["peak_bytes"])
    assert whole["where_seconds"] == whole["peak_seconds"] == data["peak_seconds"]
    lines = peakline(*words(*where)).stdout.splitlines()
    assert lines[1].startswith("Highest level: 16.00 MB at ")
    assert lines[2].startswith("Shown: where line=*/model.py:*, at most 4.000 MB at ")
    shown = peakline(*words("--where", "op=none")).stdout
    assert "No block has op=none; nearest: " in shown


def test_timeline_refuses_points_that_are_no_number():
    result = peakline("timeline", "--points", "many", TRACE)
    assert result.returncode == 2
    assert "'many' is not a number of points" in result.stderr


def test_a_packed_trace_gives_the_same_table(tmp_path):
    packed = tmp_path / "two.peak.zst"
    made = peakline("pack", TRACE, "-o", packed)
    assert made.returncode == 0, made.stderr
    assert made.stdout.startswith(f"Wrote {packed} (")
    assert made.stderr == f"Next: peakline table {packed}\n"
    assert peakline("table", packed).stdout == peakline("table", TRACE).stdout
    assert packed.stat().st_size < TRACE.stat().st_size / 10
    again = peakline("pack", TRACE, "-o", packed)
    assert again.returncode == 2
    assert "--force" in again.stderr
    assert peakline("pack", TRACE, "-o", packed, "--force").returncode == 0
    assert list(tmp_path.iterdir()) == [packed]
