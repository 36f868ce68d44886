# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute.tma_descriptor*` and `ptx`: tensor maps on the host and in kernels."""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

import numpy as np

from opencute.arch.tma import DESCRIPTOR_ALIGN, DESCRIPTOR_BYTES, map_faults, map_hint
from opencute.base.errors import ArgumentError, SimulationError
from opencute.dialects.hopper.tensor_maps import DescriptorOp, ReplaceTensormapOp, tile_of
from opencute.ir.core import Op
from opencute.ir.types import I8
from opencute.sim.access import Access
from opencute.sim.hopper.tma.map_fences import map_fences_of
from opencute.sim.hopper.tma.tensor_maps import MapReader, TensorMap, encode, replaced
from opencute.sim.lanes import Lanes
from opencute.sim.memory import Buffer, SimPointer
from opencute.sim.registry import Function, semantics
from opencute.sim.semantics.matrices import Warps

__all__: list[str] = []


def _sinks(op: Op) -> list[tuple[int, str]]:
    return [(i, "a tensor map") for i in range(len(op.operands))]


@semantics("cute.tma_descriptor", lanes=True, sinks=_sinks)
def descriptor(op: Op) -> Function:
    """A map in memory that only the kernels it is passed to can read."""
    assert isinstance(op, DescriptorOp)
    tile = tile_of(op)
    name = f"the tensor map from {op.loc}" if op.loc else "a tensor map"

    def run(lanes: Lanes, ptr: SimPointer, *numbers: int) -> SimPointer:
        if not lanes.run.host:
            raise SimulationError(
                "a kernel makes a tensor map", code="OC3067", loc=op.loc,
                hint="call make_tiled_tma_atom in the jit function and pass the atom and its "
                "tensor to the kernel; a kernel changes maps with cpasync.update_tma_descriptor",
            )  # fmt: skip
        dims, strides = numbers[: tile.rank], numbers[tile.rank :]
        address = int(ptr.address())
        fault = next(map_faults(tile, address, dims, strides), None)
        if fault is not None:
            raise ArgumentError(
                f"no tensor map can be made: {fault[1]}", code="OC2931", loc=op.loc,
                hint=map_hint(fault[0], tile),
            )  # fmt: skip
        data = encode(TensorMap(tile, address, tuple(dims), tuple(strides)))
        table = lanes.run.table
        buffer = Buffer(data.copy(), table.reserve(DESCRIPTOR_BYTES), name, read_only=True)
        table.add(buffer)
        return buffer.pointer()

    return run


@semantics("cute.tma_descriptor_address")
def descriptor_address(op: Op) -> Function:
    """A map as a value is its address here."""
    return lambda ptr: ptr


@semantics("ptx.prefetch_tensormap", lanes=True, sinks=_sinks)
def prefetch(op: Op) -> Function:
    """Nothing to do, but what is there has to be a map. A warp fetches each map once."""
    reader = MapReader(op)

    def run(lanes: Lanes, ptr: SimPointer) -> None:
        threads = lanes.run.threads
        warp = lanes.full(lanes.bid * -(-threads // 32) + lanes.tid // 32)
        address = lanes.full(np.asarray(ptr.address()))
        pairs = np.stack([warp.ravel(), address.ravel()])
        first = np.zeros(lanes.n, np.bool_)
        first[np.unique(pairs, axis=1, return_index=True)[1]] = True
        part, pick, _ = lanes.sub(first.reshape(lanes.P, lanes.Q))
        for _ in reader.by_map(part, pick(ptr)):
            pass

    return run


@semantics("ptx.tensormap_replace", lanes=True, sinks=_sinks)
def replace(op: Op) -> Function:
    """Change one field."""
    assert isinstance(op, ReplaceTensormapOp)
    reader = MapReader(op)
    field, ord = op.field.value, op.ord.value

    def run(lanes: Lanes, ptr: SimPointer, value: Any) -> None:
        data = lanes.full(reader.bytes(lanes, ptr))
        values = lanes.full(np.atleast_2d(np.asarray(value))).ravel().tolist()
        rows = data.reshape(-1, DESCRIPTOR_BYTES)
        new = [replaced(r, field, ord, int(v)) for r, v in zip(rows, values, strict=True)]
        out = np.stack(new).reshape(data.shape).view(np.int8)
        reader.access.write(lanes, out, ptr)

    return run


@semantics("ptx.tensormap_copy_fence", lanes=True, sinks=_sinks)
def copy_fence(op: Op) -> Function:
    """A warp copies a map from shared to global memory."""
    n = DESCRIPTOR_BYTES
    access = Access(
        op, I8, vector=True, run=n, align=DESCRIPTOR_ALIGN, widest=n, unit=True, counted="maps"
    )

    def run(lanes: Lanes, dst: SimPointer, src: SimPointer) -> None:
        Warps(op, lanes)
        first = np.asarray(lanes.full(lanes.tid)) % 32 == 0
        part, pick, _ = lanes.sub(first)
        taint = access.garbage(part, pick(src))
        if taint is not None:
            raise SimulationError(
                f"{op.name}: the tensor map is not initialised, {part.name((0, 0))}",
                code="OC3060", loc=op.loc,
            )  # fmt: skip
        access.write(part, access.read(part, pick(src)), pick(dst))
        map_fences_of(lanes.run.group).fence(part, "release.", None)

    return run
