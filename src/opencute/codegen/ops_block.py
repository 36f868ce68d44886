# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How barriers, warp exchanges, fences and PTX arithmetic are printed as LLVM IR.

``ptx.bar_sync %b, %n`` becomes ``call void @llvm.nvvm.barrier.cta.sync.aligned.count(...)``, which
LLVM knows to be convergent; what has no intrinsic becomes inline assembly. The shared memory of a
block is one external array, whose size the launch decides.
"""

from __future__ import annotations

from collections.abc import Sequence

from opencute.codegen.emitter import Emitter, OpPrinter
from opencute.codegen.llvm_types import llvm_type
from opencute.dialects.ptx import BarRedOp, SRegOp
from opencute.dialects.ptx_math import RoundedOp
from opencute.dialects.ptx_memory import CpAsyncWaitOp
from opencute.dialects.ptx_warp import ReduxSyncOp
from opencute.dialects.smem import BASE_ALIGN
from opencute.ir.attributes import StringAttr
from opencute.ir.core import Op, Value
from opencute.ir.types import I64, VectorType

__all__ = ["BLOCK_OPS", "sreg_intrinsic"]

_SMEM = f"external addrspace(3) global [0 x i8], align {BASE_ALIGN}"


def _smem_base(e: Emitter, op: Op) -> None:
    e.names[op.results[0]] = e.module.global_name(_SMEM, "opencute_smem")


# ---------------------------------------------------------------- calls
def _arguments(e: Emitter, values: Sequence[Value]) -> list[tuple[str, str]]:
    return [(llvm_type(v.type), e.ref(v)) for v in values]


def _call_void(e: Emitter, name: str, values: Sequence[Value]) -> None:
    args = _arguments(e, values)
    e.module.declare(f"declare void @llvm.nvvm.{name}({', '.join(t for t, _ in args)})")
    e.void(f"call void @llvm.nvvm.{name}({', '.join(f'{t} {v}' for t, v in args)})")


def _call(e: Emitter, name: str, op: Op, values: Sequence[Value] | None = None) -> None:
    """A call of an intrinsic with the results of `op`: one value, or a struct of several."""
    args = _arguments(e, op.operands if values is None else values)
    types = [llvm_type(r.type) for r in op.results]
    if len(types) == 1:
        e.names[op.results[0]] = e.call(f"llvm.nvvm.{name}", types[0], args)
        return
    struct = f"{{{', '.join(types)}}}"
    packed = e.call(f"llvm.nvvm.{name}", struct, args)
    for i, r in enumerate(op.results):
        e.emit(r, f"extractvalue {struct} {packed}, {i}")


def _asm(e: Emitter, text: str, constraints: str = "~{memory}", args: str = "") -> None:
    group = e.module.attribute_group("convergent nounwind")
    e.void(f'call void asm sideeffect "{text}", "{constraints}"({args}) {group}')


def _word(op: Op, key: str) -> str:
    attr = op.attributes[key]
    assert isinstance(attr, StringAttr)
    return attr.value


# ---------------------------------------------------------------- barriers and fences
def _bar_sync(e: Emitter, op: Op) -> None:
    kind = "all" if len(op.operands) == 1 else "count"
    _call_void(e, f"barrier.cta.sync.aligned.{kind}", op.operands)


def _bar_red(e: Emitter, op: Op) -> None:
    assert isinstance(op, BarRedOp)
    kind = "all" if op.count is None else "count"
    _call(e, f"barrier.cta.red.{op.op.value}.aligned.{kind}", op)


def _void(name: str) -> OpPrinter:
    return lambda e, op: _call_void(e, name, op.operands)


def _value(name: str) -> OpPrinter:
    return lambda e, op: _call(e, name, op)


def _fence(e: Emitter, op: Op) -> None:
    _asm(e, f"fence.{_word(op, 'sem')}.{_word(op, 'scope')};")


def _fence_proxy(e: Emitter, op: Op) -> None:
    _asm(e, f"fence.proxy.{_word(op, 'kind')};")


def _cp_async_wait(e: Emitter, op: Op) -> None:
    assert isinstance(op, CpAsyncWaitOp)
    n = op.groups.value
    _asm(e, "cp.async.wait_all;" if n < 0 else f"cp.async.wait_group {n};")


# ---------------------------------------------------------------- warps
def _shfl(e: Emitter, op: Op) -> None:
    kind = "f32p" if llvm_type(op.operands[1].type) == "float" else "i32p"
    _call(e, f"shfl.sync.{_word(op, 'mode')}.{kind}", op)


def _vote(e: Emitter, op: Op) -> None:
    _call(e, f"vote.{_word(op, 'mode')}.sync", op)


def _match(e: Emitter, op: Op) -> None:
    width = 64 if op.operands[1].type == I64 else 32
    if _word(op, "mode") == "all":
        _call(e, f"match.all.sync.i{width}p", op)
        return
    mask, equal = op.results
    name = f"llvm.nvvm.match.any.sync.i{width}"
    e.names[mask] = e.call(name, "i32", _arguments(e, op.operands))
    e.names[equal] = "true"  # a thread always equals itself


def _redux(e: Emitter, op: Op) -> None:
    assert isinstance(op, ReduxSyncOp)
    name = op.op.value
    if "unsigned" in op.attributes and name in ("min", "max"):
        name = f"u{name}"
    if name[0] == "f":
        name += ".abs" if "abs" in op.attributes else ""
        name += ".NaN" if "nan" in op.attributes else ""
    _call(e, f"redux.sync.{name}", op, (op.value, op.mask))


# ---------------------------------------------------------------- arithmetic
def _rounded(e: Emitter, op: Op) -> None:
    assert isinstance(op, RoundedOp)
    ftz = ".ftz" if "ftz" in op.attributes else ""
    if isinstance(op.out.type, VectorType):
        _packed(e, op, ftz)
        return
    name, values = op.op.value, e.refs(op.operands)
    if name == "sub":  # exact: only the sign changes
        name, values[1] = "add", e.assign(f"fneg float {values[1]}")
    args = [("float", v) for v in values]
    callee = f"llvm.nvvm.{name}.{op.rnd.value}{ftz}.f"
    e.names[op.out] = e.call(callee, "float", args)


def _packed(e: Emitter, op: RoundedOp, ftz: str) -> None:
    """Two floats in one instruction."""
    words = [e.assign(f"bitcast {e.typed(v)} to i64") for v in op.operands]
    places = ", ".join(f"${i + 1}" for i in range(len(words)))
    text = f"{op.op.value}.{op.rnd.value}{ftz}.f32x2 $0, {places};"
    args = ", ".join(f"i64 {w}" for w in words)
    out = e.assign(f'call i64 asm "{text}", "=l{",l" * len(words)}"({args})')
    e.emit(op.out, f"bitcast i64 {out} to <2 x float>")


# ---------------------------------------------------------------- registers
def sreg_intrinsic(op: SRegOp) -> str:
    """The intrinsic that reads a register."""
    reg = op.reg.value
    for stem in ("cluster", "lanemask"):  # LLVM writes a dot where PTX has an underscore
        if reg.startswith(f"{stem}_"):
            reg = f"{stem}.{reg.removeprefix(f'{stem}_')}"
    return f"llvm.nvvm.read.ptx.sreg.{reg}"


BLOCK_OPS: dict[str, OpPrinter] = {
    "ptx.smem_base": _smem_base,
    "ptx.bar_sync": _bar_sync,
    "ptx.bar_arrive": _void("barrier.cta.arrive.aligned.count"),
    "ptx.bar_red": _bar_red,
    "ptx.bar_warp_sync": _void("bar.warp.sync"),
    "ptx.nanosleep": _void("nanosleep"),
    "ptx.fence": _fence,
    "ptx.fence_proxy": _fence_proxy,
    "ptx.cp_async_commit": lambda e, op: _asm(e, "cp.async.commit_group;"),
    "ptx.cp_async_wait": _cp_async_wait,
    "ptx.shfl_sync": _shfl,
    "ptx.vote_sync": _vote,
    "ptx.match_sync": _match,
    "ptx.redux_sync": _redux,
    "ptx.activemask": _value("activemask"),
    "ptx.elect_sync": _value("elect.sync"),
    "ptx.rounded": _rounded,
    "ptx.rcp_approx": _value("rcp.approx.ftz.f"),
    "ptx.prmt": _value("prmt"),
}
