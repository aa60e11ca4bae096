"""Prints, as one JSON line, what a program can see of its own process after a training step.

Run with and without recording: where the two lines differ is what preload/VISIBLE.md lists. A name
in the list of modules, files or variables is one word.
"""

import atexit
import gc
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

seen: dict[str, Any] = {}
order: list[str] = []


def train() -> None:
    model = nn.Linear(8, 8).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(3):
        model(torch.zeros(4, 8, device="cuda")).sum().backward()
        optimizer.step()


def status(*names: str) -> dict[str, str]:
    lines = Path("/proc/self/status").read_text().splitlines()
    return {line.split(":")[0]: line for line in lines if line.split(":")[0] in names}


def open_files() -> list[str]:
    found = []
    for entry in Path("/proc/self/fd").iterdir():
        try:
            target = str(entry.readlink())
        except OSError:  # the one that lists
            continue
        found.append("an anonymous one" if ":[" in target else Path(target).name)
    return sorted(found)


def mapped_files() -> list[str]:
    lines = Path("/proc/self/maps").read_text().splitlines()
    return sorted({Path(line.split(maxsplit=5)[5]).name for line in lines if "/" in line})


def of_child(code: str) -> dict[str, Any]:
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    return {"status": result.returncode, "stdout": result.stdout, "stderr": result.stderr}


def forked() -> int:
    child = os.fork()
    if child == 0:
        os._exit(3 if len(threading.enumerate()) == 1 else 4)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def missing_program() -> str:
    try:
        subprocess.run(["no-such-program-anywhere"])
    except FileNotFoundError as error:
        return str(error)
    return "found"


def error_of(call: Callable[[], object]) -> list[str]:
    try:
        call()
    except Exception as error:  # noqa: BLE001
        frames = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
        text = f"{type(error).__name__} {str(error).split('process ')[0]} {frames}"
        return [text, repr(error.__context__)]
    return []


def raised() -> list[str]:
    texts = []
    for call in (
        lambda: torch.zeros(2).view(3),
        lambda: torch.zeros(2, device="cuda:77"),
        lambda: torch.empty(1 << 50, device="cuda"),
        lambda: torch.zeros(2, device="cuda") + torch.zeros(3, device="cuda"),
    ):
        texts += error_of(call)
    return texts


def signals() -> dict[str, Any]:
    delivered: list[int] = []
    old = signal.signal(signal.SIGUSR1, lambda number, frame: delivered.append(number))
    os.kill(os.getpid(), signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, old)
    known = [one for one in signal.valid_signals() if isinstance(one, signal.Signals)]
    handlers = {one.name: repr(signal.getsignal(one)).split(" at ")[0] for one in known}
    return {"delivered": delivered, "handlers": handlers, **status("SigBlk", "SigIgn", "SigCgt")}


def warned() -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn("one of ours", stacklevel=1)
        gc.collect()
        train()
    return sorted(str(one.message) for one in caught)


def interpreter() -> dict[str, Any]:
    return {
        "modules": sorted(sys.modules),
        "path": [entry for entry in sys.path if entry != str(Path.cwd())],
        "finders": [repr(finder).split(" at ")[0] for finder in sys.meta_path],
        "argv": sys.argv[1:],
        "trace": repr(sys.gettrace()),
        "profile": repr(sys.getprofile()),
        "hooks": [repr(sys.excepthook), repr(sys.unraisablehook), repr(threading.excepthook)],
        "switch": sys.getswitchinterval(),
        "recursion": sys.getrecursionlimit(),
        "collector": [gc.isenabled(), gc.get_threshold(), gc.callbacks, gc.get_freeze_count()],
        "exit callbacks": atexit._ncallbacks(),
    }


def main() -> None:
    atexit.register(order.append, "first")
    train()
    atexit.register(lambda: print(json.dumps({**seen, "order": order})))
    atexit.register(order.append, "last")
    seen.update(interpreter())
    seen["threads"] = [thread.name for thread in threading.enumerate()]
    seen["kernel threads"] = status("Threads")
    seen["signals"] = signals()
    seen["raised"] = raised()
    seen["missing program"] = missing_program()
    seen["child"] = of_child("print(1 + 1)")
    seen["fork"] = forked()
    seen["warned"] = warned()
    seen["descriptors"] = open_files()
    seen["mapped files"] = mapped_files()
    seen["environment"] = sorted(os.environ)
    seen["files"] = sorted(path.name for path in Path().iterdir())
    seen["limits"] = [resource.getrlimit(number) for number in range(16)]
    seen["umask"] = os.umask(0o22)
    seen["statistics"] = torch.cuda.memory_stats()
    seen["summary"] = torch.cuda.memory_summary()


if __name__ == "__main__":
    main()
