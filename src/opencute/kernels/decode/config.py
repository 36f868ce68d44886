# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How attention for decoding is shared: the choices, a good one, and all that are worth trying.

In: what is known of a call. Out: a frozen configuration::

    work = Work(rows=4, head_dim=128, keys=8192, pairs=512, page=None, processors=132)
    heuristic(work, 232448)  # DecodeConfig(warps=1, groups=4, n=16, stages=3, splits=1, ...)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from opencute.base.errors import ArgumentError
from opencute.kernels.checked import typed_fields

__all__ = [
    "MERGES", "DecodeConfig", "Work", "cluster_size", "depth_of", "good_splits", "heuristic",
    "search_space", "step_over",
]  # fmt: skip

MERGES = ("launch", "flags", "cluster")
"""How results of splits are put together, see `DecodeConfig.merge`."""
ROWS = 16  # of an instruction, and of a warp
BESIDE = 2  # blocks of a multiprocessor
ALONE = 0.6  # time of a block that has a multiprocessor to itself, to that of one of several
START, COMBINE = 128, 128  # what a block's start, and a second kernel, cost: in keys of a block
CLUSTERS = (8, 4, 2)  # of blocks that put their results together; of 16 too few run at a time
HALF, MOST = 0.45, 0.85  # of all multiprocessors: enough for the bandwidth, and nearly all
RING = 128 << 10  # bytes that a cluster's block has on their way: more are in the way of others
SHORT = 512  # keys of a cluster's block that are few
L2 = 36e6  # bytes of keys and values that are there from the last time
MUCH = 4 * L2  # of which L2 is not told that they are read once


@dataclass(frozen=True)
class Work:
    """What is known of a call.

    Args:
        rows: queries times heads that one head of keys serves.
        head_dim: elements of a head.
        keys: room for keys of a sequence.
        pairs: sequences times heads of keys.
        page: keys of a page, or None.
        processors: multiprocessors of the device.
        bits: of an element of keys and values.
    """

    rows: int
    head_dim: int
    keys: int
    pairs: int
    page: int | None
    processors: int
    bits: int = 16


@dataclass(frozen=True)
class DecodeConfig:
    """Choices of attention for decoding.

    Args:
        warps: warps that work on the same keys, each for 16 rows.
        groups: how many times as many there are in a block; each works on tiles of its own.
        n: keys of a tile.
        stages: tiles in shared memory, of each group.
        splits: blocks that share the keys of a sequence.
        merge: who puts their results together: "launch", a second kernel; "flags", the last of
            these blocks, which waits for the others; "cluster", all of them, a cluster whose blocks
            write each other's shared memory: 2, 4, 8 or 16 with tiles loaded by TMA.
        promote: bytes that L2 brings at once where TMA needs any of them: 64, 128 or 256.
        beyond: heads of keys and sequences that share a cluster, of 8 blocks at most, where their
            number divides that of all: as clusters of 8 are spread over the processor's groups
            of multiprocessors, these have equally many blocks then, and equal shares of memory.
        once: whether L2 is told that keys are read once, so that it keeps all else, the kernel's
            instructions too; of tiles loaded by TMA.
    """

    warps: int
    groups: int
    n: int
    stages: int
    splits: int
    merge: str = "launch"
    promote: int = 128
    beyond: int = 1
    once: bool = False

    @property
    def rows(self) -> int:
        """Rows of a block."""
        return ROWS * self.warps

    def smem_bytes(self, head_dim: int, bits: int = 16) -> int:
        """Shared memory of a block, with keys and values of so many bits."""
        depth = depth_of(head_dim)
        pad = 0 if self.merge == "cluster" else 16  # of copies without TMA
        tiles = 2 * self.n * self.stages * self.groups * (depth * bits // 8 + pad)
        queries = self.rows * (2 * (depth + 8) + 4)
        if self.merge == "cluster":  # what comes from other blocks
            queries += self.rows * (4 * depth + 8 * self.splits)
        return queries + tiles + 8 * self.groups * (self.rows + self.stages) + 1024

    def check(self, head_dim: int, page: int | None, smem: int, bits: int = 16) -> DecodeConfig:
        """The configuration itself, if it is possible.

        Args:
            page: keys of a page, or None.
            smem: bytes of shared memory that a block may have.
            bits: of an element of keys and values.

        Raises:
            ArgumentError: what does not fit.
        """
        typed_fields(self, "OC2560")
        depth = depth_of(head_dim)
        good = (
            self.warps in (1, 2, 4)
            and self.groups >= 1
            and self.warps * self.groups <= 16
            and self.n in (16, 32, 64, 128)
            and 2 <= self.stages <= 16
            and 1 <= self.splits <= 1024
            and self.merge in MERGES
            and self.promote in (64, 128, 256)
            and self.beyond in ((1, 2, 4) if self.merge == "cluster" else (1,))
            and (self.beyond == 1 or self.beyond * self.splits <= 8)
            and (self.merge != "cluster" or self._clustered(head_dim))
            # The results of all groups take the place of the tiles.
            and self.n * self.stages * depth * bits >= 16 * self.rows * (depth + step_over(bits))
            # Each thread of a group has 16 bytes of a tile to copy.
            and self.n * depth * bits >= 32 * self.warps * 128
        )
        if not good:
            raise ArgumentError(
                "decoding cannot be shared like this", code="OC2560", found=self,
                expected="1, 2 or 4 warps, at most 16 with all groups; tiles of 16, 32, 64 or 128 "
                "keys, 2 to 16 of them, with more keys in all than a block has rows; clusters of "
                "2, 4, 8 or 16 splits that divide a row's vectors of four; L2 that brings 64, 128 "
                "or 256 bytes; 1, 2 or 4 beyond, in clusters of up to 8",
            )  # fmt: skip
        if page is not None and page % self.n:
            raise ArgumentError(
                "tiles do not divide a page", code="OC2561", found=self.n,
                expected=f"a divisor of {page} keys",
            )  # fmt: skip
        if self.smem_bytes(head_dim, bits) > smem:
            raise ArgumentError(
                "the tiles do not fit in shared memory", code="OC2521",
                expected=f"at most {smem} bytes", found=self.smem_bytes(head_dim, bits),
            )  # fmt: skip
        return self

    def _clustered(self, head_dim: int) -> bool:
        """Whether the blocks of a cluster can each finish some columns."""
        return self.splits in (1, 2, 4, 8, 16) and head_dim % (4 * self.splits) == 0


def step_over(bits: int) -> int:
    """Elements between rows of results in shared memory, for keys of so many bits."""
    return 16 if bits == 8 else 8


def depth_of(head_dim: int) -> int:
    """Elements of a row in shared memory."""
    return -(-head_dim // 64) * 64


def good_splits(
    pairs: int, keys: int, least: int, slots: int, beside: int = 1, start: int = START
) -> int:
    """How many blocks best share the keys of a sequence.

    Args:
        pairs: blocks without splits.
        keys: of a sequence.
        least: keys that a block should have at least.
        slots: blocks that run at a time.
        beside: how many of them on one multiprocessor.
        start: what a block's start costs, in keys.
    """

    def cost(splits: int) -> float:
        full, rest = divmod(pairs * splits, slots)
        waves = full + (
            0.0 if not rest else ALONE if rest * beside <= slots < beside * slots else 1.0
        )
        return waves * (-(-keys // splits) + start) + (COMBINE + splits if splits > 1 else 0)

    return min(range(1, max(1, min(keys // least, 256)) + 1), key=cost)


@lru_cache(maxsize=256)
def heuristic(
    work: Work, smem: int, active: Callable[[int], int] | None = None
) -> DecodeConfig:  # fmt: skip
    """A good choice.

    Args:
        smem: bytes of shared memory that a block may have.
        active: how many clusters of so many blocks run at a time, each block on a multiprocessor;
            None where blocks of a cluster do not put their results together.

    Two blocks on a multiprocessor, so that one loads while the other begins or ends, and tiles as
    many as fit: what is on its way at a time is what the bandwidth depends on. Where there are no
    more blocks than multiprocessors, each has one to itself, with twice as many tiles: then there
    are fewer results to put together. Those of a cluster are put together fastest, if all clusters
    run at a time.
    """
    config = _shared(work, smem, active)
    # Pages may be those of several sequences. Where there is much to read, what somebody has
    # written before has to leave L2 first, which it does not while keys come and go.
    alone = active is not None and work.page is None and work.rows <= config.rows
    return replace(config, once=alone and _bytes(work) <= MUCH)


def _shared(work: Work, smem: int, active: Callable[[int], int] | None) -> DecodeConfig:
    """A good choice, but for what L2 is told."""
    warps = 1 if work.rows <= 16 else 2 if work.rows <= 32 else 4
    alone = work.pairs * -(-work.rows // (ROWS * warps)) <= work.processors
    config = _tiles(work, warps, smem, alone)
    blocks = work.pairs * -(-work.rows // config.rows)
    alone = alone and blocks <= work.processors
    size = cluster_size(work, blocks, active) if alone and active is not None else 1
    if size > 1 and active is not None:
        found = _clustered(config, work, blocks, size, active(8))
        try:
            found.check(work.head_dim, work.page, smem, work.bits)
        except ArgumentError:  # too little room
            found = config
        if found.merge == "cluster" and work.keys >= 2 * size * found.n * found.groups:
            return found
    if alone and warps == 1 and depth_of(work.head_dim) == 128:
        config = _short(config, work, work.keys // max(work.processors // blocks, 1), smem)
    least = 2 * config.n * config.groups
    if alone:
        splits = max(1, min(work.processors // blocks, work.keys // least))
    else:
        splits = good_splits(blocks, work.keys, least, BESIDE * work.processors, BESIDE)
    return replace(config, splits=splits)


def _bytes(work: Work) -> int:
    """Bytes of all keys and values."""
    return work.pairs * work.keys * depth_of(work.head_dim) * work.bits // 4


def cluster_size(work: Work, blocks: int, active: Callable[[int], int]) -> int:
    """How many blocks of a cluster best share the keys of a sequence; 1: none.

    As many as there may be with all clusters at a time, but only if they have nearly all
    multiprocessors; or half of them, which can load what memory gives, where keys are 128 elements,
    or 64 of 16 bits, and queries are few: there are half as many results then.

    Args:
        blocks: clusters.
        active: as for `heuristic`.
    """
    depth = depth_of(work.head_dim)
    few = (depth == 128 and work.rows <= 2 * ROWS) or (
        depth == 64 and work.rows <= ROWS and work.bits == 16
    )
    enough = HALF if few else MOST
    for size in CLUSTERS:
        if blocks <= active(size):
            return size if blocks * size >= enough * work.processors else 1
    return 1


def _clustered(
    config: DecodeConfig, work: Work, blocks: int, size: int, largest: int
) -> DecodeConfig:  # fmt: skip
    """Tiles for blocks of a cluster.

    Args:
        config: those of a block that has a multiprocessor to itself.
        blocks: clusters, if each has one sequence and head of keys.
        size: blocks that share its keys.
        largest: clusters of 8 blocks that run at a time.
    """
    depth = depth_of(work.head_dim)
    wide = depth * work.bits // 4  # bytes of a key and its values
    if config.warps == 1 and work.bits == 16 and depth <= 128:
        # What 8 groups add up at the end takes as long as few keys do.
        short = depth == 128 and work.keys <= SHORT * size
        n = 32 if (depth == 64 or short) and (work.page or 32) % 32 == 0 else 16
        config = replace(config, groups=4 if short else 8, n=n)
    # Keys of eight bits are on their way longer, unless they are in L2.
    ring = RING * 3 // 2 if work.bits == 8 and _bytes(work) > L2 else RING
    while config.stages > 2 and config.stages * config.groups * config.n * wide > ring:
        config = replace(config, stages=config.stages - 1)
    beyond = 8 // size
    if 2 * blocks * size > work.processors or blocks % beyond or blocks // beyond > largest:
        beyond = 1
    return replace(config, splits=size, merge="cluster", beyond=beyond)


def _short(config: DecodeConfig, work: Work, keys: int, smem: int) -> DecodeConfig:
    """Other groups for blocks of few keys, each of which has a multiprocessor: what they do one
    after the other counts then, the tiles of a group and the results of all groups."""
    if work.bits == 8 and keys <= 256:
        other = replace(config, groups=4, n=16, stages=3)
    elif work.bits == 16 and 256 < keys <= 1024:
        other = replace(config, groups=8, n=16, stages=2)
    else:
        return config
    try:
        return other.check(work.head_dim, work.page, smem, work.bits)
    except ArgumentError:  # less shared memory than on Hopper
        return config


def _tiles(work: Work, warps: int, smem: int, alone: bool) -> DecodeConfig:
    """As many tiles as fit, for a block that has a multiprocessor to itself or one of two; with
    fewer warps if they do not fit at all."""
    depth = depth_of(work.head_dim)
    line = depth * work.bits // 8  # bytes of a key
    # More warps for elements of eight bits: a byte takes twice as many instructions.
    many, size = (8, 4096 if alone else 2048) if work.bits == 8 else (4, 4096)
    if alone and warps > 1:
        many, size = 8, 8192  # as many as two blocks have; their barriers cost as much as a tile
    n = 16
    while n * line < size and n < 64 and (work.page or 64) % (2 * n) == 0:
        n *= 2
    stages = 2
    while n * stages * depth * work.bits < 16 * ROWS * warps * (depth + step_over(work.bits)):
        stages += 1  # the results take the place of the tiles
    groups = max((many if alone else min(many, 1024 // line)) // warps, 1)

    def fits(groups: int, stages: int, most: int) -> bool:
        config = DecodeConfig(warps, groups, n, stages, 1)
        return config.smem_bytes(work.head_dim, work.bits) <= most

    while groups > 1 and not fits(groups, stages, smem):
        groups //= 2
    if warps > 1 and (not fits(groups, stages, smem) or n * line < 512 * warps):
        return _tiles(work, warps // 2, smem, alone)  # or each thread has no vector of a tile
    most = smem if alone else smem // BESIDE - 1024
    while stages < 16 and fits(groups, stages + 1, most):
        stages += 1
    return DecodeConfig(warps, groups, n, stages, 1)


def search_space(
    work: Work, smem: int, active: Callable[[int], int] | None = None
) -> Iterator[DecodeConfig]:  # fmt: skip
    """All choices that are worth trying, promising ones first; arguments as for `heuristic`."""
    best = heuristic(work, smem, active)
    yield best
    sizes = [c for c in CLUSTERS if active is not None and work.pairs <= active(c)]
    merges = [("launch", s) for s in dict.fromkeys((best.splits, 1, 2, 4, 8, 2 * best.splits))]
    for merge, splits in [*(("cluster", c) for c in sizes), *merges]:
        for groups in (best.groups, 2 * best.groups, max(best.groups // 2, 1)):
            for n in (16, 32, 64):
                for stages in sorted({2, 3, 4, 6, 8, *range(best.stages - 2, best.stages + 1)}):
                    config = DecodeConfig(
                        best.warps, groups, n, stages, splits, merge, once=best.once
                    )  # fmt: skip
                    try:
                        config.check(work.head_dim, work.page, smem, work.bits)
                    except ArgumentError:
                        continue
                    if config != best:
                        yield config
