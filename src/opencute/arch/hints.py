# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What a copy may say of its accesses besides where they go: memory order, caches, prefetches.

In: words. Out: a frozen `AccessHints`, which is text in the IR and qualifiers in PTX::

    >>> h = AccessHints(evict="no_allocate", prefetch=128)
    >>> str(h), h.qualifiers(".global", loads=True)
    ('L1::no_allocate L2::128B', '.global.L1::no_allocate.L2::128B')
    >>> AccessHints.parse("L1::no_allocate L2::128B") == h
    True

Only a memory order changes what a kernel means.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from opencute.base.errors import ArgumentError

__all__ = ["MASK_64", "SCOPES", "AccessHints", "prefetch_bytes"]

_ORDERS = ("relaxed", "acquire", "release", "volatile")
SCOPES = ("cta", "cluster", "gpu", "sys")
_EVICTIONS = ("evict_normal", "evict_unchanged", "evict_first", "evict_last", "no_allocate")
_PREFETCHES = (64, 128, 256)
_SIZE = re.compile(r"none|(?:size_)?(\d+)b?")
MASK_64 = (1 << 64) - 1


def prefetch_bytes(size: Any) -> int:
    """How many bytes of L2 a word means: 128, "128", "size_128b" or a member of an enumeration with
    such a name or value; None and 0 mean none.

    Raises:
        ArgumentError: it means none of 0, 64, 128 and 256.
    """
    for word in (size, *(getattr(size, n) for n in ("value", "name") if hasattr(size, n))):
        found = _SIZE.fullmatch(str(word).lower())
        if found and int(found[1] or 0) in (0, *_PREFETCHES):
            return int(found[1] or 0)
    raise ArgumentError(
        "hints of an access: no such prefetch into L2", code="OC2918", found=repr(size),
        expected="64, 128 or 256 bytes, or none",
    )  # fmt: skip


@dataclass(frozen=True)
class AccessHints:
    """Qualifiers of loads and stores (PTX ISA, "ld", "st", "cp.async").

    Args:
        sem: memory order ("" for weak): relaxed, acquire, release, volatile.
        scope: of an order but volatile: cta, cluster, gpu, sys.
        evict: L1 eviction priority.
        prefetch: bytes to fetch into L2 around what a load reads; 0: none.
        invariant: nobody writes what is read while the kernel runs.
        policy: the 64 bits of an L2 cache policy, as ``createpolicy`` makes them.
    """

    sem: str = ""
    scope: str = ""
    evict: str = ""
    prefetch: int = 0
    invariant: bool = False
    policy: int | None = None

    def __post_init__(self) -> None:
        ordered = self.sem not in ("", "volatile")
        wrong = (
            (self.sem and self.sem not in _ORDERS and "no such memory order")
            or (bool(self.scope) != ordered and "orders but volatile have a scope, others none")
            or (self.scope and self.scope not in SCOPES and "no such scope")
            or (self.evict and self.evict not in _EVICTIONS and "no such eviction priority")
            or (self.prefetch and self.prefetch not in _PREFETCHES and "no such prefetch")
            or (self.invariant and self.sem and "what nobody writes has no memory order")
            or (
                self.sem == "volatile" and (self.evict or self.policy is not None)
                and "volatile accesses take no cache hints"
            )
        )  # fmt: skip
        if wrong:
            raise ArgumentError(
                f"hints of an access: {wrong}", code="OC2918", found=repr(self),
                expected="orders: relaxed, acquire, release with a scope, or volatile; evictions: "
                + ", ".join(_EVICTIONS) + "; prefetches: 64, 128, 256 bytes",
            )  # fmt: skip

    def __bool__(self) -> bool:
        return self != AccessHints()

    def __str__(self) -> str:
        words = [f"{self.sem}.{self.scope}" if self.scope else self.sem]
        words += ["nc"] if self.invariant else []
        words += [f"L1::{self.evict}"] if self.evict else []
        words += [f"L2::{self.prefetch}B"] if self.prefetch else []
        words += [] if self.policy is None else [f"policy={self.policy & MASK_64:#x}"]
        return " ".join(w for w in words if w)

    @classmethod
    def parse(cls, text: str) -> AccessHints:
        """The inverse of `str`.

        Raises:
            ArgumentError: no such hints.
        """
        out: dict[str, str | int | bool] = {}
        for word in text.split():
            if word == "nc":
                out["invariant"] = True
            elif word.startswith("L1::"):
                out["evict"] = word[4:]
            elif word.startswith("L2::") and word[4:-1].isdigit():
                out["prefetch"] = int(word[4:-1])
            elif word.startswith("policy=0x"):
                out["policy"] = int(word[7:], 16)
            else:
                out["sem"], _, out["scope"] = word.partition(".")
        return cls(**out)  # type: ignore[arg-type]

    @property
    def weak(self) -> bool:
        """Whether they change nothing but speed."""
        return not self.sem

    @property
    def signed_policy(self) -> int | None:
        """The policy as a signed number of 64 bits."""
        if self.policy is None:
            return None
        bits = self.policy & MASK_64
        return bits - (1 << 64) if bits >> 63 else bits

    def qualifiers(self, space: str, *, loads: bool) -> str:
        """What stands between ``ld`` (or ``st``) and the width in an access to global memory;
        `space` is ".global", or "" for an address of any space."""
        text = "".join(f".{w}" for w in (self.sem, self.scope) if w) + space
        if loads and self.invariant and space:
            text += ".nc"
        text += f".L1::{self.evict}" if self.evict else ""
        text += "" if self.policy is None else ".L2::cache_hint"
        return text + (f".L2::{self.prefetch}B" if loads and self.prefetch and space else "")
