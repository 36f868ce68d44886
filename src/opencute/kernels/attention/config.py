# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How attention is cut into tiles: the choices, a good one, and all that are worth trying.

In: the size of a head. Out: a frozen configuration::

    heuristic(128)      # AttentionConfig(m=128, n=64, warps=4)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from opencute.base.errors import ArgumentError

__all__ = ["AttentionConfig", "heuristic", "padded", "search_space"]


@dataclass(frozen=True)
class AttentionConfig:
    """Choices of attention.

    Args:
        m: queries of a block.
        n: keys that are worked on at a time.
        warps: warps of a block; each has m / warps queries.
    """

    m: int
    n: int
    warps: int

    def smem_bytes(self, head_dim: int) -> int:
        """Shared memory of a block."""
        return 2 * (padded(head_dim) + 8) * (self.m + 2 * self.n)

    def check(self, head_dim: int, smem: int) -> AttentionConfig:
        """The configuration itself, if it is possible.

        Args:
            smem: bytes of shared memory that a block may have.

        Raises:
            ArgumentError: what does not fit.
        """
        if self.warps < 1 or self.m % (16 * self.warps) or self.n < 16 or self.n % 16:
            raise ArgumentError(
                "these tiles cannot be shared among these warps", code="OC2520", found=self,
                expected="16 queries, or a multiple, for each warp; a multiple of 16 keys",
            )  # fmt: skip
        rows = self.warps * 32 // (8 if padded(head_dim) % 64 == 0 else 4)
        if self.m % rows or self.n % rows:
            raise ArgumentError(
                "these threads copy more rows at once than a tile has", code="OC2520",
                expected=f"multiples of {rows} queries and keys", found=self,
            )  # fmt: skip
        if self.smem_bytes(head_dim) > smem:
            raise ArgumentError(
                "the tiles do not fit in shared memory", code="OC2521",
                expected=f"at most {smem} bytes", found=self.smem_bytes(head_dim),
            )  # fmt: skip
        return self


def padded(head_dim: int) -> int:
    """Elements of a row in shared memory."""
    return -(-head_dim // 32) * 32


def heuristic(head_dim: int) -> AttentionConfig:
    """A good choice for heads of a size.

    With 32 queries to a warp, what is read of keys and values serves two instructions. The result
    takes a register for each of a warp's queries and eight elements of a head's, the scores as much
    for keys: from 160 elements on, 16 queries are what fits.
    """
    if head_dim > 128:
        return AttentionConfig(64, 64 if head_dim <= 192 else 32, 4)
    return AttentionConfig(128, 64, 4)


def search_space(head_dim: int, smem: int) -> Iterator[AttentionConfig]:
    """All choices that are worth trying, promising ones first."""
    for m, warps in ((128, 4), (64, 4), (128, 8), (64, 2), (256, 8), (32, 2)):
        for n in (64, 48, 32, 128, 96):
            if m // warps * (padded(head_dim) + n) > 32 * 224:
                continue  # result and scores alone take all registers
            try:
                yield AttentionConfig(m, n, warps).check(head_dim, smem)
            except ArgumentError:
                continue
