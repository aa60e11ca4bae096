"""The programs that can be attached to: what is known of a process from outside."""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path

from peakline.attaching.exported import Function, functions_of, mapped_files
from peakline.base.engine import CommandError
from peakline.base.processes import descendants
from peakline.builds.native_build import TorchInstallation, installation_in

ADD_CALL, RUN_TEXT = "Py_AddPendingCall", "PyRun_SimpleString"
WAIT = "PyThread_acquire_lock_timed"
MAP, UNMAP = "mmap", "munmap"
_OF_PYTHON = frozenset({ADD_CALL, RUN_TEXT, WAIT})
_OF_LIBC = frozenset({MAP, UNMAP})
_PYTHON_FILE = re.compile(r"(libpython3[^/]*|python3?(\.\d+)?t?)$")
_LIBC_FILE = re.compile(r"(libc\.so\.6|libc-2[^/]*\.so)$")
_OLDEST = 10  # Python 3.10
_TORCH_FILE = "/torch/lib/libtorch_cuda.so"


@dataclass(frozen=True)
class Target:
    """A running Python program that has loaded torch's CUDA library."""

    pid: int
    functions: dict[str, Function]
    torch: Path  # the folder of torch

    def installation(self) -> TorchInstallation:
        """Return the torch of the program."""
        return installation_in(self.torch, f"/proc/{self.pid}/exe")


def targets_of(pid: int) -> list[Target]:
    """Return the programs with torch among a process and its descendants, its own first.

    Raises:
        CommandError: there are none, with the reason for the process itself.
    """
    if platform.machine() != "x86_64":
        raise CommandError("peakline attach needs an x86-64 machine: use peakline run")
    tried = [_target_or_error(one) for one in [pid, *descendants(pid)]]
    found = [one for one in tried if isinstance(one, Target)]
    if not found and isinstance(tried[0], CommandError):
        raise tried[0]
    return found


def _target_or_error(pid: int) -> Target | CommandError:
    try:
        return _target(pid)
    except CommandError as error:
        return error


def _target(pid: int) -> Target:
    _check_process(pid)
    try:
        files = mapped_files(pid)
    except OSError as error:
        raise CommandError(f"process {pid} cannot be read: {_reason(error)}") from None
    functions = callable_functions(pid, files)
    if missing := sorted({ADD_CALL, RUN_TEXT, MAP, UNMAP} - functions.keys()):
        raise CommandError(
            f"process {pid} is no Python program that can be attached to: no {missing[0]} in it"
        )
    torch = next((file for file in files if file.endswith(_TORCH_FILE)), "")
    if not torch:
        raise CommandError(f"process {pid} has not imported torch (with CUDA)")
    return Target(pid, functions, Path(torch).parents[1])


def callable_functions(pid: int, files: list[str]) -> dict[str, Function]:
    """Return the functions of Python and of the C library that are called in a program.

    Raises:
        CommandError: this Python is too old.
    """
    functions: dict[str, Function] = {}
    for file in files:
        name = file.rpartition("/")[2]
        if _PYTHON_FILE.search(name):
            version = re.search(r"python3\.(\d+)", name)
            if version and int(version[1]) < _OLDEST:
                raise CommandError(
                    f"process {pid} runs Python 3.{version[1]}: peakline needs 3.{_OLDEST} or newer"
                )
            functions |= functions_of(pid, file, _OF_PYTHON)
        elif _LIBC_FILE.search(name):
            functions |= functions_of(pid, file, _OF_LIBC)
    return functions


def _check_process(pid: int) -> None:
    if not Path(f"/proc/{pid}").is_dir():
        raise CommandError(f"there is no process {pid}")
    if pid == os.getpid():
        raise CommandError("peakline attach cannot attach to itself")
    try:
        inside = os.readlink(f"/proc/{pid}/ns/mnt")  # noqa: PTH115
    except OSError as error:
        raise CommandError(f"process {pid} cannot be read: {_reason(error)}") from None
    if inside != os.readlink("/proc/self/ns/mnt"):  # noqa: PTH115
        raise CommandError(
            f"process {pid} runs in another container: attach from inside it, where peakline is"
            " installed, too"
        )


def _reason(error: OSError) -> str:
    if isinstance(error, PermissionError):
        return "it belongs to another user: attach as that user, or as root"
    return str(error.strerror)
