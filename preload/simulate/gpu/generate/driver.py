"""The driver's exported names, its stubs, and the table behind cuGetProcAddress."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .headers import Declarations
from .stubs import alias, refusal

_NOT_SUPPORTED = "CUDA_ERROR_NOT_SUPPORTED"
# The table of entry points, until the names that the sources define are known.
NO_ENTRY_POINTS = "static const EntryPointRow kEntryPoints[] = {{nullptr, 0, false, nullptr}};\n"
_PFN = re.compile(r"PFN_(cu\w+?)_v(\d+)(_ptsz|_ptds)?\)")


@dataclass(frozen=True)
class DriverParts:
    """Everything generated for the driver."""

    exported: tuple[str, ...]
    generated: tuple[str, ...]
    stub_text: str
    entry_point_text: str


def driver_parts(declarations: Declarations, typedefs_text: str, modelled: set[str]) -> DriverParts:
    """Export every function that cuda.h declares; those not modelled return an error."""
    declared = {name for name in declarations.functions if re.match(r"cu[A-Z]", name)}
    exported = sorted(declared | {name for name in modelled if re.match(r"cu[A-Z]", name)})
    lines = ["extern void peakline_sim_not_modelled(const char*, const char*);"]
    generated = [name for name in exported if name not in modelled]
    value = declarations.constants[_NOT_SUPPORTED]
    for name in generated:
        base = re.sub(r"_pt[sd][sz]$", "", name)
        if base != name and base in exported:
            lines.append(alias(name, base))
        else:
            lines.append(refusal(name, value, _NOT_SUPPORTED, prefix="peakline_stub_"))
    return DriverParts(
        tuple(exported),
        tuple(generated),
        "\n".join(lines) + "\n",
        _entry_points(set(exported), typedefs_text),
    )


def _entry_points(exported: set[str], typedefs_text: str) -> str:
    """Pairs PFN_<name>_v<version> with the symbols of that name, newest with newest."""
    versions: dict[tuple[str, str], set[int]] = {}
    for name, version, suffix in _PFN.findall(typedefs_text):
        versions.setdefault((name, suffix), set()).add(int(version))
    rows: list[str] = []
    symbols: set[str] = set()
    for (name, suffix), known in sorted(versions.items()):
        candidates = [name + suffix] + [f"{name}_v{k}{suffix}" for k in range(2, 9)]
        present = [symbol for symbol in candidates if symbol in exported]
        for version, symbol in zip(sorted(known, reverse=True), reversed(present), strict=False):
            is_per_thread = "true" if suffix else "false"
            rows.append(
                f'    {{"{name}", {version}, {is_per_thread}, '
                f"reinterpret_cast<void*>(&entry_{symbol})}},"
            )
            symbols.add(symbol)
    lines = [f'extern "C" int entry_{s}(void) __asm__("{s}");' for s in sorted(symbols)]
    return "\n".join([*lines, "static const EntryPointRow kEntryPoints[] = {", *rows, "};"]) + "\n"


def error_name_rows(declarations: Declarations, enum_name: str, table: str, row_type: str) -> str:
    """The table of error names of one enum."""
    members = declarations.enums[enum_name]
    rows = [f'    {{{value}, "{name}"}},' for name, value in members.items()]
    return "\n".join([f"static const {row_type} {table}[] = {{", *rows, "};"]) + "\n"
