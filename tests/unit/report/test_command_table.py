"""The commands table, summary and stats on a stored trace."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TRACE = ROOT / "tests" / "data" / "two_steps.trace"

pytestmark = pytest.mark.skipif(
    not (ROOT / "pyhook" / "peakline" / "_report.abi3.so").exists(),
    reason="the report engine is not built: make build",
)


def peakline(*arguments, cwd=ROOT):
    """Run the command line as a user does."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "pyhook")}
    return subprocess.run(
        [sys.executable, "-m", "peakline", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment,
        cwd=cwd,
        check=False,
    )


def python(script):
    """Run a program that gets the stored trace as its argument."""
    return subprocess.run(
        [sys.executable, "-c", script, str(TRACE)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "pyhook")},
        check=False,
    )


def test_table_has_exactly_its_form():
    result = peakline("table", TRACE)
    assert result.stdout == (
        "Simulated device: NVIDIA H200 (sizes are real, numbers are not)\n"
        "Max mem: 16.00 MB\n"
        "Total mem allocated: 6.000 MB\n"
        "Mem, Cumulative Mem, Median, Count, Location\n"
        "12.00 MB  12.00 MB  8.000 MB  2  untraced\n"
        "2.000 MB  14.00 MB  2.000 MB  1  /project/model.py:40 (forward)"
        "  via functional.py:2143 (softmax)\n"
        "2.000 MB  16.00 MB  1.000 MB  2  /project/model.py:41 (forward)"
        "  via MmBackward0, +1 more\n"
        "Device 0 shown; peaks: device 0 16.00 MB, device 1 3.000 MB\n"
    )
    assert result.stderr == f"Next: peakline table --by category {TRACE}\n"
    assert result.returncode == 0


def test_table_json_has_every_documented_field():
    result = peakline("table", "--json", "--frame", "user", TRACE)
    table = json.loads(result.stdout)
    assert table["schema_version"] == 1
    assert table["peak_bytes"] == table["total_bytes"] == 16 << 20
    assert table["total_allocated_bytes"] == (6 << 20) + 512
    assert table["untraced_bytes"] == 12 << 20
    assert (table["device"], table["measure"], table["at"]) == (0, "allocated", "peak")
    assert [device["device"] for device in table["devices"]] == [0, 1]
    assert table["simulated"] == "NVIDIA H200"
    assert (table["complete"], table["problems"], table["records_dropped"]) == (True, [], 0)
    assert table["row_count"] == len(table["rows"]) == 3
    assert sum(row["bytes"] for row in table["rows"]) == table["peak_bytes"]
    assert table["rows"][2] == {
        "key": "/project/model.py:41 (forward)",
        "keys": ["/project/model.py:41 (forward)"],
        "bytes": 2 << 20,
        "cumulative_bytes": 16 << 20,
        "median_bytes": 1 << 20,
        "count": 2,
        "backward_bytes": 1 << 20,
        "share": 0.125,
        "location": {
            "file": "/project/model.py",
            "line": 41,
            "function": "forward",
            "qualified_name": "Attention.forward",
            "native": False,
        },
        "via": [],
    }
    assert table["rows"][1]["key"] == "/project/model.py:40 (forward)"
    assert result.stderr == ""


def test_rows_of_two_keys_have_both_texts_and_the_location_of_either():
    table = json.loads(peakline("table", "--json", "--by", "phase,line", TRACE).stdout)
    assert [row["keys"] for row in table["rows"]] == [
        ["untraced", "untraced"],
        ["forward", "/project/model.py:40 (forward)"],
        ["backward", "/project/model.py:41 (forward)"],
        ["forward", "/project/model.py:41 (forward)"],
    ]
    assert table["rows"][1]["key"] == "forward | /project/model.py:40 (forward)"
    assert table["rows"][1]["location"]["line"] == 40
    assert sum(row["bytes"] for row in table["rows"]) == table["total_bytes"]
    stacks = json.loads(peakline("table", "--json", "--by", "device,stack", TRACE).stdout)
    assert [len(row["stack"]) > 1 for row in stacks["rows"]][:2] == [False, True]


def test_where_says_what_is_shown_and_what_no_block_has():
    shown = peakline("table", "--where", "line=*/model.py:*", TRACE).stdout.splitlines()
    assert shown[1:5] == [
        "Max mem: 16.00 MB",
        "Total mem allocated: 6.000 MB",
        "Shown: where line=*/model.py:*, 4.000 MB of 16.00 MB",
        "Mem, Cumulative Mem, Median, Count, Location",
    ]
    words = ("--where", "phase=untraced", "--where", "phase=forwrad")
    shown = peakline("summary", *words, TRACE).stdout
    assert "Shown: where phase=untraced or forwrad, 12.00 MB of 16.00 MB\n" in shown
    assert "No block has phase=forwrad; nearest: forward, untraced, backward\n" in shown
    words = ("--where", "phase=untraced", "--where", "line=*/model.py:*")
    assert "No block has all of these\n" in peakline("tensors", *words, TRACE).stdout


@pytest.mark.parametrize("command", ["phases", "layers", "ops", "stages", "leaks", "html"])
def test_reports_without_single_blocks_say_which_take_where(command):
    result = peakline(command, "--where", "category=activation", TRACE)
    assert result.returncode == 2
    assert "table, summary, tensors, timeline and stats have it" in result.stderr
    asked = "where='phase=other'"
    call = f"page({asked})" if command == "html" else f"report('{command}', {asked})"
    result = python(f"import sys, peakline._report as r\nr.Trace(sys.argv[1]).{call}")
    assert (
        f"{command} does not take --where; table, summary, tensors, timeline and stats do"
        in result.stderr
    )


def test_top_cuts_text_and_json():
    text = peakline("table", "--top", "1", TRACE).stdout.splitlines()
    assert text[4:6] == ["12.00 MB  12.00 MB  8.000 MB  2  untraced", "..."]
    table = json.loads(peakline("table", "--json", "--top", "1", TRACE).stdout)
    assert (len(table["rows"]), table["row_count"]) == (1, 3)


@pytest.mark.parametrize(
    ("options", "total_bytes"),
    [
        (["--at", "end"], (12 << 20) + 512),
        (["--at", "0.01"], 12 << 20),
        (["--at", "step"], 16 << 20),
        (["--measure", "requested"], (14 << 20) + 2000000),
        (["--device", "1"], 3 << 20),
        (["--device", "all"], 19 << 20),
        (["--by", "file", "--hide", "*/model.py"], 16 << 20),
    ],
)
def test_rows_sum_to_the_level_asked_for(options, total_bytes):
    table = json.loads(peakline("table", "--json", *options, TRACE).stdout)
    assert table["total_bytes"] == total_bytes
    assert sum(row["bytes"] for row in table["rows"]) == total_bytes


def test_paths_are_short_where_the_reader_knows_the_rest():
    script = (
        "import peakline._report as report, sys\n"
        "trace, options = report.Trace(sys.argv[1]), {'cwd': '/project', 'frame': 'leaf'}\n"
        "print(trace.report('table', **options))\n"
        "print(trace.report('table', **options, full_paths=True))\n"
    )
    short, full = python(script).stdout.split("\n\n")[:2]
    assert "  model.py:41 (forward)\n" in short
    assert "  torch/nn/functional.py:2143 (softmax)\n" in short
    assert "  /project/model.py:41 (forward)\n" in full
    assert "  /venv/lib/python3.11/site-packages/torch/nn/functional.py:2143 (softmax)" in full


def test_several_files_are_one_json_document():
    documents = json.loads(peakline("table", "--json", TRACE, TRACE).stdout)
    assert [document["peak_bytes"] for document in documents] == [16 << 20, 16 << 20]


def test_summary_tells_what_ran():
    text = peakline("summary", TRACE).stdout
    assert "Command:         python train.py --steps 2\n" in text
    assert "Python 3.11.7, torch 2.11.0, backend delegate" in text
    assert "Device 0 peak:   16.00 MB allocated, 15.91 MB requested" in text
    assert "Recording:       complete" in text
    summary = json.loads(peakline("summary", "--json", TRACE).stdout)
    assert summary["devices"][0]["requested"]["peak_bytes"] == (14 << 20) + 2000000
    assert summary["table"]["peak_bytes"] == 16 << 20


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


def test_tensors_are_filtered_by_size_and_bad_sizes_are_told():
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


@pytest.mark.parametrize(
    "command",
    [
        "table",
        "summary",
        "stats",
        "phases",
        "layers",
        "ops",
        "stages",
        "tensors",
        "leaks",
        "timeline",
    ],
)
def test_the_next_command_that_is_named_works_as_it_stands(command):
    suggested = peakline(command, TRACE).stderr.splitlines()[-1]
    assert suggested.startswith("Next: peakline ")
    words = shlex.split(suggested.removeprefix("Next: peakline "))
    assert words[:-1] != [command]
    result = peakline(*words)
    assert result.returncode == 0, result.stderr


def test_the_next_command_is_quoted_and_is_not_the_view_just_seen(tmp_path):
    trace = tmp_path / "my run.peak"
    trace.write_bytes(TRACE.read_bytes())
    seen = []
    words = ["table", str(trace)]
    while words not in seen and words[0] == "table":
        seen.append(words)
        hint = peakline(*words).stderr
        assert "..." not in hint
        words = shlex.split(hint.removeprefix("Next: peakline "))
        assert words[-1] == str(trace)
    assert len(seen) > 1 and words not in seen


@pytest.mark.parametrize(
    ("arguments", "usage", "message"),
    [
        (["tabl"], "peakline [-h]", "there is no command 'tabl'; did you mean table?"),
        (["moon"], "peakline [-h]", "no command 'moon'; peakline --help lists them"),
        (
            ["table", "--tpo", "3", TRACE],
            "peakline table",
            "has no option --tpo; did you mean --top?",
        ),
        (["phases", "--at", "end", TRACE], "peakline phases", "peakline phases has no option --at"),
        (
            ["stats", "--at", "end", TRACE],
            "peakline stats",
            "--at cannot apply: stats counts the whole",
        ),
        (["stats", "--device", "0", TRACE], "peakline stats", "--device cannot apply: stats"),
        (["run", "--bogus", "x.py"], "peakline run", "peakline run has no option --bogus"),
    ],
)
def test_a_wrong_word_is_refused_with_the_usage_of_its_command(arguments, usage, message):
    result = peakline(*arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(f"usage: {usage}")
    assert message in result.stderr.splitlines()[-1]
    assert result.stderr.splitlines()[-1].startswith("peakline: error: ")


def test_every_help_has_a_description_and_an_example():
    listed = peakline("--help").stdout
    commands = re.findall(r"^    ([a-z]+) ", listed, re.MULTILINE)
    assert len(commands) > 10
    for command in commands:
        text = peakline(command, "--help").stdout
        usage, description, rest = text.split("\n\n", 2)
        assert usage.startswith(f"usage: peakline {command} ")
        assert description[0].isupper() and description.endswith(".")
        example = rest.split("Example:\n")[1].splitlines()
        assert example and all(f"peakline {command}" in line for line in example)
        # Every option says in the imperative what it does.
        for helped in re.findall(r"^  -.*?(?:  |\n {20,})(\S)", rest, re.MULTILINE):
            assert helped.isupper(), text


def test_rows_fit_the_terminal_and_keep_the_end_of_a_path():
    script = (
        "import peakline._report as report, sys\n"
        "trace = report.Trace(sys.argv[1])\n"
        "for name in ('table', 'summary', 'stats', 'tensors', 'layers', 'ops', 'stages'):\n"
        "    print(trace.report(name, full_paths=True, width=80))\n"
        "print(trace.report('table', full_paths=True, width=80, frame='leaf'))\n"
        "print(trace.report('table', full_paths=True, frame='leaf'))\n"
    )
    text = python(script).stdout
    narrow, whole = text.split("Max mem")[:-1], text.split("Max mem")[-1]
    rows = [line for part in narrow for line in part.splitlines() if re.match(r" *\d.*B  ", line)]
    assert rows and max(map(len, rows)) <= 80
    assert any(re.search(r"/venv.*\.\.\..*functional.py:2143 \(softmax\)$", row) for row in rows)
    assert "/venv/lib/python3.11/site-packages/torch/nn/functional.py:2143 (softmax)" in whole


def test_a_chart_is_drawn_with_ascii_where_the_terminal_has_no_more():
    environment = os.environ | {"PYTHONPATH": str(ROOT / "pyhook"), "PYTHONIOENCODING": "ascii"}
    result = subprocess.run(
        [sys.executable, "-m", "peakline", "timeline", "--points", "40", str(TRACE)],
        capture_output=True,
        env=environment,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert b"#" in result.stdout and b"?" not in result.stdout


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
        "via": [],
    }
    assert sum(size["count"] for size in stats["sizes"]) == 8
    assert "Allocation sizes" in peakline("stats", TRACE).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table", "missing.peak"], "missing.peak: cannot open the trace"),
        (["table", "."], "is a directory"),
        (["table", "README.md"], "is not a peakline trace"),
        (["table", "--by", "moon", TRACE], "--by takes one of: line, function, file, stack"),
        (["table", "--by", "ctaegory", TRACE], "did you mean category?"),
        (["table", "--fold", TRACE], "--fold shortens module paths, and needs --by module"),
        (["table", "--device", "9", TRACE], "devices in it: 0, 1"),
        (["table", "--at", "nowhere", TRACE], "phase 'nowhere' is not in this trace"),
        (["table", "--at", "99", TRACE], "--at 99: the trace ends at t=0.256 s"),
    ],
)
def test_bad_input_ends_with_2_and_says_what_to_do(arguments, message, tmp_path):
    (tmp_path / "README.md").write_text("This is not a trace, it is a text.\n" * 10)
    result = peakline(*arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert result.stderr.startswith("peakline: error: ")
    assert message in result.stderr
    assert result.stdout == ""


def test_a_damaged_trace_is_read_and_told(tmp_path):
    damaged = tmp_path / "cut.peak"
    damaged.write_bytes(TRACE.read_bytes()[:-8])
    result = peakline("table", damaged)
    assert result.returncode == 0
    assert "Max mem: 16.00 MB" in result.stdout
    assert "was the program killed" in result.stdout
    assert json.loads(peakline("table", "--json", damaged).stdout)["complete"] is False


def test_a_closed_pipe_is_quiet():
    environment = os.environ | {"PYTHONPATH": str(ROOT / "pyhook")}
    command = [sys.executable, "-m", "peakline", "table", "--json", *[str(TRACE)] * 100]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


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


def test_a_cut_packed_trace_says_what_to_do(tmp_path):
    packed = tmp_path / "two.peak.zst"
    peakline("pack", TRACE, "-o", packed)
    packed.write_bytes(packed.read_bytes()[:-5])
    result = peakline("table", packed)
    assert result.returncode == 2
    assert "is compressed" in result.stderr and "zstd -d" in result.stderr
