# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rules of `tiles` for clusters of blocks, and for registers and order of launches.

``ptx.mapa`` becomes the instruction on 32-bit addresses; its result is a pointer of LLVM's address
space 7, whose loads and stores are PTX's ``ld.shared::cluster`` and so on. On a processor without
clusters a cluster is one block, and a kernel starts when the one before has ended.
"""

from __future__ import annotations

from opencute.arch.target import Target
from opencute.dialects import arith, llvm, ptx, vector
from opencute.ir.attributes import IntAttr, StringAttr
from opencute.ir.core import Op, Value
from opencute.ir.rewrite import Replacement, Rewriter, Rule
from opencute.ir.types import F32, F64, I32, I64, Type, VectorType, element_type
from opencute.passes.hopper.mbarrier import shared_address

__all__ = ["cluster_rules"]

_MEMORY = ",~{memory}"
_LETTER: dict[Type, str] = {I32: "r", I64: "l", F32: "f", F64: "d"}


def cluster_rules(target: Target) -> dict[str, Rule]:
    """The rules, by the operation's name."""
    rules: dict[str, Rule] = {
        "ptx.mapa": _mapa,
        "ptx.cp_async_mbarrier_arrive": _cp_async_arrive,
        "ptx.st_async": _st_async,
        "ptx.red_async": _red_async,
        "ptx.setmaxnreg": _setmaxnreg,
        "ptx.cluster_arrive": _cluster_arrive,
        "ptx.cluster_wait": _cluster_wait,
        "ptx.griddepcontrol": _griddepcontrol,
    }
    if not target.has_clusters:
        rules["ptx.cluster_arrive"] = lambda op, rw: ()
        rules["ptx.cluster_wait"] = _block_wait
        rules["ptx.griddepcontrol"] = lambda op, rw: ()
    return rules


def _word(op: Op, key: str) -> str:
    attr = op.attributes[key]
    assert isinstance(attr, StringAttr)
    return attr.value


def _plain(text: str) -> tuple[()]:
    llvm.inline_asm(text, "~{memory}", (), ())
    return ()


def _mapa(op: Op, rw: Rewriter) -> Replacement:
    address, _ = shared_address(op.operands[0], rw, 0)
    text = "mapa.shared::cluster.u32 $0, $1, $2;"
    mapped = llvm.inline_asm(text, "=r,r,r", (address, op.operands[1]), (I32,), pure=True)
    return llvm.inttoptr(mapped.result, llvm.CLUSTER)


def _cluster_arrive(op: Op, rw: Rewriter) -> Replacement:
    return _plain(f"barrier.cluster.arrive.{_word(op, 'sem')}.aligned;")


def _cluster_wait(op: Op, rw: Rewriter) -> Replacement:
    return _plain("barrier.cluster.wait.acquire.aligned;")


def _block_wait(op: Op, rw: Rewriter) -> Replacement:
    ptx.bar_sync(arith.constant(0, I32))
    return ()


def _griddepcontrol(op: Op, rw: Rewriter) -> Replacement:
    return _plain(f"griddepcontrol.{_word(op, 'action')};")


def _setmaxnreg(op: Op, rw: Rewriter) -> Replacement:
    count = op.attributes["count"]
    assert isinstance(count, IntAttr)
    return _plain(f"setmaxnreg.{_word(op, 'action')}.sync.aligned.u32 {count.value};")


def _cp_async_arrive(op: Op, rw: Rewriter) -> Replacement:
    address, space = shared_address(op.operands[0], rw, 0)
    noinc = ".noinc" if "noinc" in op.attributes else ""
    text = f"cp.async.mbarrier.arrive{noinc}.{space}.b64 [$0];"
    llvm.inline_asm(text, f"r{_MEMORY}", (address,), ())
    return ()


def _registers(value: Value) -> list[Value]:
    type = value.type
    if not isinstance(type, VectorType):
        return [value]
    return [vector.extract(value, i) for i in range(type.length)]


_COMPLETES = "shared::cluster.mbarrier::complete_tx::bytes"


def _st_async(op: Op, rw: Rewriter) -> Replacement:
    ptr, value, mbar = op.operands
    place, _ = shared_address(ptr, rw, 0)
    bar, _ = shared_address(mbar, rw, 2)
    words, element = _registers(value), element_type(value.type)
    n = len(words)
    names = ", ".join(f"${i + 1}" for i in range(n))
    stored = f"{{{names}}}" if n > 1 else names
    kind = f"{f'.v{n}' if n > 1 else ''}.b{_width(element)}"
    text = f"st.async.weak.{_COMPLETES}{kind} [$0], {stored}, [${n + 1}];"
    letters = ",".join(["r", *[_LETTER[element]] * n, "r"])
    llvm.inline_asm(text, letters + _MEMORY, (place, *words, bar), ())
    return ()


def _width(type: Type) -> int:
    width: int = getattr(type, "width")  # noqa: B009 - every element type has it
    return width


def _red_async(op: Op, rw: Rewriter) -> Replacement:
    ptr, value, mbar = op.operands
    place, _ = shared_address(ptr, rw, 0)
    bar, _ = shared_address(mbar, rw, 2)
    name = _word(op, "op")
    kind = "b" if name in ("and", "or", "xor") else "u"
    if name in ("min", "max") and "unsigned" not in op.attributes:
        kind = "s"
    kind += str(_width(value.type))
    text = f"red.async.relaxed.cluster.{_COMPLETES}.{name}.{kind} [$0], $1, [$2];"
    llvm.inline_asm(text, f"r,{_LETTER[value.type]},r{_MEMORY}", (place, value, bar), ())
    return ()
