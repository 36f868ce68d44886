# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""PTX instructions on memory: atomics, accesses with a memory order or cache hints, cp.async.

Pointers are cute pointers of global, shared or generic memory; attributes are the words of the PTX
ISA, an empty one where the instruction has no such word::

    %old = "ptx.atomic"(%p, %v) {op = "add", scope = "gpu", sem = "relaxed"}
           : (!cute.ptr<f32, gmem, align<4>>, f32) -> f32
"""

from __future__ import annotations

from opencute.base.errors import VerificationError
from opencute.dialects.cute import POINTER, PtrType
from opencute.dialects.ptx import SCOPES, check_word
from opencute.ir.attributes import UNIT, Attribute, IntAttr, StringAttr, UnitAttr
from opencute.ir.builder import build, build1
from opencute.ir.core import Op, OpResult, Value
from opencute.ir.declare import ANY, SCALAR_INT, Trait, attr, op, operand, optional, result
from opencute.ir.types import (
    BF16,
    F16,
    F32,
    F64,
    I16,
    I32,
    I64,
    Type,
    VectorType,
    element_type,
    lanes,
)

__all__ = [
    "ATOMICS",
    "ATOMIC_SEMS",
    "CP_ASYNC_CACHES",
    "EVICTIONS",
    "LEVELS",
    "LOAD_CACHES",
    "LOAD_SEMS",
    "PREFETCHES",
    "STORE_CACHES",
    "STORE_SEMS",
    "AtomicOp",
    "CasOp",
    "CpAsyncCommitOp",
    "CpAsyncOp",
    "CpAsyncWaitOp",
    "LoadOp",
    "RedOp",
    "StoreOp",
    "atomic",
    "cas",
    "cp_async",
    "cp_async_commit",
    "cp_async_wait",
    "load",
    "prefetch",
    "red",
    "store",
]

_PAIRS = (VectorType(2, F16), VectorType(2, BF16))
_INTS = (I32, I64)
ATOMICS: dict[str, tuple[Type, ...]] = {
    "add": (*_INTS, F32, F64, F16, BF16, *_PAIRS),
    "min": _INTS, "max": _INTS, "inc": (I32,), "dec": (I32,),
    "and": _INTS, "or": _INTS, "xor": _INTS, "exch": (*_INTS, F32, F64),
}  # fmt: skip
"""The types that each atomic operation works on."""
_CAS = (I16, *_INTS)
ATOMIC_SEMS = ("relaxed", "acquire", "release", "acq_rel")
RED_SEMS = ("relaxed", "release")
LOAD_SEMS = ("weak", "relaxed", "acquire", "volatile")
STORE_SEMS = ("weak", "relaxed", "release", "volatile")
_ORDERED = ("relaxed", "acquire", "release")
LOAD_CACHES = ("", "ca", "cg", "cs", "lu", "cv", "nc")
STORE_CACHES = ("", "wb", "cg", "cs", "wt")
EVICTIONS = ("", "evict_normal", "evict_unchanged", "evict_first", "evict_last", "no_allocate")
LEVELS = ("L1", "L2")
PREFETCHES = (0, 64, 128, 256)
CP_ASYNC_CACHES = ("ca", "cg")
_SPACES = ("gmem", "smem", "dsmem", "generic")


def _pointer(op_: Op, ptr: Value, spaces: tuple[str, ...] = _SPACES) -> PtrType:
    assert isinstance(ptr.type, PtrType)
    if ptr.type.space not in spaces:
        raise VerificationError(
            f"{op_.name}: wrong memory", code="OC1466", loc=op_.loc,
            expected=" or ".join(spaces), found=ptr.type,
        )  # fmt: skip
    return ptr.type


def _same(op_: Op, want: Type, *values: Value) -> None:
    for v in values:
        if v.type != want:
            raise VerificationError(
                f"{op_.name}: values differ in type", code="OC1467", loc=op_.loc,
                expected=want, found=v.type,
            )  # fmt: skip


def _pointee(op_: Op, ptr: Value, value: Value) -> None:
    """A pointer to the value's type, or to the elements of the value, a vector."""
    type = _pointer(op_, ptr).element
    if type not in (value.type, element_type(value.type)):
        raise VerificationError(
            f"{op_.name}: pointer and value differ in type",
            code="OC1467", loc=op_.loc, expected=type, found=value.type,
        )  # fmt: skip


def _one_of(op_: Op, types: tuple[Type, ...], value: Value) -> None:
    if value.type not in types:
        raise VerificationError(
            f"{op_.name}: not for this type", code="OC1468", loc=op_.loc,
            expected=", ".join(map(str, types)), found=value.type,
        )  # fmt: skip


@op("ptx.atomic", Trait.READS | Trait.WRITES)
class AtomicOp(Op):
    """Combine memory with `value` in one step; the result is what was there before (PTX ISA,
    "atom"). `inc` and `dec` wrap at `value`; min and max are signed unless `unsigned`."""

    ptr = operand(POINTER)
    value = operand(ANY)
    op = attr(StringAttr)
    sem = attr(StringAttr)
    scope = attr(StringAttr)
    unsigned = attr(UnitAttr, required=False)
    old = result(ANY)

    def verify(self) -> None:
        _check_atomic(self, ATOMIC_SEMS)
        _same(self, self.value.type, self.old)


@op("ptx.red", Trait.READS | Trait.WRITES)
class RedOp(Op):
    """As ptx.atomic, without a result (PTX ISA, "red")."""

    ptr = operand(POINTER)
    value = operand(ANY)
    op = attr(StringAttr)
    sem = attr(StringAttr)
    scope = attr(StringAttr)
    unsigned = attr(UnitAttr, required=False)

    def verify(self) -> None:
        _check_atomic(self, RED_SEMS)


def _check_atomic(op_: AtomicOp | RedOp, sems: tuple[str, ...]) -> None:
    words = tuple(w for w in ATOMICS if w != "exch" or isinstance(op_, AtomicOp))
    word = check_word(op_, "op", words)
    check_word(op_, "sem", sems)
    check_word(op_, "scope", SCOPES)
    value = op_.operands[1]
    _one_of(op_, ATOMICS[word], value)
    _pointee(op_, op_.operands[0], value)


@op("ptx.cas", Trait.READS | Trait.WRITES)
class CasOp(Op):
    """Store `value` if memory equals `compare`, in one step; the result is what was there."""

    ptr = operand(POINTER)
    compare = operand(SCALAR_INT)
    value = operand(SCALAR_INT)
    sem = attr(StringAttr)
    scope = attr(StringAttr)
    old = result(SCALAR_INT)

    def verify(self) -> None:
        check_word(self, "sem", ATOMIC_SEMS)
        check_word(self, "scope", SCOPES)
        _one_of(self, _CAS, self.value)
        _pointee(self, self.ptr, self.value)
        _same(self, self.value.type, self.compare, self.old)


def _check_access(op_: LoadOp | StoreOp, value: Value) -> None:
    is_load = isinstance(op_, LoadOp)
    sem = check_word(op_, "sem", LOAD_SEMS if is_load else STORE_SEMS)
    check_word(op_, "scope", SCOPES if sem in _ORDERED else ("",))
    check_word(op_, "cache", LOAD_CACHES if is_load else STORE_CACHES)
    check_word(op_, "evict", EVICTIONS)
    if op_.prefetch.value not in (PREFETCHES if is_load else (0,)):
        raise VerificationError(
            f"{op_.name}: there is no prefetch of {op_.prefetch.value} bytes",
            code="OC1469", loc=op_.loc, expected=", ".join(map(str, PREFETCHES)),
        )  # fmt: skip
    if sem != "weak" and op_.cache.value:
        raise VerificationError(
            f"{op_.name}: a cache operator goes with weak accesses only",
            code="OC1470", loc=op_.loc, found=f"{sem}, {op_.cache.value}",
        )  # fmt: skip
    if op_.cache.value not in ("", "nc") and op_.evict.value:
        raise VerificationError(
            f"{op_.name}: a cache operator and an eviction priority exclude each other",
            code="OC1470", loc=op_.loc, found=f"{op_.cache.value}, {op_.evict.value}",
        )  # fmt: skip
    _check_width(op_, value)


def _check_width(op_: Op, value: Value) -> None:
    """What one instruction moves: 8 to 64 bits, or 2, 4 (8) of them, at most 32 bytes."""
    width: int = getattr(element_type(value.type), "width", 0)
    n = lanes(value.type) or 1
    bits = width * n
    if width not in (8, 16, 32, 64) or n & (n - 1) or bits > 256:
        raise VerificationError(
            f"{op_.name}: no instruction moves this type", code="OC1471", loc=op_.loc,
            expected="elements of 8 to 64 bits, together a power of two, at most 32 bytes",
            found=value.type,
        )  # fmt: skip
    _pointee(op_, op_.operands[0], value)


@op("ptx.load", Trait.READS)
class LoadOp(Op):
    """One load (PTX ISA, "ld"): `sem` and `scope` order it (no scope for weak and volatile),
    `cache` is a cache operator (nc: read-only data), `evict` an L1 eviction priority, `prefetch`
    the bytes to fetch into L2."""

    ptr = operand(POINTER)
    sem = attr(StringAttr)
    scope = attr(StringAttr)
    cache = attr(StringAttr)
    evict = attr(StringAttr)
    prefetch = attr(IntAttr)
    out = result(ANY)

    def own_traits(self) -> Trait:
        return Trait.READS if self.sem.value == "weak" else Trait.READS | Trait.WRITES

    def verify(self) -> None:
        _check_access(self, self.out)


@op("ptx.store", Trait.WRITES)
class StoreOp(Op):
    """One store (PTX ISA, "st"); attributes as of ptx.load, without a prefetch."""

    ptr = operand(POINTER)
    value = operand(ANY)
    sem = attr(StringAttr)
    scope = attr(StringAttr)
    cache = attr(StringAttr)
    evict = attr(StringAttr)
    prefetch = attr(IntAttr)

    def verify(self) -> None:
        _check_access(self, self.value)


@op("ptx.prefetch", Trait.READS | Trait.WRITES)
class PrefetchOp(Op):
    """Bring the cache line at an address into a cache (PTX ISA, "prefetch"); nothing is read. The
    address is one of an element, so that the simulator can tell whether there is one."""

    ptr = operand(POINTER)
    level = attr(StringAttr)

    def verify(self) -> None:
        _pointer(self, self.ptr, ("gmem", "generic"))
        if self.level.value not in LEVELS:
            raise VerificationError(
                "ptx.prefetch: there is no such cache", code="OC1496", loc=self.loc,
                expected=" or ".join(LEVELS), found=self.level.value,
            )  # fmt: skip


@op("ptx.cp_async", Trait.READS | Trait.WRITES)
class CpAsyncOp(Op):
    """Start copying `bytes` (4, 8, 16) from global to shared memory; of them, `src_bytes` are read
    and the rest is filled with zeros. `cache` cg (16 bytes only) passes by L1."""

    dst = operand(POINTER)
    src = operand(POINTER)
    src_bytes = optional(SCALAR_INT)
    bytes = attr(IntAttr)
    cache = attr(StringAttr)
    prefetch = attr(IntAttr)

    def verify(self) -> None:
        n, cache = self.bytes.value, check_word(self, "cache", CP_ASYNC_CACHES)
        if n not in (4, 8, 16) or (cache == "cg" and n != 16):
            raise VerificationError(
                f"ptx.cp_async: no copy of {n} bytes", code="OC1472", loc=self.loc,
                expected="4, 8, 16 bytes; 16 bytes with cg", found=f"{n} bytes with {cache}",
            )  # fmt: skip
        if self.prefetch.value not in PREFETCHES:
            raise VerificationError(
                f"ptx.cp_async: there is no prefetch of {self.prefetch.value} bytes",
                code="OC1469", loc=self.loc, expected=", ".join(map(str, PREFETCHES)),
            )  # fmt: skip
        for ptr, space in ((self.dst, "smem"), (self.src, "gmem")):
            if _pointer(self, ptr, (space,)).align < n:
                raise VerificationError(
                    f"ptx.cp_async: addresses are multiples of {n}",
                    code="OC1473", loc=self.loc, expected=f"align<{n}>", found=ptr.type,
                )  # fmt: skip


@op("ptx.cp_async_commit", Trait.READS | Trait.WRITES)
class CpAsyncCommitOp(Op):
    """Make the thread's copies since the last commit a group."""


@op("ptx.cp_async_wait", Trait.READS | Trait.WRITES | Trait.BLOCKING)
class CpAsyncWaitOp(Op):
    """Wait until at most `groups` of the thread's newest groups are under way; -1: for all of its
    copies, committed or not."""

    groups = attr(IntAttr)

    def verify(self) -> None:
        if self.groups.value < -1:
            raise VerificationError(
                "ptx.cp_async_wait: wrong number of groups", code="OC1474", loc=self.loc,
                expected="-1 or more", found=self.groups.value,
            )  # fmt: skip


def _words(**words: str) -> dict[str, Attribute]:
    return {key: StringAttr(word) for key, word in words.items()}


def atomic(
    op: str, ptr: Value, value: Value, sem: str, scope: str, *, unsigned: bool = False
) -> OpResult:
    """Combine memory with `value`; the result is the old value."""
    attrs = _words(op=op, sem=sem, scope=scope) | ({"unsigned": UNIT} if unsigned else {})
    return build1("ptx.atomic", (ptr, value), value.type, attrs)


def red(op: str, ptr: Value, value: Value, sem: str, scope: str, *, unsigned: bool = False) -> Op:
    """Combine memory with `value`."""
    attrs = _words(op=op, sem=sem, scope=scope) | ({"unsigned": UNIT} if unsigned else {})
    return build("ptx.red", (ptr, value), (), attrs)


def cas(ptr: Value, compare: Value, value: Value, sem: str, scope: str) -> OpResult:
    """Store `value` where memory equals `compare`; the result is the old value."""
    return build1("ptx.cas", (ptr, compare, value), value.type, _words(sem=sem, scope=scope))


def load(
    ptr: Value,
    type: Type,
    *,
    sem: str = "weak",
    scope: str = "",
    cache: str = "",
    evict: str = "",
    prefetch: int = 0,
) -> OpResult:
    """A scalar or vector of `type` from memory."""
    attrs = _words(sem=sem, scope=scope, cache=cache, evict=evict)
    return build1("ptx.load", (ptr,), type, attrs | {"prefetch": IntAttr(prefetch, I64)})


def prefetch(ptr: Value, level: str = "L2") -> Op:
    """Bring the cache line at an address into a cache."""
    return build("ptx.prefetch", (ptr,), (), _words(level=level))


def store(
    ptr: Value,
    value: Value,
    *,
    sem: str = "weak",
    scope: str = "",
    cache: str = "",
    evict: str = "",
) -> Op:
    """Write a scalar or vector."""
    attrs = _words(sem=sem, scope=scope, cache=cache, evict=evict)
    return build("ptx.store", (ptr, value), (), attrs | {"prefetch": IntAttr(0, I64)})


def cp_async(
    dst: Value,
    src: Value,
    bytes: int,
    *,
    cache: str = "ca",
    prefetch: int = 0,
    src_bytes: Value | None = None,
) -> Op:
    """Start a copy of 4, 8 or 16 bytes from global to shared memory."""
    attrs = _words(cache=cache)
    attrs |= {"bytes": IntAttr(bytes, I64), "prefetch": IntAttr(prefetch, I64)}
    values = (dst, src) if src_bytes is None else (dst, src, src_bytes)
    return build("ptx.cp_async", values, (), attrs)


def cp_async_commit() -> Op:
    """Close a group of copies."""
    return build("ptx.cp_async_commit")


def cp_async_wait(groups: int) -> Op:
    """Wait until at most `groups` groups are under way; -1: for everything."""
    return build("ptx.cp_async_wait", (), (), {"groups": IntAttr(groups, I64)})
