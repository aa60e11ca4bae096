"""The loop of warm.py: forks a child for each request, and reports its process id and its status.

A child gets the words, folder, environment and first three descriptors of the request, and looks
from outside like the process that would have been started: its command line is the program's. Each
session that may ask holds a shared lock of FOLDER/lease; the server ends when nobody does.
"""

from __future__ import annotations

import ctypes
import fcntl
import gc
import importlib
import io
import json
import os
import selectors
import socket
import struct
import subprocess
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import CodeType
from typing import Any

import warm_popen

_PR_SET_MM, _PR_SET_MM_MAP = 35, 14
_SECONDS_BETWEEN_LOOKS = 3.0
_kept: list[Any] = []  # memory that the kernel reads


def next_program(variables: dict[str, Any]) -> CodeType:
    """Serve until nobody may ask any more; return in each child with what it runs as __main__."""
    folder, name, *modules = sys.argv[1:]
    # Its programs are no descendants of the test that happened to be first: some look at theirs.
    if os.fork():
        os._exit(0)
    try:
        _set_command_line(sys.orig_argv)
    except OSError:
        _say(warm_popen.NOT_HERE)
        sys.exit()
    warm_popen.WarmPopen.warmth = warm_popen.Warmth(Path(folder), os.environ)
    for module in modules[:-1]:
        importlib.import_module(module)
    # To search these for cycles at its end would take each child a second. Not those of the last:
    # triton, which it imports, complains of what is left.
    gc.freeze()
    importlib.import_module(modules[-1])
    request, descriptors = _serve(Path(folder), name)
    return _become(request, descriptors, variables)


def _say(word: bytes) -> None:
    os.write(1, word + b"\n")


def _serve(folder: Path, name: str) -> tuple[dict[str, Any], list[int]]:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / name))
    listener.listen(64)
    _say(warm_popen.READY)
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    running: dict[int, tuple[int, socket.socket]] = {}  # by a descriptor of the process
    while True:
        ready = selector.select(_SECONDS_BETWEEN_LOOKS)
        if not ready and not running and _is_over(folder / "lease"):
            sys.exit()
        for key, _ in ready:
            if key.fileobj is not listener:
                selector.unregister(key.fileobj)
                process, asker = running.pop(key.fd)
                os.close(key.fd)
                _report(asker, os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
                asker.close()
                continue
            asker, _ = listener.accept()
            request, descriptors = _read(asker)
            process = os.fork() if request else None
            if process == 0:
                for one in [asker, listener, selector, *(other for _, other in running.values())]:
                    one.close()
                for descriptor in running:
                    os.close(descriptor)
                return request, descriptors
            for descriptor in descriptors:
                os.close(descriptor)
            if process is None:
                asker.close()
                continue
            handle = os.pidfd_open(process)
            running[handle] = process, asker
            selector.register(handle, selectors.EVENT_READ)
            _report(asker, process)


def _is_over(lease: Path) -> bool:
    try:
        with lease.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except FileNotFoundError:
        return True
    return True


def _read(asker: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """Return a request and its descriptors; no request where who asked has ended."""
    data, descriptors = b"", []
    with suppress(ConnectionError):
        data, descriptors, _, _ = socket.recv_fds(asker, 1 << 16, 3)
        while not data.endswith(b"\n"):
            more = asker.recv(1 << 16)
            if not more:
                break
            data += more
    return json.loads(data) if data.endswith(b"\n") else None, list(descriptors)


def _report(asker: socket.socket, number: int) -> None:
    with suppress(OSError):  # who asked may have ended
        asker.sendall(b"%d\n" % number)


def _become(request: dict[str, Any], descriptors: list[int], variables: dict[str, Any]) -> CodeType:
    """Make this process the one that was asked for; `variables` become those of its __main__."""
    if request["has_own_session"]:
        os.setsid()
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.orig_argv = request["words"]
    _set_command_line(sys.orig_argv)
    _correct_the_preload()
    is_unbuffered = sys.orig_argv[1] == "-u"
    _open_streams(is_unbuffered)
    kept = {key: variables[key] for key in ("__name__", "__builtins__", "__loader__")}
    variables.clear()
    variables.update(kept, __doc__=None, __package__=None, __spec__=None)
    first, *arguments = sys.orig_argv[2 if is_unbuffered else 1 :]
    if first == "-c":
        sys.path[0] = ""
        sys.argv = ["-c", *arguments[1:]]
        return compile(arguments[0], "<string>", "exec", dont_inherit=True)
    if first == "-m":
        # `peakline`, pytest and launchers of ranks start programs.
        subprocess.Popen = warm_popen.WarmPopen
        sys.path[0] = request["folder"]
        found = find_spec(arguments[0])
        if found.submodule_search_locations:
            found = find_spec(f"{arguments[0]}.__main__")
        variables.update(__spec__=found, __package__=found.parent)
        first, *arguments = [found.origin, *arguments[1:]]
    else:
        sys.path[0] = str(Path(first).resolve().parent)
    variables["__file__"] = first
    sys.argv = [first, *arguments]
    return compile(Path(first).read_bytes(), first, "exec", dont_inherit=True)


def _open_streams(is_unbuffered: bool) -> None:
    """Open standard input, output and error as Python does at its start."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        before = getattr(sys, name)
        through = is_unbuffered and mode == "w"
        file = os.fdopen(number, f"{mode}b", 0 if through else -1, closefd=False)
        getattr(file, "raw", file).name = f"<{name}>"
        by_line = name == "stderr" or file.isatty()
        stream = io.TextIOWrapper(file, before.encoding, before.errors, None, by_line, through)
        stream.mode = mode
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _set_command_line(words: list[str]) -> None:
    """Let /proc/self/cmdline say these words."""
    data = b"".join(os.fsencode(word) + b"\0" for word in words)
    buffer = ctypes.create_string_buffer(data, len(data))
    _kept.append(buffer)
    stat = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    code_and_data, stack, environment = stat[23:25] + stat[42:45], stat[25], stat[47:49]
    libc = ctypes.CDLL(None, use_errno=True)
    libc.sbrk.restype = ctypes.c_void_p
    begin = ctypes.addressof(buffer)
    layout = [*code_and_data, libc.sbrk(0), stack, begin, begin + len(data), *environment]
    memory_map = struct.pack("11QQIi", *map(int, layout), 0, 0, -1)
    size = ctypes.c_ulong(len(memory_map))
    wanted = ctypes.c_ulong(_PR_SET_MM_MAP)
    if libc.prctl(_PR_SET_MM, wanted, ctypes.c_char_p(memory_map), size, ctypes.c_ulong(0)):
        raise OSError(ctypes.get_errno(), "the command line of a process cannot be set")


def _correct_the_preload() -> None:
    """Note again what the preloaded library notes as a process starts."""
    process = ctypes.CDLL(None)
    if not hasattr(process, "peakline_start_folder"):
        return
    process.peakline_start_folder.restype = ctypes.c_void_p
    folder = os.fsencode(Path.cwd()) + b"\0"
    ctypes.memmove(process.peakline_start_folder(), folder, len(folder))
    first_error = (ctypes.c_uint64 * 2).in_dll(process, "peakline_first_standard_error")
    if given := os.environ.get("PEAKLINE_STDERR"):
        first_error[:] = [int(part, 16) for part in given.split(":")]
    else:
        status = os.fstat(2)
        first_error[:] = [status.st_dev, status.st_ino]
