"""The rows of `peakline table` on a stored trace, as text and JSON."""

import json

import pytest
from command_line import NEEDS_ENGINE, TRACE, peakline, python

pytestmark = NEEDS_ENGINE


def test_table_has_exactly_its_form():
    result = peakline("table", TRACE)
    assert result.stdout == (
        "Simulated device: NVIDIA H200 (sizes are real, numbers are not)\n"
        "Max mem: 16.00 MB\n"
        "Total mem allocated: 6.000 MB\n"
        "Mem, Cumulative Mem, Median, Count, Location\n"
        "12.00 MB  12.00 MB  6.000 MB  2  untraced\n"
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
            "code": None,
            "native": False,
        },
        "via": [],
        "callers": [],
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


def test_where_names_the_shown_values_and_those_without_blocks():
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
def test_reports_without_single_blocks_name_those_with_where(command):
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
    assert text[4:6] == ["12.00 MB  12.00 MB  6.000 MB  2  untraced", "..."]
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
def test_rows_sum_to_the_chosen_level(options, total_bytes):
    table = json.loads(peakline("table", "--json", *options, TRACE).stdout)
    assert table["total_bytes"] == total_bytes
    assert sum(row["bytes"] for row in table["rows"]) == total_bytes


def test_paths_are_shortened_to_the_needed_part():
    script = (
        "import peakline._report as report, sys\n"
        "from peakline.text.document import plain_text\n"
        "trace, options = report.Trace(sys.argv[1]), {'cwd': '/project', 'frame': 'leaf'}\n"
        "print(plain_text(trace.document('table', **options)))\n"
        "print(plain_text(trace.document('table', **options, full_paths=True)))\n"
    )
    short, full = python(script).stdout.split("\n\n")[:2]
    assert "  model.py:41 (forward)\n" in short
    assert "  torch/nn/functional.py:2143 (softmax)\n" in short
    assert "  /project/model.py:41 (forward)\n" in full
    assert "  /venv/lib/python3.11/site-packages/torch/nn/functional.py:2143 (softmax)" in full


def test_several_files_are_one_json_document():
    documents = json.loads(peakline("table", "--json", TRACE, TRACE).stdout)
    assert [document["peak_bytes"] for document in documents] == [16 << 20, 16 << 20]
