# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Memory orders and cache hints of copies, as users write them.

In: keywords such as ``l1c_evict_priority=CacheEvictionPriority.NO_ALLOCATE``. Out: `AccessHints`::

    make_copy_atom(CopyUniversalOp(), Float32, num_bits_per_copy=128,
                   l1c_evict_priority=CacheEvictionPriority.EVICT_FIRST, invariant=True)
"""

from __future__ import annotations

import enum
import operator
from dataclasses import replace
from typing import Any

from opencute.arch.hints import MASK_64, SCOPES, AccessHints, prefetch_bytes
from opencute.arch.tma import CACHE_HINTS
from opencute.base.errors import ArgumentError, TypeMismatchError
from opencute.lang.numbers import Numeric

__all__ = ["HINTS", "check_hints", "hints_of", "policy_bits", "with_policy"]

HINTS = (
    "invariant", "l1c_evict_priority", "l2_prefetch_size", "memory_order", "memory_scope",
)  # fmt: skip
"""The keywords."""


def _word(x: Any) -> str:
    return "" if x is None else str(getattr(x, "value", x)).lower()


def _wrong(what: str, found: Any, expected: str) -> ArgumentError:
    return ArgumentError(
        f"hints of an access: {what}", code="OC2918", found=repr(found)[:80],
        expected=expected,
    )  # fmt: skip


def hints_of(
    invariant: Any = False, l1c_evict_priority: Any = None, l2_prefetch_size: Any = None,
    memory_order: Any = None, memory_scope: Any = None,
) -> AccessHints:  # fmt: skip
    """What the keywords say.

    Args:
        invariant: nobody writes what is read while the kernel runs; as the order "constant".
        l1c_evict_priority: a CacheEvictionPriority, or its value.
        l2_prefetch_size: an L2PrefetchSize, or bytes.
        memory_order: a MemoryOrder, or its value.
        memory_scope: a MemoryScope, or its value; the GPU if an order has none.

    Raises:
        ArgumentError: there is no such access.
    """
    if invariant not in (True, False):
        raise _wrong("no such word for what nobody writes (invariant)", invariant, "True or False")
    order, scope = _word(memory_order), _word(memory_scope)
    if scope not in ("", *SCOPES):
        raise _wrong("no such scope", memory_scope, ", ".join(SCOPES))
    order = "" if order == "weak" else order
    invariant = bool(invariant) or order == "constant"
    order = "" if order == "constant" else order
    scope = (scope or "gpu") if order not in ("", "volatile") else ""
    evict = _word(l1c_evict_priority)
    # Normal is what an access without a word is.
    evict = "" if evict in ("none", "evict_normal") else evict
    return AccessHints(order, scope, evict, prefetch_bytes(l2_prefetch_size), invariant)


def with_policy(hints: AccessHints, policy: Any) -> AccessHints:
    """Hints with an L2 cache policy.

    Args:
        hints: what there is so far.
        policy: the bits that ``createpolicy`` makes, or a priority ("evict_first", ...) for all
            lines; known at compile time.
    """
    if policy is None:
        return hints
    bits = policy_bits(policy)
    if isinstance(bits, Numeric):
        try:
            bits = int(bits) & MASK_64
        except Exception:
            raise _late(policy) from None
    return replace(hints, policy=bits)


def policy_bits(policy: Any) -> int | Numeric:
    """The bits of an L2 cache policy, or the Int64 or Uint64 that has them.

    Args:
        policy: a priority for all lines ("evict_first", ...), the bits that ``createpolicy``
            makes, or a number that it made.

    Raises:
        ArgumentError: there is no such policy.
        TypeMismatchError: it is of no type that policies have.
    """
    if isinstance(policy, Numeric) and policy.dtype.width == 64 and policy.dtype.is_integer:
        return policy
    known = getattr(policy, "name", None) if isinstance(policy, enum.Enum) else policy
    bits: Any = CACHE_HINTS.get(known.lower()) if isinstance(known, str) else known
    if hasattr(bits, "__index__") and not isinstance(bits, bool | Numeric | type):
        bits = operator.index(bits)
    if bits is None or (type(bits) is int and not 0 <= bits <= MASK_64):
        raise ArgumentError(
            "copy: there is no such cache policy", code="OC2240", found=repr(policy)[:80],
            expected=", ".join(CACHE_HINTS) + ", or 64 bits",
        )  # fmt: skip
    if type(bits) is not int:
        raise _late(policy)
    return bits


def _late(policy: Any) -> TypeMismatchError:
    return TypeMismatchError(
        "copy: a cache policy is one of the known ones or a number of 64 bits; that of a load, "
        "store or cp.async is known at compile time",
        code="OC1248", found=repr(policy)[:80], expected=" or ".join(CACHE_HINTS),
    )  # fmt: skip


def check_hints(op: Any, record: Any, hints: AccessHints) -> None:
    """Refuse what an operation's instruction has no place for."""
    if not hints or (record is not None and not record.spaces):
        return
    if record is not None and record.cache:
        if replace(hints, prefetch=0, policy=None):
            raise ArgumentError(
                f"{op} takes no such hint", code="OC2241", found=str(hints),
                expected="l2_prefetch_size, and cache_policy in cute.copy",
                hint="cache_mode=LoadCacheMode.GLOBAL passes by L1",
            )  # fmt: skip
        return
    raise ArgumentError(
        f"{op} takes no memory order or cache hint", code="OC2241", found=str(hints),
        expected="none; CopyUniversalOp and CopyG2SOp take some",
    )  # fmt: skip
