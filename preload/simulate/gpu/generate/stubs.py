"""Writes the C text of functions that no source defines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from .headers import Declarations, is_const_pointee, prototype
from .libraries import Library, Policy

_SUPPORT = """\
extern void peakline_sim_not_modelled(const char*, const char*);
extern void peakline_sim_called(const char*);
extern void* peakline_sim_new_handle(unsigned long);
extern void peakline_sim_free_handle(void*);
extern void peakline_sim_set_stream(void*, void*);
extern void* peakline_sim_stream_of(void*);
extern void peakline_sim_work_on_handle(void*);
extern void peakline_sim_work_on_stream(void*);
extern void peakline_sim_zero_output(void*, unsigned long);
"""
# Calls on a handle that set up or query something, rather than start work.
_NO_WORK = re.compile(
    r"Create|Destroy|Set|Get|[bB]uffer[sS]ize|Descr|Version|Init|Query|Free|Alloc"
)
_MAKES_HANDLE = re.compile(r"Create|Init|create")


@dataclass(frozen=True)
class Stubs:
    """Generated text, and the kind of each function."""

    text: str
    generated: tuple[str, ...]


def write_stubs(
    library: Library, names: list[str], modelled: set[str], declarations: Declarations
) -> Stubs:
    """Stubs for every exported name without a hand-written function."""
    # The library still exports what its header defines inline, for programs built before.
    inline = sorted(declarations.inline_functions.intersection(names))
    lines = [f"#define {name} peakline_inline_{name}" for name in inline]
    lines += [f"#include <{header}>" for header in library.headers]
    lines += [f"#undef {name}" for name in inline]
    lines.append(_SUPPORT)
    generated: list[str] = []
    for name in names:
        if name in modelled:
            continue
        generated.append(name)
        base = re.sub(r"_pt[sd][sz]$", "", name)
        if base != name and (base in modelled or base in names):
            lines.append(alias(name, base))
            continue
        function = declarations.functions.get(name)
        if function is None or library.policy is Policy.REFUSE:
            value = declarations.constants[library.not_supported]
            lines.append(refusal(name, value, library.not_supported, prefix="peakline_stub_"))
        else:
            lines.append(_compute_stub(name, function, library, declarations))
    return Stubs("\n".join(lines) + "\n", tuple(generated))


def alias(name: str, target: str) -> str:
    """A second name for a function; per-thread variants differ only in the default stream."""
    return (
        f'__asm__(".text\\n.globl {name}\\n.type {name},@function\\n'
        f'{name}: jmp {target}@PLT\\n.size {name}, .-{name}\\n");'
    )


def refusal(name: str, value: int, error_name: str, prefix: str) -> str:
    """Reports, once, that the call is not modelled, and returns the error.

    The C name differs from the symbol, so that the header's prototype need not be repeated.
    """
    return (
        f'long {prefix}{name}(void) __asm__("{name}");\n'
        f'long {prefix}{name}(void) {{ peakline_sim_not_modelled("{name}", "{error_name}"); '
        f"return {value}; }}"
    )


def _compute_stub(name: str, function: Any, library: Library, declarations: Declarations) -> str:
    head, parameters = prototype(name, function)
    if "..." in head:
        value = declarations.constants[library.not_supported]
        return refusal(name, value, library.not_supported, prefix="peakline_stub_")
    body = _stream_and_handle_calls(name, parameters, declarations)
    body += [
        call
        for index, parameter in enumerate(parameters)
        if (call := _output_call(name, index, parameter.type, declarations))
    ]
    body.append(f'peakline_sim_called("{name}");')
    body.append(_return_statement(function, library))
    return f"{head} {{ {' '.join(body)} }}"


def _type_name(node: Any) -> str:
    if isinstance(node, c_ast.TypeDecl) and isinstance(node.type, c_ast.IdentifierType):
        return str(node.type.names[0])
    return ""


def _stream_and_handle_calls(
    name: str, parameters: list[Any], declarations: Declarations
) -> list[str]:
    if not parameters:
        return []
    first = parameters[0].type
    is_handle = declarations.is_opaque_pointer(first)
    types = [_type_name(parameter.type) for parameter in parameters]
    if is_handle and "SetStream" in name and types[1:] == ["cudaStream_t"]:
        return ["peakline_sim_set_stream((void*)a0, a1);"]
    if is_handle and "GetStream" in name and len(parameters) == 2:
        return ["*a1 = peakline_sim_stream_of((void*)a0);"]
    if is_handle and re.search(r"[dD]estroy", name) and len(parameters) == 1:
        return ["peakline_sim_free_handle((void*)a0);"]
    if _NO_WORK.search(name):
        return []
    if "cudaStream_t" in types:
        return [f"peakline_sim_work_on_stream(a{types.index('cudaStream_t')});"]
    return ["peakline_sim_work_on_handle((void*)a0);"] if is_handle else []


def _output_call(name: str, index: int, node: Any, declarations: Declarations) -> str | None:
    if not isinstance(node, c_ast.PtrDecl) or is_const_pointee(node):
        return None
    if "GetStream" in name:
        return None
    pointee = node.type
    if declarations.is_opaque_pointer(pointee):
        if _MAKES_HANDLE.search(name):
            return f"if (a{index}) *(void**)a{index} = peakline_sim_new_handle(512);"
        return f"peakline_sim_zero_output(a{index}, sizeof(void*));"
    if declarations.is_scalar(pointee):
        return f"peakline_sim_zero_output(a{index}, sizeof(*a{index}));"
    return None


def _return_statement(function: Any, library: Library) -> str:
    if isinstance(function.type, c_ast.PtrDecl):
        return 'return (void*)"";'
    if _type_name(function.type) == "void":
        return "return;"
    return "return 0;"
