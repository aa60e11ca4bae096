"""Files of limits: what they mean, their errors, and lines that moved."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from peakline.base.engine import CommandError
from peakline.base.sizes import bytes_of, least_size_above
from peakline.differences.limits.limit import Limit
from peakline.differences.limits.limits_file import read_limits
from peakline.differences.limits.moved_lines import names_in_run
from peakline.differences.limits.written import text_of
from peakline.differences.side import Line, Row

FILE = """# Of the whole run.
peak = "70GB"
growth-per-step = 0

[phase]
backward = "60 GiB"
"warm up" = "1.5MB"

[line]
"train.py:24 (main)" = { max = "2KB", code = "x = y()" }

[device.1]
reserved = 12
[device.1.module]
"h.*.mlp" = {max = "1GB"}
"""


def written(folder: Path, text: str) -> str:
    path = folder / "limits.toml"
    path.write_text(text)
    return str(path)


def test_a_file_has_levels_names_and_devices(tmp_path: Path) -> None:
    path = written(tmp_path, FILE)
    found = [
        (one.title, one.most_bytes, one.measure, one.code, one.source.removeprefix(f"{path}:"))
        for one in read_limits(path)
    ]
    assert found == [
        ("peak", 70 << 30, "allocated", "", "2"),
        ("growth per step", 0, "allocated", "", "3"),
        ("phase backward", 60 << 30, "allocated", "", "6"),
        ("phase warm up", 3 << 19, "allocated", "", "7"),
        ("line train.py:24 (main)", 2048, "allocated", "x = y()", "10"),
        ("device 1: reserved", 12, "reserved", "", "13"),
        ("device 1: module h.*.mlp", 1 << 30, "allocated", "", "15"),
    ]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('\npeek = "70GB"', ":2: 'peek' is no limit; did you mean peak?"),
        ('peak = "1GB"\n[phases]\nforward = 1', ":2: 'phases' is no limit; did you mean phase?"),
        ('[gpu]\nx = "1GB"', ":1: 'gpu' is no limit; there are: peak, reserved, growth-per-step,"),
        (
            'peak = "70GX"',
            ":1: peak: '70GX' is not a size: 512, 64K, 1.5MiB ...; did you mean 70GB?",
        ),
        ("[phase]\nforward = true", ":2: 'forward' needs a size, such as '70GB'"),
        ("peak = -1", ":1: 'peak' needs a size"),
        ("peak = 1.5", ":1: 'peak' needs a size"),
        ("phase = 3", ":1: phase is a table: [phase], with its limits below"),
        (
            '[line]\n"a.py:1 (f)" = { max = 1, cod = "x" }',
            ":2: 'cod' is no key of a limit of one line",
        ),
        (
            '[module]\n"0" = { max = 1, code = "x" }',
            ":2: 'code' is no key of a limit of one module",
        ),
        ('[line]\n"a.py:1 (f)" = { code = "x" }', ":2: 'a.py:1 (f)' needs a size"),
        ("[device.first]\npeak = 1", ":1: 'first' is no device: [device.0]"),
        ("[device.0]\n[device.0.device.1]\npeak = 1", ":2: 'device' is no limit"),
        ("peak = 1\npeak = 2\n", "Cannot overwrite a value (at line 2"),
        ("# nothing", ": there is no limit in this file: peak,"),
    ],
)
def test_a_wrong_key_or_size_is_named_with_its_line(tmp_path: Path, text: str, error: str) -> None:
    with pytest.raises(CommandError) as caught:
        read_limits(written(tmp_path, text))
    assert str(caught.value).startswith(str(tmp_path))
    assert error in str(caught.value)


HOSTILE = 'a"\\b\x1b[31m\u202e é\nx = 1\U000e0041:7 (f)'


def test_a_written_file_reads_as_the_same_limits(tmp_path: Path) -> None:
    limits = [
        Limit("peak", "", 5 << 30),
        Limit("growth-per-step", "", 0),
        Limit("phase", HOSTILE, 7),
        Limit("line", HOSTILE, 9, code=HOSTILE),
        Limit("reserved", "", 1 << 20, "0", "reserved"),
        Limit("module", "h.*.mlp", 3 << 10, "0"),
        Limit("peak", "", 1 << 10, "10"),
    ]
    text = text_of(limits, ["run.peak", HOSTILE])
    assert not any(one in text for one in "\x1b\u202e\U000e0041")
    found = read_limits(written(tmp_path, text))
    keys = [(one.device or "", one.kind, one.name, one.most_bytes, one.code) for one in found]
    assert keys == [
        (one.device or "", one.kind, one.name, one.most_bytes, one.code) for one in limits
    ]


@pytest.mark.parametrize("seed", range(5))
def test_a_written_size_is_the_next_one_of_four_digits(seed: int) -> None:
    choose = random.Random(seed)
    counts = [choose.randrange(1 << choose.randrange(1, 45)) for _ in range(500)]
    for count in [*counts, 0, 1023, 1024, 1 << 40, (1 << 30) - 1, 1001 << 20, 10**15]:
        read = bytes_of(least_size_above(count))
        assert count <= read <= count * 1.0011


def line(number: int, code: str, function: str = "main", file: str = "train.py") -> Row:
    key = f"{file}:{number} ({function})"
    return Row(Line(key, f"/srv/{file}", number, f"Net.{function}", code), 5, 1)


def limit(number: int, code: str, function: str = "main") -> Limit:
    return Limit("line", f"train.py:{number} ({function})", 5, code=code)


def test_a_line_that_moved_is_found_by_its_code() -> None:
    limits = [limit(24, "y = self.up(x)"), limit(25, "y = act(y)"), limit(26, "y = act(y)")]
    rows = [line(20, "new = []"), *(line(n + 1, one.code) for n, one in enumerate(limits, 24))]
    # The number of the first limit is now that of another line, and vice versa.
    assert names_in_run(limits, rows) == {
        one: f"train.py:{n} (main)" for n, one in enumerate(limits, 25)
    }
    renamed = [line(n, one.code, file="new.py") for n, one in enumerate(limits, 3)]
    assert [*names_in_run(limits, renamed).values()] == [f"new.py:{n} (main)" for n in (3, 4, 5)]


def test_an_edited_line_keeps_its_limit_and_a_removed_one_gives_it_to_none() -> None:
    one = limit(24, "y = model(torch.zeros(64, device='cuda'))")
    edited = line(29, "y = model(torch.zeros(128, device='cuda'))")
    other = line(30, "optimizer.step()")
    assert names_in_run([one], [other, edited]) == {one: "train.py:29 (main)"}
    assert names_in_run([one], [other]) == {}
    assert names_in_run([one], [line(24, one.code, "forward")]) == {}


def test_python_without_tomllib_has_a_reader_of_toml() -> None:
    project = (Path(__file__).parents[3] / "pyproject.toml").read_text()
    assert 'tomli; python_version < "3.11"' in project
