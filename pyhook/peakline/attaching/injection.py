"""Calls functions in a running process, on its main thread, by ptrace(2). x86-64 only.

The thread is stopped where it is, its registers and its signal mask are kept, and each call returns
to address 0, where the kernel stops the thread again. Then registers and mask are put back, and the
thread goes on: an interrupted system call begins again, as after any stop of a debugger. Other
threads run on meanwhile.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_SEIZE, _INTERRUPT, _CONT, _DETACH = 0x4206, 0x4207, 7, 17
_POKEDATA, _GETREGS, _SETREGS = 5, 12, 13
_GETREGSET, _SETREGSET = 0x4204, 0x4205
_GETSIGMASK, _SETSIGMASK = 0x420A, 0x420B
_EVENT_STOP = 128
_NT_X86_XSTATE = 0x202
_WALL = 0x40000000
_MOST_XSTATE = 1 << 16
_RED_ZONE = 128
_CALL_SECONDS = 2.0
_STOP_SECONDS = 10.0
_FUTEX = 202
# Signals that an instruction raises cannot be held back.
_RAISED = (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGTRAP)
_STACK_WORDS = 128

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.restype = ctypes.c_long
_libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


class _Registers(ctypes.Structure):
    """struct user_regs_struct of <sys/user.h>."""

    _fields_ = [
        (name, ctypes.c_uint64)
        for name in (
            *("r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9", "r8", "rax", "rcx"),
            *("rdx", "rsi", "rdi", "orig_rax", "rip", "cs", "eflags", "rsp", "ss", "fs_base"),
            *("gs_base", "ds", "es", "fs", "gs"),
        )
    ]


class _Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


class InjectionError(Exception):
    """The call was not made, or did not end; the thread goes on as it was."""


class StoppedThread:
    """The stopped main thread of a process, for the time of a `with stopped(pid)` block."""

    def __init__(self, pid: int) -> None:
        """Keep the registers of a thread that is stopped."""
        self._pid = pid
        self._kept = _Registers()
        _ptrace(_GETREGS, pid, 0, ctypes.addressof(self._kept))
        self._vector_bytes = ctypes.create_string_buffer(_MOST_XSTATE)
        self._vector = _Vector(ctypes.addressof(self._vector_bytes), _MOST_XSTATE)
        _ptrace(_GETREGSET, pid, _NT_X86_XSTATE, ctypes.addressof(self._vector))
        self._mask = ctypes.c_uint64()
        _ptrace(_GETSIGMASK, pid, 8, ctypes.addressof(self._mask))

    def call(self, address: int, *arguments: int) -> int:
        """Call a function with up to six whole numbers, and return what it returns.

        Raises:
            InjectionError: it did not return in time, or the process ended.
        """
        now = _Registers.from_buffer_copy(self._kept)
        for name, value in zip(("rdi", "rsi", "rdx", "rcx", "r8", "r9"), arguments, strict=False):
            setattr(now, name, value & (1 << 64) - 1)
        # As after a call instruction: the return address, 0, is at a multiple of 16 less 8.
        now.rsp = ((self._kept.rsp - _RED_ZONE) & ~15) - 8
        self._poke(now.rsp, bytes(8))
        now.rip, now.rax = address, 0
        now.orig_rax = (1 << 64) - 1  # no system call begins again here
        now.eflags &= ~0x400  # the direction flag is clear at a call
        _ptrace(_SETREGS, self._pid, 0, ctypes.addressof(now))
        held = ctypes.c_uint64(~sum(1 << one - 1 for one in _RAISED) & (1 << 64) - 1)
        _ptrace(_SETSIGMASK, self._pid, 8, ctypes.addressof(held))
        try:
            return self._result(now)
        finally:
            self.restore()

    def _result(self, now: _Registers) -> int:
        """Run until the call has returned to address 0."""
        is_stop_wanted = False
        _ptrace(_CONT, self._pid, 0, 0)
        while True:
            status = _next_stop(self._pid, _CALL_SECONDS)
            is_late = status is None
            if status is None:
                _ptrace(_INTERRUPT, self._pid, 0, 0)
                _, status = os.waitpid(self._pid, _WALL)
            _ptrace(_GETREGS, self._pid, 0, ctypes.addressof(now))
            if os.WSTOPSIG(status) == signal.SIGSEGV and now.rip == 0:
                break
            # Ctrl-Z cannot be held back, but it can wait.
            is_stop_wanted |= os.WSTOPSIG(status) == signal.SIGSTOP
            if is_late or not (is_stop_wanted or status >> 16 == _EVENT_STOP):
                raise InjectionError(f"a call in it did not return (status {status:#x})")
            _ptrace(_CONT, self._pid, 0, 0)
        if is_stop_wanted:
            os.kill(self._pid, signal.SIGSTOP)
        return int(now.rax)

    def write(self, address: int, data: bytes) -> None:
        """Write bytes into the memory of the process."""
        padded = data + bytes(-len(data) % 8)
        for at in range(0, len(padded), 8):
            self._poke(address + at, padded[at : at + 8])

    def waits_in(self, begin: int, size: int) -> bool:
        """Return whether this function waits on a futex: a word of the stack leads into it."""
        restarts = range((1 << 64) - 516, (1 << 64) - 511)  # -ERESTART...
        if self._kept.orig_rax != _FUTEX or self._kept.rax not in restarts:
            return False
        with Path(f"/proc/{self._pid}/mem").open("rb") as memory:
            memory.seek(self._kept.rsp)
            stack = memory.read(8 * _STACK_WORDS)
        words = (int.from_bytes(stack[at : at + 8], "little") for at in range(0, len(stack), 8))
        return any(begin < word < begin + size for word in words)

    def interrupt_wait(self) -> None:
        """Let the system call that the thread waits in return EINTR, as a signal would."""
        self._kept.rax = (1 << 64) - errno.EINTR
        self._kept.orig_rax = (1 << 64) - 1
        self.restore()

    def restore(self) -> None:
        """Put registers and signal mask back."""
        _ptrace(_SETREGS, self._pid, 0, ctypes.addressof(self._kept))
        _ptrace(_SETREGSET, self._pid, _NT_X86_XSTATE, ctypes.addressof(self._vector))
        _ptrace(_SETSIGMASK, self._pid, 8, ctypes.addressof(self._mask))

    def _poke(self, address: int, word: bytes) -> None:
        _ptrace(_POKEDATA, self._pid, address, int.from_bytes(word, "little"))


@contextmanager
def stopped(pid: int) -> Iterator[StoppedThread]:
    """Stop the main thread of a process for a block; it goes on after it, whatever happens.

    Signals that would end us are held back meanwhile.

    Raises:
        InjectionError: the thread cannot be stopped, with the reason.
        PermissionError: ptrace is not allowed.
        ProcessLookupError: there is no such process.
    """
    everything = signal.valid_signals()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, everything)
    try:
        _ptrace(_SEIZE, pid, 0, 0)
        try:
            _stop(pid)
            yield StoppedThread(pid)
        finally:
            with suppress(ProcessLookupError):  # it ended, or does not stop: see _stop
                _ptrace(_DETACH, pid, 0, 0)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _stop(pid: int) -> None:
    """Wait until the thread has stopped; signals that come first are delivered.

    A thread that the kernel does not let go stops later: the process that traces it must end then.
    """
    _ptrace(_INTERRUPT, pid, 0, 0)
    while True:
        status = _next_stop(pid, _STOP_SECONDS)
        if status is None:
            raise InjectionError("it is in a system call that cannot be interrupted: try again")
        delivered = os.WSTOPSIG(status)
        if status >> 16 == _EVENT_STOP:
            if delivered != signal.SIGTRAP:
                raise InjectionError("it is stopped by a signal: continue it first (kill -CONT)")
            return
        _ptrace(_CONT, pid, 0, delivered)


def _next_stop(pid: int, seconds: float) -> int | None:
    """Return the status of the next stop of the thread (ptrace(2)); None if there is none in time.

    Raises:
        InjectionError: the process ended.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found, status = os.waitpid(pid, os.WNOHANG | _WALL)
        if found and (os.WIFEXITED(status) or os.WIFSIGNALED(status)):
            raise InjectionError("it ended")
        if found:
            return status
        time.sleep(0.0002)
    return None


def _ptrace(request: int, pid: int, address: int, data: int) -> None:
    if _libc.ptrace(request, pid, address, data) == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
