"""Asks running programs to begin or end a recording, and waits for their answers.

The main thread of a program is stopped for about a millisecond: it notes one call with
Py_AddPendingCall(), which Python makes between two bytecodes. This call only starts a thread, which
does the work (in_program.py) and writes its answer into a file.
"""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from peakline.attaching.injection import InjectionError, stopped
from peakline.attaching.targets import ADD_CALL, MAP, RUN_TEXT, UNMAP, WAIT, Target
from peakline.base.engine import CommandError
from peakline.base.output import json_text

_PAGE = 4096
_READ_WRITE, _PRIVATE_ANONYMOUS = 3, 0x22
_SCRIPT = Path(__file__).with_name("in_program.py")
_PACKAGES = Path(__file__).parents[2]
_LOOK_SECONDS = 0.02
_SILENT_SECONDS = 3.0
_NAME = "peakline_attach"  # of the namespace of our script
# Python makes a noted call when it runs bytecode. A launcher may wait in native code for ever: it
# is waited for no longer than this, once other programs have begun.
_SECONDS_FOR_LAUNCHERS = 3.0


@dataclass(frozen=True)
class Answer:
    """The answer of a program (see peakline.api.attached); None: it did not answer in time."""

    target: Target
    facts: dict[str, Any] | None


def ask(
    targets: Sequence[Target],
    request_for: Callable[[Target], dict[str, object]],
    seconds: float,
    say_waiting: Callable[[list[int]], None],
) -> list[Answer]:
    """Ask programs at the same time, and return their answers in the order of the programs.

    Args:
        targets: the programs.
        request_for: the request for one of them, see peakline.api.attached.
        seconds: how long to wait for answers; later the request is taken back.
        say_waiting: called once with the programs that have not answered after three seconds.

    Raises:
        CommandError: the folder for temporary files has too long a name.
    """
    with TemporaryDirectory(prefix="peakline-attach-") as name:
        folder = Path(name)
        # The programs, which may be of another user when we are root, write their answers there.
        folder.chmod(0o1777 if os.geteuid() == 0 else 0o700)
        asked = [_asked(one, request_for(one), folder) for one in targets]
        try:
            _wait(targets, folder, seconds, say_waiting)
        finally:
            # Without its file a request that was not begun does nothing any more.
            for one in targets:
                _script_of(one, folder).unlink(missing_ok=True)
        answers = [Answer(one, _answer_of(one, folder)) for one in targets]
    for answer, address in zip(answers, asked, strict=True):
        if address and answer.facts is not None:
            _unmap(answer.target, address)
    return answers


def _script_of(target: Target, folder: Path) -> Path:
    return folder / f"{target.pid}.py"


def _answer_file(target: Target, folder: Path) -> Path:
    return folder / f"{target.pid}.json"


def _asked(target: Target, request: dict[str, object], folder: Path) -> int:
    """Ask one program; return the address of the text of the call in it, 0 if it cannot be asked.

    The reason is then its answer: others may be asked.
    """
    try:
        return _note_call(target, request, folder)
    except InjectionError as error:
        problem = str(error)
    except OSError as error:
        problem = _why_not(target.pid, error)
    _answer_file(target, folder).write_text(json_text({"problem": problem}))
    return 0


def _note_call(target: Target, request: dict[str, object], folder: Path) -> int:
    """Let the program call our script; return the address of the text of the call in it."""
    whole = {"package": str(_PACKAGES), "answer": str(_answer_file(target, folder)), **request}
    script = _script_of(target, folder)
    script.write_text(f"{_SCRIPT.read_text(encoding='utf-8')}\nmain({whole!r})\n")
    text = _text_of_call(script).encode("utf-8", "surrogateescape") + b"\0"
    if len(text) > _PAGE:
        raise CommandError(f"the folder for temporary files has too long a name: {folder}")
    functions = target.functions
    with stopped(target.pid) as thread:
        address = thread.call(
            functions[MAP].address, 0, _PAGE, _READ_WRITE, _PRIVATE_ANONYMOUS, -1, 0
        )
        if address % _PAGE or not address:
            raise InjectionError("it has no memory left")
        thread.write(address, text)
        run = functions[RUN_TEXT].address
        if thread.call(functions[ADD_CALL].address, run, address) & 0xFFFFFFFF:
            raise InjectionError("it runs no Python code, and other calls wait in it")
        wait = functions.get(WAIT)
        if wait and thread.waits_in(wait.address, wait.size):
            thread.interrupt_wait()  # as a signal does; Python makes the call, and waits again
    return address


def _text_of_call(script: Path) -> str:
    """Return the text that the main thread runs: it starts a thread, and never raises.

    PyRun_SimpleString() runs it in `__main__`, so it assigns no name there. Ctrl-C at this moment
    is handed on.
    """
    read = f"exec(compile(open({str(script)!r}).read(), {str(_SCRIPT)!r}, 'exec'))"
    on_thread = f"try:\n {read}\nexcept BaseException:\n pass"  # as if it were not asked
    start = (
        "import _thread\n"
        f"try:\n _thread.start_new_thread(exec, ({on_thread!r}, {{'__name__': {_NAME!r}}}))\n"
        "except KeyboardInterrupt:\n _thread.interrupt_main()\n"
        "except BaseException:\n pass"
    )
    return f"exec({start!r}, {{}})"


def _wait(
    targets: Sequence[Target],
    folder: Path,
    seconds: float,
    say_waiting: Callable[[list[int]], None],
) -> None:
    begin = time.monotonic()
    has_named_them = False
    while waiting := [one for one in targets if _is_awaited(one, folder)]:
        seconds_now = time.monotonic() - begin
        idle = [one.pid for one in waiting if not _begun(one, folder).exists()]
        others_begun = len(idle) < len(targets)
        is_only_launchers = others_begun and len(idle) == len(waiting)
        if seconds_now > (min(seconds, _SECONDS_FOR_LAUNCHERS) if is_only_launchers else seconds):
            return
        if idle and not others_begun and not has_named_them and seconds_now > _SILENT_SECONDS:
            say_waiting(idle)
            has_named_them = True
        time.sleep(_LOOK_SECONDS)


def _is_awaited(target: Target, folder: Path) -> bool:
    return Path(f"/proc/{target.pid}").is_dir() and not _answer_file(target, folder).exists()


def _begun(target: Target, folder: Path) -> Path:
    return folder / f"{target.pid}.json.begun"


def _answer_of(target: Target, folder: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(_answer_file(target, folder).read_text())
    except FileNotFoundError:
        return None
    return found


def _unmap(target: Target, address: int) -> None:
    # Else it ended, or keeps a page more.
    with suppress(InjectionError, OSError), stopped(target.pid) as thread:
        thread.call(target.functions[UNMAP].address, address, _PAGE)


def _why_not(pid: int, error: OSError) -> str:
    if error.errno == errno.ESRCH:
        return "it ended"
    if error.errno != errno.EPERM:
        return str(error.strerror)
    status = Path(f"/proc/{pid}/status").read_text()
    tracer = status.partition("TracerPid:")[2].split()[0]
    if tracer != "0":
        return f"process {tracer} traces it (a debugger, or strace): end that first"
    scope = Path("/proc/sys/kernel/yama/ptrace_scope")
    if scope.exists() and scope.read_text().strip() != "0":
        return (
            "ptrace is not allowed here (kernel.yama.ptrace_scope is"
            f" {scope.read_text().strip()}): use sudo, or sudo sysctl kernel.yama.ptrace_scope=0"
        )
    return (
        "ptrace is not allowed: attach as the user of the process or as root; a container needs"
        " --cap-add=SYS_PTRACE"
    )
