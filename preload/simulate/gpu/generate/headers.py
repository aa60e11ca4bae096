"""Parses the public C headers of a library: prototypes, types and enum constants."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .wheels import BuildError, Wheels

try:
    from pycparser import c_ast, c_generator, c_parser
except ImportError as missing:
    raise BuildError(
        "building the simulated GPU needs pycparser: pip install pycparser"
    ) from missing

# The system headers use these extensions of C99. A parser of declarations needs none of them.
_IGNORED = [
    "-D__attribute__(x)=",
    "-D__extension__=",
    "-D__inline=",
    "-D__inline__=",
    "-D__restrict=",
    "-D__restrict__=",
    "-D__asm__(x)=",
    "-D__volatile__(...)=",
    "-D__builtin_va_list=int",
    "-D_Float16=short",
    "-D__float128=double",
    "-D_Float128=double",
    "-D_Float32=float",
    "-D_Float64=double",
    "-D_Float32x=double",
    "-D_Float64x=double",
]


@dataclass
class Declarations:
    """Declarations in the headers of one library."""

    functions: dict[str, Any] = field(default_factory=dict)
    typedefs: dict[str, Any] = field(default_factory=dict)
    constants: dict[str, int] = field(default_factory=dict)
    enums: dict[str, dict[str, int]] = field(default_factory=dict)
    # Defined in the header itself, over a symbol of another name.
    inline_functions: set[str] = field(default_factory=set)

    def resolve(self, node: Any) -> Any:
        """Follow typedefs down to a pointer, struct, enum or basic type."""
        while True:
            if isinstance(node, c_ast.TypeDecl):
                node = node.type
            elif isinstance(node, c_ast.IdentifierType) and node.names[0] in self.typedefs:
                node = self.typedefs[node.names[0]]
            else:
                return node

    def is_opaque_pointer(self, node: Any) -> bool:
        """A handle: a typedef of a pointer to a struct or to void."""
        target = self.resolve(node)
        if not isinstance(target, c_ast.PtrDecl) or isinstance(node, c_ast.PtrDecl):
            return False
        inner = self.resolve(target.type)
        is_void = isinstance(inner, c_ast.IdentifierType) and inner.names == ["void"]
        return isinstance(inner, c_ast.Struct) or is_void

    def is_scalar(self, node: Any) -> bool:
        """A number or an enum, not void, not a struct."""
        target = self.resolve(node)
        if isinstance(target, c_ast.Enum):
            return True
        return isinstance(target, c_ast.IdentifierType) and target.names != ["void"]


def preprocess(headers: list[str], wheels: Wheels, flags: tuple[str, ...] = ()) -> str:
    """The declarations of the headers as one text."""
    includes = [flag for directory in wheels.include_dirs for flag in ("-I", str(directory))]
    source = "".join(f"#include <{name}>\n" for name in headers)
    command = ["g++", "-x", "c", "-std=c99", "-E", "-P", *flags, *_IGNORED, *includes, "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BuildError(f"the headers {', '.join(headers)} cannot be read:\n{done.stderr[:2000]}")
    return _declarations_only(done.stdout)


def _declarations_only(text: str) -> str:
    text = re.sub(r"\b_Static_assert\s*\(.*?\);", "", text, flags=re.S)
    text = re.sub(r"\[\[.*?\]\]", "", text)
    pieces: list[str] = []
    end = 0
    for match in re.finditer(r"\)\s*\{", text):
        if match.start() < end:
            continue
        depth, position = 1, match.end()
        while depth and position < len(text):
            depth += {"{": 1, "}": -1}.get(text[position], 0)
            position += 1
        pieces.append(text[end : match.start() + 1] + ";")
        end = position
    text = "".join(pieces) + text[end:]
    text = re.sub(r"\bstatic\s+(?:inline|const)?\b", "static ", text)
    return re.sub(r"\binline\b", "", text)


def parse(text: str) -> Declarations:
    """Collect the declarations of a preprocessed text."""
    found = Declarations()
    for node in c_parser.CParser().parse(text).ext:
        if isinstance(node, c_ast.Typedef):
            found.typedefs[node.name] = node.type
        elif isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.FuncDecl):
            if "static" in node.storage:
                found.inline_functions.add(node.name)
            else:
                found.functions[node.name] = node.type
        _collect_enum(node, found)
    return found


def _collect_enum(node: Any, found: Declarations) -> None:
    target = getattr(node, "type", None)
    while isinstance(target, (c_ast.TypeDecl, c_ast.Typedef)):
        target = target.type
    if not isinstance(target, c_ast.Enum) or target.values is None:
        return
    members: dict[str, int] = {}
    following = 0
    for member in target.values.enumerators:
        value = following if member.value is None else _evaluate(member.value, found.constants)
        if value is None:
            continue
        found.constants[member.name] = members[member.name] = value
        following = value + 1
    if target.name:
        found.enums[target.name] = members
    if isinstance(node, c_ast.Typedef):
        found.enums[node.name] = members


def _evaluate(node: Any, constants: dict[str, int]) -> int | None:
    if isinstance(node, c_ast.Constant):
        digits = node.value.rstrip("uUlL")
        return int(digits, 0) if re.fullmatch(r"0[xX][0-9a-fA-F]+|[0-9]+", digits) else None
    if isinstance(node, c_ast.ID):
        return constants.get(node.name)
    if isinstance(node, c_ast.UnaryOp) and node.op == "-":
        value = _evaluate(node.expr, constants)
        return None if value is None else -value
    return None


def prototype(name: str, function: Any) -> tuple[str, list[Any]]:
    """The C text of a definition's head with parameters a0, a1..., and the parameter types."""
    generator = c_generator.CGenerator()
    parameters: list[Any] = []
    texts: list[str] = []
    for declared in function.args.params if function.args else []:
        if isinstance(declared, c_ast.EllipsisParam):
            texts.append("...")
            continue
        if _is_void(declared.type):
            continue
        texts.append(generator.visit(_declaration(declared.type, f"a{len(parameters)}")))
        parameters.append(declared)
    return f"{type_text(function.type)} {name}({', '.join(texts) or 'void'})", parameters


def type_text(node: Any) -> str:
    """The C text of a type."""
    return str(c_generator.CGenerator().visit(_renamed(node, None)))


def _declaration(node: Any, name: str) -> Any:
    return c_ast.Decl(
        name=name,
        quals=[],
        align=[],
        storage=[],
        funcspec=[],
        type=_renamed(node, name),
        init=None,
        bitsize=None,
    )


def _is_void(node: Any) -> bool:
    return (
        isinstance(node, c_ast.TypeDecl)
        and isinstance(node.type, c_ast.IdentifierType)
        and node.type.names == ["void"]
    )


def _renamed(node: Any, name: str | None) -> Any:
    """A copy of a type with another declared name."""
    if isinstance(node, c_ast.TypeDecl):
        return c_ast.TypeDecl(name, node.quals, None, node.type)
    if isinstance(node, c_ast.PtrDecl):
        return c_ast.PtrDecl(node.quals, _renamed(node.type, name))
    if isinstance(node, c_ast.ArrayDecl):
        return c_ast.ArrayDecl(_renamed(node.type, name), node.dim, node.dim_quals)
    if isinstance(node, c_ast.FuncDecl):
        return c_ast.FuncDecl(node.args, _renamed(node.type, name))
    return node


def is_const_pointee(node: Any) -> bool:
    """Whether a pointer parameter points to constant data."""
    inner = node.type
    return "const" in (getattr(inner, "quals", None) or [])


def find_header(name: str, wheels: Wheels) -> Path:
    """The path of a header of the wheels."""
    for directory in wheels.include_dirs:
        if (directory / name).is_file():
            return directory / name
    raise BuildError(f"the NVIDIA wheels under {wheels.torch.parent} have no {name}")
