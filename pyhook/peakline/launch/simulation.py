"""Shared by `peakline run` and `peakline fit` around a simulated program: notes and clean-up.

The running program writes two lists: the checkpoints that it made (removed afterwards, see
preload/simulate/guard/README.md) and, if it is not recorded, the GPU values that it read although
they do not exist. Its processes share the simulated devices through a third file.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Iterator, MutableMapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from peakline.base.output import did_you_mean, say
from peakline.builds.device_profiles import simulated_devices
from peakline.launch.device_group import file_of_group
from peakline.launch.written_files import clean_up

_READS_SHOWN = 8
_HARMLESS_NAMED = 2
_MOST_NOTED = 1000  # limit in unrecorded_reads.py
_EFFECTS = {
    "size": "a size: tensors made of it have the wrong size",
    "number": "a number: what the program decides by it may be wrong",
    "copy": "copied to the host: sizes computed from it may be wrong",
}
_HARMLESS = ("\tprinted", "\tfloating")


def problem_of_device(text: str) -> str:
    """Return the reason why --simulate refuses this device, or ''.

    A device is NAME, NAMExCOUNT, NAME:SIZE or NAMExCOUNT:SIZE, or a slice, NAME:SLICE.
    """
    devices = simulated_devices()
    names = [device.name for device in devices if not device.is_slice]
    slices = [device.name for device in devices if device.is_slice]
    if text in slices:
        return ""
    suffix = r"(x[1-9][0-9]*)?(:[0-9.]+ *[KMGT]?i?B?)?"
    if any(re.fullmatch(re.escape(name) + suffix, text, re.IGNORECASE) for name in names):
        return ""
    if text.endswith(".py") or Path(text).exists():
        return f"'{text}' is a program, and a device comes first: {names[0]} {text}"
    if re.search(r":\d+[cg]\.", text.lower()):
        return _problem_of_slice(text, slices)
    near = did_you_mean(_gpu_of(text), names)
    return (
        f"no device profile is called '{text}'; known are: {', '.join(names)};"
        f" also several of one (h200x8), another size (h200:80GiB) and a slice (h100:1g.10gb);"
        f" --simulate list shows them{near}"
    )


def _gpu_of(text: str) -> str:
    """Return the name without count, size and slice; names may contain an x (rtx4090)."""
    return re.sub(r"(x\d{1,2})?(:.*)?$", "", text.lower())


def _problem_of_slice(text: str, slices: list[str]) -> str:
    gpu = _gpu_of(text)
    own = [name for name in slices if name.startswith(f"{gpu}:")]
    if not own:
        gpus = dict.fromkeys(name.partition(":")[0] for name in slices)
        return f"'{text}': no slices of {gpu} are known, but of {', '.join(gpus)}"
    if not text.lower().startswith(f"{gpu}:"):
        return f"'{text}': a program sees one slice of a GPU: {own[0]}"
    near = did_you_mean(text.lower(), own)
    return f"no slice is called '{text}'; known are: {', '.join(own)}{near}"


@contextmanager
def notes_of_program(
    environment: MutableMapping[str, str],
    *,
    guards_checkpoints: bool,
    notes_reads: bool,
    shows_reads: bool = False,
    quiet: bool = False,
    device_group: str = "",
) -> Iterator[None]:
    """Give the program the paths of its lists, and process the lists when it has ended.

    `device_group`: programs of other runs with the same name share the devices.
    """
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="peakline-"))
        writes, reads = Path(folder) / "writes", Path(folder) / "reads"
        if device_group:
            group = stack.enter_context(file_of_group(device_group))
            environment["PEAKLINE_SIM_GROUP"] = str(group)
        environment.setdefault("PEAKLINE_SIM_GROUP", str(Path(folder) / "devices"))
        if guards_checkpoints:
            environment["PEAKLINE_SIM_WRITES"] = str(writes)
        if notes_reads:
            environment["PEAKLINE_SIM_READS"] = str(reads)
        try:
            yield
        finally:
            clean_up(writes, quiet=quiet)
            if shows_reads:
                say(*_read_lines(reads))


def _read_lines(notes: Path) -> Iterator[str]:
    noted = notes.read_text(errors="replace").splitlines() if notes.exists() else []
    counts = Counter(line for line in noted if line.count("\t") == 2)
    if not counts:
        return
    harmless = {line: n for line, n in counts.items() if line.endswith(_HARMLESS)}
    sizes = sum(n for line, n in counts.items() if line.endswith("\tsize"))
    counts -= Counter(harmless)
    yield ""
    yield "The program read these values from the GPU; simulated, they were taken as 0:"
    for line, count in counts.most_common(_READS_SHOWN):
        location, operator, effect = line.split("\t")
        more = "at least " if count >= _MOST_NOTED else ""
        times = f"{more}{count:,} time{'s' * (count > 1)}"
        yield f"  {location}  {operator}  {times}  {_EFFECTS.get(effect, effect)}"
    if len(counts) > _READS_SHOWN:
        yield f"  ... {len(counts) - _READS_SHOWN} more lines"
    if harmless:
        total, lines = sum(harmless.values()), [line.split("\t")[0] for line in harmless]
        named = " and ".join(lines) if len(lines) <= _HARMLESS_NAMED else f"{len(lines):,} lines"
        yield (
            f"  {total:,} read{'s' * (total > 1)} of floating-point numbers (a loss, a norm) or for"
            f" printing, at {named}: they seldom decide a size"
        )
    if sizes:
        yield "Tensors of these sizes are empty here: a real run needs more memory"
    if counts:
        yield "Give real values: run without --no-record, with --assume FILE:LINE=VALUE,"
        yield "the tokens of experts with --assume routing=balanced"
