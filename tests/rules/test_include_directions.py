"""Who may include whom: one table, checked for every C++ file of the project."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# room -> rooms it may include besides itself. The border files that others may use are named.
ALLOWED = {
    "allocator/record": set(),
    "allocator/capture": {"allocator/record"},
    "allocator/torch": {"allocator/record", "allocator/capture"},
    "pyhook": {"allocator/record", "allocator/capture", "preload/peakline_api.h"},
    "preload": {"allocator/record", "allocator/capture", "allocator/torch/torch_part.h"},
    "preload/simgpu": set(),
    "preload/simulated": {"preload/peakline_api.h"},
    "preload/guard": set(),
    "report": {
        "allocator/record/trace_format.h",
        "allocator/record/live_set.h",
        "allocator/record/peak_tracker.h",
        "allocator/record/mapped_array.h",
    },
}
# Nothing below may know these.
FORBIDDEN_HEADERS = {
    "allocator/record": ("Python.h", "torch", "c10", "iostream", "cuda"),
    "allocator/capture": ("Python.h", "torch", "c10", "iostream", "cuda"),
    "preload": ("Python.h", "torch", "c10", "iostream", "ATen"),
    "report": ("Python.h", "torch", "c10", "libunwind.h"),
}
MODULE_FILES = {
    *(f"pyhook/{path.name}" for path in (ROOT / "pyhook").glob("module*")),
    *(f"report/python/{path.name}" for path in (ROOT / "report" / "python").iterdir()),
}
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.MULTILINE)


def room_of(path: str) -> str:
    return max((room for room in ALLOWED if path.startswith(room + "/")), key=len, default="")


def sources() -> list[Path]:
    found = []
    for room in ("allocator", "preload", "pyhook", "report"):
        for pattern in ("*.cpp", "*.h", "*.inc"):
            found += (ROOT / room).rglob(pattern)
    return [path for path in found if "_native" not in path.parts]


def resolve(including: Path, name: str) -> str:
    for base in (including.parent, ROOT):
        candidate = (base / name).resolve()
        if candidate.exists() and candidate.is_relative_to(ROOT):
            return str(candidate.relative_to(ROOT))
    return name


def wrong_includes(path: Path) -> list[str]:
    own = str(path.relative_to(ROOT))
    room = room_of(own)
    wrong = []
    for kind, name in INCLUDE.findall(path.read_text()):
        if kind == "<":
            if own not in MODULE_FILES and name.startswith(FORBIDDEN_HEADERS.get(room, ())):
                wrong.append(f"{own} includes <{name}>")
            continue
        target = resolve(path, name)
        target_room = room_of(target)
        allowed = ALLOWED.get(room, set())
        if target_room and target_room != room and not {target_room, target} & allowed:
            wrong.append(f"{own} includes {target}")
    return wrong


def test_every_include_goes_in_the_allowed_direction():
    files = sources()
    assert len(files) > 50
    wrong = [line for path in files for line in wrong_includes(path)]
    assert wrong == []


def test_the_rule_finds_a_wrong_include(tmp_path):
    planted = ROOT / "allocator" / "record" / "planted_for_test.h"
    planted.write_text('#include "allocator/capture/thread_state.h"\n#include <Python.h>\n')
    try:
        assert len(wrong_includes(planted)) == 2
    finally:
        planted.unlink()


def test_every_room_has_a_short_readme():
    rooms = [*ALLOWED, "pyhook/peakline", "tests"]
    for room in rooms:
        readme = ROOT / room / "README.md"
        assert readme.exists(), f"{room} has no README.md"
        assert len(readme.read_text().splitlines()) <= 40, f"{readme} is longer than 40 lines"


def test_nothing_names_a_machine_path():
    suspicious = re.compile(r"(/work/|/farm/|\.\./shared|/root/|/opt/pl)")
    own = Path(__file__).resolve()
    for path in [*sources(), *ROOT.glob("*.md"), *(ROOT / "tests").rglob("*.py")]:
        if path.resolve() != own:
            assert not suspicious.search(path.read_text(errors="replace")), path
