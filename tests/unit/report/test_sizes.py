"""Sizes are the same text in Python, in the report engine and on the page."""

import json
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path

import pytest
from peakline.base.sizes import bytes_of, median_of, share_of, size_of, size_or_unknown

ROOT = Path(__file__).parents[3]
FORMAT = ROOT / "report" / "render" / "format"
SCRIPT = ROOT / "report" / "page" / "elements" / "format.js"

CALLS_ENGINE = """
#include <cstdio>
#include "report/render/format/format_bytes.h"
int main() {
    unsigned long long bytes = 0;
    while (std::scanf("%llu", &bytes) == 1) {
        std::puts(peakline::report::format_bytes(static_cast<uint64_t>(bytes)).c_str());
    }
}
"""


def sizes() -> list[int]:
    """Those around every change of digits and units, halves between two texts, and some of all."""
    around = {unit * most for unit in (1, 1 << 10, 1 << 20, 1 << 30, 1 << 40) for most in (1, 1024)}
    for power in (10, 20, 30, 40):
        for text in ("9.9995", "99.995", "999.95", "1023.5", "1.0625", "10.125", "100.25", "999.5"):
            around.add(int(Fraction(text) * (1 << power)))
    near = {size + step for size in around for step in (-1, 0, 1) if size + step >= 0}
    return sorted(near | {3**power for power in range(34)} | set(range(0, 1 << 14, 64)))


def test_the_report_engine_writes_the_same(tmp_path: Path) -> None:
    program = tmp_path / "sizes"
    source = tmp_path / "sizes.cpp"
    source.write_text(CALLS_ENGINE)
    command = ["g++", "-std=c++20", f"-I{ROOT}", "-o", program, source, FORMAT / "format_bytes.cpp"]
    subprocess.run(command, check=True)
    asked = "\n".join(map(str, sizes()))
    written = subprocess.run([program], input=asked, capture_output=True, text=True, check=True)
    assert written.stdout.splitlines() == [size_of(size) for size in sizes()]


def test_the_page_writes_the_same(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is missing: apt-get install nodejs")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "format.js").write_text(SCRIPT.read_text())
    (tmp_path / "sizes.js").write_text(
        'import { formatBytes } from "./format.js";\n'
        f"console.log(JSON.stringify({json.dumps(sizes())}.map((size) => formatBytes(size))));\n"
    )
    command = [node, tmp_path / "sizes.js"]
    written = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(written.stdout) == [size_of(size) for size in sizes()]


def test_examples() -> None:
    examples = {512: "512 B", 1023: "1023 B", 1088: "1.063 KB", 1048575: "1.000 MB"}
    examples |= {1024: "1.000 KB", 1025: "1.001 KB", 10240: "10.00 KB", 1000: "1000 B"}
    examples |= {102400: "100.0 KB", 1023 << 10: "1023 KB", 1048063: "1023 KB"}
    examples |= {13547310080: "12.62 GB", -2048: "-2.000 KB", 1 << 54: "16384 TB"}
    assert {size: size_of(size) for size in examples} == examples
    assert (size_or_unknown(None), size_or_unknown(0)) == ("?", "0 B")


def test_shares_have_one_more_digit_where_they_are_small() -> None:
    shares = {(1, 1001): "<0.1 %", (1, 1000): "0.1 %", (994, 10000): "9.9 %", (995, 10000): "10 %"}
    shares |= {(0, 5): "0 %", (5, 0): "0 %", (1, 2): "50 %", (7, 7): "100 %"}
    assert {pair: share_of(*pair) for pair in shares} == shares


def test_the_median_of_an_even_count_is_between_the_middle_two() -> None:
    medians = {(): 0, (7,): 7, (1, 4): 2, (9, 1, 5): 5, (100, 1, 2, 9): 5, (3, 3, 8, 9): 5}
    assert {sizes: median_of(sizes) for sizes in medians} == medians


def test_a_size_is_read_with_and_without_its_unit() -> None:
    read = {"512": 512, "64K": 65536, "1.5 MiB": 3 << 19, "2gb": 2 << 30, "1T": 1 << 40, "10 B": 10}
    assert {text: bytes_of(text) for text in read} == read
    for text in ("", "K", "1.", "-1", "1 KiBs", "1 E"):
        with pytest.raises(ValueError, match="not a size"):
            bytes_of(text)
