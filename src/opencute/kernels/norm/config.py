# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How the blocks of a cluster share rows that norms are taken of, and which way is a good one.

In: elements of a row, and the arrays. Out: a configuration, or None where one block does better::

    ring_choice(65_536, 8, (x, residual), centred=False)    # ClusterRows(512, 8, 8, 2, 1)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from opencute.base.errors import ArgumentError
from opencute.base.interned import interned
from opencute.kernels.arrays import item_bits, vector_elements
from opencute.kernels.checked import typed_fields
from opencute.lib.rows import Rows

__all__ = [
    "ClusterRows",
    "cluster_backward_choice",
    "cluster_choice",
    "ring_choice",
    "ring_space",
    "whole_parts",
]

_MOST = 8  # blocks of a cluster
_EACH = 64  # elements of a thread, at most
_DERIVED = 16  # elements of a thread, for derivatives: it holds seven registers for two of them
_DERIVED_LEAST = 4096  # elements of a row whose derivatives are taken so
_SMEM = 200 << 10  # bytes for parts of rows, of all blocks of a multiprocessor
_SHORT = 8192  # elements of a row that a block of 256 threads takes
_LEAST = 32_768  # elements of a row that a block shares with others rather than hold alone


@dataclass(frozen=True)
class ClusterRows:
    """How the blocks of a cluster share a row.

    Args:
        threads: of a block.
        vec: elements moved at once.
        blocks: of a cluster: 2, 4 or 8; where clusters stay, also 1.
        stages: parts of rows that each block has on their way: clusters stay, and take every so
            many-th row. 0: a cluster takes one row.
        beside: blocks of a multiprocessor, where clusters stay.
    """

    threads: int
    vec: int
    blocks: int
    stages: int = 0
    beside: int = 2

    def part(self, n: int) -> Rows:
        """What a block has of a row of `n` elements.

        Raises:
            ArgumentError: there are no such parts, or they do not fit in registers.
        """
        typed_fields(self, "OC2503")
        whole = self.blocks * self.vec
        known = (2, 4, 8) if self.stages == 0 else (1, 2, 4, 8)
        good = self.blocks in known and self.threads % 32 == 0 and 32 <= self.threads <= 1024
        good = good and self.vec >= 1 and not self.vec & (self.vec - 1)
        good = good and 0 <= self.stages <= 16 and 1 <= self.beside * self.threads <= 2048
        if not good or n % whole or n // self.blocks > self.threads * _EACH:
            raise ArgumentError(
                f"these blocks cannot share rows of {n} elements", code="OC2503", found=self,
                expected=f"parts of whole vectors, at most {_EACH} elements for a thread",
            )  # fmt: skip
        return interned(Rows(n // self.blocks, self.threads, self.vec))


def cluster_choice(n: int, vec: int) -> ClusterRows | None:
    """How a cluster shares rows of `n` elements that are moved `vec` at a time; None if one block
    holds them, or blocks cannot."""
    if n <= _LEAST:
        return None
    for threads in (256, 512, 1024):  # small blocks: some load while others wait for sums
        for each in (32, _EACH) if threads == 512 else (32,):
            if n % (_MOST * vec) == 0 and n // _MOST <= threads * each:
                return ClusterRows(threads, vec, _MOST)
    return None


def ring_choice(n: int, vec: int, loaded: tuple[Any, ...], *, centred: bool) -> ClusterRows | None:
    """How clusters that stay share rows of `n` elements; None if they cannot, or need not.

    Args:
        vec: elements that are moved at once.
        loaded: the arrays that bulk copies load.
        centred: LayerNorm: weight and bias, where they do not stay in registers, are twice as much
            as rows themselves.
    """
    if n <= (_SHORT if centred else _LEAST):
        return None
    each = max(_SHORT, n // _MOST)
    blocks = next((b for b in (1, 2, 4, 8) if n <= b * each and n % (b * vec) == 0), None)
    if blocks is None or not whole_parts(n, blocks, *loaded):
        return None
    part = n // blocks
    threads = next((t for t in (256, 512, 1024) if part <= 32 * t), None)
    if threads is None:
        return None
    stage = part * sum(item_bits(a) for a in loaded) // 8
    beside = 2 if threads == 256 else 1  # so that weight and bias stay in registers
    if 2 * beside * stage > _SMEM:
        return None
    return ClusterRows(threads, vec, blocks, 2, beside)


def whole_parts(n: int, blocks: int, *arrays: Any) -> bool:
    """Whether the blocks' parts of rows of `n` elements start at multiples of 16 bytes."""
    return n % blocks == 0 and all(
        vector_elements(n // blocks, item_bits(a), a) * item_bits(a) == 128 for a in arrays
    )


def cluster_backward_choice(n: int, vec: int, loaded: tuple[Any, ...]) -> ClusterRows | None:
    """How clusters that stay share rows of `n` elements, for derivatives; None if they cannot, or
    need not.

    Args:
        vec: elements that are moved at once.
        loaded: the arrays that bulk copies load.
    """
    most = 512 * _DERIVED
    blocks = next((b for b in (1, 2, 4, 8) if n <= b * most and n % (b * vec) == 0), None)
    if n < _DERIVED_LEAST or blocks is None or not whole_parts(n, blocks, *loaded):
        return None
    part = n // blocks
    threads = 32 * -(-part // (32 * _DERIVED))
    beside = min(512 // threads, 8)
    stage = part * sum(item_bits(a) for a in loaded) // 8
    stages = min(_SMEM // beside // stage, 6)
    return ClusterRows(threads, vec, blocks, stages, beside) if stages >= 4 else None


def ring_space(n: int, vec: int, size: int, *, derived: bool = False) -> Iterator[ClusterRows]:
    """Choices of clusters that stay that are worth trying.

    Args:
        n: elements of a row.
        vec: elements that are moved at once, 16 bytes of them.
        size: bytes that bulk copies load for an element.
        derived: for derivatives.
    """
    for blocks in (b for b in (1, 2, 4, 8) if n % (b * vec) == 0):
        part = n // blocks
        least = -(-part // (_DERIVED if derived else 32))
        for threads in dict.fromkeys((32 * -(-least // 32), 512, 1024)):
            for stages in (4, 5, 6) if derived else (1, 2, 3):
                for beside in (1, 2, 3, 4):
                    fits = beside * stages * part * size <= _SMEM and beside * threads <= 1536
                    if fits and least <= threads <= 1024 and part >= threads * vec:
                        yield ClusterRows(threads, vec, blocks, stages, beside)
