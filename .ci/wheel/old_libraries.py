"""Makes stubs of the C and C++ libraries with the names that old systems have.

python old_libraries.py OUT

A library that is linked with them (g++ -shared ... @OUT/link_cxx.txt) asks for no version newer
than manylinux_2_28 allows, whatever this system has: glibc keeps a function's old versions beside
its new ones, and a stub has only the newest one below the limit. A name that did not exist then is
an error of the linker; old_names.c has the ones that we need.

The limits are those of PEP 600 for the tag: glibc 2.28, and the libstdc++ of GCC 8.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

# The newest allowed version of each family.
NEWEST = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11)}
LIBRARIES = ("libc.so.6", "libm.so.6", "libstdc++.so.6")
# Parts of libc.so.6 since glibc 2.34. Programs on older systems must load them, too.
EMPTY_LIBRARIES = ("libdl.so.2", "libpthread.so.0")
_VERSION = re.compile(r"([A-Z]+)_([0-9.]+)")
_SECTIONS = {"OBJECT": ".data", "TLS": '.tdata,"awT"'}
_TYPES = {"OBJECT": "@object", "TLS": "@tls_object"}

Symbol = tuple[tuple[int, ...], str, str]  # version as numbers, its name, type


def find_library(name: str) -> Path:
    """Return the file that the compiler links for this name.

    Raises:
        SystemExit: this system has no such library.
    """
    found = subprocess.run(["g++", f"-print-file-name={name}"], capture_output=True, text=True)
    path = Path(found.stdout.strip())
    if not path.is_file():
        raise SystemExit(f"old_libraries.py: {name} is not on this system")
    return path


def old_symbols(library: Path) -> dict[str, Symbol]:
    """Return the names that the library exports, each in its newest allowed version."""
    listed = subprocess.run(
        ["readelf", "--dyn-syms", "-W", str(library)], capture_output=True, text=True, check=True
    )
    found: dict[str, Symbol] = {}
    for line in listed.stdout.splitlines():
        fields = line.split()
        if len(fields) < 8 or fields[6] in ("UND", "ABS", "Ndx"):
            continue
        name, _, version = fields[7].partition("@")
        match = _VERSION.fullmatch(version.lstrip("@"))
        if match is None or match[1] not in NEWEST:
            continue
        numbers = tuple(map(int, match[2].split(".")))
        if numbers <= NEWEST[match[1]] and (name not in found or found[name][0] < numbers):
            found[name] = (numbers, match[0], fields[3])
    return found


def write_stub(out: Path, name: str, symbols: dict[str, Symbol]) -> None:
    """Write a library that has the names and no code."""
    nodes = defaultdict(list)
    lines = []
    for symbol, (_, version, kind) in symbols.items():
        nodes[version].append(symbol)
        lines += [
            f".section {_SECTIONS.get(kind, '.text')}",
            f'.globl "{symbol}"',
            f'.type "{symbol}",{_TYPES.get(kind, "@function")}',
            f'"{symbol}": .zero 8',
        ]
    assembly, script = out / f"{name}.s", out / f"{name}.map"
    assembly.write_text("\n".join([*lines, '.section .note.GNU-stack,"",@progbits', ""]))
    script.write_text(
        "".join(f"{node} {{ global: {'; '.join(names)}; }};\n" for node, names in nodes.items())
        or "PEAKLINE_EMPTY { local: *; };\n"
    )
    command = [
        "gcc",
        "-shared",
        "-nostdlib",
        f"-Wl,-soname,{name}",
        f"-Wl,--version-script={script}",
    ]
    subprocess.run([*command, "-o", str(out / name), str(assembly)], check=True)


def make_archive(out: Path, source_name: str) -> None:
    """Compile each name of a source into an object of its own."""
    source = Path(__file__).with_name(source_name)
    command = ["g++"] if source.suffix == ".cpp" else ["gcc"]
    command += ["-O2", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror"]
    objects = []
    for name in re.findall(r"#ifdef OLD_(\w+)", source.read_text()):
        objects.append(str(out / f"{name}.o"))
        subprocess.run(
            [*command, f"-DOLD_{name}", "-c", str(source), "-o", objects[-1]], check=True
        )
    subprocess.run(["ar", "rcs", str(out / f"lib{source.stem}.a"), *objects], check=True)


def write_link_words(out: Path) -> None:
    """Write the words for the linker.

    link_c.txt has the C library only, link_cxx.txt also the C++ library. link_archive.txt takes
    what the old C++ library lacks from the archive; the linker would do so for every name that
    objects of -flto use.
    """
    c_library = [
        "-Wl,--as-needed",
        *(out / name for name in ("libm.so.6", "libold_names.a", "libc.so.6")),
        "-l:libc_nonshared.a",
        "-lgcc_s",
        "-lgcc",
        "-l:ld-linux-x86-64.so.2",
        "-Wl,--no-as-needed",
        *(out / name for name in EMPTY_LIBRARIES),
    ]
    cxx_library = out / "libstdc++.so.6"
    archive = ["-l:libstdc++.a", "-Wl,--exclude-libs,libstdc++.a"]
    for name, words in (
        ("link_c.txt", c_library),
        ("link_cxx.txt", [out / "libold_cxx_names.a", cxx_library, *c_library]),
        ("link_archive.txt", [cxx_library, *archive, cxx_library, *c_library]),
    ):
        words = ["-nodefaultlibs", "-Wl,--strip-debug", *words]
        (out / name).write_text("".join(f"{word}\n" for word in words))


def main() -> None:
    """Write the stubs, the archives of names, and what the linker reads."""
    out = Path(sys.argv[1]).absolute()
    out.mkdir(parents=True, exist_ok=True)
    for name in LIBRARIES:
        write_stub(out, name, old_symbols(find_library(name)))
    for name in EMPTY_LIBRARIES:
        write_stub(out, name, {})
    make_archive(out, "old_names.c")
    make_archive(out, "old_cxx_names.cpp")
    write_link_words(out)


if __name__ == "__main__":
    main()
