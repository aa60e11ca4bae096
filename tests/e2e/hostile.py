"""Hostile names for tests: a text that tries everything, traces full of it, what may be written.

`HOSTILE` has commands to a terminal that nobody else gives (7777), so one that is found comes from
it; the word FORGED follows everything that might end a line.
"""

from __future__ import annotations

import os
import pty
import re
import struct
import sys
import termios
import traceback
from collections.abc import Sequence
from fcntl import ioctl
from pathlib import Path

HOSTILE = (
    "=\x1b[7777mA\x1b]7777;B\x07\x9b7777mC\x08\r\nFORGED\x85FORGED\u2028FORGED\u202eD\u2066\u2069"
    "\u200f\u061c\x7f[bold]E\u00e9"
)
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# What rich writes: colours, and of its progress bars and screens the moves of the cursor.
_OF_RICH = re.compile(r"\x1b\[[0-9;?]*[A-KhlmsuJ]")
_REWIND = re.compile(r"\r(?=\x1b\[|$)")  # before a line is drawn once more
_FORGED = re.compile(r"^\s*FORGED", re.MULTILINE)

_SUPERBLOCK, _CHUNK, _HEADER = 4096, 256 * 1024, 128
_DEFS, _STRING, _META = 1, 1, 11
_SEALED_AT, _COMMITTED_AT = 6, 64
_FILLED = re.compile(rb"aten::|float|long|/.*\.so")


def problems_of(written: bytes, *, is_terminal: bool = False) -> list[str]:
    """Return what a text must not hold, each with its surroundings."""
    text = written.decode()
    if is_terminal:
        text = text.replace("\r\n", "\n")
        text = _REWIND.sub("", text)
        text = _OF_RICH.sub(lambda found: found[0] if "7777" in found[0] else "", text)
    found = [*_UNSAFE.finditer(text), *_FORGED.finditer(text)]
    return [repr(text[max(one.start() - 60, 0) : one.end() + 20]) for one in found]


def run_here(words: Sequence[str], *, columns: int = 0, cwd: Path) -> tuple[int, bytes]:
    """Run `peakline` in a child of this process: it costs no start of Python.

    With `columns` on a terminal, else with a pipe. Returns the status, and both streams together.
    """
    if columns:
        process, ours = pty.fork()
    else:
        ours, theirs = os.pipe()
        process = os.fork()
    if process == 0:
        if not columns:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(theirs, 1)
            os.dup2(theirs, 2)
        _run_and_exit(words, cwd)
    if columns:
        ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 60, columns, 0, 0))
        os.write(ours, b"q")  # what ends a screen
    else:
        os.close(theirs)
    written = _read_all(ours)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), written


def _run_and_exit(words: Sequence[str], cwd: Path) -> None:
    status = 99
    try:
        os.chdir(cwd)
        sys.stdin, sys.stdout, sys.stderr = (
            open(number, mode, encoding="utf-8", closefd=False)  # noqa: PTH123, SIM115
            for number, mode in ((0, "r"), (1, "w"), (2, "w"))
        )
        from peakline.commands import main

        status = main(words)
    except SystemExit as end:
        status = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _read_all(file: int) -> bytes:
    written = b""
    while True:
        try:
            part = os.read(file, 1 << 16)
        except OSError:  # a terminal that nobody writes to any more
            part = b""
        if not part:
            os.close(file)
            return written
        written += part


def fill_with_names(trace: Path, hostile: str, *, keep: Sequence[str] = ()) -> None:
    """Put a hostile text behind operators, types, libraries and facts of a trace.

    Facts of these names stay, and those that are numbers.
    """
    data = bytearray(trace.read_bytes())
    for start in range(_SUPERBLOCK, len(data), _CHUNK):
        [kind] = struct.unpack_from("<H", data, start + 4)
        [size] = struct.unpack_from("<I", data, start + _COMMITTED_AT)
        if kind != _DEFS:
            continue
        begin = start + _HEADER
        filled = _filled(bytes(data[begin : begin + size]), hostile.encode(), keep)
        assert len(filled) <= _CHUNK - _HEADER, "the definitions no longer fit into their chunk"
        data[begin : begin + len(filled)] = filled
        struct.pack_into("<I", data, start + _COMMITTED_AT, len(filled))
        struct.pack_into("<H", data, start + _SEALED_AT, 0)  # it has no checksum
    trace.write_bytes(data)


def _filled(payload: bytes, hostile: bytes, keep: Sequence[str]) -> bytes:
    out, at = b"", 0
    while at < len(payload):
        kind, at = _number(payload, at)
        size, at = _number(payload, at)
        body = payload[at : at + size]
        at += size
        if kind == _STRING and _FILLED.match(body):
            body += hostile
        elif kind == _META:
            key_size, begin = _number(body, 0)
            key, value = body[begin : begin + key_size].decode(), body[begin + key_size :]
            if key not in keep and not re.fullmatch(rb"[0-9.]*", value):
                body += hostile
        out += _coded(kind) + _coded(len(body)) + body
    return out


def _number(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _coded(value: int) -> bytes:
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])
