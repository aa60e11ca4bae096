"""Measures a real GPU for the simulated one: `make calibrate`.

    python preload/simulate/gpu/calibrate.py [--into FOLDER]

Writes the measured values into calibration.json and profiles.json (in FOLDER, default: beside this
file), marked "measured", and cuDNN's own description of the device into cudnn-<profile>.json. The
process must be alone on the device. PyTorch brings the libraries; nothing else of it is used until
the last step.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
# Numbers of the enum cudaDeviceAttr, for cudaDeviceGetAttribute.
ATTRIBUTES = {
    "clock_khz": 13,
    "multiprocessors": 16,
    "memory_clock_khz": 36,
    "memory_bus_bits": 37,
    "l2_bytes": 38,
    "threads_per_multiprocessor": 39,
    "compute_major": 75,
    "compute_minor": 76,
    "shared_per_multiprocessor_bytes": 81,
    "shared_per_block_optin_bytes": 97,
    "blocks_per_multiprocessor": 106,
}
# Enum constants of cuDNN 9.8 and later.
CUDNN_NAMES = (
    "CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR",
    "CUDNN_ATTR_DEVICEPROP_DEVICE_ID",
    "CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION",
    "CUDNN_TYPE_INT32",
    "CUDNN_TYPE_CHAR",
)


# Threads of a training step: this one and that of backward.
CUBLAS_HANDLES = 2


class CalibrationError(Exception):
    """A measurement failed; the text names it and the next step."""


class Device:
    """The first device, through the public C interfaces of torch's libraries."""

    def __init__(self) -> None:
        """Find the runtime and NVML."""
        self.runtime = loaded("libcudart.so", "cudaFree")
        self.nvml = _nvml()

    def used_bytes(self) -> int:
        """Bytes in use according to NVML, which needs no context."""

        class Memory(ctypes.Structure):
            _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]

        handle, memory = ctypes.c_void_p(), Memory()
        check(self.nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle)), "NVML, device 0")
        check(self.nvml.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)), "NVML, memory")
        return int(memory.used)

    def memory(self) -> tuple[int, int]:
        """Free and total bytes as cudaMemGetInfo reports them."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        error = self.runtime.cudaMemGetInfo(ctypes.byref(free), ctypes.byref(total))
        check(error, "cudaMemGetInfo")
        return free.value, total.value

    def taken_by(self, work: Callable[[], object]) -> int:
        """Return how much less memory is free after some work."""
        before = self.memory()[0]
        work()
        check(self.runtime.cudaDeviceSynchronize(), "cudaDeviceSynchronize")
        return before - self.memory()[0]

    def attribute(self, number: int) -> int:
        """Return the value of cudaDeviceGetAttribute."""
        value = ctypes.c_int()
        error = self.runtime.cudaDeviceGetAttribute(ctypes.byref(value), number, 0)
        check(error, f"cudaDeviceGetAttribute {number}")
        return value.value

    def name(self) -> str:
        """Return NVIDIA's name of the device."""
        handle, text = ctypes.c_void_p(), ctypes.create_string_buffer(96)
        check(self.nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle)), "NVML, device 0")
        check(self.nvml.nvmlDeviceGetName(handle, text, 96), "NVML, name")
        return text.value.decode()


def loaded(prefix: str, function: str) -> ctypes.CDLL:
    """Return torch's library: the one with the function globally, else by file name."""
    everything = ctypes.CDLL(None)
    if hasattr(everything, function):
        return everything
    for line in Path("/proc/self/maps").read_text().splitlines():
        path = line.split(maxsplit=5)[-1]
        if Path(path).name.startswith(prefix):
            return ctypes.CDLL(path)
    raise CalibrationError(f"this torch has not loaded {prefix}: it needs a build with CUDA")


def _nvml() -> ctypes.CDLL:
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        raise CalibrationError("no NVIDIA driver here (libnvidia-ml.so.1): run on a GPU") from None
    check(nvml.nvmlInit_v2(), "nvmlInit")
    return nvml


def check(error: int, what: str) -> None:
    """Raise when a library returned an error."""
    if error != 0:
        raise CalibrationError(f"{what} failed with {error}")


def measure() -> dict[str, Any]:
    """Every value of this device, by its name in the data files."""
    import torch

    device = Device()
    idle_bytes = device.used_bytes()
    check(device.runtime.cudaFree(None), "cudaFree(0), which makes the context")
    constants = {"context_bytes": device.used_bytes() - idle_bytes}
    capacity_bytes = device.memory()[1]

    reserved = torch.cuda.memory_reserved()
    taken = device.taken_by(train_a_step) - (torch.cuda.memory_reserved() - reserved)

    # The code of the libraries is loaded now, so a handle takes only its own memory.
    blas = loaded("libcublas.so", "cublasCreate_v2")
    dnn = loaded("libcudnn.so", "cudnnCreate")
    nccl = loaded("libnccl.so", "ncclCommInitAll")
    handle, ranks = ctypes.c_void_p(), ctypes.c_void_p()
    makers: dict[str, Callable[[], int]] = {
        "cublas_handle_bytes": lambda: blas.cublasCreate_v2(ctypes.byref(handle)),
        "cudnn_handle_bytes": lambda: dnn.cudnnCreate(ctypes.byref(handle)),
        "nccl_communicator_bytes": lambda: nccl.ncclCommInitAll(ctypes.byref(ranks), 1, None),
    }
    for name, make in makers.items():
        constants[name] = device.taken_by(lambda name=name, make=make: check(make(), name))
    constants["first_launch_bytes"] = taken - CUBLAS_HANDLES * constants["cublas_handle_bytes"]
    return {
        "name": device.name(),
        "torch": torch.__version__,
        "constants": constants,
        "profile": {
            "capacity_bytes": capacity_bytes,
            **{name: device.attribute(number) for name, number in ATTRIBUTES.items()},
        },
        "cudnn": describe_by_cudnn(dnn),
    }


def train_a_step() -> None:
    """Load the same code as any training program."""
    import torch

    net = torch.nn.Linear(64, 64, device="cuda")
    net(torch.randn(8, 64, device="cuda")).sum().backward()
    torch.optim.AdamW(net.parameters()).step()


def describe_by_cudnn(dnn: ctypes.CDLL) -> dict[str, Any] | None:
    """cuDNN's description of the device, which lets it plan without one; None before 9.8."""
    numbers = _cudnn_numbers()
    if numbers is None:
        return None
    kind, device_attribute, json_attribute, int32, char = numbers
    descriptor, ordinal = ctypes.c_void_p(), ctypes.c_int32(0)
    count, text = ctypes.c_int64(), ctypes.create_string_buffer(1 << 20)
    steps = (
        lambda: dnn.cudnnBackendCreateDescriptor(kind, ctypes.byref(descriptor)),
        lambda: dnn.cudnnBackendSetAttribute(
            descriptor, device_attribute, int32, ctypes.c_int64(1), ctypes.byref(ordinal)
        ),
        lambda: dnn.cudnnBackendFinalize(descriptor),
        lambda: dnn.cudnnBackendGetAttribute(
            descriptor,
            json_attribute,
            char,
            ctypes.c_int64(len(text)),
            ctypes.byref(count),
            text,
        ),
    )
    for step in steps:
        if step() != 0:
            print("cuDNN gives no description of this device", file=sys.stderr)
            return None
    try:
        described: dict[str, Any] = json.loads(text.raw[: count.value].rstrip(b"\0"))
    except ValueError:
        print("cuDNN's description of this device is no JSON", file=sys.stderr)
        return None
    return described


def _cudnn_numbers() -> list[int] | None:
    """The enum values, from the headers of the wheels; None where there are none."""
    sys.path.insert(0, str(HERE))
    from generate.headers import parse, preprocess
    from generate.wheels import find_wheels

    constants = parse(preprocess(["cudnn.h"], find_wheels(sys.executable))).constants
    if any(name not in constants for name in CUDNN_NAMES):
        return None
    return [constants[name] for name in CUDNN_NAMES]


def driver_version() -> str:
    """Return the version of the driver, which the constants depend on."""
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "-i", "0"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def write(measured: dict[str, Any], folder: Path) -> list[str]:
    """Put the values into the data files; return the changes, line by line."""
    profiles_file, constants_file = folder / "profiles.json", folder / "calibration.json"
    profiles = json.loads(profiles_file.read_text())
    constants = json.loads(constants_file.read_text())
    known_bytes = _capacities(profiles_file)
    keys = [k for k, p in profiles["profiles"].items() if p["name"] == measured["name"]]
    if not keys:
        known = ", ".join(p["name"] for p in profiles["profiles"].values())
        raise CalibrationError(
            f"profiles.json has no device called '{measured['name']}' (it has {known}): add it"
        )
    source = (
        f"calibrate.py on {measured['name']}, driver {driver_version()}, torch {measured['torch']}"
    )
    # Two profiles with the same name differ in capacity.
    key = min(keys, key=lambda k: abs(known_bytes[k] - measured["profile"]["capacity_bytes"]))
    changed = put(profiles["profiles"][key], measured["profile"], source)
    changed += put(constants["devices"].setdefault(key, {}), measured["constants"], source)
    profiles_file.write_text(layout(profiles))
    constants_file.write_text(layout(constants))
    if measured["cudnn"] is not None:
        (folder / f"cudnn-{key}.json").write_text(json.dumps(measured["cudnn"], indent=1) + "\n")
    return [f"{key}: {line}" for line in changed]


def _capacities(profiles_file: Path) -> dict[str, int]:
    sys.path.insert(0, str(HERE))
    from generate.profiles import read_profiles

    profiles = read_profiles(profiles_file)
    return {key: profile["capacity_bytes"]["value"] for key, profile in profiles.items()}


def put(entries: dict[str, Any], values: dict[str, int], source: str) -> list[str]:
    """Replace entries by measured ones; return the changes."""
    changed = []
    for name, value in values.items():
        entry = entries.get(name)
        before = entry["value"] if isinstance(entry, dict) else entry
        entries[name] = {"value": value, "source": source, "status": "measured"}
        changed.append(f"{name} {before} -> {value}")
    return changed


def layout(document: dict[str, Any]) -> str:
    """JSON with one line for each value, so that changes can be read."""
    lines = ["{", f'  "about": {json.dumps(document["about"])},']
    sections = [name for name in document if name != "about"]
    for section in sections:
        lines.append(f'  "{section}": {{')
        lines += _joined([_entry(name, entry) for name, entry in document[section].items()])
        lines.append("  }" if section == sections[-1] else "  },")
    return "\n".join([*lines, "}"]) + "\n"


def _entry(name: str, entry: Any) -> str:
    if not isinstance(entry, dict) or "value" in entry:
        return f'    "{name}": {json.dumps(entry)}'
    inner = _joined([f'      "{key}": {json.dumps(value)}' for key, value in entry.items()])
    return "\n".join([f'    "{name}": {{', *inner, "    }"])


def _joined(entries: list[str]) -> list[str]:
    return [f"{entry}," for entry in entries[:-1]] + entries[-1:]


def main() -> int:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--into", type=Path, default=HERE, help="folder of the data files")
    args = parser.parse_args()
    try:
        import torch

        if not torch.cuda.is_available():
            raise CalibrationError("no GPU here: run this where the device to be measured is")
        changed = write(measure(), args.into)
    except CalibrationError as error:
        print(f"calibrate: error: {error}", file=sys.stderr)
        return 2
    print("\n".join(changed))
    print(f"Wrote {args.into / 'profiles.json'} and {args.into / 'calibration.json'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
