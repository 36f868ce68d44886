# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rules of `tiles` for operations that stand for one PTX instruction on memory.

Before::

    %old = "ptx.atomic"(%p, %v) {op = "add", sem = "relaxed", scope = "gpu"}
           : (!cute.ptr<f32, gmem, align<4>>, f32) -> f32

After::

    %old = "llvm.inline_asm"(%q, %v) {asm_string = "atom.relaxed.gpu.global.add.f32 $0, [$1], $2;",
           constraints = "=f,l,f,~{memory}"} : (!llvm.ptr<1>, f32) -> f32

Addresses of shared memory are 32 bits wide in PTX's instructions; others 64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from opencute.arch.target import Target
from opencute.base.errors import CompileError
from opencute.dialects import arith, llvm, vector
from opencute.dialects.asm.extern import passed_bits
from opencute.dialects.cute import PtrType
from opencute.dialects.ptx_memory import CpAsyncOp, LoadOp, StoreOp
from opencute.dialects.smem import smem_base
from opencute.ir.attributes import IntAttr, StringAttr
from opencute.ir.builder import current_loc
from opencute.ir.core import Op, Value
from opencute.ir.rewrite import Replacement, Rewriter, Rule
from opencute.ir.types import (
    BF16,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    IntegerType,
    Type,
    VectorType,
    element_type,
    lanes,
)
from opencute.passes.tiled.swizzle import swizzled

__all__ = ["instruction_rules", "need"]

_SPACE = {"gmem": ".global", "smem": ".shared", "dsmem": ".shared::cluster", "generic": ""}
_LETTER: dict[Type, str] = {I16: "h", I32: "r", I64: "l", F32: "f", F64: "d"}
_MEMORY = ",~{memory}"


def need(target: Target, number: int, what: str) -> None:
    """Raise unless the target is at least of a compute capability (times ten)."""
    if target.number < number:
        raise CompileError(
            f"{what} needs sm_{number} or newer", code="OC1067", loc=current_loc(),
            expected=f"sm_{number}", found=str(target),
        )  # fmt: skip


def instruction_rules(target: Target) -> dict[str, Rule]:
    """The rules, by the operation's name."""

    def for_target(rule: Callable[[Op, Rewriter, Target], Replacement]) -> Rule:
        return lambda op, rw: rule(op, rw, target)

    return {
        "cute.smem_alloc": _smem_alloc,
        "cute.smem_size": _smem_size,
        "ptx.atomic": for_target(_atomic),
        "ptx.red": for_target(_atomic),
        "ptx.cas": for_target(_cas),
        "ptx.load": for_target(_load),
        "ptx.store": for_target(_store),
        "ptx.cp_async": _cp_async,
        "ptx.extern": _extern,
        "ptx.prefetch": _prefetch,
        "ptx.fence_proxy": for_target(_fence_proxy),
    }


def _word(op: Op, key: str) -> str:
    attr = op.attributes[key]
    assert isinstance(attr, StringAttr)
    return attr.value


def _dots(*words: str) -> str:
    return "".join(f".{w}" for w in words if w)


def _smem_alloc(op: Op, rw: Rewriter) -> Replacement:
    offset = op.attributes["offset"]
    assert isinstance(offset, IntAttr)
    base = smem_base()
    return base if offset.value == 0 else llvm.gep(base, offset.value, I8)


def _smem_size(op: Op, rw: Rewriter) -> Replacement:
    from opencute.dialects.ptx import sreg

    return sreg("dynamic_smem_size")


# ---------------------------------------------------------------- operands
def _address(ptr: Value, type: Type) -> tuple[Value, str, str]:
    """The operand, its constraint letter, and the state space of an address."""
    assert isinstance(type, PtrType)
    if type.swizzle:
        ptr = swizzled(ptr, type.swizzle)
    if type.space in ("smem", "dsmem"):
        return llvm.ptrtoint(ptr, I32), "r", _SPACE[type.space]
    return ptr, "l", _SPACE[type.space]


def _in_register(value: Value) -> Value:
    """A scalar, or a pair of 16-bit floats, as a type that registers are named by."""
    type = value.type
    if isinstance(type, VectorType):
        words = VectorType(_bits(type) // 32, I32)
        assert words.length == 1
        return vector.extract(vector.bitcast(value, words), 0)
    if type in (F16, BF16):
        return arith.cast("bitcast", value, I16)
    return value


def _from_register(value: Value, type: Type) -> Value:
    """The inverse of `_in_register`."""
    if isinstance(type, VectorType):
        return vector.bitcast(vector.from_elements([value]), type)
    return arith.cast("bitcast", value, type) if type in (F16, BF16) else value


def _bits(type: Type) -> int:
    width: int = getattr(element_type(type), "width")  # noqa: B009 - every element type has it
    return width * (lanes(type) or 1)


# ---------------------------------------------------------------- atomics
_FLOAT_TYPES: dict[Type, str] = {
    F32: "f32", F64: "f64", F16: "noftz.f16", BF16: "noftz.bf16",
    VectorType(2, F16): "noftz.f16x2", VectorType(2, BF16): "noftz.bf16x2",
}  # fmt: skip


def _atomic_type(op: Op, type: Type) -> str:
    """The type word of an atomic operation, such as ``.u32``."""
    name = _word(op, "op")
    if name in ("and", "or", "xor", "exch"):
        return f".b{_bits(type)}"
    if type in _FLOAT_TYPES:
        return f".{_FLOAT_TYPES[type]}"
    signed = name in ("min", "max") and "unsigned" not in op.attributes
    # There is no 64-bit signed add; in two's complement it is the unsigned one.
    return f".{'s' if signed else 'u'}{_bits(type)}"


def _scope(word: str, target: Target) -> str:
    """A scope as the target knows it: without clusters, a cluster is one block."""
    return "cta" if word == "cluster" and not target.has_clusters else word


def _atomic(op: Op, rw: Rewriter, target: Target) -> Replacement:
    ptr, value = op.operands
    type = value.type
    address, letter, space = _address(ptr, rw.source_type(0))
    register = _in_register(value)
    of = _LETTER[register.type]
    order = _dots(_word(op, "sem"), _scope(_word(op, "scope"), target))
    tail = f"{_dots(_word(op, 'op'))}{_atomic_type(op, type)}"
    if op.name == "ptx.red":
        text = f"red{order}{space}{tail} [$0], $1;"
        llvm.inline_asm(text, f"{letter},{of}{_MEMORY}", (address, register), ())
        return ()
    text = f"atom{order}{space}{tail} $0, [$1], $2;"
    out = llvm.inline_asm(
        text, f"={of},{letter},{of}{_MEMORY}", (address, register), (register.type,)
    )
    return _from_register(out.result, type)


def _cas(op: Op, rw: Rewriter, target: Target) -> Replacement:
    ptr, compare, value = op.operands
    address, letter, space = _address(ptr, rw.source_type(0))
    of = _LETTER[value.type]
    order = _dots(_word(op, "sem"), _scope(_word(op, "scope"), target))
    text = f"atom{order}{space}.cas.b{_bits(value.type)} $0, [$1], $2, $3;"
    constraints = f"={of},{letter},{of},{of}{_MEMORY}"
    return llvm.inline_asm(text, constraints, (address, compare, value), (value.type,)).result


# ---------------------------------------------------------------- loads and stores
def _words_of(type: Type) -> tuple[Type, int]:
    """What one access of a type moves: the register's type and how many of them."""
    bits = _bits(type)
    if bits <= 32:
        return {8: I8, 16: I16, 32: I32}[bits], 1
    if bits == 64 and lanes(type) is None:
        return I64, 1
    return I32, bits // 32


def _pieces(target: Target, space: str, word: Type, count: int) -> list[range]:
    """Registers of each instruction."""
    step = max(min(count, target.max_access_bits(space) // 32), 1)
    return [range(i, i + step) for i in range(0, count, step)]


def _hints(op: LoadOp | StoreOp, space: str, target: Target) -> str:
    """Everything between ``ld`` and the type. Shared memory has no caches to give hints about."""
    is_load = isinstance(op, LoadOp)
    sem = op.sem.value if op.sem.value != "weak" else ""
    order = _dots(sem, _scope(op.scope.value, target))
    if space in ("smem", "dsmem"):
        return f"{order}{_SPACE[space]}"
    cache, evict = op.cache.value, op.evict.value
    text = f"{order}{_SPACE[space]}"
    if cache == "nc":
        text = f"{order}.global.nc"
    elif cache:
        text += f".{cache}"
    if evict:
        text += f".L1::{evict}"
    if is_load and op.prefetch.value and space == "gmem":
        text += f".L2::{op.prefetch.value}B"
    return text


def _access(op: LoadOp | StoreOp, ptr: Value, type: Type, target: Target) -> _Plan:
    assert isinstance(type, PtrType)
    return _Plan(op, ptr, type, target)


class _Plan:
    """How a value of some type is loaded or stored by PTX instructions."""

    def __init__(self, op: LoadOp | StoreOp, ptr: Value, type: PtrType, target: Target) -> None:
        self.ptr, self.type = ptr, type
        value = op.out.type if isinstance(op, LoadOp) else op.value.type
        self.value = value
        self.word, self.count = _words_of(value)
        self.pieces = _pieces(target, type.space, self.word, self.count)
        self.hints = _hints(op, type.space, target)
        if len(self.pieces) > 1 and op.sem.value != "weak":
            need(target, 100, "an ordered access of 32 bytes")

    def mnemonic(self, stem: str, count: int) -> str:
        """Such as ``ld.relaxed.gpu.global.v4.b32``."""
        vec = f".v{count}" if count > 1 else ""
        return f"{stem}{self.hints}{vec}.b{_bits(self.word)}"

    def address(self, piece: range) -> tuple[Value, str]:
        """The operand of an instruction's address, and its letter."""
        at = self.ptr if piece.start == 0 else llvm.gep(self.ptr, piece.start * 4, I8)
        return _address(at, self.type)[:2]

    @property
    def register(self) -> Type:
        """The type of a register: there are none of 8 bits."""
        return I16 if self.word == I8 else self.word


def _names(first: int, count: int) -> str:
    names = ", ".join(f"${first + i}" for i in range(count))
    return f"{{{names}}}" if count > 1 else names


def _load(op: Op, rw: Rewriter, target: Target) -> Replacement:
    assert isinstance(op, LoadOp)
    plan = _access(op, op.ptr, rw.source_type(0), target)
    words: list[Value] = []
    for piece in plan.pieces:
        address, letter = plan.address(piece)
        n = len(piece)
        of = _LETTER[plan.register]
        text = f"{plan.mnemonic('ld', n)} {_names(0, n)}, [${n}];"
        made = llvm.inline_asm(
            text, f"{','.join([f'={of}'] * n)},{letter}{_MEMORY}", (address,), (plan.register,) * n
        )
        words += made.results
    if plan.word == I8:
        words = [arith.cast("trunci", w, I8) for w in words]
    return _as_type(words, plan.word, plan.value)


def _as_type(words: Sequence[Value], word: Type, type: Type) -> Value:
    """Words of memory as a value of a type."""
    if type == word:
        return words[0]
    if isinstance(type, VectorType):
        return vector.bitcast(vector.from_elements(words), type)
    if len(words) == 1:
        return arith.cast("bitcast", words[0], type)
    one = VectorType(1, type)
    return vector.extract(vector.bitcast(vector.from_elements(words), one), 0)


def _as_words(value: Value, word: Type, count: int) -> list[Value]:
    """The inverse of `_as_type`."""
    type = value.type
    if type == word:
        return [value]
    if not isinstance(type, VectorType):
        return [arith.cast("bitcast", value, word)]
    whole = vector.bitcast(value, VectorType(count, word))
    return [vector.extract(whole, i) for i in range(count)]


def _store(op: Op, rw: Rewriter, target: Target) -> Replacement:
    assert isinstance(op, StoreOp)
    plan = _access(op, op.ptr, rw.source_type(0), target)
    words = _as_words(op.value, plan.word, plan.count)
    if plan.word == I8:
        words = [arith.cast("extui", w, I16) for w in words]
    for piece in plan.pieces:
        address, letter = plan.address(piece)
        n = len(piece)
        text = f"{plan.mnemonic('st', n)} [$0], {_names(1, n)};"
        letters = ",".join([letter, *[_LETTER[plan.register]] * n])
        values = (address, *(words[i] for i in piece))
        llvm.inline_asm(text, f"{letters}{_MEMORY}", values, ())
    return ()


def _prefetch(op: Op, rw: Rewriter) -> Replacement:
    address, letter, space = _address(op.operands[0], rw.source_type(0))
    llvm.inline_asm(
        f"prefetch{space}.{_word(op, 'level')} [$0];", f"{letter}{_MEMORY}", (address,), ()
    )
    return ()


def _extern(op: Op, rw: Rewriter) -> Replacement:
    """A call by the ABI of device functions; the function's text goes along as an attribute."""
    lines, places, letters = [], [], []
    first = len(op.results)
    for i, v in enumerate(op.operands):
        bits = passed_bits(v.type)
        lines += [f".param .b{bits} a{i};", f"st.param.b{bits} [a{i}], ${first + i};"]
        places.append(f"a{i}")
        letters.append(_LETTER.get(v.type, "l"))
    results = [r.type for r in op.results]
    to = ""
    for type in results:
        to = "(r), "
        lines.append(f".param .b{passed_bits(type)} r;")
        letters.insert(0, f"={_LETTER[type]}")
    lines.append(f"call {to}{_word(op, 'callee')}, ({', '.join(places)});")
    lines += [f"ld.param.b{passed_bits(t)} $0, [r];" for t in results]
    pure = "pure" in op.attributes
    constraints = ",".join(letters) + ("" if pure else _MEMORY if letters else _MEMORY[1:])
    text = "{ " + " ".join(lines) + " }"
    made = llvm.inline_asm(text, constraints, op.operands, results, pure=pure)
    made.attributes["cute.library"] = op.attributes["library"]
    return tuple(made.results)


# ---------------------------------------------------------------- copies and fences
def _cp_async(op: Op, rw: Rewriter) -> Replacement:
    assert isinstance(op, CpAsyncOp)
    dst, to, _ = _address(op.dst, rw.source_type(0))
    src, from_, _ = _address(op.src, rw.source_type(1))
    fetch = f".L2::{op.prefetch.value}B" if op.prefetch.value else ""
    values, constraints, tail = [dst, src], f"{to},{from_}", ""
    if op.src_bytes is not None:
        size = op.src_bytes
        if size.type != I32:
            assert isinstance(size.type, IntegerType)
            size = arith.cast("trunci" if size.type.width > 32 else "extui", size, I32)
        values, constraints, tail = [*values, size], f"{constraints},r", ", $2"
    text = f"cp.async.{op.cache.value}.shared.global{fetch} [$0], [$1], {op.bytes.value}{tail};"
    llvm.inline_asm(text, constraints + _MEMORY, values, ())
    return ()


def _fence_proxy(op: Op, rw: Rewriter, target: Target) -> Replacement:
    kind = _word(op, "kind")
    if kind != "alias" and not target.has_tma:
        return ()  # there is no other proxy that accesses could be ordered with
    if not op.operands:
        return None
    kind = kind.rsplit(".", 1)[0] + f".{_scope(kind.rsplit('.', 1)[1], target)}"
    address = op.operands[0]
    llvm.inline_asm(f"fence.proxy.{kind} [$0], 128;", f"l{_MEMORY}", (address,), ())
    return ()
