"""What `make calibrate` and `make fidelity` do, on a device whose answers are known."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from simulated_gpu import ROOT, SimulatedGpu

SOURCES = ROOT / "preload" / "simulate" / "gpu"
sys.path.insert(0, str(SOURCES))
from generate.profiles import constants_of, read_profiles  # noqa: E402

CONSTANTS = {
    "context_bytes": 300 << 20,
    "first_launch_bytes": 6 << 20,
    "cublas_handle_bytes": 10 << 20,
    "cudnn_handle_bytes": 4 << 20,
    "nccl_communicator_bytes": 14 << 20,
}


def calibrate(simgpu: SimulatedGpu, folder: Path, device: str, **more: str) -> Any:
    for name in ("profiles.json", "calibration.json"):
        shutil.copy(SOURCES / name, folder)
    command = [sys.executable, str(SOURCES / "calibrate.py"), "--into", str(folder)]
    return simgpu.run(command, device, **more)


@pytest.fixture(scope="module")
def calibrated(simgpu: SimulatedGpu, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The data files after a calibration on a device with the constants above."""
    folder = tmp_path_factory.mktemp("calibrated")
    constants = ",".join(f"{name}={value}" for name, value in CONSTANTS.items())
    done = calibrate(simgpu, folder, "l4:20GiB", PEAKLINE_SIM_CONSTANTS=constants)
    assert done.returncode == 0, done.stderr
    return {
        "calibration.json": json.loads((folder / "calibration.json").read_text()),
        "profiles": read_profiles(folder / "profiles.json"),
        "said": done.stdout,
    }


def test_calibration_measures_the_constants_of_the_device(calibrated: dict[str, Any]) -> None:
    entries = calibrated["calibration.json"]["devices"]["l4"]
    assert {name: entry["value"] for name, entry in entries.items()} == CONSTANTS
    assert {entry["status"] for entry in entries.values()} == {"measured"}
    assert all("calibrate.py on NVIDIA L4" in entry["source"] for entry in entries.values())


def test_calibration_measures_the_profile_of_the_device(calibrated: dict[str, Any]) -> None:
    before, after = read_profiles(SOURCES / "profiles.json"), calibrated["profiles"]
    for profile in (before["l4"], after["l4"]):
        assert profile.pop("name") == "NVIDIA L4"
        assert profile.pop("is_integrated")["value"] == 0  # not measured
    assert after["l4"].pop("capacity_bytes")["value"] == 20 << 30
    before["l4"].pop("capacity_bytes")
    for name, entry in after["l4"].items():
        assert (name, entry["value"]) == (name, before["l4"][name]["value"])
        assert entry["status"] == "measured"
    others = set(before) - {"l4"}
    assert {key: after[key] for key in others} == {key: before[key] for key in others}


def test_calibration_keeps_the_layout_of_the_data_files() -> None:
    import calibrate as program

    for name in ("profiles.json", "calibration.json"):
        text = (SOURCES / name).read_text()
        assert program.layout(json.loads(text)) == text


def test_calibration_without_a_gpu_says_so(tmp_path: Path) -> None:
    command = [sys.executable, str(SOURCES / "calibrate.py"), "--into", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("calibrate: error: no GPU here")


def test_every_constant_of_a_device_has_a_source() -> None:
    profiles = read_profiles(SOURCES / "profiles.json")
    constants = json.loads((SOURCES / "calibration.json").read_text())
    for key in profiles:
        entries = constants_of(key, profiles, constants)
        assert set(entries) == set(CONSTANTS), key
        for name, entry in entries.items():
            assert len(entry["source"]) > 10, (key, name)
            assert entry["status"] in ("measured", "assumed"), (key, name)


def test_a_device_without_measured_constants_takes_those_of_a_similar_one() -> None:
    profiles = read_profiles(SOURCES / "profiles.json")
    constants = json.loads((SOURCES / "calibration.json").read_text())
    measured = constants["devices"]["h200"]

    def value(key: str, name: str) -> int:
        entry = constants_of(key, profiles, constants)[name]
        assert entry["status"] == ("measured" if key == "h200" else "assumed")
        return int(entry["value"])

    for name, entry in measured.items():
        assert [value(key, name) for key in ("h200", "h100", "gh200-96")] == [entry["value"]] * 3
    # 78 and 16 of 132 multiprocessors
    context = measured["context_bytes"]["value"]
    for key, part in (("h20", 78), ("h100:1g.10gb", 16)):
        assert context * part / 132 - (2 << 20) < value(key, "context_bytes")
        assert value(key, "context_bytes") <= context * part / 132


def test_fidelity_without_a_gpu_says_what_is_unknown(tmp_path: Path) -> None:
    program = ROOT / "tests" / "fidelity" / "fidelity.py"
    command = [sys.executable, str(program), "--models", "lstm", "--out", str(tmp_path / "t.md")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stderr
    assert "Unknown: how far these peaks are from a real device" in done.stdout
    rows = [line for line in (tmp_path / "t.md").read_text().splitlines() if "lstm" in line]
    assert [row.split("|")[2].strip() for row in rows] == ["allocated", "reserved", "outside torch"]
    assert all(row.endswith("| unknown | unknown |") for row in rows)


def test_fidelity_fails_when_a_peak_is_far_from_the_real_one() -> None:
    sys.path.insert(0, str(ROOT / "tests" / "fidelity"))
    import fidelity

    def verdict(simulated: int, real: int, gpu: str = "NVIDIA H200") -> int:
        sides = {
            "simulated": {"allocated": simulated, "reserved": 100, "outside torch": 5},
            "real": {"allocated": real, "reserved": 100, "outside torch": 50} if gpu else {},
        }
        return fidelity.verdict({"model": sides}, gpu)

    assert verdict(1019, 1000) == 0
    assert verdict(1020, 1000) == 1
    assert verdict(980, 1000) == 1
    assert verdict(1000, 1000, gpu="") == 3
    assert fidelity.verdict({"m": {"simulated": {"failed": "x"}, "real": {}}}, "") == 1
