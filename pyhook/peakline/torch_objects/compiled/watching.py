"""Notices what torch compiles, through the hooks that torch offers for it.

A hook of Dynamo sees the traced graph when a function was compiled; callbacks see the graph of a
backward pass that is compiled later. Both only read, and nothing of the program is kept but text
and numbers. A failure of ours never reaches torch.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, ModuleType
from typing import Any

from .choosing import GRAPH, Choice, Chooser, KeptLines
from .equal_graphs import moved
from .fx_modules import FxCode, fx_codes
from .generated_files import GeneratedFile
from .graphs import Chain, Graph
from .kernel_modules import KernelModules, Saved, are_known, forward_results
from .records import Records, code_facts

# Longer files are not read.
_MAX_FILE_BYTES = 4 << 20
# Frames between a hook and the compiler's frame that has the graph.
_MAX_DEPTH = 12
_MAX_COMPILES = 1000


def _frames_above(depth: int) -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(2)
    for _ in range(depth):
        if frame is None:
            return
        yield frame
        frame = frame.f_back


def _local(name: str) -> Any:
    """Return the innermost local variable of this name in the calling frames."""
    for frame in _frames_above(_MAX_DEPTH):
        if name in frame.f_code.co_varnames or name in frame.f_code.co_cellvars:
            value = frame.f_locals.get(name)
            if value is not None:
                return value
    return None


class _Compiled:
    """A function that Dynamo compiled."""

    def __init__(self, code: tuple[str, int, int, str], own: int, graph: Graph) -> None:
        self.code = code
        self.own = own  # the address of its module; 0: none
        self.graph = graph
        # Numbers of its modules by addresses, which other objects may have later.
        self.numbers: dict[int, int] = {}
        self.forward: list[Saved] | None = None


class _Served:
    """The lines of a generated file for the first function that it serves."""

    def __init__(self, graph: Graph, choices: list[Choice]) -> None:
        self.graph = graph
        self.choices = choices


class Compiler:
    """Reports the lines of compiled code."""

    def __init__(
        self,
        recorder: ModuleType,
        instances: Callable[[set[int]], dict[int, int]],
        graph_modules: Callable[[], list[Any]],
    ) -> None:
        """`instances` names modules by their addresses; `graph_modules` are those of torch.fx."""
        self._recorder = recorder
        self._instances = instances
        self._graph_modules = graph_modules
        self._fx_files: set[str] = set()
        self._records = Records(recorder)
        self._compiled: dict[str, _Compiled] = {}  # by compile id
        self._served: dict[str, _Served] = {}  # by generated file
        self._backward: Graph | None = None
        self._is_hooked = False
        self._read_modules = 0
        self._hits = 0

    def look(self) -> None:
        """Connect to the compiler once it is imported; called at every safe point."""
        convert_frame = sys.modules.get("torch._dynamo.convert_frame")
        register = getattr(convert_frame, "register_bytecode_hook", None)
        if register is not None and not self._is_hooked:
            self._is_hooked = True
            register(self._function_compiled)
            self._register_callbacks()

    def report(self) -> None:
        """Write the facts into a new trace, and those of files that no hook showed."""
        self._records.write_all()
        for module in self._new_modules():
            self._report_file(module, self._read(module), None)
        for code in fx_codes(self._graph_modules(), self._fx_files):
            self._report_fx(code)

    def _report_fx(self, code: FxCode) -> None:
        for function, choices in code.functions():
            modules = {address for choice in choices for address in choice.modules[-1:]}
            if code.is_exported:
                self._put_lines(code.file, function, 0, choices)
            elif (compiled := self._compiled_as(function, modules)) is not None:
                own = compiled.numbers.get(compiled.own, 0)
                self._records.put_lines(code.file, compiled.code, own, choices, compiled.numbers)
            else:
                self._records.put_lines(code.file, function, 0, choices, {})

    def _compiled_as(
        self, function: tuple[str, int, int, str], modules: set[int]
    ) -> _Compiled | None:
        """Return what was compiled from this function, with these modules."""
        for compiled in self._compiled.values():
            is_it = compiled.code[0] == function[0] and compiled.code[3] == function[3]
            if is_it and modules <= compiled.graph.modules:
                return compiled
        return None

    def _register_callbacks(self) -> None:
        # torch._dynamo.reset() removes callbacks, but no hooks.
        callbacks = sys.modules.get("torch._dynamo.callback")
        handler = getattr(callbacks, "callback_handler", None)
        if handler is not None:
            for kept, ours in (
                (handler.start_callbacks, self._compile_begins),
                (handler.end_callbacks, self._compile_ends),
            ):
                if ours not in kept:
                    kept.append(ours)

    def _function_compiled(self, code: CodeType, _: CodeType) -> None:
        try:
            self._register_callbacks()
            output = _local("output")
            graph = Graph(output.graph)
            compiled = _Compiled(code_facts(code), self._own_module(code, output), graph)
            if len(self._compiled) < _MAX_COMPILES:
                self._compiled[self._compile_id()] = compiled
            if not self._report_new(compiled, [graph]):  # not by inductor
                wanted = graph.modules | ({compiled.own} if compiled.own else set())
                compiled.numbers = self._instances(wanted)
        except Exception:  # errors must not reach the program
            pass

    def _compile_begins(self, _: Any) -> None:
        try:
            module = _local("bw_module")
            self._backward = Graph(module.graph) if module is not None else None
        except Exception:
            self._backward = None

    def _compile_ends(self, arguments: Any) -> None:
        try:
            backward, self._backward = self._backward, None
            compiled = self._compiled.get(str(arguments.compile_id))
            if backward is not None and compiled is not None:
                self._report_new(compiled, [backward, compiled.graph])
        except Exception:
            pass

    @staticmethod
    def _compile_id() -> str:
        return str(sys.modules["torch._guards"].CompileContext.current_compile_id())

    @staticmethod
    def _own_module(code: CodeType, output: Any) -> int:
        """Return the address of the module that was compiled with its method; 0: none."""
        scope = getattr(output, "local_scope", None) or {}
        own = scope.get(code.co_varnames[0]) if code.co_argcount else None
        return id(own) if hasattr(type(own), "named_modules") else 0

    def _new_modules(self) -> list[ModuleType]:
        """Return the generated files that were loaded since the last call."""
        codecache = sys.modules.get("torch._inductor.codecache")
        loaded = codecache.PyCodeCache.modules if codecache is not None else []
        if len(loaded) < self._read_modules:  # the program emptied it
            self._read_modules = 0
        new = loaded[self._read_modules :]
        self._read_modules = len(loaded)
        return [module for module in new if "call" in vars(module)]

    def _is_from_cache(self) -> bool:
        """Whether torch found compiled code in a cache since the last call."""
        utils = sys.modules.get("torch._dynamo.utils")
        counters = getattr(utils, "counters", None) or {}
        hits = sum(
            int(counters[group].get(name, 0))
            for group, name in (
                ("inductor", "fxgraph_cache_hit"),
                ("aot_autograd", "autograd_cache_hit"),
            )
            if group in counters
        )
        before, self._hits = self._hits, hits
        return hits != before

    def _report_new(self, compiled: _Compiled, graphs: list[Graph]) -> bool:
        """Report the generated files of a function; return whether there are any."""
        is_new = not self._is_from_cache()
        modules = self._new_modules()
        files = [self._read(module) for module in modules]
        compiled.forward = compiled.forward or forward_results(files)
        for module, file in zip(modules, files, strict=True):
            self._report_file(module, file, compiled, graphs, is_new=is_new)
        return bool(modules)

    def _report_file(
        self,
        module: ModuleType,
        generated: GeneratedFile,
        compiled: _Compiled | None,
        graphs: list[Graph] | None = None,
        *,
        is_new: bool = False,
    ) -> None:
        file = getattr(module, "__file__", None)
        if not file or self._records.are_full:
            return
        self._records.put_kernels(file, generated.kernels())
        codecache = sys.modules["torch._inductor.codecache"]
        kept = KeptLines(codecache.PyCodeCache.linemaps.get(file) or ())
        if compiled is None or graphs is None:
            compiled = self._unseen(kept)
            graphs = [compiled.graph] if compiled is not None else []
        if compiled is None:
            return
        earlier = self._served.get(file)
        chooser = Chooser(kept, graphs, is_new=is_new)
        choices = list(chooser.choose(generated))
        if not are_known(choices):
            forward = compiled.forward if generated.is_backward else None
            found = KernelModules(compiled.graph, generated, forward)
            choices = found.moved(choices, chooser.line_at)
        if earlier is not None:
            choices = moved(choices, earlier.choices, earlier.graph, compiled.graph)
        elif all(choice.how == GRAPH for choice in choices):
            self._served[file] = _Served(compiled.graph, choices)
        self._put_lines(file, compiled.code, compiled.own, choices)

    def _put_lines(
        self, file: str, code: tuple[str, int, int, str], own: int, choices: list[Choice]
    ) -> None:
        wanted = {address for choice in choices for address in choice.modules[-1:]}
        numbers = self._instances(wanted | ({own} if own else set()))
        self._records.put_lines(file, code, numbers.get(own, 0), choices, numbers)

    def _read(self, module: ModuleType) -> GeneratedFile:
        """Read a generated file. Without launches: it is gone, as a cache may be emptied."""
        file = getattr(module, "__file__", None)
        return GeneratedFile(self._lines_of(file) if file else [])

    def _lines_of(self, file: str) -> list[str]:
        text: bytes = self._recorder.read_file(file, _MAX_FILE_BYTES)
        return text.decode(errors="replace").splitlines()

    def _unseen(self, kept: KeptLines) -> _Compiled | None:
        """Return what the kept lines tell of a function that was compiled before our hook."""
        texts: dict[str, list[str]] = {}
        standing: list[Chain] = []
        for chain in kept.all:
            for frame in chain:
                if frame.file not in texts:
                    texts[frame.file] = self._lines_of(frame.file)
            if all(
                0 < frame.line <= len(texts[frame.file])
                and texts[frame.file][frame.line - 1].strip() == frame.text
                for frame in chain
            ):
                standing.append(chain)
        functions = {(chain[0].file, chain[0].function) for chain in standing}
        if len(functions) != 1:
            return None
        file, name = functions.pop()
        last = max(chain[0].line for chain in standing)
        return _Compiled((file, 0, last, name), 0, Graph.of_chains(standing))
