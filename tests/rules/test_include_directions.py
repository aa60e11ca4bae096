"""Who may include whom: one table, checked for every C++ file of the project."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# What the simulated libraries share with the simulated driver.
SIMGPU_SUPPORT = {
    "preload/simulate/gpu/model/base/support.h",
    "preload/simulate/gpu/model/base/fork_safe_mutex.h",
}
# room -> rooms it may include besides itself. The border files that others may use are named.
ALLOWED = {
    "allocator/record": set(),
    "allocator/capture": {"allocator/record"},
    "allocator/torch": {"allocator/record", "allocator/capture"},
    "pyhook": {"allocator/record", "allocator/capture", "preload/peakline_api.h"},
    "preload": {"allocator/record", "allocator/capture", "allocator/torch/torch_part.h"},
    "preload/simulate/gpu": set(),
    "preload/simulate/gpu/runtime": SIMGPU_SUPPORT,
    "preload/simulate/gpu/libraries": SIMGPU_SUPPORT,
    "preload/simulate/companion": {
        "preload/peakline_api.h",
        "preload/simulate/gpu/model/base/fork_safe_mutex.h",
    },
    "preload/simulate/guard": {
        "allocator/record/files/own_descriptors.h",
        "allocator/record/files/small_files.h",
        "allocator/record/format/unsafe_text.h",
    },
    "report": {
        "allocator/record/format/shared_names.h",
        "allocator/record/format/trace_format.h",
        "allocator/record/format/unsafe_text.h",
        "allocator/record/levels/device_use.h",
        "allocator/record/levels/peak_tracker.h",
        "allocator/record/tables/mapped_array.h",
        "allocator/record/tables/mix64.h",
    },
}
# Within these a room includes the rooms before it, so no two include each other. Their READMEs
# draw the same.
REPORT_ROOMS = ("trace", "replay", "symbols", "attribute", "views", "render", "reports", "python")
MODEL_ROOMS = ("base", "devices", "values", "memory", "streams", "ranks")
ORDERED = {
    "report": REPORT_ROOMS,
    "preload/simulate/gpu": (*(f"model/{room}" for room in MODEL_ROOMS), "driver"),
}
# Nothing below may know these.
FORBIDDEN_HEADERS = {
    "allocator/record": ("Python.h", "torch", "c10", "iostream", "cuda"),
    "allocator/capture": ("Python.h", "torch", "c10", "iostream", "cuda"),
    "preload": ("Python.h", "torch", "c10", "iostream", "ATen"),
    "report": ("Python.h", "torch", "c10", "libunwind.h"),
}
MODULE_FILES = {
    *(f"pyhook/module/{path.name}" for path in (ROOT / "pyhook" / "module").iterdir()),
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


def resolve(including: Path, name: str, root: Path = ROOT) -> str:
    for base in (including.parent, root, root / "preload" / "simulate" / "gpu"):
        candidate = (base / name).resolve()
        if candidate.exists() and candidate.is_relative_to(root):
            return str(candidate.relative_to(root))
    return name


def goes_back(own: str, target: str) -> bool:
    """Say whether the include goes to a room that comes later, or is in none."""
    folder = room_of(own)
    if folder not in ORDERED or room_of(target) != folder:
        return False
    places = [
        [path.startswith(f"{folder}/{room}/") for room in ORDERED[folder]] for path in (own, target)
    ]
    if not all(map(any, places)):
        return True
    return places[0].index(True) < places[1].index(True)


def wrong_includes(path: Path, root: Path = ROOT) -> list[str]:
    own = str(path.relative_to(root))
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
        leaves_room = target_room and target_room != room
        if (leaves_room and not {target_room, target} & allowed) or goes_back(own, target):
            wrong.append(f"{own} includes {target}")
    return wrong


def test_every_include_goes_in_the_allowed_direction():
    files = sources()
    assert len(files) > 50
    wrong = [line for path in files for line in wrong_includes(path)]
    assert wrong == []


def plant(root: Path, path: str, text: str) -> Path:
    planted = root / path
    planted.parent.mkdir(parents=True, exist_ok=True)
    planted.write_text(text)
    return planted


def test_the_rule_finds_a_wrong_include(tmp_path):
    planted = plant(
        tmp_path,
        "allocator/record/planted.h",
        '#include "allocator/capture/threads/thread_state.h"\n#include <Python.h>\n',
    )
    assert len(wrong_includes(planted, tmp_path)) == 2


def test_the_rule_finds_an_include_against_the_order_of_report(tmp_path):
    trace, replay, views = (
        '#include "report/trace/reader.h"\n',
        '#include "report/replay/replay.h"\n',
        '#include "report/views/blocks/table.h"\n',
    )
    planted = plant(tmp_path, "report/replay/calls/planted.h", trace + replay + views)
    assert wrong_includes(planted, tmp_path) == [
        "report/replay/calls/planted.h includes report/views/blocks/table.h"
    ]
    assert wrong_includes(plant(tmp_path, "report/trace/planted.cpp", replay), tmp_path) != []
    assert wrong_includes(plant(tmp_path, "report/render/planted.cpp", views), tmp_path) == []


def test_the_rule_finds_an_include_against_the_order_of_simgpu(tmp_path):
    world, stream, state, support = (
        '#include "model/memory/world.h"\n',
        '#include "model/streams/stream.h"\n',
        '#include "driver/driver_state.h"\n',
        '#include "model/base/support.h"\n',
    )
    folder = "preload/simulate/gpu"
    planted = plant(tmp_path, f"{folder}/model/memory/planted.cpp", world + stream + state)
    assert [line.split()[-1] for line in wrong_includes(planted, tmp_path)] == [
        f"{folder}/model/streams/stream.h",
        f"{folder}/driver/driver_state.h",
    ]
    assert wrong_includes(plant(tmp_path, f"{folder}/model/planted.cpp", world), tmp_path) != []
    assert wrong_includes(plant(tmp_path, f"{folder}/driver/planted.h", stream), tmp_path) == []
    for room in ("runtime", "libraries"):
        planted = plant(tmp_path, f"{folder}/{room}/planted.cpp", support + world)
        assert len(wrong_includes(planted, tmp_path)) == 1


def test_the_readme_of_the_model_draws_the_same_order():
    drawn = (ROOT / "preload" / "simulate" / "gpu" / "model" / "README.md").read_text()
    assert tuple(re.findall(r"^\| `(\w+)/`", drawn, re.MULTILINE)) == MODEL_ROOMS


def test_the_readme_of_report_draws_the_same_order():
    drawn = (ROOT / "report" / "README.md").read_text().split("```")[1]
    assert tuple(re.findall(r"(\w+)/", drawn)) == REPORT_ROOMS


def test_every_room_has_a_short_readme():
    rooms = [room for room in ALLOWED if not room.startswith("preload/simulate/gpu/")]
    rooms += ["preload/simulate", "pyhook/peakline", "tests"]
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
