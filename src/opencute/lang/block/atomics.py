# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Atomic operations on memory.

``old = cute.arch.atomic_add(tensor.iterator, Float32(1))``; each takes `sem` ("relaxed", "acquire",
"release", "acq_rel") and `scope` ("cta", "cluster", "gpu", "sys"); relaxed and gpu if not given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opencute.base.errors import ArgumentError, TypeMismatchError
from opencute.dialects import arith, ptx, ptx_memory, scf
from opencute.dialects.cute import PtrType
from opencute.dialects.interop import LLVM_SPACES, from_llvm
from opencute.dialects.llvm import LLVMPointerType
from opencute.ir.builder import insert_at, new_block
from opencute.ir.core import Region, Value
from opencute.ir.types import I32, I64, IntegerType, Type
from opencute.lang.numbers import NUMERIC_CLASSES, Numeric, NumericMeta, as_numeric, ir_type
from opencute.lang.pointers import AddressSpace, Pointer
from opencute.lang.tensors import TracedTensor
from opencute.lang.vectors import TensorSSA

__all__ = [
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_dec",
    "atomic_exch",
    "atomic_fmax",
    "atomic_fmin",
    "atomic_inc",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_xor",
    "pointer_of",
    "red_add",
]


def pointer_of(ptr: Any, what: str, like: Any = None) -> Pointer:
    """The pointer that an operation works on.

    Args:
        ptr: a pointer, also as an llvm pointer or address (``p.llvm_ptr``), a tensor (its first
            element) or a member of a struct.
        what: the operation, for messages.
        like: a number whose type an address without one points to.

    Raises:
        TypeMismatchError: none of these, or a pointer to registers.
    """
    if isinstance(ptr, TracedTensor):
        ptr = ptr.iterator
    raw = getattr(ptr, "__opencute_value__", ptr)
    if isinstance(raw, Value):
        ptr = _from_value(raw, like, what)
    found = getattr(ptr, "ptr", ptr)
    if not isinstance(found, Pointer) or found.memspace in (AddressSpace.rmem, AddressSpace.tmem):
        raise TypeMismatchError(
            f"{what} needs a pointer to global or shared memory",
            code="OC1292",
            found=repr(ptr) if isinstance(ptr, Numeric) else str(ptr),
            hint="an element's address is t.iterator + i" if isinstance(ptr, Numeric) else None,
        )
    return found


_LLVM_SPACES = {number: name for name, number in LLVM_SPACES.items() if name != "rmem"}


def _from_value(raw: Value, like: Any, what: str) -> Any:
    """A pointer from an SSA value: a cute or llvm pointer."""
    while raw.op is not None and (raw.op.name == "cute.to_llvm" or _into_cluster(raw)):
        raw = raw.op.operands[0]
    dtype: Any = like if isinstance(like, NumericMeta) else None
    if dtype is None and isinstance(like, Numeric | TensorSSA):
        dtype = type(like) if isinstance(like, Numeric) else like.dtype
    if isinstance(raw.type, PtrType):
        own: Any = _class_of(raw.type.element)
        pointer = Pointer(raw, own)
        if dtype is None or dtype.dtype.width != own.dtype.width:
            return pointer
        return pointer.recast(dtype)
    if isinstance(raw.type, LLVMPointerType) and dtype is not None:
        space = _LLVM_SPACES.get(raw.type.space, "generic")
        align = max(dtype.dtype.memory_bits // 8, 1)
        return Pointer(from_llvm(raw, PtrType(ir_type(dtype.dtype), space, align)), dtype)
    raise TypeMismatchError(
        f"{what} needs a pointer to global or shared memory", code="OC1292", found=raw.type,
        hint="an llvm pointer says nothing of its elements: pass a number with a type",
    )  # fmt: skip


def _into_cluster(raw: Value) -> bool:
    """Whether a block's own shared memory is named as a part of its cluster's: the same place."""
    op, names = raw.op, _LLVM_SPACES
    if op is None or op.name != "llvm.addrspacecast":
        return False
    types: Any = op.operands[0].type, raw.type
    return [names.get(t.space) for t in types] == ["smem", "dsmem"]


def _class_of(element: Type) -> NumericMeta:
    """The (signed) class of numbers of an element type."""
    return next(c for c in NUMERIC_CLASSES.values() if ir_type(c.dtype) == element)


def _order(sem: Any, scope: Any, sems: tuple[str, ...]) -> tuple[str, str]:
    order = "relaxed" if sem is None else str(getattr(sem, "value", sem)).lower()
    among = "gpu" if scope is None else str(getattr(scope, "value", scope)).lower()
    for word, words in ((order, sems), (among, ptx.SCOPES)):
        if word not in words:
            raise ArgumentError(
                "no such memory order or scope", code="OC2128", expected=", ".join(words),
                found=word,
            )  # fmt: skip
    return order, among


def _value(ptr: Pointer, val: Any, name: str) -> tuple[Value, Callable[[Value], Any]]:
    """The operand, of the pointer's type, and what makes a value of a result."""
    dtype: Any = ptr.dtype
    _check_kind(f"atomic {name}", val, dtype)
    if isinstance(val, TensorSSA):
        vec = val.to(dtype)
        _check(name, vec.value.type, dtype)
        return vec.value, lambda v: TensorSSA(v, vec.shape, dtype)
    operand = as_numeric(val, dtype).to(dtype).ir_value()
    _check(name, operand.type, dtype)
    return operand, dtype


def _check_kind(what: str, val: Any, dtype: NumericMeta) -> None:
    """Raise if a float would lose its fraction on the way into an integer in memory."""
    if dtype.dtype.is_float:
        return
    if isinstance(val, Numeric | TensorSSA):
        own: Any = type(val) if isinstance(val, Numeric) else val.dtype
        lossy, found = own.dtype.is_float, own.__name__
    else:
        lossy, found = isinstance(val, float) and not val.is_integer(), repr(val)
    if lossy:
        raise TypeMismatchError(
            f"{what}: a float does not go into an integer in memory", code="OC1238",
            expected=dtype.__name__, found=found,
            hint=f"say how it is rounded: value.to({dtype.__name__}) drops the fraction",
        )  # fmt: skip


def _check(name: str, type: Type, dtype: NumericMeta) -> None:
    if type not in ptx_memory.ATOMICS[name]:
        raise TypeMismatchError(
            f"there is no atomic {name} of {dtype.__name__}", code="OC1293",
            expected=", ".join(map(str, ptx_memory.ATOMICS[name])), found=type,
        )  # fmt: skip


_ARGS = """

Args:
    ptr: a pointer to global or shared memory, or a tensor, whose first element is meant.
    val: {val}
    sem: "relaxed" (if not given), "acquire", "release" or "acq_rel".
    scope: among which threads: "cta", "cluster", "gpu" (if not given) or "sys".{more}

Raises:
    TypeMismatchError: not such memory, or elements that the hardware has no such operation for.
    ArgumentError: there is no such order or scope.

Source: PTX ISA, "{source}".
"""


def _documented(what: str, val: str, source: str = "atom", more: str = "") -> str:
    """The docstring of an atomic operation."""
    return what + _ARGS.format(val=val, source=source, more=more)


def _atomic(name: str, what: str, val: str) -> Callable[..., Any]:
    def atomic(
        ptr: Any, val: Any, *, sem: Any = None, scope: Any = None, loc: Any = None, ip: Any = None
    ) -> Any:
        where = pointer_of(ptr, f"atomic_{name}", val)
        operand, result = _value(where, val, name)
        order, among = _order(sem, scope, ptx_memory.ATOMIC_SEMS)
        unsigned = name in ("min", "max") and not where.dtype.dtype.signed
        return result(
            ptx_memory.atomic(name, where.value, operand, order, among, unsigned=unsigned)
        )

    atomic.__name__ = atomic.__qualname__ = f"atomic_{name}"
    atomic.__doc__ = _documented(
        f"{what} in memory in one step; returns what was there before.", val
    )
    return atomic


_NUMBER = "a number, which gets the type of the elements."
_PAIR = "a number, which gets the type of the elements; or a vector of two halves."
_LAST = "the greatest number that the counter has."

atomic_add = _atomic("add", "Add a number, or a pair of halves,", _PAIR)
atomic_and = _atomic("and", "Bitwise and of integers", _NUMBER)
atomic_or = _atomic("or", "Bitwise or of integers", _NUMBER)
atomic_xor = _atomic("xor", "Bitwise exclusive or of integers", _NUMBER)
atomic_min = _atomic("min", "The lesser of two integers", _NUMBER)
atomic_max = _atomic("max", "The greater of two integers", _NUMBER)
atomic_exch = _atomic("exch", "Another number", _NUMBER)
atomic_inc = _atomic("inc", "Count up, to 0 after `val` (32-bit integers),", _LAST)
atomic_dec = _atomic("dec", "Count down, to `val` after 0 (32-bit integers),", _LAST)


def red_add(
    ptr: Any, val: Any, *, sem: Any = None, scope: Any = None, loc: Any = None, ip: Any = None
) -> None:
    """Add to memory in one step, without asking what was there.

    Args:
        ptr: a pointer to global or shared memory, or a tensor, whose first element is meant.
        val: a number, which gets the type of the elements; or a vector of two halves.
        sem: "relaxed" (if not given) or "release".
        scope: among which threads: "cta", "cluster", "gpu" (if not given) or "sys".

    Raises:
        TypeMismatchError: not such memory, or elements that the hardware has no such operation for.
        ArgumentError: there is no such order or scope.

    Source: PTX ISA, "red".
    """
    where = pointer_of(ptr, "red_add", val)
    operand, _ = _value(where, val, "add")
    order, among = _order(sem, scope, ptx_memory.RED_SEMS)
    ptx_memory.red("add", where.value, operand, order, among)


def _as_bits(ptr: Pointer, width: int) -> Value:
    """The pointer as one to integers of a width."""
    from opencute.dialects import cute

    type = ptr.value.type
    assert isinstance(type, PtrType)
    whole = PtrType(IntegerType(width), type.space, type.align)
    return ptr.value if type == whole else cute.recast(ptr.value, whole)


def atomic_cas(
    ptr: Any, cmp: Any, val: Any, *, sem: Any = None, scope: Any = None,
    loc: Any = None, ip: Any = None,
) -> Any:  # fmt: skip
    """Store `val` if the bits in memory are those of `cmp`; returns what was there before.

    Args:
        ptr: a pointer to global or shared memory, or a tensor, whose first element is meant.
        cmp: what is compared with, a number, which gets the type of the elements.
        val: what is stored, likewise.
        sem: "relaxed" (if not given), "acquire", "release" or "acq_rel".
        scope: among which threads: "cta", "cluster", "gpu" (if not given) or "sys".

    Raises:
        TypeMismatchError: not a type of 16, 32 or 64 bits.
        ArgumentError: there is no such order or scope.

    Source: PTX ISA, "atom".
    """
    where = pointer_of(ptr, "atomic_cas", val)
    dtype: Any = where.dtype
    width = dtype.dtype.width
    if width not in (16, 32, 64):
        raise TypeMismatchError(
            f"there is no atomic cas of {dtype.__name__}", code="OC1293",
            expected="16, 32 or 64 bits", found=f"{width} bits",
        )  # fmt: skip

    def bits(x: Any) -> Value:
        _check_kind("atomic cas", x, dtype)
        raw = as_numeric(x, dtype).to(dtype).ir_value()
        return raw if isinstance(raw.type, IntegerType) else _bitcast(raw, IntegerType(width))

    order, among = _order(sem, scope, ptx_memory.ATOMIC_SEMS)
    old = ptx_memory.cas(_as_bits(where, width), bits(cmp), bits(val), order, among)
    want = ir_type(dtype.dtype)
    return dtype(old if old.type == want else _bitcast(old, want))


def _bitcast(value: Value, type: Type) -> Value:
    return arith.cast("bitcast", value, type)


def _region(build: Callable[[], Value]) -> tuple[Region, Value]:
    region, block = new_block()
    with insert_at(block):
        out = build()
        scf.yield_((out,))
    return region, out


def _float_extreme(name: str) -> Callable[..., Any]:
    greatest = name == "fmax"

    def extreme(
        ptr: Any,
        val: Any,
        *,
        sem: Any = None,
        scope: Any = None,
        sign_bit: bool | None = None,
        loc: Any = None,
        ip: Any = None,
    ) -> Any:
        where = pointer_of(ptr, f"atomic_{name}", val)
        dtype: Any = where.dtype
        width = dtype.dtype.width
        if not dtype.dtype.is_float or width not in (32, 64):
            raise TypeMismatchError(
                f"there is no atomic {name} of {dtype.__name__}", code="OC1293",
                expected="Float32 or Float64", found=dtype.__name__,
            )  # fmt: skip
        order, among = _order(sem, scope, ptx_memory.ATOMIC_SEMS)
        whole = I32 if width == 32 else I64
        place = _as_bits(where, width)
        number = as_numeric(val, dtype).to(dtype).ir_value()
        # A NaN changes nothing: it counts as the number that loses against all others.
        loser = arith.constant(float("-inf") if greatest else float("inf"), number.type)
        number = arith.select(arith.cmpf("uno", number, number), loser, number)
        bits = _bitcast(number, whole)

        def step(op: str, *, unsigned: bool) -> Value:
            return ptx_memory.atomic(op, place, bits, order, among, unsigned=unsigned)

        def plus() -> Value:  # numbers without the sign bit are ordered as signed integers
            return step("max" if greatest else "min", unsigned=False)

        def minus() -> Value:  # negative ones the other way round, above all others if unsigned
            return step("min" if greatest else "max", unsigned=True)

        if sign_bit is False:
            return dtype(_bitcast(plus(), number.type))
        negative = arith.cmpi("slt", bits, arith.constant(0, whole))
        (then, _), (orelse, _) = _region(minus), _region(plus)
        out = scf.if_(negative, (whole,), then, orelse).results[0]
        return dtype(_bitcast(out, number.type))

    extreme.__name__ = extreme.__qualname__ = f"atomic_{name}"
    extreme.__doc__ = _documented(
        f"The {'greater' if greatest else 'lesser'} of two floats in memory in one step; returns "
        "what was there before. NaN as `val`\nchanges nothing; memory must not hold NaN.",
        "a number, which gets the type of the elements, Float32 or Float64.",
        more="\n    sign_bit: False promises that neither number is negative, which is faster.",
    )
    return extreme


atomic_fmax = _float_extreme("fmax")
atomic_fmin = _float_extreme("fmin")
