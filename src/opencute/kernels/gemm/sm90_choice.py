# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Good tiles for a product on Hopper, and all that are worth trying.

In: extents. Out: a configuration, that of the least estimated time::

    hopper_heuristic(16, 8192, 8192, 1, width=16)     # transposed, tiles of 128 x 16, split in 2

The estimate: a block multiplies or loads, whichever takes longer, and memory brings all operands
once; sharing tiles costs what it takes to write, to tell and to read sums. Where there are few rows
or columns, loads and memory add up as the sides of a right angle do. It is within a sixth of what
an H200 measured for extents from 16 to 8192.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache

from opencute.base.errors import ArgumentError
from opencute.kernels.gemm.sm90_plan import MOST_STAGES, HopperConfig

__all__ = ["hopper_estimate", "hopper_heuristic", "hopper_search_space"]

_PROCESSORS = 132
_ALIGNED = 256  # bytes that matter at most
_LINE = 128  # bytes of a step along k, for elements of every width
# Of an H200, in microseconds: a step of a tile of 128 x 256 at full speed; a byte of all memory; a
# byte that a multiprocessor loads.
_STEP, _BYTE, _LOAD = 0.69, 1 / 4.2e6, 1 / 90e3
# What a tile costs beside its steps; what blocks cost that share one, by a cluster and by memory.
# A row of a tile that is in two lines of memory, for whoever asks for it.
_TILE, _SPLIT, _STREAM, _CROSS = 1.5, 0.5, 5.0, 2.56e-3
_SPLIT_SUMS = 128 * 128  # of a tile, in shared memory besides operands
_CAUTION = 1.03  # how much must be gained by sharing
_LONG, _LONG_CAUTION = 8, 1.015  # waves of tiles from which on it is less
# Tiles of 176 columns fill whole waves of some products where others leave a part of one empty, or
# share it. They have three stages, and one buffer that all of the epilogue waits for.
_WIDE, _WIDE_SPEED, _WIDE_CAUTION = HopperConfig((256, 176), (1, 2), group=16), 0.98, 1.015
_RING = 128 << 10  # bytes on their way to a block that has part of a tile's steps are enough
# The same of products of few rows: a byte that a multiprocessor loads, where one block of a cluster
# loads for all a little less; a byte of memory, and of L2, which holds so many; what a kernel, a
# cluster that splits tiles and flags in memory cost.
_FEW, _FEW_LOAD, _FEW_SHARED = 256, 1 / 122e3, 1 / 130e3
_FEW_BYTE, _FEW_L2, _L2 = 1 / 4.4e6, 1 / 1e7, 36e6
_FEW_KERNEL, _FEW_SPLIT, _FEW_STREAM, _FEW_SUMS = 2.6, 1.6, 4.6, 1 / 45e3


def _active(blocks: int) -> int:
    return _PROCESSORS // blocks


_CHOICES = (
    (HopperConfig((128, 256), (2, 1)), 1.0), (HopperConfig((256, 128), (1, 2)), 1.0),
    (HopperConfig((256, 128), (2, 1)), 0.99), (HopperConfig((128, 256), (1, 2)), 0.99),
    (HopperConfig((128, 256)), 0.97), (HopperConfig((256, 128)), 0.97),
    (HopperConfig((192, 192), (2, 1), beside=True), 1.0),
    (HopperConfig((128, 192), (2, 1)), 0.98), (HopperConfig((128, 192)), 0.95),
    (HopperConfig((128, 128), (2, 1)), 0.9), (HopperConfig((128, 128)), 0.88),
    (HopperConfig((64, 256), pingpong=True), 0.85), (HopperConfig((64, 128), pingpong=True), 0.75),
    (HopperConfig((128, 64)), 0.7), (HopperConfig((64, 64), pingpong=True), 0.5),
)  # fmt: skip
_NARROW = ((128, 0.85), (112, 0.85), (96, 0.85), (80, 0.8), (64, 0.75), (48, 0.7), (32, 0.65),
           (16, 0.5))  # fmt: skip


def _candidates(
    m: int, n: int, twice: bool, gated: bool, wide: bool = False
) -> Iterator[tuple[HopperConfig, float]]:
    """Tiles, and how fast they are when there is enough to do."""
    for config, speed in _CHOICES:
        if twice and config.tile[0] * config.tile[1] > (128 * 64 if config.pingpong else 128 * 192):
            continue
        if twice and config.tile == (128, 192):
            speed -= 0.04  # more is added up at a time while nothing is multiplied
        yield replace(config, twice=twice), speed
    small, transposed = (m, True) if m <= n else (n, False)
    if wide and not twice and not gated and small > _FEW:
        yield _WIDE, _WIDE_SPEED
    if small > _FEW or (transposed and gated):
        return
    for columns, speed in _NARROW:
        # The narrowest that has all columns, and, of more than one, the widest.
        if columns - 16 < small <= columns or (columns == 128 and small > columns):
            base = HopperConfig((128, columns), twice=twice, transposed=transposed)
            yield base, speed
            if columns <= 64:
                yield replace(base, tile=(256, columns)), speed
            if twice and columns > 64:
                continue
            if transposed or columns % 32 == 0:  # halves of rows that TMA can store
                yield replace(base, tile=(64, columns), beside=True), speed
            for blocks in (1, 2):
                half = replace(base, tile=(64, columns), pingpong=True, cluster=(blocks, 1))
                if columns // blocks % 8 == 0:
                    yield half, speed
    if not twice and small > 128:
        yield HopperConfig((128, 256), transposed=transposed), 1.0
    if not twice and small > 64:
        yield HopperConfig((256, 128), transposed=transposed), 1.0


def _groups(config: HopperConfig, m: int, n: int, batch: int) -> int:
    """Tiles, or clusters of them, that a product has; some may be outside of it."""
    down, across = (n, m) if config.transposed else (m, n)
    wide = [size * count for size, count in zip(config.tile, config.cluster, strict=True)]
    return -(-down // wide[0]) * -(-across // wide[1]) * batch


def hopper_estimate(
    config: HopperConfig, speed: float, m: int, n: int, k: int, batch: int, *, width: int = 16,
    lines: tuple[int, int] = (_ALIGNED, _ALIGNED), active: Callable[[int], int] = _active,
) -> float:  # fmt: skip
    """Microseconds that a product takes.

    Args:
        config: the tiles.
        speed: how fast they are when there is enough to do, at most 1.
        m, n, k, batch: extents.
        width: bits of an element of the operands.
        lines: bytes that the places of rows of A, and of B, are multiples of, at most 256.
        active: how many clusters of so many blocks run at a time.
    """
    rows, columns = config.tile
    groups = _groups(config, m, n, batch)
    steps = -(-k * width // (8 * _LINE))
    if min(m, n) <= _FEW:
        memory = (m + n) * batch * k * width / 8
        return _few(config, speed, groups, steps, memory, _crossed(config, lines), active)
    each = rows * columns
    step = max(_STEP * each / 32768 / speed, (rows + columns) * _LINE * _LOAD)
    step = max(step, _crossed(config, lines))
    clusters = active(config.blocks[0] * config.blocks[1])
    if config.pingpong:
        step, clusters = 2 * step, 2 * clusters  # two tiles at a time
    fix = 0.0
    if config.stream:
        waves = groups / clusters
        # One writes sums, and one reads those of all that it shares a tile with.
        fix = _STREAM + (1 + max(1 / waves, 1)) * 4 * each * _LOAD
    else:
        waves = -(-groups // clusters)
    if config.split > 1:
        steps = -(-steps // config.split)
        fix = waves * (_SPLIT + (config.split - 1) * 4 * each * _LOAD / 2)
    fix += _TILE * (1 if config.pingpong else waves)
    work = waves * steps * step
    memory = (m + n) * batch * k * width / 8 * _BYTE
    # Whoever has less to do keeps the other waiting a little.
    return max(work, memory) + min(work, memory) / 5 + fix


def _crossed(config: HopperConfig, lines: tuple[int, int]) -> float:
    """Microseconds that a block's requests for a step take, of rows that are in two lines."""
    sizes = [size / config.cluster[1 - i] for i, size in enumerate(config.tile)]
    order = lines[::-1] if config.transposed else lines
    return _CROSS * sum(s for s, at in zip(sizes, order, strict=True) if at < _LINE)


def _few(
    config: HopperConfig, speed: float, groups: int, steps: int, memory: float, crossed: float,
    active: Callable[[int], int],
) -> float:  # fmt: skip
    """The same for few rows, or few columns.

    Args:
        groups: clusters of tiles, or tiles where a cluster splits them.
        memory: bytes of the operands.
        crossed: what `_crossed` is.
    """
    rows, columns = config.tile
    clusters = active(config.blocks[0] * config.blocks[1])
    waves = groups / clusters if config.stream else -(-groups // clusters)
    load = _FEW_LOAD if config.cluster == (1, 1) else _FEW_SHARED
    turns = waves * -(-steps // config.split)
    multiply = turns * _STEP * rows * columns / 32768 / speed
    load = turns * max((rows + columns) * _LINE * load, crossed)
    # What L2 holds is there from the last time, such as the weights of a small layer.
    far = min(max((memory - _L2) / _L2, 0.0), 1.0)
    fix = _FEW_KERNEL + (waves - 1) * _TILE
    if config.split > 1:
        fix += _FEW_SPLIT
    elif config.stream:
        fix += _FEW_STREAM + 8 * rows * columns * _FEW_SUMS
    elif config.cluster != (1, 1) and groups < clusters * 3 / 4:
        load *= 1.4  # they are next to each other, where they share a way to L2
    memory *= far * _FEW_BYTE + (1 - far) * _FEW_L2
    return max(multiply, math.hypot(load, memory)) + fix


@lru_cache(maxsize=1024)
def hopper_heuristic(
    m: int, n: int, k: int, batch: int, *, width: int = 16, twice: bool = False,
    gated: bool = False, wide: bool = False, lines: tuple[int, int] = (_ALIGNED, _ALIGNED),
    active: Callable[[int], int] = _active,
) -> HopperConfig:  # fmt: skip
    """A good choice.

    Args:
        m, n, k, batch: extents.
        width: bits of an element of the operands.
        twice: see `HopperConfig`.
        gated: whether pairs of columns become one, which the transposed product cannot do.
        wide: whether there is room for the widest tiles: operands are contiguous along k, and TMA
            moves a result of 16 bits, and nothing else.
        lines: as for `hopper_estimate`.
        active: how many clusters of so many blocks run at a time.
    """
    best, least = None, float("inf")
    for config, speed in _candidates(m, n, twice, gated, wide):
        for choice in _shared(config, m, n, k * width // (8 * _LINE), batch, active):
            cost = hopper_estimate(
                choice, speed, m, n, k, batch, width=width, lines=lines, active=active
            )
            if choice.shared:
                long = _groups(choice, m, n, batch) >= _LONG * active(
                    choice.blocks[0] * choice.blocks[1]
                )
                cost *= _LONG_CAUTION if long else _CAUTION
            elif choice == _WIDE:
                cost *= _WIDE_CAUTION
            if cost < least:
                best, least = choice, cost
    assert best is not None  # the smallest is for everything
    memory = (m + n) * batch * k * width / 8
    if 32 < min(m, n) <= _FEW and memory > _L2 and min(lines) == _ALIGNED:
        first = best.transposed or n < m  # whether A of what is done is the large one
        return replace(best, promote=256, once=1 if first else 2)
    return best


def _shared(
    config: HopperConfig, m: int, n: int, steps: int, batch: int, active: Callable[[int], int]
) -> Iterator[HopperConfig]:
    """A configuration, and ways to share its tiles."""
    yield config
    if config.pingpong or config.tile == (192, 192):
        return
    groups, clusters = _groups(config, m, n, batch), active(config.cluster[0] * config.cluster[1])
    if groups % clusters and clusters // 8 <= groups < 2 * _LONG * clusters and steps >= 8:
        yield replace(config, stream=True)
    small = config.tile[0] * config.tile[1] <= _SPLIT_SUMS and config.cluster == (1, 1)
    depth = _RING // (sum(config.tile) * _LINE) if config.beside else 0
    if depth >= MOST_STAGES:
        depth = 0  # no fewer than there are anyway
    for split in (2, 3, 4, 8) if small else ():
        # Of larger clusters, fewer run at a time than would fit.
        most = active(split) * (1.0 if split < 4 else 0.85)
        if groups <= most and steps >= 2 * split:
            yield replace(config, split=split, depth=depth, push=True)


def hopper_search_space(m: int, n: int, k: int, batch: int = 1) -> Iterator[HopperConfig]:
    """Ways to share few tiles that are worth trying, for products of 16 bits."""
    seen: set[HopperConfig] = set()
    small, transposed = (m, True) if m <= n else (n, False)
    few = small <= 256
    shapes = [(128, -(-small // 16) * 16), (128, 128), (256, 128)] if few else []
    shapes += [(256, shapes[0][1])] if small <= 64 else []
    shapes += [] if few else [(128, 256), (256, 128), (128, 192), (128, 128)]
    for tile in shapes:
        base = HopperConfig(tile, transposed=transposed and few)
        ways = [base, replace(base, stream=True)]
        ways += [replace(base, split=s) for s in (2, 3, 4, 5)]
        for cluster in ((2, 1), (1, 2)):
            ways += [replace(base, cluster=cluster, stream=s) for s in (False, True)]
        half = replace(base, tile=(64, tile[1]), pingpong=True)
        ways += [replace(half, cluster=c) for c in ((1, 1), (2, 1), (4, 1))]
        beside = replace(base, tile=(64, tile[1]), beside=True)
        ways += [beside, replace(beside, split=2)] if few else []
        for way in ways:
            many = way.split > 1 and way.busy(m, n, batch, 1 << 20) > 2 * _PROCESSORS
            large = way.split > 1 and tile[0] * tile[1] > _SPLIT_SUMS
            if way in seen or many or large:
                continue
            try:
                way.check()
            except ArgumentError:
                continue
            seen.add(way)
            yield way
