"""The call that `peakline attach` makes in a running program, in every Python of this machine."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
from interpreters import PYENV
from peakline.attaching.exported import mapped_files
from peakline.attaching.requests import ask
from peakline.attaching.targets import Target, callable_functions, targets_of
from peakline.base.engine import CommandError

WAITS = {
    "bytecode": "n = 0\nwhile True:\n n += 1\n if n % 100000 == 0: time.sleep(0.01)",
    "lock": "lock = threading.Lock()\nlock.acquire()\nlock.acquire()",
    "sleep": "while True: time.sleep(0.1)",
}


@pytest.mark.parametrize("wait", WAITS)
def test_a_running_program_makes_the_call_and_goes_on(interpreter: Path, wait: str) -> None:
    code = f"import time, threading\nprint(1, flush=True)\n{WAITS[wait]}"
    words = [str(interpreter), "-c", code]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        time.sleep(0.2)
        functions = callable_functions(process.pid, mapped_files(process.pid))
        for _ in range(5):
            target = Target(process.pid, functions, Path("/"))
            [answer] = ask([target], lambda _: {"action": "begin"}, 20, lambda _: None)
            assert answer.facts == {"problem": "it has not imported torch"}
        assert process.poll() is None
        state = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]
        assert state in "RS"
        process.kill()
        assert process.communicate() == (b"", b"")


def test_an_old_python_is_refused() -> None:
    old = next(PYENV.glob("3.[6-9].*/bin/python3"), None)
    if old is None:
        pytest.skip("no Python before 3.10 on this machine")
    words = [str(old), "-c", "print(1, flush=True); import time; time.sleep(60)"]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        with pytest.raises(CommandError, match=r"runs Python 3\.\d: peakline needs 3\.10 or newer"):
            targets_of(process.pid)
        process.kill()
