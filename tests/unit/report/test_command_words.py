"""What commands say: help, the next command, wrong words, damaged traces, narrow terminals."""

import json
import os
import re
import shlex
import subprocess
import sys

import pytest
from command_line import NEEDS_ENGINE, ROOT, TRACE, peakline, python

pytestmark = NEEDS_ENGINE


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
        "from peakline.text.document import Layout, plain_text\n"
        "trace, narrow = report.Trace(sys.argv[1]), Layout(80, is_terminal=True)\n"
        "for name in ('table', 'summary', 'stats', 'tensors', 'layers', 'ops', 'stages'):\n"
        "    print(plain_text(trace.document(name, full_paths=True), narrow))\n"
        "table = trace.document('table', full_paths=True, frame='leaf')\n"
        "print(plain_text(table, narrow))\n"
        "print(plain_text(table))\n"
    )
    text = python(script).stdout
    narrow, whole = text.split("Max mem")[:-1], text.split("Max mem")[-1]
    rows = [line for part in narrow for line in part.splitlines() if re.match(r" *\d.*B  ", line)]
    assert rows and max(map(len, rows)) <= 80
    assert any(re.search(r"/\.\.\./.*functional.py:2143 softmax$", row) for row in rows)
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table", "missing.peak"], "missing.peak: cannot open the trace"),
        (["table", "/proc/self/task"], "there is no trace in this folder"),
        (["table", "README.md"], "is not a peakline trace"),
        (["table", "--by", "moon", TRACE], "--by takes one of: line, function, file, stack"),
        (["table", "--by", "ctaegory", TRACE], "did you mean category?"),
        (["table", "--fold", TRACE], "--fold shortens module paths, and needs --by module"),
        (["table", "--device", "9", TRACE], "devices in it: 0, 1"),
        (["table", "--at", "nowhere", TRACE], "phase 'nowhere' is not in this trace"),
        (["table", "--at", "99", TRACE], "--at 99: the trace ends at t=0.256 s"),
    ],
)
def test_bad_input_ends_with_2_and_names_the_next_step(arguments, message, tmp_path):
    (tmp_path / "README.md").write_text("This is not a trace, it is a text.\n" * 10)
    result = peakline(*arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert result.stderr.startswith("peakline: error: ")
    assert message in result.stderr
    assert result.stdout == ""


def test_a_damaged_trace_is_read_and_reported(tmp_path):
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


def test_a_cut_packed_trace_names_the_next_step(tmp_path):
    packed = tmp_path / "two.peak.zst"
    peakline("pack", TRACE, "-o", packed)
    packed.write_bytes(packed.read_bytes()[:-5])
    result = peakline("table", packed)
    assert result.returncode == 2
    assert "is compressed" in result.stderr and "zstd -d" in result.stderr


def test_a_file_that_cannot_be_written_is_named_as_it_was_asked_for(tmp_path):
    wanted = tmp_path / "none" / "packed.zst"
    result = peakline("pack", TRACE, "-o", wanted)
    assert result.returncode == 2
    assert result.stderr.startswith(f"peakline: error: {wanted}: cannot make the file: ")
    assert ".part" not in result.stderr
