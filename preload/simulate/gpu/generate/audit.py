"""Reports how each CUDA symbol that torch imports is provided."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from . import symbols
from .wheels import Wheels

_CUDA_NAME = re.compile(
    r"^(__cuda|cuda[A-Z]|cu[A-Z]|cublas|cudnn|cusparse|cusolver|cufft|curand|nccl[A-Z]|cupti|nvml"
    r"|nvrtc|nvJitLink)"
)
_CLASSES = ("modelled", "generated", "real library", "absent")


@dataclass(frozen=True)
class LibraryAudit:
    """The imports of one torch library, by class."""

    library: str
    served: dict[str, list[str]]


def audit(
    wheels: Wheels, simulated: dict[str, dict[str, str]], replaced: set[str]
) -> list[LibraryAudit]:
    """simulated: library -> symbol -> class; replaced: names of the files that ours replace."""
    ours = {name: how for table in simulated.values() for name, how in table.items()}
    real: set[str] = set()
    for path in wheels.all_libraries():
        if path.name not in replaced:
            real |= set(symbols.exported(path))
    audits = []
    torch_libraries = sorted((wheels.torch / "lib").glob("lib*.so"))
    inside = {name for path in torch_libraries for name in symbols.exported(path)}
    for path in torch_libraries:
        served: dict[str, list[str]] = {name: [] for name in _CLASSES}
        for name in symbols.undefined(path):
            if name in ours:
                served[ours[name]].append(name)
            elif not _CUDA_NAME.match(name) or name in inside:
                continue
            else:
                served["real library" if name in real else "absent"].append(name)
        if any(served.values()):
            audits.append(LibraryAudit(path.name, served))
    return audits


def audit_text(audits: list[LibraryAudit]) -> str:
    """A table, and the names of symbols without an implementation."""
    width = max(len(entry.library) for entry in audits)
    lines = [f"{'torch library':{width}}  " + "  ".join(f"{name:>12}" for name in _CLASSES)]
    for entry in audits:
        counts = Counter({name: len(found) for name, found in entry.served.items()})
        lines.append(f"{entry.library:{width}}  " + "  ".join(f"{counts[n]:>12}" for n in _CLASSES))
    for entry in audits:
        lines += [
            f"absent: {name} (imported by {entry.library})" for name in entry.served["absent"]
        ]
    return "\n".join(lines)


def audit_dict(audits: list[LibraryAudit]) -> dict[str, dict[str, list[str]]]:
    """For --audit-json."""
    return {entry.library: entry.served for entry in audits}


def absent_count(audits: list[LibraryAudit]) -> int:
    """The number of imports without an implementation."""
    return sum(len(entry.served["absent"]) for entry in audits)
