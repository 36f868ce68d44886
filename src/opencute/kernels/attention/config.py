# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How attention is cut into tiles: the choices, a good one, and all that are worth trying.

In: the size of a head. Out: a frozen configuration::

    heuristic(128, 232448)              # AttentionConfig(m=128, n=64, warps=4, stages=2, ahead=3)
    warpgroup_heuristic(128, True)      # WarpgroupConfig(2, 128, 2, queries=2, slack=8.0)
    backward_heuristic(128, 232448)     # BackwardConfig(m=64, n=128, warps=8, stages=2)
    warpgroup_backward_heuristic(128)   # WarpgroupBackwardConfig(stages=2, grads=2)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from opencute.base.errors import ArgumentError
from opencute.kernels.checked import typed_fields

__all__ = [
    "WARPGROUP_HEADS", "AttentionConfig", "BackwardConfig", "WarpgroupBackwardConfig",
    "WarpgroupConfig", "backward_heuristic", "backward_search_space",
    "heuristic", "padded", "search_space", "sharing", "warpgroup_backward_heuristic",
    "warpgroup_backward_search_space", "warpgroup_heuristic", "warpgroup_search_space",
]  # fmt: skip

WARPGROUP_HEADS = (64, 96, 128, 192, 256)  # elements of heads that warpgroups take


@dataclass(frozen=True)
class AttentionConfig:
    """Choices of attention.

    Args:
        m: queries of a block.
        n: keys that are worked on at a time.
        warps: warps of a block; each has m / warps queries.
        stages: tiles of keys, and of values, in shared memory: 1 or 2. With two, a tile is there
            before its work begins.
        ahead: how many steps of 16 keys or elements the operands of a product are read before it.
    """

    m: int
    n: int
    warps: int
    stages: int = 1
    ahead: int = 3

    def smem_bytes(self, head_dim: int) -> int:
        """Shared memory of a block."""
        return 2 * (padded(head_dim) + 8) * (self.m + 2 * self.stages * self.n)

    def check(self, head_dim: int, smem: int) -> AttentionConfig:
        """The configuration itself, if it is possible.

        Args:
            smem: bytes of shared memory that a block may have.

        Raises:
            ArgumentError: what does not fit.
        """
        typed_fields(self, "OC2520")
        even = self.warps >= 1 and self.m > 0 and self.m % (16 * self.warps) == 0
        if not even or self.n < 16 or self.n % 16 or self.stages not in (1, 2) or self.ahead < 1:
            raise ArgumentError(
                "these tiles cannot be shared among these warps", code="OC2520", found=self,
                expected="16 queries, or a multiple, for each warp; a multiple of 16 keys; one or "
                "two stages; operands read at least one step ahead",
            )  # fmt: skip
        rows = self.warps * 32 // (8 if padded(head_dim) % 64 == 0 else 4)
        if self.m % rows or self.n % rows:
            raise ArgumentError(
                "these threads copy more rows at once than a tile has", code="OC2520",
                expected=f"multiples of {rows} queries and keys", found=self,
            )  # fmt: skip
        _check_smem(self.smem_bytes(head_dim), smem)
        return self


@dataclass(frozen=True)
class WarpgroupConfig:
    """Choices of attention with warpgroups, on sm_90a.

    Args:
        groups: warpgroups of a block that compute, each with 64 queries: 2 or 3.
        n: keys that are worked on at a time.
        stages: tiles of keys, and of values, in shared memory; at least 2.
        persistent: whether blocks stay for many tiles of queries.
        queries: tiles of queries in shared memory: 1, or 2 where blocks stay.
        slack: how far scores may exceed the largest ones so far, as a power of two, before what
            was summed is scaled; at most 15, or 4 of elements of eight bits.
        turned: tiles of values of eight bits in shared memory as products take them; 0: as many
            as `stages`.
    """

    groups: int
    n: int
    stages: int
    persistent: bool = True
    queries: int = 1
    slack: float = 0.0
    turned: int = 0

    def smem_bytes(self, head_dim: int, bits: int = 16) -> int:
        """Shared memory of a block; values of eight bits are there twice."""
        tiles = 2 * self.stages + (0 if bits == 16 else self.turned or self.stages)
        rows = 64 * self.groups * self.queries + tiles * self.n
        return bits // 8 * head_dim * rows + 1024

    def check(self, head_dim: int, smem: int, bits: int = 16) -> WarpgroupConfig:
        """The configuration itself, if it is possible.

        Args:
            smem: bytes of shared memory that a block may have.
            bits: of an element: 16, or 8.

        Raises:
            ArgumentError: what does not fit.
        """
        typed_fields(self, "OC2546")
        # A thread has the result and the scores in f32, and the weights.
        kept = head_dim // 2 + self.n // 2 + self.n * bits // 64
        room = ({2: 208, 3: 132} if bits == 16 else {2: 204, 3: 132}).get(self.groups, 0)
        step = 256 // bits
        good = head_dim in WARPGROUP_HEADS and 0 < self.n <= 256 and self.n % step == 0
        good = good and self.queries in ((1, 2) if self.persistent else (1,))
        # Weights are below 2**16, those of eight bits below 448, of which few may be too small.
        good = good and 0.0 <= self.slack <= (15.0 if bits == 16 else 4.0)
        good = good and (self.turned >= 2 or self.turned == 0) and not (self.turned and bits == 16)
        if not good or kept > room or self.stages < 2:
            raise ArgumentError(
                "warpgroups cannot share these tiles", code="OC2546", found=self,
                expected=f"heads of {WARPGROUP_HEADS} elements, 2 or 3 warpgroups, and a multiple "
                f"of {step} keys whose scores fit into registers: {room} for what a thread keeps",
            )  # fmt: skip
        _check_smem(self.smem_bytes(head_dim, bits), smem)
        return self


@dataclass(frozen=True)
class BackwardConfig:
    """Choices of the derivatives of attention.

    Args:
        m: queries that are worked on at a time.
        n: keys of a block.
        warps: warps of a block; each has n / warps keys, or two of them twice as many for heads of
            more than 128 elements.
        stages: tiles of queries in shared memory: 1 or 2.
    """

    m: int
    n: int
    warps: int
    stages: int

    def smem_bytes(self, head_dim: int) -> int:
        """Shared memory of a block."""
        line = padded(head_dim) + 8
        operands = line * (2 * self.n + (1 + self.stages) * self.m)
        scores = sharing(padded(head_dim)) * self.n * (self.m + 8)
        known = self.m + 2  # of a row of what queries have, with a factor
        return 2 * (operands + scores) + 8 * known * self.stages

    def check(self, head_dim: int, smem: int) -> BackwardConfig:
        """The configuration itself, if it is possible.

        Args:
            smem: bytes of shared memory that a block may have.

        Raises:
            ArgumentError: what does not fit.
        """
        typed_fields(self, "OC2520")
        depth = padded(head_dim)
        rows = self.warps * 32 // (8 if depth % 64 == 0 else 4)
        split = sharing(depth)
        good = (
            self.warps in (1, 2, 4, 8)
            and self.warps >= split
            and self.stages in (1, 2)
            and not any(x < 16 or x % 16 or x % rows for x in (self.m, self.n))
            and self.m % (16 * split) == 0
            and self.n % (16 * self.warps // split) == 0
            and self.n // self.warps * depth <= 16 * 128  # dK and dV: 64 registers each
            and self.m // 2 <= 32 * self.warps
            and (self.m // 16) * (depth // 16) % self.warps == 0
        )
        if not good:
            raise ArgumentError(
                "these tiles cannot be shared among these warps", code="OC2520", found=self,
                expected=f"{split}, 2, 4 or 8 warps; 16 keys, or a multiple, for each {split} of "
                f"them, with at most {16 * 128 * split // depth}; multiples of {rows} queries and "
                "keys; one or two stages",
            )  # fmt: skip
        _check_smem(self.smem_bytes(head_dim), smem)
        return self


@dataclass(frozen=True)
class WarpgroupBackwardConfig:
    """Choices of the derivatives of attention with warpgroups, on sm_90a.

    A block has 128 keys, a tile 64 queries, or 128 of heads of 64 elements: more do not fit into
    registers, and fewer would leave half of an instruction's rows empty. Heads of more than 128
    elements take two kernels, of which that of the values has two stages and two tiles of
    gradients at least; threads add there.

    Args:
        stages: tiles of queries in shared memory, 2 or more; 1 or more for more than 128 elements.
        grads: tiles of gradients of the result in shared memory.
        early: whether the product for the gradient of values starts before the slopes are made.
        atomics: whether threads add to the gradient of queries, rather than TMA from shared memory;
            not where its sums have an order.
    """

    stages: int
    grads: int
    early: bool = True
    atomics: bool = False

    def queries(self, head_dim: int) -> int:
        """Queries of a tile."""
        return 128 if head_dim == 64 else 64

    def smem_bytes(self, head_dim: int) -> int:
        """Shared memory of a block."""
        m, n = self.queries(head_dim), 128
        tiles = 2 * head_dim * (2 * n + (self.stages + self.grads) * m)
        # Twice the slopes, a tile of the gradient of queries in f32, what each query has, factors.
        sums = 0 if self.atomics or head_dim > 128 else 4 * m * head_dim
        return tiles + 4 * n * m + sums + 8 * (m + 2) * self.stages + 256

    def check(self, head_dim: int, smem: int) -> WarpgroupBackwardConfig:
        """The configuration itself, if it is possible.

        Args:
            smem: bytes of shared memory that a block may have.

        Raises:
            ArgumentError: what does not fit.
        """
        typed_fields(self, "OC2546")
        least = 1 if head_dim > 128 else 2
        if head_dim not in WARPGROUP_HEADS or self.stages < least or self.grads < 1:
            raise ArgumentError(
                "warpgroups cannot share these tiles", code="OC2546", found=self,
                expected=f"heads of {WARPGROUP_HEADS} elements; two stages, or one for more than "
                "128 elements, and one of gradients at least",
            )  # fmt: skip
        _check_smem(self.smem_bytes(head_dim), smem)
        return self


def _check_smem(needed: int, smem: int) -> None:
    if needed > smem:
        raise ArgumentError(
            "the tiles do not fit in shared memory", code="OC2521",
            expected=f"at most {smem} bytes", found=needed,
        )  # fmt: skip


def padded(head_dim: int) -> int:
    """Elements of a row in shared memory."""
    return -(-head_dim // 32) * 32


def sharing(depth: int) -> int:
    """Warps that share keys in the derivatives: one could not keep dK and dV of 16 keys.

    Args:
        depth: elements of a row in shared memory.
    """
    return 1 if depth <= 128 else 2


def heuristic(head_dim: int, smem: int, varlen: bool = False) -> AttentionConfig:
    """A good choice for heads of a size.

    Args:
        head_dim: elements of a head.
        smem: bytes of shared memory that a block may have; a multiprocessor has 1 KB more.
        varlen: whether sequences lie end to end: where they start takes registers as well.

    With 32 queries to a warp, what is read of keys and values serves two instructions. The result
    takes a register for each of a warp's queries and eight elements of a head's, the scores as much
    for keys: from 160 elements on, 16 queries are what fits. Two blocks on a multiprocessor matter
    more than two stages.
    """
    if head_dim > 128:
        config = AttentionConfig(64, 64 if head_dim <= 192 else 32, 4)
    elif head_dim > 96 and varlen:
        config = AttentionConfig(128, 32, 4)
    else:
        config = AttentionConfig(128, 64, 4)
    wide = replace(config, stages=2)
    return wide if 2 * (wide.smem_bytes(head_dim) + 1024) <= smem + 1024 else config


def search_space(head_dim: int, smem: int) -> Iterator[AttentionConfig]:
    """All choices that are worth trying, promising ones first."""
    for m, warps in ((128, 4), (64, 4), (128, 8), (64, 2), (256, 8), (32, 2)):
        for n in (64, 48, 32, 128, 96):
            if m // warps * (padded(head_dim) + n) > 32 * 224:
                continue  # result and scores alone take all registers
            for stages, ahead in ((2, 3), (1, 3), (2, 4), (1, 4), (2, 2), (1, 2)):
                if ahead != 3 and (m, warps) != (128, 4):
                    continue
                try:
                    yield AttentionConfig(m, n, warps, stages, ahead).check(head_dim, smem)
                except ArgumentError:
                    continue


def warpgroup_heuristic(
    head_dim: int, masked: bool, narrow: bool = False, queries: int = 4096
) -> WarpgroupConfig:
    """A good choice with warpgroups.

    Args:
        head_dim: elements of a head.
        masked: whether queries see different keys: smaller tiles then waste less on both edges.
        narrow: whether elements have eight bits.
        queries: of the longest sequence.
    """
    if narrow:
        return _narrow_heuristic(head_dim, masked)
    if head_dim == 64:
        if not masked:
            return WarpgroupConfig(3, 128, 2, queries=2, slack=8.0)
        # Two warpgroups hide less, by an eighth, but waste less of a triangle's edges.
        three, two = (
            blocks * m * (blocks + 1) * m
            for m, blocks in ((m, -(-queries // m)) for m in (192, 128))
        )
        if 1.12 * two < three:
            return WarpgroupConfig(2, 128, 3, queries=2, slack=8.0)
        return WarpgroupConfig(3, 96, 4, queries=2, slack=8.0)
    if head_dim == 96:
        return WarpgroupConfig(2, 144 if masked else 192, 2, queries=2, slack=8.0)
    if head_dim == 128:
        return WarpgroupConfig(2, 128, 2, queries=2, slack=8.0)
    if head_dim == 192:
        return WarpgroupConfig(2, 96 if masked else 112, 2, slack=8.0)
    return WarpgroupConfig(2, 64 if masked else 80, 2, slack=8.0)


def _narrow_heuristic(head_dim: int, masked: bool) -> WarpgroupConfig:
    """The same for elements of eight bits."""
    if head_dim == 64:
        if masked:
            return WarpgroupConfig(3, 128, 2, slack=2.0)
        return WarpgroupConfig(3, 128, 3, queries=2, slack=2.0, turned=3)
    if head_dim == 96:
        return WarpgroupConfig(3, 128, 2, slack=2.0, turned=3)
    if head_dim == 128:
        return WarpgroupConfig(2, 224, 2, slack=2.0, turned=3)
    if head_dim == 192:
        return WarpgroupConfig(2, 128, 2)
    return WarpgroupConfig(2, 96, 2, slack=2.0, turned=3)


_WARPGROUP_CHOICES: dict[int, tuple[tuple[Any, ...], ...]] = {
    64: (
        (3, 128, 2, True, 2, 8.0), (3, 96, 4, True, 2, 8.0), (2, 128, 3, True, 2, 8.0),
        (2, 192, 2, True, 2, 8.0), (2, 96, 4, True, 2, 8.0), (2, 64, 4, True, 2, 8.0),
        (2, 160, 3, True, 2, 8.0), (2, 224, 2, True, 2, 8.0), (3, 112, 3, True, 2, 8.0),
        (3, 64, 4, True, 2, 8.0), (3, 128, 2, True, 2), (3, 128, 2, False),
    ),
    96: (
        (2, 192, 2, True, 2), (2, 192, 2, True, 2, 8.0), (2, 144, 2, True, 2),
        (2, 144, 2, True, 2, 8.0), (2, 128, 3, True, 2, 8.0), (2, 208, 2, True, 1, 8.0),
        (3, 96, 3, True, 2, 8.0),
    ),
    128: (
        (2, 128, 2, True, 2, 8.0), (2, 176, 2, True, 1, 8.0), (2, 160, 2, True, 2, 8.0),
        (2, 64, 4, True, 2, 8.0), (2, 96, 3, True, 2, 8.0), (2, 144, 2, True, 2, 8.0),
        (2, 112, 3, True, 2, 8.0), (2, 128, 2, True, 1, 8.0), (2, 128, 2, True, 2), (2, 176, 2),
        (2, 176, 2, False), (3, 80, 3, True, 2, 8.0),
    ),
    192: (
        (2, 112, 2), (2, 112, 2, True, 1, 8.0), (2, 96, 2), (2, 96, 2, True, 1, 8.0),
        (2, 80, 2, True, 2, 8.0), (2, 64, 3, True, 1, 8.0),
    ),
    256: (
        (2, 80, 2), (2, 80, 2, True, 1, 8.0), (2, 64, 2), (2, 64, 2, True, 1, 8.0),
    ),
}  # fmt: skip


# The same of eight bits.
_NARROW_CHOICES: dict[int, tuple[tuple[Any, ...], ...]] = {
    64: (
        (3, 128, 3, True, 2, 2.0, 3), (3, 128, 2, True, 1, 2.0), (2, 256, 3, True, 2, 2.0, 3),
        (3, 96, 3, True, 2, 2.0, 3), (3, 160, 2, True, 2, 2.0, 3), (2, 128, 3, True, 2, 2.0, 3),
    ),
    96: (
        (3, 128, 2, True, 1, 2.0, 3), (3, 96, 3, True, 1, 2.0, 3), (2, 128, 3, True, 2, 2.0, 3),
        (2, 160, 2), (2, 224, 2, True, 1, 2.0, 3), (2, 192, 2, True, 1, 2.0, 3),
    ),
    128: (
        (2, 224, 2, True, 1, 2.0, 3), (3, 96, 3, True, 1, 2.0, 3), (2, 224, 2, True, 1, 2.0, 2),
        (2, 160, 2, True, 1, 2.0, 3), (2, 128, 3, True, 2, 2.0, 3), (2, 192, 2, True, 1, 2.0, 3),
    ),
    192: (
        (2, 128, 2), (2, 160, 2, True, 1, 2.0, 2), (2, 128, 2, True, 1, 2.0, 3),
        (2, 96, 2, True, 2, 2.0, 3),
    ),
    256: (
        (2, 96, 2, True, 1, 2.0, 3), (2, 96, 2, True, 1, 2.0, 2), (2, 64, 2),
        (2, 64, 2, True, 2, 2.0, 3),
    ),
}  # fmt: skip


def warpgroup_search_space(head_dim: int, smem: int, bits: int = 16) -> Iterator[WarpgroupConfig]:
    """All choices with warpgroups that are worth trying, promising ones first; at most 12.

    Args:
        head_dim: elements of a head.
        smem: bytes of shared memory that a block may have.
        bits: of an element: 16, or 8.
    """
    choices = _WARPGROUP_CHOICES if bits == 16 else _NARROW_CHOICES
    for choice in choices[head_dim]:
        try:
            yield WarpgroupConfig(*choice).check(head_dim, smem, bits)
        except ArgumentError:
            continue


def backward_heuristic(head_dim: int, smem: int) -> BackwardConfig:
    """A good choice for the derivatives.

    Eight warps of 16 keys: a tile of queries is read by all of them, so that more queries at a time
    cost registers and save nothing but barriers. With more than 128 elements to a head, dK and dV
    take twice the room, and a block has half the keys.
    """
    if padded(head_dim) > 128:
        # With 256 elements a second tile of queries takes registers that there are not.
        for m, stages in ((64, 2 if padded(head_dim) <= 192 else 1), (64, 1), (32, 1)):
            try:
                return BackwardConfig(m, 64, 8, stages).check(head_dim, smem)
            except ArgumentError:
                continue
        return BackwardConfig(32, 32, 4, 1)
    for m, stages in ((64, 2), (64, 1), (32, 2), (32, 1)):
        config = BackwardConfig(m, 128, 8, stages)
        if 64 < head_dim < 88 and stages == 2:
            continue  # two stages, 6 % faster with 96 elements, spill a register of these
        if config.smem_bytes(head_dim) <= smem:
            return config
    return BackwardConfig(64, 64, 4, 1)


def backward_search_space(head_dim: int, smem: int) -> Iterator[BackwardConfig]:
    """All choices for the derivatives that are worth trying, promising ones first."""
    depth = padded(head_dim)
    for stages in (2, 1):
        for m, n, warps in (
            (64, 128, 8), (64, 64, 8), (32, 128, 8), (32, 64, 8), (64, 64, 4), (128, 128, 8),
            (32, 64, 4), (32, 32, 4),
        ):  # fmt: skip
            if (n // warps // 16) * (depth + m) > 208:
                continue  # results and scores alone take all registers
            try:
                yield BackwardConfig(m, n, warps, stages).check(head_dim, smem)
            except ArgumentError:
                continue


def warpgroup_backward_heuristic(head_dim: int) -> WarpgroupBackwardConfig:
    """A good choice for the derivatives with warpgroups; tiles have the same bytes for heads of 64
    and of 128 elements, and of 256 elements one of each is what fits."""
    if head_dim == 96:
        return WarpgroupBackwardConfig(3, 2, atomics=True)
    return WarpgroupBackwardConfig(1, 1) if head_dim == 256 else WarpgroupBackwardConfig(2, 2)


def warpgroup_backward_search_space(head_dim: int, smem: int) -> Iterator[WarpgroupBackwardConfig]:
    """All choices for the derivatives with warpgroups that are worth trying, promising ones
    first."""
    for early, atomics in ((True, False), (True, True), (False, False)):
        if head_dim > 128 and (not early or atomics):
            continue  # these say nothing there
        for stages, grads in ((2, 2), (3, 2), (2, 1), (3, 3), (1, 1), (1, 2)):
            try:
                config = WarpgroupBackwardConfig(stages, grads, early, atomics)
                yield config.check(head_dim, smem)
            except ArgumentError:
                continue
