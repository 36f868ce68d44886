# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`ptx`: copies of tiles by tensor maps, done late by a unit of their own.

A load begins by making its destination unknown; when it takes place, it reads global memory, writes
shared memory through the map's swizzle and counts its bytes on the barrier. A store reads shared
memory and writes global memory as late as its thread's waits allow.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from opencute.arch.tma import SMEM_ALIGN, TMA_SWIZZLES, stores_outside
from opencute.base.errors import MisalignedError, SimulationError
from opencute.dialects.hopper.tma import TmaLoadOp, TmaPrefetchOp, TmaReduceOp, TmaStoreOp
from opencute.ir.core import Op
from opencute.ir.types import I8
from opencute.sim.access import Access
from opencute.sim.hopper.agents import agents_of
from opencute.sim.hopper.places import Places
from opencute.sim.hopper.tma.boxes import Runs, runs_of
from opencute.sim.hopper.tma.completion import Target, segments, targets_of
from opencute.sim.hopper.tma.groups import bulk_groups_of
from opencute.sim.hopper.tma.map_fences import map_fences_of
from opencute.sim.hopper.tma.map_uses import map_uses_of
from opencute.sim.hopper.tma.reductions import Reduction, map_reduction
from opencute.sim.hopper.tma.tensor_maps import MapReader, TensorMap
from opencute.sim.hopper.tma.traffic import Traffic, by_unit, owned
from opencute.sim.lanes import Lanes
from opencute.sim.memory import RAW, SimPointer
from opencute.sim.registry import Function, semantics
from opencute.sim.taint import Taint, report
from opencute.sim.values import Array

__all__: list[str] = []


def _sinks(op: Op) -> list[tuple[int, str]]:
    return [(i, "a bulk copy") for i in range(len(op.operands))]


class _Mover:
    """What loads and stores have in common: accesses to both sides, made once for each tile."""

    def __init__(self, op: Op) -> None:
        self.op = op
        self.maps = MapReader(op)
        self.known: dict[Any, Access] = {}

    def shared(self, map_: TensorMap) -> Access:
        """The access to a tile in shared memory."""
        tile = map_.tile
        swizzle = TMA_SWIZZLES[tile.swizzle]
        key = tile.bytes, tile.swizzle
        access = self.known.get(key)
        if access is None:
            row = tile.shape[0] * tile.type.bits // 8
            if swizzle.swizzle and row < swizzle.span and tile.bytes > row:
                raise SimulationError(
                    f"{self.op.name}: rows of {row} bytes with a swizzle of {swizzle.span}",
                    code="OC3062", loc=self.op.loc,
                    expected="rows as wide as the swizzle, or a smaller swizzle",
                )  # fmt: skip
            access = self.known[key] = Access(
                self.op, I8, vector=True, run=tile.bytes, align=16, swizzle=swizzle.swizzle,
                natural=False, unit=True,
            )  # fmt: skip
        return access

    def global_(self, runs: Runs) -> Access:
        """The access to runs in global memory."""
        access = self.known.get(runs.width)
        if access is None:
            access = self.known[runs.width] = Access(
                self.op, I8, vector=True, run=runs.width, align=runs.width, unit=True
            )
        return access

    def runs(self, lanes: Lanes, map_: TensorMap, coords: Any, offsets: Any = ()) -> Runs:
        """The runs of each lane's tile.

        Raises:
            SimulationError: the map has another number of dimensions.
        """
        mode = getattr(self.op, "mode").value  # noqa: B009 - every one of these has it
        want = map_.tile.rank
        if len(coords) != want or map_.tile.im2col != (mode == "im2col"):
            raise SimulationError(
                f"{self.op.name}: the tensor map does not fit the instruction, "
                f"{lanes.name((0, 0))}",
                code="OC3063", loc=self.op.loc,
                expected=f"{want} coordinates, {'im2col' if map_.tile.im2col else 'tile'}",
                found=f"{len(coords)} coordinates, {mode}",
            )  # fmt: skip
        return runs_of(map_, coords, offsets)

    def check_place(self, lanes: Lanes, ptr: SimPointer) -> None:
        """Raise unless tiles start at multiples of 128 bytes of shared memory."""
        low = np.atleast_2d(np.asarray(ptr.address())) % SMEM_ALIGN
        if low.any():
            where = tuple(int(i) for i in np.argwhere(lanes.full(low))[0])
            raise MisalignedError(
                f"{self.op.name}: a tile in shared memory is misaligned, {lanes.name(where)}",
                code="OC3201", loc=self.op.loc, expected=f"a multiple of {SMEM_ALIGN}",
                found=f"{int(lanes.full(low)[where])} past one",
            )  # fmt: skip

    def by_map(
        self, lanes: Lanes, ptr: SimPointer
    ) -> Iterator[tuple[TensorMap, Lanes, Callable[[Any], Any]]]:
        """The maps of the lanes; coordinates and pointers are to be picked along."""
        map_fences_of(lanes.run.group).check(self.op, lanes, ptr)
        return self.maps.by_map(lanes, ptr)

    def reads_map(self, lanes: Lanes, ptr: SimPointer, targets: Any = ()) -> None:
        """The unit reads the maps from now on until the copies are over (checking mode)."""
        if lanes.run.checker is not None:
            group = lanes.run.group
            bulk = bulk_groups_of(group).commits[lanes.slot.ravel()]
            map_uses_of(group).used(self.op, lanes, ptr, bulk, targets)

    def tensor(self, lanes: Lanes, map_: TensorMap) -> SimPointer:
        """The tensor that a map describes."""
        return owned(lanes, self.op, SimPointer(RAW, map_.address))


# ---------------------------------------------------------------------- loads
class _Load(_Mover):
    def __init__(self, op: TmaLoadOp) -> None:
        super().__init__(op)
        self.places = Places(op)

    def __call__(self, lanes: Lanes, *values: Any) -> None:
        (dst,), (map_ptr,), (bar,), coords, offsets, mask, _ = segments(self.op, values)
        self.check_place(lanes, dst)
        for map_, part, pick in self.by_map(lanes, map_ptr):
            targets = self._start(
                part, map_, pick(dst), pick(bar), [pick(c) for c in coords],
                [pick(o) for o in offsets], pick(mask[0]) if mask else None,
            )  # fmt: skip
            self.reads_map(part, pick(map_ptr), targets)

    def _start(
        self, lanes: Lanes, map_: TensorMap, dst: SimPointer, bar: SimPointer, coords: Any,
        offsets: Any, mask: Any,
    ) -> list[Target]:  # fmt: skip
        """Start; returns where it goes."""
        access, runs = self.shared(map_), self.runs(lanes, map_, coords, offsets)
        targets = targets_of(self.op, self.places, lanes, dst, bar, mask)
        traffic = Traffic(self.op, lanes, "a load of a tile")
        for target in targets:
            target.begin(access, traffic)
        sources = self._sources(lanes, map_, runs, traffic, targets[0].bars)

        def perform() -> None:
            with by_unit(lanes.run):
                value, taint = self._read(lanes, map_, runs)
                for target in targets:
                    target.write(access, value, taint)
            for target in targets:
                target.complete(map_.tile.bytes, sources)

        agents_of(lanes.run.group).post(self.op, lanes, perform, name="a load of a tile")
        return targets

    def _sources(
        self, lanes: Lanes, map_: TensorMap, runs: Runs, traffic: Traffic, bars: Array
    ) -> list[Any]:
        """What is read of global memory."""
        if traffic.checker is None:
            return []
        ptr = self.tensor(lanes, map_)
        keys = np.broadcast_to(bars.reshape(-1)[:1], lanes.n).tolist()
        places = runs.starts + ptr.offset
        return traffic.start("read", lanes, ptr.buffer, places, runs.width, keys, runs.inside)

    def _read(self, lanes: Lanes, map_: TensorMap, runs: Runs) -> tuple[Array, Taint | None]:
        access, ptr = self.global_(runs), self.tensor(lanes, map_)
        if runs.inside is None:
            value = access.read(lanes, ptr, runs.starts)
            return lanes.full(value), access.garbage(lanes, ptr, runs.starts)
        if not runs.inside.any():
            value = np.zeros((lanes.P, lanes.Q, map_.tile.bytes), np.int8)
            return self._filled(lanes, map_, runs, value), None
        value = access.read_where(lanes, ptr, runs.starts, runs.inside)
        return self._filled(lanes, map_, runs, value), self._garbage(lanes, access, ptr, runs)

    def _garbage(self, lanes: Lanes, access: Access, ptr: SimPointer, runs: Runs) -> Taint | None:
        """Which bytes nothing wrote; what is outside of the tensor is filled."""
        assert runs.inside is not None
        inside = lanes.full(runs.inside)
        starts = lanes.full(runs.starts)
        some = starts[inside][0]
        taint = access.garbage(lanes, ptr, np.where(inside, starts, some))
        if taint is None:
            return None
        mask = lanes.full(taint.mask) & np.repeat(inside, runs.width, axis=2)
        return Taint(mask, taint.origin) if mask.any() else None

    def _filled(self, lanes: Lanes, map_: TensorMap, runs: Runs, value: Array) -> Array:
        if map_.tile.oob == "zeros":
            return value
        size = map_.tile.type.bits // 8
        ones = np.frombuffer(_NAN[map_.tile.element], np.int8)
        assert runs.inside is not None
        outside = np.repeat(~lanes.full(runs.inside), runs.width, axis=2)
        return np.where(outside, np.tile(ones, value.shape[2] // size), value)


# The NaN that fills what is outside of a tensor.
_NAN = {
    **dict.fromkeys(("f16", "bf16"), b"\xff\x7f"),
    **dict.fromkeys(("f32", "f32_ftz", "tf32", "tf32_ftz"), b"\xff\xff\xff\x7f"),
    "f64": b"\xff" * 7 + b"\x7f",
}


@semantics("ptx.tma_load", lanes=True, sinks=_sinks)
def tma_load(op: Op) -> Function:
    """Start loading a tile."""
    assert isinstance(op, TmaLoadOp)
    return _Load(op)


# ---------------------------------------------------------------------- stores
class _Store(_Mover):
    def __init__(self, op: TmaStoreOp | TmaReduceOp) -> None:
        super().__init__(op)
        self.word = op.op.value if isinstance(op, TmaReduceOp) else ""
        self.name = "a reduction of a tile" if self.word else "a store of a tile"

    def __call__(self, lanes: Lanes, *values: Any) -> None:
        (map_ptr,), (src,), coords, _ = segments(self.op, values)
        self.check_place(lanes, src)
        for map_, part, pick in self.by_map(lanes, map_ptr):
            self._start(part, map_, pick(src), [pick(c) for c in coords])
            self.reads_map(part, pick(map_ptr))

    def _start(self, lanes: Lanes, map_: TensorMap, src: SimPointer, coords: Any) -> None:
        access, runs = self.shared(map_), self.runs(lanes, map_, coords)
        if stores_outside(map_.tile.lower, map_.tile.upper):
            raise SimulationError(
                f"{self.op.name}: the tensor map does not fit the instruction, "
                f"{lanes.name((0, 0))}",
                code="OC3063", loc=self.op.loc,
                expected="corners of a box of pixels inside of the tensor, which has no padding",
                found=f"lower {map_.tile.lower}, upper {map_.tile.upper}",
            )  # fmt: skip
        change = None
        if self.word:
            change = Reduction(self.op, *map_reduction(self.op, self.word, map_.tile.element))
        held: list[Any] = []

        def read() -> None:
            with by_unit(lanes.run):
                held.append((access.read(lanes, src), access.garbage(lanes, src)))

        def write() -> None:
            value, taint = held.pop()
            self._write(lanes, map_, runs, value, taint, change)

        traffic = Traffic(self.op, lanes, self.name)
        groups = bulk_groups_of(lanes.run.group)
        copy = groups.start(self.op, lanes, read, write, self.name)
        if traffic.checker is not None:
            places, arena = access.places(lanes, src), lanes.run.group.arena.whole
            keys = lanes.slot.ravel().tolist()
            copy.reads = traffic.start("read", lanes, arena, places, access.width, keys)
            if change is None:
                ptr, origin = self.tensor(lanes, map_), lanes.full(places).reshape(lanes.n, -1)
                copy.writes = traffic.start(
                    "write", lanes, ptr.buffer, runs.starts + ptr.offset, runs.width, keys,
                    runs.inside, origin[:, 0],
                )  # fmt: skip

    def _write(
        self, lanes: Lanes, map_: TensorMap, runs: Runs, value: Array, taint: Any, change: Any
    ) -> None:
        value = lanes.full(value)
        ptr, inside = self.tensor(lanes, map_), runs.inside
        if taint is not None:
            self._refuse_garbage(lanes, runs, taint, ptr)
        if change is not None:
            change(lanes, ptr, runs, value)
            return
        with by_unit(lanes.run):
            if inside is None:
                self.global_(runs).write(lanes, value, ptr, runs.starts)
            elif inside.any():
                self.global_(runs).write_where(lanes, value, ptr, runs.starts, inside)

    def _refuse_garbage(self, lanes: Lanes, runs: Runs, taint: Taint, ptr: SimPointer) -> None:
        mask = lanes.full(taint.mask)
        if runs.inside is not None:
            mask = mask & np.repeat(lanes.full(runs.inside), runs.width, axis=2)
        name = getattr(ptr.buffer, "name", "")
        what = f"a store to memory, {name!r}," if name else "a store to memory"
        report(lanes, Taint(mask, taint.origin), self.op, what)


@semantics("ptx.tma_store", "ptx.tma_reduce", lanes=True, sinks=_sinks)
def tma_store(op: Op) -> Function:
    """Start storing a tile, or combining memory with it."""
    assert isinstance(op, TmaStoreOp | TmaReduceOp)
    return _Store(op)


@semantics("ptx.tma_prefetch", lanes=True, sinks=_sinks)
def tma_prefetch(op: Op) -> Function:
    """Nothing to do, but for the checks."""
    assert isinstance(op, TmaPrefetchOp)
    mover = _Mover(op)

    def run(lanes: Lanes, *values: Any) -> None:
        (map_ptr,), coords, offsets, _ = segments(op, values)
        for map_, part, pick in mover.by_map(lanes, map_ptr):
            mover.runs(part, map_, [pick(c) for c in coords], [pick(o) for o in offsets])

    return run
