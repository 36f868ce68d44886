# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How operators on rows share the work: what norms, softmax and cross-entropy have in common.

A row is read once and kept in registers, so that memory is moved no more often than it must be. A
row that does not fit there is read in chunks, as often as it takes; the second time it is usually
found in the L2 cache.
With 32 elements of 16 bits a thread has four accesses of 128 bits in flight, and eight blocks of
256 threads fit on a multiprocessor, which is enough to keep its memory busy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from opencute.base.errors import ArgumentError
from opencute.base.interned import interned
from opencute.kernels.arrays import item_bits, vector_elements
from opencute.kernels.checked import typed_fields
from opencute.lib.long_rows import LongRows
from opencute.lib.rows import Rows

__all__ = ["RowConfig", "choose", "heuristic", "search_space", "vector_of"]

_MAX_ELEMENTS = 64  # of a thread: as Float32 they take 64 registers, and as many again while used
_CHUNK_ELEMENTS = 32  # of a thread, in a chunk of a long row
_BLOCK_NUMBERS = 32_768  # that a block holds: half of the registers of a multiprocessor


@dataclass(frozen=True)
class RowConfig:
    """Choices of an operator on rows.

    Args:
        threads: threads of a row: a power of two up to 32, or a multiple of 32 up to 1024.
        vec: elements moved at once.
        groups: rows of a block; more than one only where a row has at most 32 threads.
    """

    threads: int
    vec: int
    groups: int = 1

    def rows(self, n: int, numbers: int = 1) -> Rows | LongRows:
        """The choices applied to rows of `n` elements.

        Args:
            n: elements of a row.
            numbers: what a thread holds for each element.

        Returns:
            How the row is shared: in registers, or in chunks if it does not fit there.

        Raises:
            ArgumentError: the choices are not possible.
        """
        typed_fields(self, "OC2503")
        t, lanes = self.threads, self.threads * self.groups
        if (
            t < 1
            or self.groups < 1
            or lanes > 1024
            or (t > 32 and (t % 32 or self.groups > 1))
            or lanes % 32
        ):
            raise ArgumentError("these threads cannot share rows", code="OC2503", found=self)
        if t < 32 and t & (t - 1):
            raise ArgumentError("these threads cannot share rows", code="OC2503", found=self)
        if self.vec < 1 or n % self.vec or self.vec & (self.vec - 1):
            raise ArgumentError(f"vectors do not divide {n} elements", code="OC2503", found=self)
        rows = Rows(n, t, self.vec, self.groups)
        most = min(_MAX_ELEMENTS, _BLOCK_NUMBERS // lanes) // numbers
        if rows.reps * self.vec <= most:
            return interned(rows)
        if t < 32:
            raise ArgumentError(
                "a row is too long for part of a warp", code="OC2504",
                expected=f"at most {most * t} elements for {t} threads", found=n,
            )  # fmt: skip
        if self.groups > 1:
            raise ArgumentError(
                "only one row of a block can be read in chunks", code="OC2504", expected="groups 1",
                found=self,
            )  # fmt: skip
        return interned(
            LongRows(n, t, self.vec, max(min(_CHUNK_ELEMENTS, most // 2) // self.vec, 1))
        )


def heuristic(n: int, vec: int, numbers: int = 1) -> RowConfig:
    """A good choice for rows of `n` elements that are moved `vec` at a time.

    Args:
        n, vec: as there.
        numbers: what a thread holds for each element.
    """
    if n > _BLOCK_NUMBERS // numbers:
        return RowConfig(512 // numbers, vec)  # few rows at once: they are still in the L2 cache
    vectors = -(-n // vec)
    if vectors <= 128:  # up to four vectors for each thread of a warp, or of a part of one
        threads = 1
        while threads < 32 and threads * 2 < vectors + 1:
            threads *= 2
        return RowConfig(threads, vec, 128 // threads)
    each = 32 if vec > 1 else 16  # elements of a thread, where there are threads enough
    warps = -(-n // (each * 32))
    # Beyond, fewer threads hold more: what each needs beside its elements is there less often.
    return RowConfig(32 * (warps if warps <= 24 else 16), vec)


def choose(n: int, *arrays: Any, numbers: int = 1) -> RowConfig:
    """A good choice for rows of `n` elements of arrays: matrices and vectors, None left out.

    Args:
        n: elements of a row.
        numbers: what a thread holds for each element.
    """
    return heuristic(n, vector_of(n, *arrays), numbers)


def vector_of(n: int, *arrays: Any) -> int:
    """Elements of rows of `n` that can be moved at once in all arrays; None is left out."""
    given = [a for a in arrays if a is not None]
    return vector_elements(n, max(map(item_bits, given)), *given)


def search_space(n: int, vec: int) -> Iterator[RowConfig]:
    """Choices worth trying."""
    for threads in (8, 16, 32, 64, 128, 256, 512, 1024):
        config = RowConfig(threads, vec, max(128 // threads, 1) if threads <= 32 else 1)
        try:
            rows = config.rows(n)
        except ArgumentError:
            continue
        if isinstance(rows, LongRows):
            if threads >= 256:
                yield config
        elif rows.reps * threads * vec < 2 * n:  # no more than half of the threads idle
            yield config
