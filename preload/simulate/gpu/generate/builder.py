"""Generates, compiles and links everything for one set of wheels into one folder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from . import symbols
from .compiler import Compiler, link_command, run_all, version_script
from .driver import NO_ENTRY_POINTS, driver_parts, error_name_rows
from .forwards import driver_forwards, runtime_forwards
from .headers import Declarations, find_header, parse, preprocess
from .libraries import ALL_VERSIONS, DRIVER_FILE, LIBRARIES, NVML_FILE, RUNTIME, Library
from .profiles import profile_table
from .stubs import write_stubs
from .wheels import Wheels

_RUNTIME_TABLE_PREFIX = """\
struct RuntimeErrorNameRow {
    int code;
    const char* name;
};
"""


@dataclass(frozen=True)
class Workshop:
    """The folders of one build."""

    sources: Path  # preload/simulate/gpu
    work: Path  # generated files and objects
    out: Path  # the libraries
    wheels: Wheels
    compiler: Compiler


@dataclass(frozen=True)
class Apis:
    """Declarations in the headers of the two layers."""

    driver: Declarations
    runtime: Declarations


def write_tables(sources: Path, work: Path, wheels: Wheels) -> Apis:
    """Write the files that the sources include; the table of entry points is still empty."""
    driver = parse(preprocess(["cuda.h"], wheels, ALL_VERSIONS))
    runtime = parse(preprocess(list(RUNTIME.headers), wheels, RUNTIME.flags))
    tables = {
        "device_profiles": profile_table(sources / "profiles.json", sources / "calibration.json"),
        "driver_error_names": error_name_rows(
            driver, "cudaError_enum", "kDriverErrorNames", "ErrorNameRow"
        ),
        "driver_entry_points": NO_ENTRY_POINTS,
        "runtime_error_names": _RUNTIME_TABLE_PREFIX
        + error_name_rows(runtime, "cudaError", "kRuntimeErrorNames", "RuntimeErrorNameRow"),
    }
    for name, text in tables.items():
        (work / f"{name}.inc").write_text(text)
    return Apis(driver, runtime)


def write_for_linters(sources: Path, out: Path, wheels: Wheels) -> None:
    """Write the tables, and the compile command of each hand-written source."""
    out.mkdir(parents=True, exist_ok=True)
    write_tables(sources, out, wheels)
    compiler = Compiler((*wheels.include_dirs, sources, out))
    flags = {path: lib.flags for lib in LIBRARIES for p in lib.sources for path in sources.glob(p)}
    commands = [
        {
            "directory": str(out),
            "file": str(path),
            "arguments": compiler.hand_written(path, Path("-"), flags.get(path, ALL_VERSIONS)),
        }
        for path in sorted(sources.rglob("*.cpp"))
    ]
    (out / "compile_commands.json").write_text(json.dumps(commands, indent=0))


def build_all(sources: Path, work: Path, out: Path, wheels: Wheels) -> None:
    """Fill `out` with the libraries, the preload list and the manifest of symbols."""
    shop = Workshop(sources, work, out, wheels, Compiler((*wheels.include_dirs, sources, work)))
    apis = write_tables(sources, work, wheels)
    present = [lib for lib in LIBRARIES if wheels.real_library(lib.file_pattern) is not None]
    manifest = {DRIVER_FILE: _build_driver(shop, apis.driver)}
    objects = _compile_hand_written(shop, present)
    forwards = work / "runtime_forwards.cpp"
    forwards.write_text(runtime_forwards(apis.runtime, apis.driver))
    objects[RUNTIME.name].append(forwards.with_suffix(".o"))
    run_all([shop.compiler.hand_written(forwards, forwards.with_suffix(".o"), RUNTIME.flags)])
    for library in present:
        declarations = (
            apis.runtime
            if library is RUNTIME
            else parse(preprocess(list(library.headers), wheels, library.flags))
        )
        file_name, classes = _build_library(shop, library, declarations, objects[library.name])
        manifest[file_name] = classes
    manifest[NVML_FILE] = _build_nvml(shop)
    (out / "libcuda.so").symlink_to(DRIVER_FILE)
    (out / "symbols.json").write_text(json.dumps(manifest, indent=0))
    (out / "preload.txt").write_text("".join(f"{name}\n" for name in manifest))


def _build_driver(shop: Workshop, declarations: Declarations) -> dict[str, str]:
    # The table of entry points needs the names that the sources define, and only object files
    # show them: everything else is compiled first.
    paths = [*sorted((shop.sources / "model").rglob("*.cpp"))]
    paths += sorted((shop.sources / "driver").glob("*.cpp"))
    last = shop.sources / "driver" / "entry_points.cpp"
    first = [path for path in paths if path != last]
    made = {path: _object_path(shop, path) for path in paths}
    forwards = shop.work / "driver_forwards.cpp"
    forwards.write_text(driver_forwards(declarations))
    first.append(forwards)
    made[forwards] = forwards.with_suffix(".o")
    run_all([shop.compiler.hand_written(path, made[path], ALL_VERSIONS) for path in first])
    run_all([shop.compiler.hand_written(last, made[last], ALL_VERSIONS)])
    modelled = set().union(*(symbols.defined_in_object(path) for path in made.values()))
    typedefs = "".join(
        find_header(name, shop.wheels).read_text()
        for name in ("cudaTypedefs.h", "cudaProfilerTypedefs.h")
        if shop.wheels.has_header(name)
    )
    parts = driver_parts(declarations, typedefs, modelled)
    (shop.work / "driver_entry_points.inc").write_text(parts.entry_point_text)
    stub_source = shop.work / "driver_stubs.c"
    stub_source.write_text(parts.stub_text)
    stub_object = shop.work / "driver_stubs.o"
    run_all(
        [
            shop.compiler.hand_written(last, made[last], ALL_VERSIONS),
            shop.compiler.generated(stub_source, stub_object),
        ]
    )
    support = sorted(name for name in modelled if name.startswith("peakline_sim_"))
    script = shop.work / "driver.map"
    script.write_text(version_script([*parts.exported, *support], ""))
    run_all(
        [
            link_command(
                shop.out / DRIVER_FILE, DRIVER_FILE, script, [*made.values(), stub_object], []
            )
        ]
    )
    generated = set(parts.generated)
    return {name: "generated" if name in generated else "modelled" for name in parts.exported}


def _object_path(shop: Workshop, source: Path) -> Path:
    parts = source.relative_to(shop.sources).with_suffix(".o").parts
    return shop.work / "_".join(parts)


def _compile_hand_written(shop: Workshop, present: list[Library]) -> dict[str, list[Path]]:
    commands = []
    objects: dict[str, list[Path]] = {}
    for library in present:
        objects[library.name] = []
        for pattern in library.sources:
            for source in sorted(shop.sources.glob(pattern)):
                target = _object_path(shop, source)
                commands.append(shop.compiler.hand_written(source, target, library.flags))
                objects[library.name].append(target)
    run_all(commands)
    return objects


def _build_library(
    shop: Workshop, library: Library, declarations: Declarations, objects: list[Path]
) -> tuple[str, dict[str, str]]:
    real = shop.wheels.real_library(library.file_pattern)
    assert real is not None
    exported = symbols.exported(real)
    node = next((node for node in exported.values() if node), "")
    modelled = set().union(*(symbols.defined_in_object(path) for path in objects))
    stubs = write_stubs(library, sorted(exported), modelled, declarations)
    source = shop.work / f"{library.name}_stubs.c"
    source.write_text(stubs.text)
    stub_object = source.with_suffix(".o")
    run_all([shop.compiler.generated(source, stub_object)])
    script = shop.work / f"{library.name}.map"
    script.write_text(version_script(sorted(exported), node))
    needs = [shop.out / DRIVER_FILE]
    for needed in library.needs:
        pattern = next(lib.file_pattern for lib in LIBRARIES if lib.name == needed)
        needs += sorted(shop.out.glob(pattern))
    run_all([link_command(shop.out / real.name, real.name, script, [*objects, stub_object], needs)])
    generated = set(stubs.generated)
    classes = {name: "generated" if name in generated else "modelled" for name in exported}
    return real.name, classes


def _build_nvml(shop: Workshop) -> dict[str, str]:
    source = shop.sources / "libraries" / "management.cpp"
    target = _object_path(shop, source)
    run_all([shop.compiler.hand_written(source, target, ALL_VERSIONS)])
    names = sorted(symbols.defined_in_object(target))
    script = shop.work / "nvml.map"
    script.write_text(version_script(names, ""))
    run_all(
        [link_command(shop.out / NVML_FILE, NVML_FILE, script, [target], [shop.out / DRIVER_FILE])]
    )
    return dict.fromkeys(names, "modelled")
