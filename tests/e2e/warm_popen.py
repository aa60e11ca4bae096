"""Popen that takes a forked child of a warm process (warm.py) in place of a new process.

Only for Python: programs on the simulated GPU, `-m peakline` and `-m pytest`, where nothing differs
in the environment that is read before CUDA is used. The rest is started as always, and so is the
first process of an environment: a warm one takes as long to start.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import py_compile
import select
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

_HERE = Path(__file__).resolve().parent
# Any optimizer imports torch._dynamo, which takes as long as torch does.
_FOR_PROGRAMS = ("torch", "torch.fx.experimental.symbolic_shapes", "torch._dynamo")
# pytest wants to import what it tests by itself.
_FOR_COMMANDS = {"peakline": ("warm_commands",), "pytest": ("pytest",)}
_LONGEST_ADDRESS = 100  # of a socket
ENDED = "ended"  # file with a line for each that ended before its session
# First words of a server.
READY = b"ready"
NOT_HERE = b"not here"  # the kernel lets no process set its command line

# Read as Python, libraries or torch are loaded.
_OF_PYTHON = ("PYTHON", "LD_", "LANG", "LC_")
_EARLY = (*_OF_PYTHON, "HOME", "TMPDIR", "MALLOC", "PEAKLINE_", "PYTORCH_", "TORCH_", "CUDA_")
_EARLY += ("TORCHDYNAMO", "TORCHINDUCTOR", "TRITON_", "OMP_", "MKL_")
_LATE = {
    *("PEAKLINE_OUTPUT", "PEAKLINE_RUN_ID", "PEAKLINE_STDERR", "PEAKLINE_RUN_NOTES"),
    *("PEAKLINE_BACKEND", "PEAKLINE_STACKS", "PEAKLINE_FREES", "PEAKLINE_SAVED"),
    *("PEAKLINE_KEEP", "PEAKLINE_HOLD"),
    *("PEAKLINE_FILE_MODE", "PEAKLINE_NO_COMMAND", "PEAKLINE_ASSUME", "PEAKLINE_MAX_VALUE_READS"),
    *("PEAKLINE_SIM_WRITES", "PEAKLINE_SIM_READS", "PEAKLINE_SIM_JOB", "PEAKLINE_SIM_GROUP"),
    "PEAKLINE_PYTEST",
}
# Programs that differ in these are children of different warm processes.
_OF_ITS_OWN = {"LD_PRELOAD", "PYTHONPATH", "TRITON_LIBCUDA_PATH", "OMP_NUM_THREADS"}
_OF_ITS_OWN |= {"PEAKLINE_SIM_DEVICE", "PEAKLINE_SIMULATED", "PEAKLINE_SIM_COMPANION"}
_OF_ITS_OWN |= {"PEAKLINE_SIM_RANK_ALONE", "TORCHINDUCTOR_CACHE_DIR"}


def _is_early(name: str) -> bool:
    return name.startswith(_EARLY) and name not in _LATE and not name.startswith("PEAKLINE_TEST_")


class Warmth:
    """The warm processes of a session, by their sockets in a folder."""

    def __init__(self, folder: Path, usual: Mapping[str, str]) -> None:
        """`usual`: the environment that processes have unless something else is asked for."""
        self._folder = folder
        self._usual = dict(usual)

    def hold(self) -> None:
        """Keep the warm processes until this one ends."""
        self._lease = (self._folder / "lease").open("a")
        fcntl.flock(self._lease, fcntl.LOCK_SH)

    def connect(self, words: Sequence[str], environment: Mapping[str, str]) -> socket.socket | None:
        """Return a connection to one that has a child for this; None: start it as always."""
        if words[0] != sys.executable:
            return None
        names = filter(_is_early, environment.keys() | self._usual.keys())
        differ = {one for one in names if environment.get(one, "") != self._usual.get(one, "")}
        words = words[2:] if words[1:2] == ["-u"] else words[1:]
        if "PEAKLINE_SIM_DEVICE" not in environment:
            modules = _FOR_COMMANDS.get(words[1]) if words[:1] == ["-m"] else None
            is_usual = not any(name.startswith(_OF_PYTHON) for name in differ)
            return self._connect_to(modules, self._usual) if modules and is_usual else None
        is_program = words and (words[0] in ("-m", "-c") or _is_script(words[0]))
        if not is_program or differ - _OF_ITS_OWN:
            return None
        return self._connect_to(_FOR_PROGRAMS, environment)

    def _connect_to(
        self, modules: Sequence[str], environment: Mapping[str, str]
    ) -> socket.socket | None:
        early = {name: environment[name] for name in sorted(filter(_is_early, environment))}
        name = hashlib.sha256(json.dumps([modules, early]).encode()).hexdigest()[:16]
        address = str(self._folder / name)
        if len(address) > _LONGEST_ADDRESS:
            return None
        with (self._folder / f"{name}.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            asked = self._folder / f"{name}.asked"
            if not asked.exists():
                asked.touch()
                return None
            if Path(address).exists():
                with suppress(ConnectionRefusedError):
                    return _connected(address)
                self._note_an_end(name, modules)
                Path(address).unlink()
            late = {k: v for k, v in self._usual.items() if not _is_early(k)}
            started = self._start(name, modules, {**late, **early})
            return _connected(address) if started else None

    def _note_an_end(self, name: str, modules: Sequence[str]) -> None:
        """Note for the end of the session that a warm process ended, which none should."""
        said = (self._folder / f"{name}.log").read_text(errors="replace").strip()
        with (self._folder / ENDED).open("a") as notes:
            notes.write(f"{name} of {modules[-1]}: {said or 'nothing said'}\n")

    def _start(self, name: str, modules: Sequence[str], environment: Mapping[str, str]) -> bool:
        compiled = self._folder / f"{name}.pyc"
        py_compile.compile(
            str(_HERE / "warm.py"), str(compiled), dfile="<frozen warm>", doraise=True
        )
        words = [sys.executable, str(compiled), str(_HERE), str(self._folder), name, *modules]
        log = self._folder / f"{name}.log"
        with log.open("wb") as errors:
            server = _Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment,
                start_new_session=True,
            )
        server.wait()
        answer = server.stdout.readline().strip()
        if not answer:
            raise RuntimeError(f"no warm process: {words}\n{log.read_text()}")
        return answer == READY


def _connected(address: str) -> socket.socket:
    asker = socket.socket(socket.AF_UNIX)
    try:
        asker.connect(address)
    except BaseException:
        asker.close()
        raise
    return asker


def _is_script(word: str) -> bool:
    return word.endswith(".py") and Path(word).is_file()


_Popen = subprocess.Popen


class WarmPopen(_Popen):
    """A process that may be a child of a warm one; for its caller it is as any other."""

    warmth: ClassVar[Warmth | None] = None
    _asker: socket.socket | None = None
    _answer = b""

    def _execute_child(self, args: Any, executable: Any, *rest: Any) -> None:
        before, _, given, cwd, env, _, _, shell, *pipes_and_rest = rest
        pipes, has_own_session = pipes_and_rest[:6], pipes_and_rest[11]
        environment = dict(os.environ if env is None else env)
        if self.warmth and not (executable or before or given or shell or isinstance(args, str)):
            words = list(map(os.fspath, args))
            self._asker = self.warmth.connect(words, environment)
        if self._asker is None:
            super()._execute_child(args, executable, *rest)
            return
        request = {
            "words": words,
            "folder": str(Path(cwd or ".").resolve()),
            "environment": environment,
            "has_own_session": has_own_session,
        }
        streams = [
            own if own >= 0 else usual for usual, own in enumerate((pipes[0], pipes[3], pipes[5]))
        ]
        data = json.dumps(request).encode() + b"\n"
        sent = socket.send_fds(self._asker, [data], streams)
        self._asker.sendall(data[sent:])
        self.pid = self._next_answer(None)
        self._child_created = True
        self._close_pipe_fds(*pipes)

    def _internal_poll(self, *more: Any, **named: Any) -> int | None:
        if self._asker is None or self.returncode is not None:
            return super()._internal_poll(*more, **named)
        self.returncode = self._next_answer(0)
        return self.returncode

    def _wait(self, timeout: float | None) -> int:
        if self._asker is None or self.returncode is not None:
            return super()._wait(timeout)
        self.returncode = self._next_answer(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(self.args, timeout)
        return self.returncode

    def _next_answer(self, seconds: float | None) -> int | None:
        """Return the next number from the warm process; None where time is over."""
        while b"\n" not in self._answer:
            if not select.select([self._asker], [], [], seconds)[0]:
                return None
            more = self._asker.recv(64)
            if not more:
                raise RuntimeError(f"the warm process of {self.args} has ended")
            self._answer += more
        line, _, self._answer = self._answer.partition(b"\n")
        return int(line)


def run_to_its_end(
    start: type[subprocess.Popen[str]], words: Sequence[str], seconds: float, **how: Any
) -> subprocess.CompletedProcess[str]:
    """Like subprocess.run, with a Popen to choose, and both outputs captured."""
    pipes = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
    with start(words, text=True, **pipes, **how) as process:
        try:
            said = process.communicate(timeout=seconds)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(words, process.returncode, *said)
