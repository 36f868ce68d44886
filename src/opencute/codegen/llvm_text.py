# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The device module as LLVM IR text.

In: a module whose kernels are at the llvm level (see `opencute.passes.pipelines`). Out: text such
as::

    define ptx_kernel void @relu(ptr addrspace(1) align 16 %a0, i32 %a1) #0 { ... }
    attributes #0 = { nounwind "nvvm.reqntid"="256,1,1" }
"""

from __future__ import annotations

import re
from typing import Any

from opencute.arch.mma import mma_atom
from opencute.arch.sparse import sparse_mma_atom
from opencute.base.location import Location
from opencute.codegen.asm.ops import ASM
from opencute.codegen.debug.inlined import within
from opencute.codegen.debug_info import DebugInfo
from opencute.codegen.emitter import Emitter, ModuleText, OpPrinter
from opencute.codegen.hopper.accumulators import banks_of
from opencute.codegen.hopper.tensor_maps import DESCRIPTOR_PARAMETER, MAPS
from opencute.codegen.hopper.wgmma import WGMMA
from opencute.codegen.libdevice import libdevice_text
from opencute.codegen.llvm_types import llvm_type
from opencute.codegen.ops_arith import ARITH
from opencute.codegen.ops_assert import assert_on_device
from opencute.codegen.ops_block import BLOCK_OPS
from opencute.codegen.ops_convert import CONVERT
from opencute.codegen.ops_math import MATH
from opencute.codegen.ops_matrix import MATRIX
from opencute.codegen.ops_memory import MEMORY
from opencute.codegen.ops_vector import VECTOR_OPS
from opencute.codegen.predication import print_predicated
from opencute.dialects.hopper.tensor_maps import TmaDescType
from opencute.dialects.llvm import LLVMPointerType
from opencute.ir.attributes import Attribute, DenseI32Attr, IntAttr, StringAttr
from opencute.ir.core import Op

__all__ = ["TABLE", "device_module_text", "needed_ptx"]

_NEEDS = "; needs PTX "

TABLE: dict[str, OpPrinter] = {
    **ARITH,
    **ASM,
    **BLOCK_OPS,
    **CONVERT,
    **MAPS,
    **MATH,
    **MATRIX,
    **MEMORY,
    **VECTOR_OPS,
    **WGMMA,
    "cf.assert": assert_on_device,
}

_LAUNCH = (("cute.reqntid", "nvvm.reqntid"), ("cute.maxntid", "nvvm.maxntid"),
           ("cute.minctasm", "nvvm.minctasm"), ("cute.cluster_dim", "nvvm.cluster_dim"),
           ("cute.maxnreg", "nvvm.maxnreg"))  # fmt: skip


_ATOMS: dict[str, Any] = {"ptx.mma": mma_atom, "ptx.mma_sp": sparse_mma_atom}
"""Where the records of operations are."""


def device_module_text(module: Op, *, line_info: bool = False) -> str:
    """All kernels of a module as one LLVM module.

    Args:
        module: a ``builtin.module`` at the llvm level.
        line_info: give instructions their source positions.

    Raises:
        ToolchainError: an operation that has no LLVM form.
    """
    text = ModuleText(DebugInfo(first=1) if line_info else None)
    kernels = [
        f
        for op in module.regions[0].block.ops
        if op.name == "gpu.module"
        for f in op.regions[0].block.ops
    ]
    for kernel in kernels:
        text.functions.append(_kernel(kernel, text))
    atoms = [
        (_ATOMS[op.name], op.attributes["atom"])
        for k in kernels for op in k.walk() if op.name in _ATOMS
    ]  # fmt: skip
    ptx = max((of(a.value).ptx for of, a in atoms if isinstance(a, StringAttr)), default=0)
    return (f"{_NEEDS}{ptx}\n" if ptx else "") + _assemble(text)


def needed_ptx(ir: str) -> int:
    """The PTX version that the instructions of a module's text need, two digits; 0 is any."""
    first = ir.partition("\n")[0]
    return int(first.removeprefix(_NEEDS)) if first.startswith(_NEEDS) else 0


def _assemble(text: ModuleText) -> str:
    lines = ['target triple = "nvptx64-nvidia-cuda"']
    for library in text.libraries:
        lines += [f'module asm "{_escaped(line)}"' for line in library.splitlines()]
    lines += [f"{name} = type {body}" for body, name in text.structs.items()]
    lines += [f"{name} = {body}" for body, name in text.globals.items()]
    library = libdevice_text(tuple(text.libdevice)) if text.libdevice else ""
    lines.append(library)
    lines += text.functions
    lines += [d for d in text.declarations if d not in library]
    lines += [f"attributes #{n} = {{ {body} }}" for body, n in text.attributes.items()]
    lines.append("!0 = !{}")
    if text.debug is not None:
        lines += text.debug.lines()
    return "\n".join(lines) + "\n"


def _escaped(line: str) -> str:
    return re.sub(r'["\\]|[^ -~]', lambda m: f"\\{ord(m[0]):02X}", line.expandtabs(4))


def _numbers(attr: Attribute) -> str:
    if isinstance(attr, DenseI32Attr):
        return ",".join(map(str, attr.values))
    assert isinstance(attr, IntAttr)
    return str(attr.value)


def _moves_registers(op: Op) -> bool:
    """Whether an instruction gives registers to a warpgroup or takes some."""
    text = op.attributes.get("asm_string")
    return isinstance(text, StringAttr) and "setmaxnreg." in text.value


def _own_frame(kernel: Op) -> Location | None:
    """The first position in the kernel's own text, whose file is the kernel's."""
    for op in kernel.regions[0].block.ops:
        at = within(op.loc, kernel.loc)
        while at is not None and at.caller is not None:
            at = at.caller
        if at is not None:
            return at
    return None


def _kernel(kernel: Op, text: ModuleText) -> str:
    name = kernel.symbol
    assert name is not None
    scope = None
    if text.debug is not None and kernel.loc is not None:
        own = _own_frame(kernel) or kernel.loc
        scope = text.debug.subprogram(name, own.file, own.line, name)
    e = Emitter(text, TABLE, scope, kernel.loc)
    e.predicate = print_predicated
    e.use_banks(banks_of(kernel))
    block = kernel.regions[0].block
    align = kernel.attributes.get("cute.arg_align")
    params: list[str] = []
    for i, arg in enumerate(block.args):
        e.names[arg] = f"%a{i}"
        known = align.values[i] if isinstance(align, DenseI32Attr) else 0
        pointer = isinstance(arg.type, LLVMPointerType)
        fact = f" align {known}" if pointer and known > 1 else ""
        type = DESCRIPTOR_PARAMETER if isinstance(arg.type, TmaDescType) else llvm_type(arg.type)
        params.append(f"{type}{fact} %a{i}")
    e.ops(block)
    e.void("ret void")
    attrs = ["nounwind"]
    for key, word in _LAUNCH:
        if key in kernel.attributes:
            attrs.append(f'"{word}"="{_numbers(kernel.attributes[key])}"')
    if "cute.minctasm" not in kernel.attributes and any(map(_moves_registers, kernel.walk())):
        # Without it ptxas does not know the registers at entry, and ignores setmaxnreg (C7508).
        attrs.append('"nvvm.minctasm"="1"')
    group = text.attribute_group(" ".join(attrs))
    dbg = f" !dbg !{scope}" if scope is not None else ""
    head = f'define ptx_kernel void @"{name}"({", ".join(params)}) {group}{dbg} {{'
    return "\n".join([head, "entry:", *e.allocas, *e.lines, "}"])
