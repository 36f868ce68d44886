# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Loads and stores with a memory order or cache hints, and asynchronous copies (cp.async)."""

from __future__ import annotations

from typing import Any

from opencute.arch.hints import prefetch_bytes
from opencute.base.errors import ArgumentError, TypeMismatchError
from opencute.dialects import ptx, ptx_memory
from opencute.ir.core import Value
from opencute.ir.types import Type, VectorType
from opencute.lang.block.atomics import pointer_of
from opencute.lang.numbers import NumericMeta, as_numeric, class_of, ir_type
from opencute.lang.pointers import Pointer
from opencute.lang.values.stored import check_stored
from opencute.lang.vectors import TensorSSA

__all__ = [
    "cp_async",
    "cp_async_commit_group",
    "cp_async_wait_all",
    "cp_async_wait_group",
    "load",
    "store",
]


def _word(x: Any) -> str:
    return "" if x is None else str(getattr(x, "value", x)).lower()


def _one_of(what: str, word: str, words: tuple[str, ...]) -> str:
    if word not in words:
        raise ArgumentError(
            f"no such {what}", code="OC2128", expected=", ".join(w for w in words if w), found=word
        )
    return word


def _order(sem: Any, scope: Any, sems: tuple[str, ...]) -> tuple[str, str]:
    order = _one_of("memory order", _word(sem) or "weak", sems)
    if order in ("weak", "volatile"):
        return order, ""
    return order, _one_of("scope", _word(scope) or "gpu", ptx.SCOPES)


def _typed(where: Pointer, cls: NumericMeta) -> Value:
    """The pointer, as one to numbers of a class."""
    _memory_type(cls)
    return where.value if where.dtype is cls else where.recast(cls).value


def load(
    ptr: Any,
    dtype: Any = None,
    *,
    sem: Any = None,
    scope: Any = None,
    cop: Any = None,
    level1_eviction_priority: Any = None,
    level_prefetch_size: Any = None,
    num_elements: int = 1,
    loc: Any = None,
    ip: Any = None,
) -> Any:
    """Read memory by one instruction.

    Args:
        ptr: a pointer to global or shared memory.
        dtype: numeric class of the value; that of the pointer if not given.
        sem: "weak" (if not given), "relaxed", "acquire" or "volatile".
        scope: for ordered loads "cta", "cluster", "gpu" (if not given) or "sys".
        cop: cache operator "ca", "cg", "cs", "lu", "cv", or "nc" for read-only data.
        level1_eviction_priority: "evict_normal", "evict_unchanged", "evict_first", "evict_last" or
            "no_allocate".
        level_prefetch_size: bytes to fetch into L2: 64, 128, 256.
        num_elements: more than one: a vector of so many, at most 32 bytes.

    Raises:
        ArgumentError: there is no such instruction.

    Source: PTX ISA, "ld" and "ld.global.nc".
    """
    where = pointer_of(ptr, "load", None if dtype is None else class_of(dtype))
    cls: Any = where.dtype if dtype is None else class_of(dtype)
    order, among = _order(sem, scope, ptx_memory.LOAD_SEMS)
    element = _memory_type(cls)
    type = element if num_elements == 1 else VectorType(num_elements, element)
    value = ptx_memory.load(
        _typed(where, cls), type, sem=order, scope=among,
        cache=_one_of("cache operator", _word(cop), ptx_memory.LOAD_CACHES),
        evict=_one_of("eviction priority", _word(level1_eviction_priority), ptx_memory.EVICTIONS),
        prefetch=prefetch_bytes(level_prefetch_size),
    )  # fmt: skip
    return cls(value) if num_elements == 1 else TensorSSA(value, num_elements, cls)


def _memory_type(cls: NumericMeta) -> Type:
    if cls.dtype.is_bool or cls.dtype.width not in (8, 16, 32, 64):
        raise TypeMismatchError(
            f"{cls.__name__} cannot be loaded or stored with a memory order or cache hint",
            code="OC1294", expected="a number of 8, 16, 32 or 64 bits", found=cls.__name__,
        )  # fmt: skip
    return ir_type(cls.dtype)


def store(
    ptr: Any,
    val: Any,
    *,
    sem: Any = None,
    scope: Any = None,
    cop: Any = None,
    level1_eviction_priority: Any = None,
    loc: Any = None,
    ip: Any = None,
) -> None:
    """Write memory by one instruction.

    Args:
        ptr: a pointer to global or shared memory.
        val: a number, or a vector of at most 32 bytes. It gets the pointer's type, as in
            ``x[i] = val``; to write the bits of another, recast the pointer: ``cute.recast_ptr(ptr,
            dtype=T)``. A bare address (``p.llvm_ptr``) has no type: what is written is the value's.
        sem: "weak" (if not given), "relaxed", "release" or "volatile".
        scope, level1_eviction_priority: as for `load`.
        cop: cache operator "wb", "cg", "cs" or "wt".

    Raises:
        ArgumentError: there is no such instruction.
        TypeMismatchError: the pointer's type does not hold all values of this one.

    Source: PTX ISA, "st".
    """
    where = pointer_of(ptr, "store", val)
    typed = not isinstance(getattr(ptr, "__opencute_value__", ptr), Value)
    if typed:
        check_stored(val, where.dtype)
    number: Any = val if isinstance(val, TensorSSA) else as_numeric(val, where.dtype)
    if typed:
        number = number.to(where.dtype)
    cls: Any = number.dtype if isinstance(number, TensorSSA) else type(number)
    order, among = _order(sem, scope, ptx_memory.STORE_SEMS)
    ptx_memory.store(
        _typed(where, cls), number.ir_value(), sem=order, scope=among,
        cache=_one_of("cache operator", _word(cop), ptx_memory.STORE_CACHES),
        evict=_one_of("eviction priority", _word(level1_eviction_priority), ptx_memory.EVICTIONS),
    )  # fmt: skip


# ---------------------------------------------------------------- asynchronous copies
def cp_async(
    dst: Any,
    src: Any,
    num_bytes: int,
    *,
    cache: str = "ca",
    src_bytes: Any = None,
    prefetch: Any = None,
    loc: Any = None,
    ip: Any = None,
) -> None:
    """Start copying 4, 8 or 16 bytes from global to shared memory.

    Args:
        dst, src: pointers whose alignment is known to be `num_bytes` or more.
        num_bytes: how many.
        cache: "ca", or "cg" (16 bytes) to pass by L1.
        src_bytes: how many are read; the rest becomes zeros.
        prefetch: bytes to fetch into L2: 64, 128, 256.

    Source: PTX ISA, "cp.async".
    """
    from opencute.lang.block.words import word

    to, from_ = pointer_of(dst, "cp_async"), pointer_of(src, "cp_async")
    ptx_memory.cp_async(
        to.value, from_.value, num_bytes, cache=cache, prefetch=prefetch_bytes(prefetch),
        src_bytes=None if src_bytes is None else word(src_bytes),
    )  # fmt: skip


def cp_async_commit_group(*, loc: Any = None, ip: Any = None) -> None:
    """Make the thread's asynchronous copies since the last commit a group."""
    ptx_memory.cp_async_commit()


def cp_async_wait_group(n: Any, *, loc: Any = None, ip: Any = None) -> None:
    """Wait until at most the `n` newest groups of the thread are under way.

    Args:
        n: how many, a compile-time integer.

    Raises:
        TypeMismatchError: `n` is not known at compile time.

    Source: PTX ISA, "cp.async.wait_group".
    """
    if not hasattr(n, "__index__") or getattr(n, "is_dynamic", False):
        try:
            n = int(n)
        except Exception:
            raise TypeMismatchError(
                "cp_async_wait_group takes a compile-time number", code="OC1295", found=repr(n)
            ) from None
    if int(n) < 0:
        raise ArgumentError("no such number of groups", code="OC2128", expected="0 or more",
                            found=int(n))  # fmt: skip
    ptx_memory.cp_async_wait(int(n))


def cp_async_wait_all(*, loc: Any = None, ip: Any = None) -> None:
    """Wait for all asynchronous copies of the thread."""
    ptx_memory.cp_async_wait(-1)
