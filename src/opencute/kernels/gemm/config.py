# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How a matrix product is cut into tiles: the choices, a good one, and all that are worth trying.

In: extents and types. Out: a frozen configuration::

    heuristic(Problem(4096, 4096, 4096, 1, "f16", 16), smem=232448)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from opencute.base.errors import ArgumentError
from opencute.kernels.checked import typed_fields

__all__ = ["GemmConfig", "Problem", "heuristic", "search_space"]

_BITS = {"f32": 32, "tf32": 32, "f16": 16, "bf16": 16, "i8": 8}
_MOST = 128  # results of a thread, in registers
_MOST_WRITTEN = 192  # where the order of instructions is written, so that few fragments are held
_PROCESSORS = 132  # multiprocessors that the heuristic fills
# A thread writes and reads 4 bytes for each result: at 32 bytes per cycle that takes as long as so
# many steps of depth 1, on tensor cores and with plain fma.
_FIX = (256, 32)
_CAUTION = 1.5  # how much must be gained, by a count that leaves out latencies


@dataclass(frozen=True)
class Problem:
    """What is multiplied.

    Args:
        m, n, k, batch: extents.
        kind: "f32" for plain fma; "f16", "bf16", "tf32", "i8" for tensor cores.
        out_bits: bits of an element of the result.
        narrow: whether registers are scarce: some matrix is moved by single elements, or by less
            than 32 bits at once, or there is more to do besides the sums.
        bits: of each matrix that are moved at once, at least.
    """

    m: int
    n: int
    k: int
    batch: int
    kind: str
    out_bits: int
    narrow: bool = False
    bits: int = 128


@dataclass(frozen=True)
class GemmConfig:
    """Choices of a matrix product.

    Args:
        tile: rows, columns and depth of a block's tile.
        warps: warps along rows and along columns.
        stages: tiles of the operands in shared memory, at least 2.
        group: tiles that neighbouring blocks go down before they go to the next column.
        interleaved: plain fma only: whether eight neighbouring threads are 2x4 rather than 1x8.
        rounded: tf32 only: whether f32 is rounded to nearest, which takes two instructions for
            each element. Otherwise tensor cores cut off the low 13 bits, which makes results
            smaller by about 0.07 %.
        ahead, gap, turning, together: tensor cores only: the order of instructions, see
            `sm80_order.Order`. With `ahead` 0, ptxas finds it, and there are at most 128 results
            of a thread; otherwise f16 and bf16 may have 192.
        level: of ptxas.
        split: blocks for each tile, which share its steps along k.
        stream: blocks that share the steps of all tiles equally, or 0; then `split` is 1. There
            should be no more than the device has room for at once.
        pieces: with a stream, into how many pieces along k the tiles of the last wave are cut,
            which are shared then; 0: as many as there are steps, and one wave more.
    """

    tile: tuple[int, int, int]
    warps: tuple[int, int]
    stages: int
    group: int = 8
    interleaved: bool = True
    rounded: bool = True
    ahead: int = 0
    gap: int = 0
    turning: bool = True
    together: int = 1
    level: int = 3
    split: int = 1
    stream: int = 0
    pieces: int = 0

    def blocks(self, problem: Problem) -> int:
        """Blocks that share steps; 0 where each tile has a block of its own."""
        m, n, k = self.tile
        tiles = -(-problem.m // m) * -(-problem.n // n) * problem.batch
        wanted = self.stream or (tiles * self.split if self.split > 1 else 0)
        return min(wanted, tiles * -(-problem.k // k))

    def smem_bytes(self, kind: str, out_bits: int) -> int:
        """Shared memory of a block."""
        m, n, k = self.tile
        if kind == "f32":
            return (m + n + 8) * k * self.stages * 4
        return max((m + n) * k * self.stages * _BITS[kind], m * n * out_bits) // 8

    def check(self, kind: str, out_bits: int, smem: int) -> GemmConfig:
        """The configuration itself, if it is possible.

        Args:
            smem: bytes of shared memory that a block may have.

        Raises:
            ArgumentError: what does not fit.
        """
        typed_fields(self, "OC2536")
        (m, n, k), (warps_m, warps_n) = self.tile, self.warps
        threads = 32 * warps_m * warps_n
        if kind == "f32":
            units, vectors = (16 * warps_m, 32 * warps_n, 1), threads
        else:
            units = (16 * warps_m, 16 * warps_n, 512 // _BITS[kind])
            vectors = min(m * k * _BITS[kind], n * k * _BITS[kind], m * n * out_bits) // 128
        written = self.ahead > 0 and kind in ("f16", "bf16")
        odd = (1, 3) if written else (1,)  # what is left of a tile's extents without powers of two
        fits = (
            self.stages >= 2
            and self.group >= 1
            and threads <= 1024
            and all(x and x // (x & -x) in odd for x in (m, n))
            and all(x and not x & (x - 1) for x in (k, warps_m, warps_n))
            and not any(t % u for t, u in zip(self.tile, units, strict=True))
            and m * n // threads <= (_MOST_WRITTEN if written else _MOST)
            and vectors >= threads
            and self.ahead >= 0
            and self.gap >= 0
            and self.together >= 1
            and self.level in range(4)
            and self.split >= 1
            and self.stream >= 0
            and (self.split == 1 or self.stream == 0)
            and self.pieces >= 0
            and (self.stream > 0 or self.pieces == 0)
        )
        if not fits:
            raise ArgumentError(
                "these tiles cannot be shared among these warps", code="OC2536", found=self,
                expected=f"powers of two; a tile of multiples of {units}, with at most {_MOST} "
                f"results ({_MOST_WRITTEN} where f16 is read ahead) and at least one vector of 16 "
                "bytes of each matrix for a thread; a split or a stream, not both",
            )  # fmt: skip
        if self.smem_bytes(kind, out_bits) > smem:
            raise ArgumentError(
                "the tiles do not fit in shared memory", code="OC2511",
                expected=f"at most {smem} bytes", found=self.smem_bytes(kind, out_bits),
            )  # fmt: skip
        return self


_SIMT = (  # configuration, and how fast it is when there is enough to do
    # ptxas's level 1 reads shared memory a whole step ahead; level 3 later, 4 to 9 % slower.
    (GemmConfig((128, 256, 8), (4, 2), 4, interleaved=False, level=1), 1.03),
    (GemmConfig((256, 128, 8), (4, 2), 4, level=1), 1.0),
    (GemmConfig((128, 128, 8), (4, 2), 4, level=1), 0.95),
    (GemmConfig((128, 64, 8), (4, 1), 4, level=1), 0.85),
    (GemmConfig((64, 64, 16), (2, 1), 3, level=1), 0.75),
    (GemmConfig((32, 64, 16), (2, 2), 3, level=1), 0.45),
)
_TENSOR = (  # the depth is in units of 64 bytes, for all widths
    # Warps with 96x64 results read 17 % less from shared memory than those with 64x64.
    (GemmConfig((192, 256, 2), (2, 4), 3, ahead=6, gap=4, turning=False, together=2), 1.13),
    # Whole lines of memory, and half as many barriers: half of all instructions are mma.
    (GemmConfig((256, 128, 2), (4, 2), 3), 1.05),
    (GemmConfig((128, 256, 2), (2, 4), 3), 1.05),
    (GemmConfig((256, 128, 1), (4, 2), 4), 1.0),
    (GemmConfig((128, 256, 1), (2, 4), 4), 1.0),
    (GemmConfig((128, 128, 1), (2, 2), 4), 0.92),
    (GemmConfig((128, 128, 1), (2, 4), 4), 0.85),
    (GemmConfig((128, 64, 1), (2, 2), 4), 0.75),
    (GemmConfig((64, 128, 1), (2, 2), 4), 0.75),
    (GemmConfig((64, 64, 1), (2, 2), 4), 0.55),
    (GemmConfig((16, 64, 2), (1, 4), 8), 0.2),  # few rows: as many bytes as possible on their way
)


def heuristic(problem: Problem, smem: int) -> GemmConfig:
    """A good choice: the least work for the busiest multiprocessor.

    Where tiles are for less than half of the multiprocessors, blocks share their steps if that is
    less: leaving and taking sums counts as `_FIX` steps of depth 1 then. So do those of f32, and
    of the largest tiles of f16, where the last wave of tiles would leave some without work.

    Args:
        problem: what is multiplied.
        smem: bytes of shared memory that a block may have.
    """
    fix = _FIX[problem.kind == "f32"]
    best, least = None, float("inf")
    for config, speed in _SIMT if problem.kind == "f32" else _TENSOR:
        m, n, k = config.tile
        if problem.kind != "f32":
            k *= 512 // _BITS[problem.kind]
            config = replace(config, tile=(m, n, k))
            # Single elements take many addresses: they need registers besides the accumulators.
            if problem.narrow and m * n // (32 * config.warps[0] * config.warps[1]) > 64:
                continue
        if config.smem_bytes(problem.kind, problem.out_bits) > smem:
            continue
        if config.ahead and not _written(problem, config):
            continue
        tiles = -(-problem.m // m) * -(-problem.n // n) * problem.batch
        cost = -(-tiles // _PROCESSORS) * m * n / speed * problem.k
        if cost < least:
            best, least = config, cost
        shares = problem.kind == "f32" or config.ahead
        if shares and tiles > _PROCESSORS and tiles % _PROCESSORS:
            # All blocks do the same, where a last wave would leave some without work.
            cost = (tiles / _PROCESSORS * problem.k + fix * _CAUTION) * m * n / speed
            if cost < least:
                pieces = _pieces(tiles % _PROCESSORS) if config.ahead else 0
                best, least = replace(config, stream=_PROCESSORS, pieces=pieces), cost
        if tiles * 2 <= _PROCESSORS and problem.k >= 2 * k:
            split = min(_PROCESSORS // tiles, problem.k // (2 * k))
            cost = m * n / speed * (problem.k / max(split, 1) + fix * _CAUTION)
            if split > 1 and cost * _CAUTION < least:
                best, least = replace(config, split=split), cost * _CAUTION
    assert best is not None  # the smallest fits everywhere
    return best


def _pieces(tiles: int) -> int:
    """Into how many pieces the tiles of a last wave are best cut: so that all blocks have as many,
    with few pieces, as those of a number read the same operands at a time."""
    return min(range(1, 9), key=lambda n: -(-tiles * n // _PROCESSORS) / n + n / 50)


def _written(problem: Problem, config: GemmConfig) -> bool:
    """Whether a configuration whose order is written is good for a problem: it has no registers
    for conditions."""
    m, n, k = config.tile
    return (
        problem.kind in ("f16", "bf16")
        and problem.bits == 128
        and problem.m >= m
        and problem.n >= n
        and problem.k % k == 0
    )


def search_space(problem: Problem, smem: int) -> Iterator[GemmConfig]:
    """All choices that are worth trying, promising ones first."""
    if problem.kind == "f32":
        shapes = [
            ((128, 128), (4, 2)), ((256, 128), (4, 2)), ((128, 256), (4, 2)), ((128, 128), (2, 2)),
            ((128, 64), (4, 1)), ((64, 64), (2, 1)), ((128, 256), (2, 4)), ((64, 128), (2, 2)),
        ]  # fmt: skip
        depths, options = (8, 16), (True, False)
    else:
        unit = 512 // _BITS[problem.kind]
        shapes = [
            ((192, 256), (2, 4)), ((256, 128), (4, 2)), ((128, 256), (2, 4)), ((128, 128), (2, 2)),
            ((128, 128), (2, 4)), ((128, 64), (2, 2)), ((64, 128), (2, 2)), ((64, 64), (2, 2)),
            ((256, 64), (4, 1)), ((64, 256), (1, 4)), ((128, 128), (4, 2)), ((16, 64), (1, 4)),
        ]  # fmt: skip
        depths, options = (unit, 2 * unit), (True,)
    for group in (8, 4, 16):
        for tile, warps in shapes:
            for depth in depths:
                for stages in (3, 4, 5, 8):
                    for interleaved in options:
                        config = GemmConfig((*tile, depth), warps, stages, group, interleaved)
                        if problem.kind == "f32":
                            config = replace(config, level=1)
                        if tile[0] % 3 == 0:
                            config = replace(config, ahead=6, gap=4, turning=False, together=2)
                        try:
                            config.check(problem.kind, problem.out_bits, smem)
                        except ArgumentError:
                            continue
                        if config.ahead and not _written(problem, config):
                            continue
                        yield config
                        if group == 8:
                            yield from _shared(config, problem)


def _shared(config: GemmConfig, problem: Problem) -> Iterator[GemmConfig]:
    """Ways to share steps where tiles do not fill the device, or its last wave."""
    m, n, k = config.tile
    tiles = -(-problem.m // m) * -(-problem.n // n) * problem.batch
    if tiles % _PROCESSORS and tiles < 4 * _PROCESSORS:
        if problem.k >= 4 * k:
            yield replace(config, stream=_PROCESSORS)
        for split in (2, 4, 8, 16):
            if tiles * split <= 2 * _PROCESSORS and problem.k >= 2 * k * split:
                yield replace(config, split=split)
