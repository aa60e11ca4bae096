"""The entry point of safe points: scans the program's objects when some may be new."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from types import CodeType, FrameType, ModuleType
from typing import Any

from .compiled import Compiler
from .holding import Holding
from .inputs import Inputs
from .modules import Modules
from .operators import Operators
from .optimizers import Optimizers
from .parameters import Parameters
from .process_groups import ProcessGroups
from .reading import Storages, children, classes_below
from .reporting import Reporting
from .signals import Signal

# Share of the run time that scans of all objects of the interpreter may take.
_SCAN_SHARE = 0.01
_MOST_CAUSES = 10  # of an exception; they may form a cycle
# Bypasses overrides in classes of the program.
_CAUSE = BaseException.__dict__["__cause__"]
_CONTEXT = BaseException.__dict__["__context__"]
_NAME = type.__dict__["__name__"]


class Objects:
    """The known modules, parameters and optimizers of the program."""

    def __init__(self, recorder: ModuleType, torch: ModuleType) -> None:
        """Begin without a scan."""
        self._module_class: type = torch.nn.Module
        self._optimizer_class: type = torch.optim.Optimizer
        self._without_torch_function = torch._C.DisableTorchFunction
        self._recorder = recorder
        self._modules = Modules(recorder)
        storages = Storages(recorder, torch)
        self._parameters = Parameters(recorder, storages)
        self._inputs = Inputs(recorder, self._modules, storages, torch.Tensor)
        self._optimizers = Optimizers(
            recorder, torch, self._parameters, self._scan, self._report_modules
        )
        self._compiler = Compiler(recorder, self._instances, self._graph_modules)
        self._process_groups = ProcessGroups(recorder)
        self._holding = Holding(recorder, self._report_everything)
        self._reporting = Reporting(recorder, self._report_everything)
        self._signal = Signal(
            recorder,
            self._reporting.report_ready,
            is_wanted=self._holding.is_on or self._reporting.is_on,
        )
        self.operators = Operators(recorder, torch)
        self.codes: list[CodeType] = []  # code of the modules' watched methods
        self._next_scan = 0.0
        self._busy = False
        self._missed = 0  # reasons that arrived while it was busy

    def safe_point(self, reasons: int) -> None:
        """Scan the program. Runs between two instructions of its main thread."""
        if self._busy:  # a signal arrived during a scan
            self._missed |= reasons
            return
        self._busy = True
        reasons |= self._missed
        self._missed = 0
        try:
            with self._without_torch_function():
                self._look(reasons)
        except Exception:  # errors must not reach the program
            pass
        finally:
            self._busy = False

    def watch_calls(self, codes: list[CodeType]) -> None:
        """Read the arguments of frames with this code: calls of modules."""
        self._inputs.codes = codes

    def connect_compiler(self) -> None:
        """Connect to torch's compiler if the program has imported it by now."""
        self._compiler.look()

    def _look(self, reasons: int) -> None:
        why = self._recorder
        self._compiler.look()
        everything = bool(reasons & (why.LAST_LOOK | why.OUT_OF_MEMORY | why.LOOK))
        if reasons & why.NEW_INSTANCE:
            self._name_replicas()
        if reasons & why.NEW_INSTANCE or everything:
            self._scan(bool(reasons & why.LAST_LOOK))
            self._inputs.report_running()
        if reasons & why.OPTIMIZER_STEP:
            self._optimizers.look_at_step()
        if everything:
            self._report_modules()
            self._optimizers.report_all()
            self._compiler.report()
        self._process_groups.report()
        self._signal.watch()
        self._reporting.look(reasons)  # before a search, which takes a while
        self._holding.look(reasons)
        if reasons & why.LAST_LOOK:
            self._signal.look_at_end()
            self._name_last_error()

    def _name_last_error(self) -> None:
        """Name the exception that ended the program, with its causes.

        The interpreter keeps it for debuggers after printing it.
        """
        error = sys.__dict__.get("last_exc") or sys.__dict__.get("last_value")
        names: list[str] = []
        while isinstance(error, BaseException) and len(names) < _MOST_CAUSES:
            names.append(_NAME.__get__(type(error)))
            error = _CAUSE.__get__(error) or _CONTEXT.__get__(error)
        if names:
            self._recorder.put_meta("ended_by", " from ".join(names))

    def _report_everything(self) -> None:
        self._scan(force=True)
        self._optimizers.report_all()

    def _report_modules(self) -> None:
        self._parameters.report_modules(self._modules)

    def _instances(self, addresses: set[int]) -> dict[int, int]:
        """Return the recorder's numbers of modules at these addresses; called as torch compiles."""
        known = {named.address: named.instance for named, _ in self._modules.alive()}
        if not addresses <= known.keys() and not self._busy:
            self._busy = True
            try:
                self._name_modules(as_torch_compiles=True)
            finally:
                self._busy = False
            known = {named.address: named.instance for named, _ in self._modules.alive()}
        return known

    def _graph_modules(self) -> list[Any]:
        return [module for _, module in self._modules.alive() if _is_traced(type(module))]

    def _name_running(self) -> None:
        """Name modules and operators running on this thread; a later scan finds their models."""
        self.operators.name_running()
        outermost = None
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            if frame.f_code in self.codes:
                outermost = frame.f_locals.get("self")
            frame = frame.f_back
        # The classes of a large program are many: search them for new modules only.
        if outermost is None or self._modules.instance_of(outermost):
            return
        if type(outermost) in classes_below(self._module_class):
            self._modules.name_unknown(outermost)

    def _name_replicas(self) -> None:
        """Name replicas, which live for one call; the frames of this waiting thread hold them."""
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            code = frame.f_code
            if code.co_name == "forward" and code.co_filename.endswith("data_parallel.py"):
                wrapper = frame.f_locals.get("self")
                replicas = frame.f_locals.get("replicas")
                if isinstance(wrapper, self._module_class) and isinstance(replicas, list):
                    self._modules.name_replicas(replicas, dict(children(wrapper)).get("module"))
            frame = frame.f_back

    def _scan(self, force: bool) -> None:
        """Name all modules and operators of the process, and remember its optimizers."""
        if time.monotonic() < self._next_scan and not force:
            self._name_running()
            return
        begin = time.thread_time()  # time of other threads does not count
        self._name_modules()
        self.operators.name_seen()
        self._report_modules()
        self._next_scan = time.monotonic() + (time.thread_time() - begin) / _SCAN_SHARE

    def _name_modules(self, *, as_torch_compiles: bool = False) -> None:
        module_types = classes_below(self._module_class)
        optimizer_types = classes_below(self._optimizer_class)
        for kind in module_types:
            self._recorder.watch_class(kind)
        modules = []
        for thing in self._recorder.objects_of([*module_types, *optimizer_types]):
            # type() does not call the object; isinstance() would call __class__ of proxies.
            kind = type(thing)
            if kind not in module_types:
                self._optimizers.remember(thing)
            elif not (as_torch_compiles and _is_traced(kind)):
                modules.append(thing)
        self._modules.name_all(modules)


def _is_traced(kind: type) -> bool:
    """Whether modules of this class are graphs, of which torch makes several as it compiles."""
    return any(base.__module__ == "torch.fx.graph_module" for base in kind.__mro__)


# These classes are at module level: a class made in a function is garbage, which programs may
# count.
class _Asking:
    def ask(self, recorder: ModuleType) -> int:
        return int(recorder.own_instance())


class _Mortal:
    def __del__(self) -> None:
        pass


def _reads_self(recorder: ModuleType) -> bool:
    """Return whether the recorder reads the first local variable of a frame correctly here."""
    asking = _Asking()
    recorder.watch_methods(_Asking.ask.__code__)
    try:
        return asking.ask(recorder) == id(asking)
    finally:
        recorder.watch_methods()


def _readable(methods: Iterable[Callable[..., Any] | None]) -> list[CodeType]:
    """Return the code of those methods that always keep ``self`` as first local variable."""
    codes = [getattr(method, "__code__", None) for method in methods]
    return [
        code
        for code in codes
        if code is not None and code.co_varnames[:1] == ("self",) and "self" not in code.co_cellvars
    ]


def connect(recorder: ModuleType) -> Callable[[int], None] | None:
    """Begin to watch torch's modules and operators; return the function for safe points.

    torch is already imported.
    """
    torch = sys.modules["torch"]
    if not all(hasattr(torch, name) for name in ("nn", "optim", "_ops")):
        return None
    recorder.learn_finalizer(_Mortal)  # without it no object can be named
    names = ("_wrapped_call_impl", "_apply")
    objects = Objects(recorder, torch)
    objects.connect_compiler()
    if _reads_self(recorder):
        objects.watch_calls(_readable([getattr(torch.nn.Module, names[0], None)]))
        objects.codes = _readable(getattr(torch.nn.Module, name, None) for name in names)
        operator_codes = _readable(objects.operators.methods())
        objects.operators.watched(operator_codes)
        recorder.watch_methods(*objects.codes, *operator_codes)
    return objects.safe_point
