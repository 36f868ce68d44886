# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""PTX instructions with effects, as operations of the `ptx` and `llvm` dialects.

Each row takes the registers and an instruction, and builds what it does::

    ld.global.acquire.gpu.b32 $0, [$1];   ->   ptx.load {sem = "acquire", scope = "gpu"}
"""

from __future__ import annotations

from collections.abc import Callable

from opencute.dialects import arith, cute, llvm, ptx, ptx_memory, ptx_warp, vector
from opencute.dialects.cute import PtrType
from opencute.ir.core import Value
from opencute.ir.types import BF16, F16, F32, F64, I64, IntegerType, Type, VectorType
from opencute.sim.asm.registers import Registers, from_bits, to_bits
from opencute.sim.asm.syntax import (
    Address,
    AsmError,
    Instruction,
    Operand,
    Pair,
    type_width,
)

__all__ = ["EFFECTS", "Effect", "pointer", "unknown"]

Effect = Callable[[Registers, Instruction], None]
EFFECTS: dict[str, Effect] = {}

_SPACES = {
    "global": "gmem", "shared": "smem", "shared::cta": "smem", "shared::cluster": "dsmem",
}  # fmt: skip
_NARROW = ("smem", "dsmem")
_SEMS = ("weak", "relaxed", "acquire", "release", "acq_rel", "volatile")
_SCOPES = ("cta", "cluster", "gpu", "sys")
_HINTS = ("ca", "cg", "cs", "lu", "cv", "nc", "wb", "wt")


def _on(*names: str) -> Callable[[Effect], Effect]:
    def decorate(fn: Effect) -> Effect:
        EFFECTS.update(dict.fromkeys(names, fn))
        return fn

    return decorate


def unknown(i: Instruction) -> AsmError:
    """The error for an instruction that the simulator does not run."""
    return AsmError(f"the simulator does not run {i.name}")


def _count(i: Instruction, *counts: int) -> None:
    if len(i.operands) not in counts:
        raise AsmError(f"{i.name} takes {' or '.join(map(str, counts))} operands")


# ---------------------------------------------------------------------- memory
class _Access:
    """The words of an instruction on memory."""

    def __init__(self, i: Instruction) -> None:
        self.space, self.sem, self.scope = "generic", "", ""
        self.lanes, self.hint = 1, False
        self.rest: list[str] = []
        for word in i.parts[1:]:
            if word in _SPACES:
                self.space = _SPACES[word]
            elif word in _SEMS:
                self.sem = word
            elif word in _SCOPES:
                self.scope = word
            elif word in ("v2", "v4", "v8"):
                self.lanes = int(word[1])
            elif word.startswith(("L1::", "L2::", "level::")) or word in _HINTS:
                self.hint = self.hint or word == "L2::cache_hint"
            else:
                self.rest.append(word)


def _address(registers: Registers, operand: Operand, space: str) -> Value:
    """An address as an i64."""
    if not isinstance(operand, Address) or operand.more:
        raise AsmError(f"{operand} is no address")
    base = operand.base
    narrow = space in _NARROW and registers.widths.get(str(base)) == 32
    value = registers.read(base, "b32" if narrow else "b64")
    if narrow:
        value = arith.cast("extui", value, I64)
    if operand.offset:
        value = arith.binary("addi", value, arith.constant(operand.offset, I64))
    return value


def pointer(registers: Registers, operand: Operand, element: Type, space: str, size: int) -> Value:
    """The pointer that an address of an instruction stands for."""
    address = _address(registers, operand, space)
    return cute.int_to_ptr(address, PtrType(element, space, size))


@_on("ld", "ldu")
def _load(registers: Registers, i: Instruction) -> None:
    access = _Access(i)
    _count(i, 3 if access.hint else 2)
    if len(access.rest) != 1 or (width := type_width(access.rest[0])) is None or width > 64:
        raise unknown(i)
    element = IntegerType(width)
    type: Type = element if access.lanes == 1 else VectorType(access.lanes, element)
    value = _loaded(registers, i.operands[1], access, type, element)
    targets = registers.items(i.operands[0], access.lanes, i.text)
    for n, target in enumerate(targets):
        part = value if access.lanes == 1 else vector.extract(value, n)
        registers.write(target, part, loose=True, signed=access.rest[0][0] == "s")


def _loaded(
    registers: Registers, operand: Operand, access: _Access, type: Type, element: IntegerType
) -> Value:
    size = element.width // 8 * access.lanes
    if access.space not in _NARROW and access.sem in ("", "weak"):
        space = llvm.GLOBAL if access.space == "gmem" else llvm.GENERIC
        return llvm.load(
            llvm.inttoptr(_address(registers, operand, access.space), space), type, size
        )
    ptr = pointer(registers, operand, element, access.space, size)
    sem = access.sem or "weak"
    scope = access.scope if sem in ("relaxed", "acquire", "release") else ""
    return ptx_memory.load(ptr, type, sem=sem, scope=scope)


@_on("st")
def _store(registers: Registers, i: Instruction) -> None:
    access = _Access(i)
    _count(i, 3 if access.hint else 2)
    if len(access.rest) != 1 or (width := type_width(access.rest[0])) is None or width > 64:
        raise unknown(i)
    word = access.rest[0]
    sources = registers.items(i.operands[1], access.lanes, i.text)
    parts = [registers.read(s, word, loose=True) for s in sources]
    value = parts[0] if access.lanes == 1 else vector.from_elements(parts)
    size = width // 8 * access.lanes
    if access.space not in _NARROW and access.sem in ("", "weak"):
        space = llvm.GLOBAL if access.space == "gmem" else llvm.GENERIC
        ptr = llvm.inttoptr(_address(registers, i.operands[0], access.space), space)
        llvm.store(value, ptr, size)
        return
    ptr = pointer(registers, i.operands[0], IntegerType(width), access.space, size)
    sem = access.sem or "weak"
    scope = access.scope if sem in ("relaxed", "release") else ""
    ptx_memory.store(ptr, value, sem=sem, scope=scope)


_ATOMIC_TYPES: dict[str, Type] = {
    "f32": F32, "f64": F64, "f16": F16, "bf16": BF16,
    "f16x2": VectorType(2, F16), "bf16x2": VectorType(2, BF16),
}  # fmt: skip
_ATOMICS = ("add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas")


@_on("atom", "red")
def _atomic(registers: Registers, i: Instruction) -> None:
    access = _Access(i)
    words = [w for w in access.rest if w != "noftz"]
    if len(words) != 2 or words[0] not in _ATOMICS or access.lanes != 1:
        raise unknown(i)
    op, word = words
    width = type_width(word)
    if width is None or access.space not in ("gmem", "smem", "dsmem", "generic"):
        raise unknown(i)
    reduces = i.parts[0] == "red"
    _count(i, (2 if reduces else 4 if op == "cas" else 3) + access.hint)
    operands = list(i.operands if reduces else i.operands[1:])
    type = _ATOMIC_TYPES.get(word, IntegerType(width))
    element = type.element if isinstance(type, VectorType) else type
    ptr = pointer(registers, operands[0], element, access.space, width // 8)
    values = [
        from_bits(registers.read(o, word), type) for o in operands[1 : 3 if op == "cas" else 2]
    ]
    sem, scope = access.sem or "relaxed", access.scope or "gpu"
    unsigned = word[0] == "u" and op in ("min", "max")
    if reduces:
        ptx_memory.red(op, ptr, values[0], sem, scope, unsigned=unsigned)
    elif op == "cas":
        registers.write(i.operands[0], ptx_memory.cas(ptr, values[0], values[1], sem, scope))
    else:
        old = ptx_memory.atomic(op, ptr, values[0], sem, scope, unsigned=unsigned)
        registers.write(i.operands[0], to_bits(old, width))


@_on("prefetch", "prefetchu", "discard", "applypriority", "pmevent")
def _nothing(registers: Registers, i: Instruction) -> None:
    """A hint."""


@_on("cvta")
def _cvta(registers: Registers, i: Instruction) -> None:
    """Addresses of global memory are the same in every space."""
    _count(i, 2)
    if [w for w in i.parts[1:] if w != "to"] != ["global", "u64"]:
        raise unknown(i)
    registers.write(i.operands[0], registers.read(i.operands[1], "u64"))


@_on("membar", "fence")
def _fence(registers: Registers, i: Instruction) -> None:
    _count(i, 0)
    words = i.parts[1:]
    if i.parts[0] == "membar":
        scope = {"cta": "cta", "gl": "gpu", "sys": "sys"}.get(words[0] if words else "")
        if scope is None or len(words) != 1:
            raise unknown(i)
        ptx.fence("sc", scope)
        return
    if words[:1] == ["proxy"]:
        kind = ".".join(words[1:])
        if kind not in ptx.FENCE_PROXIES or "tensormap" in kind:
            raise unknown(i)
        ptx.fence_proxy(kind)
        return
    sem = words[0] if words and words[0] in ptx.FENCE_SEMS else "acq_rel"
    scopes = [w for w in words if w not in ptx.FENCE_SEMS]
    if len(scopes) != 1 or scopes[0] not in ptx.SCOPES:
        raise unknown(i)
    ptx.fence(sem, scopes[0])


# ---------------------------------------------------------------------- asynchronous copies
@_on("cp")
def _cp(registers: Registers, i: Instruction) -> None:
    words = i.parts[1:]
    if words == ["async", "commit_group"]:
        ptx_memory.cp_async_commit()
    elif words == ["async", "wait_all"]:
        ptx_memory.cp_async_wait(-1)
    elif words == ["async", "wait_group"]:
        _count(i, 1)
        groups = getattr(i.operands[0], "value", None)
        if not isinstance(groups, int):
            raise AsmError("the number of groups is a constant")
        ptx_memory.cp_async_wait(groups)
    elif words[:1] == ["async"] and words[1:2] in (["ca"], ["cg"]) and "global" in words:
        _cp_async(registers, i, words[1])
    else:
        raise unknown(i)


def _cp_async(registers: Registers, i: Instruction, cache: str) -> None:
    _count(i, 3, 4)
    size = getattr(i.operands[2], "value", None)
    if size not in (4, 8, 16):
        raise AsmError("cp.async copies 4, 8 or 16 bytes")
    element = IntegerType(8)
    dst = pointer(registers, i.operands[0], element, "smem", size)
    src = pointer(registers, i.operands[1], element, "gmem", size)
    rest = registers.read(i.operands[3], "b32") if len(i.operands) == 4 else None
    ptx_memory.cp_async(dst, src, size, cache=cache, src_bytes=rest)


# ---------------------------------------------------------------------- barriers and warps
@_on("bar", "barrier")
def _barrier(registers: Registers, i: Instruction) -> None:
    words = [w for w in i.parts[1:] if w not in ("cta", "aligned")]
    if words[:1] == ["warp"]:
        _count(i, 1)
        ptx.bar_warp_sync(registers.read(i.operands[0], "b32"))
        return
    if words in (["sync"], ["arrive"]):
        _count(i, 1, 2)
        values = [registers.read(o, "b32") for o in i.operands]
        if words == ["sync"]:
            ptx.bar_sync(*values)
        else:
            _count(i, 2)
            ptx.bar_arrive(values[0], values[1])
    elif words[:1] == ["red"] and len(words) == 3 and words[1] in ptx.BAR_REDUCTIONS:
        _count(i, 3, 4)
        barrier = registers.read(i.operands[1], "b32")
        count = registers.read(i.operands[2], "b32") if len(i.operands) == 4 else None
        out = ptx.bar_red(words[1], barrier, count, registers.predicate(i.operands[-1]))
        registers.write(i.operands[0], out)
    else:
        raise unknown(i)


@_on("shfl")
def _shfl(registers: Registers, i: Instruction) -> None:
    _count(i, 5)
    words = i.parts[1:]
    if len(words) != 3 or words[0] != "sync" or words[2] != "b32":
        raise unknown(i)
    if words[1] not in ptx_warp.SHFL_MODES:
        raise unknown(i)
    value, src, clamp, mask = (registers.read(o, "b32") for o in i.operands[1:])
    out, inside = ptx_warp.shfl_sync(words[1], mask, value, src, clamp)
    _write_pair(registers, i.operands[0], out, inside)


def _write_pair(registers: Registers, operand: Operand, value: Value, predicate: Value) -> None:
    if isinstance(operand, Pair):
        registers.write(operand.first, value)
        registers.write(operand.second, predicate)
    else:
        registers.write(operand, value)


@_on("vote")
def _vote(registers: Registers, i: Instruction) -> None:
    _count(i, 3)
    words = i.parts[1:]
    ends = "b32" if words[1:2] == ["ballot"] else "pred"
    if len(words) != 3 or words[0] != "sync" or words[2] != ends:
        raise unknown(i)
    if words[1] not in ptx_warp.VOTE_MODES:
        raise unknown(i)
    predicate = registers.predicate(i.operands[1])
    mask = registers.read(i.operands[2], "b32")
    registers.write(i.operands[0], ptx_warp.vote_sync(words[1], mask, predicate))


@_on("match")
def _match(registers: Registers, i: Instruction) -> None:
    _count(i, 3)
    words = i.parts[1:]
    if len(words) != 3 or words[0] not in ptx_warp.MATCH_MODES or words[1] != "sync":
        raise unknown(i)
    value = registers.read(i.operands[1], words[2])
    mask = registers.read(i.operands[2], "b32")
    out, equal = ptx_warp.match_sync(words[0], mask, value)
    _write_pair(registers, i.operands[0], out, equal)


@_on("redux")
def _redux(registers: Registers, i: Instruction) -> None:
    _count(i, 3)
    words = [w for w in i.parts[1:] if w not in ("abs", "NaN")]
    if len(words) != 3 or words[0] != "sync":
        raise unknown(i)
    op, word = words[1], words[2]
    op = f"f{op}" if word == "f32" else op
    if op not in ptx_warp.REDUX_OPS:
        raise unknown(i)
    bits = registers.read(i.operands[1], word)
    value = from_bits(bits, F32) if word == "f32" else bits
    out = ptx_warp.redux_sync(
        op, registers.read(i.operands[2], "b32"), value,
        unsigned=word == "u32" and op in ("min", "max"),
        abs="abs" in i.parts, nan="NaN" in i.parts,
    )  # fmt: skip
    registers.write(i.operands[0], to_bits(out, 32))


@_on("activemask")
def _activemask(registers: Registers, i: Instruction) -> None:
    _count(i, 1)
    registers.write(i.operands[0], ptx_warp.activemask())


@_on("elect")
def _elect(registers: Registers, i: Instruction) -> None:
    _count(i, 2)
    if i.name != "elect.sync":
        raise unknown(i)
    leader, elected = ptx_warp.elect_sync(registers.read(i.operands[1], "b32"))
    _write_pair(registers, i.operands[0], leader, elected)


@_on("nanosleep")
def _nanosleep(registers: Registers, i: Instruction) -> None:
    _count(i, 1)
    ptx.nanosleep(registers.read(i.operands[0], "u32"))
