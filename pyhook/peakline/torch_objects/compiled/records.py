"""Writes what is known of compiled code into the trace, as facts about the run.

| key | value, one line each |
| --- | --- |
| ``inductor:FILE:LINE`` | the first kernel that receives the buffer which this line makes |
| ``compiled:code:CODE`` | file, first line, last line, name and module of a compiled function |
| ``compiled:frame:FRAME`` | file, line, function |
| ``compiled:line:CODE:LINE:FILE`` | how it was found; module; frames; fused operators |

A frame is a number, a module the number of an instance, 0 for none. Frames begin with the line of
the compiled function. The report puts them into the stacks
(report/trace/definitions/compiled_code.cpp).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import CodeType, ModuleType
from typing import Any

from .choosing import Choice
from .graphs import Chain

# Lines of generated code in one trace.
_MAX_LINES = 20_000


def _joined(*parts: object) -> str:
    return "\n".join(str(part).replace("\n", " ") for part in parts)


def code_facts(code: CodeType) -> tuple[str, int, int, str]:
    """Return file, lines and name of a function, as its frames have them."""
    lines = [line for _, _, line in code.co_lines() if line]
    return (
        code.co_filename,
        code.co_firstlineno,
        max(lines, default=code.co_firstlineno),
        code.co_name,
    )


class Records:
    """The facts of all compiled code, written again into each new trace."""

    def __init__(self, recorder: ModuleType) -> None:
        """Begin with no fact."""
        self._recorder = recorder
        self._facts: dict[str, str] = {}
        self._numbers: dict[Any, int] = {}
        self._line_count = 0
        self._trace = ""

    @property
    def are_full(self) -> bool:
        """Whether no more lines are taken."""
        return self._line_count >= _MAX_LINES

    def write_all(self) -> None:
        """Write everything if another trace began."""
        trace = self._recorder.trace_path()
        if trace != self._trace:
            self._trace = trace
            for key, value in self._facts.items():
                self._recorder.put_meta(key, value)

    def put_kernels(self, file: str, kernels: Iterable[tuple[int, str]]) -> None:
        """Add the kernels of a generated file."""
        for line, kernel in kernels:
            self._put(f"inductor:{file}:{line}", kernel)
            self._line_count += 1

    def put_lines(
        self,
        file: str,
        code: tuple[str, int, int, str],
        own: int,
        choices: Iterable[Choice],
        numbers: Mapping[int, int],
    ) -> None:
        """Add the lines of a generated file that serves a compiled function of module ``own``.

        `numbers`: of modules by their addresses.
        """
        number = self._number("code", (*code, own))
        for choice in choices:
            if not choice.how:
                continue
            module = numbers.get(choice.modules[-1], 0) if choice.modules else 0
            self._put(
                f"compiled:line:{number}:{choice.line}:{file}",
                _joined(
                    choice.how,
                    module,
                    self._frames(choice.chain),
                    ", ".join(choice.operators),
                ),
            )
            self._line_count += 1

    def _frames(self, chain: Chain) -> str:
        return " ".join(str(self._number("frame", frame[:3])) for frame in chain)

    def _number(self, kind: str, parts: tuple[object, ...]) -> int:
        number = self._numbers.get((kind, parts))
        if number is None:
            number = self._numbers[(kind, parts)] = len(self._numbers) + 1
            self._put(f"compiled:{kind}:{number}", _joined(*parts))
        return number

    def _put(self, key: str, value: str) -> None:
        if self._facts.get(key) != value:
            self._facts[key] = value
            self._recorder.put_meta(key, value)
