# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Messages of the memory checks: which thread, which array, which element."""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from opencute.base.errors import MisalignedError, OutOfBoundsError
from opencute.ir.attributes import StringAttr
from opencute.ir.core import Op
from opencute.sim.lanes import Lanes
from opencute.sim.memory import SimPointer
from opencute.sim.tiles import int_attr
from opencute.sim.values import Array

__all__ = [
    "allocations", "byte_name", "coordinate", "located", "misaligned", "not_shared",
    "out_of_bounds", "read_only", "smem_name",
]  # fmt: skip


def _first(lanes: Lanes, offsets: Array, where: Any, bad: Any) -> tuple[str, int, int]:
    """The first lane in fault, its offset, and the number of threads in fault."""
    if where is not None:
        offsets, mask = where
        wrong = bad(offsets) & mask
    else:
        wrong = bad(offsets)
    wrong = np.broadcast_to(wrong, (lanes.P, lanes.Q, *wrong.shape[2:]))
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    threads = wrong.reshape(lanes.P, lanes.Q, -1).any(axis=-1)
    offset = int(np.broadcast_to(offsets, wrong.shape)[at])
    return lanes.name(at), offset, int(threads.sum())


def _others(count: int) -> str:
    return f" (and {count - 1} more threads)" if count > 1 else ""


def out_of_bounds(
    lanes: Lanes, access: Any, buffer: Any, offsets: Array, where: Any, verb: str
) -> NoReturn:
    """An access that leaves its buffer."""
    if buffer.every is not None:
        _outside_of_peers(lanes, access, buffer, offsets, where, verb)
    limit = buffer.size - access.width
    name, offset, count = _first(lanes, offsets, where, lambda o: (o < 0) | (o > limit))
    size = access.size
    index = offset // size
    items = buffer.size // size
    what = (
        f"element {index}" if access.run == 1 else f"elements {index} to {index + access.run - 1}"
    )
    at = coordinate(buffer, offset if not 0 <= index < items else items * size)
    other = ""
    if buffer.space == "smem":
        other = _neighbour(access.op, buffer, offset if offset < 0 else max(offset, buffer.size))
    raise OutOfBoundsError(
        f"{verb} outside of {buffer.name!r}: {'' if at is None else f'{at}, '}{what} of {items} "
        f"({access.dtype}, byte offset {offset} of {buffer.size}{other}), {name}{_others(count)}",
        code="OC3101",
        loc=access.op.loc,
        expected=f"0 <= element < {items}" if at is None else buffer.tensor.bounds(),
        found=index if at is None else buffer.tensor.past(at),
    )


def _outside_of_peers(
    lanes: Lanes, access: Any, buffer: Any, places: Array, where: Any, verb: str
) -> NoReturn:
    """An access that leaves its array in another block of the cluster."""
    arena, limit = buffer.arena, buffer.size - access.width
    name, place, count = _first(
        lanes, places, where, lambda o: (o < 0) | (o > limit) | buffer.beyond(o, access.width)
    )
    found = "in no block's shared memory"
    if 0 <= place <= limit:
        other, byte = arena.name_of(place)
        found = f"byte {byte} of {other!r} in block {lanes.run.first_block + place // arena.stride}"
    part = buffer.part
    raise OutOfBoundsError(
        f"{verb} outside of {buffer.name!r} of a block of the cluster: the address is {found}, "
        f"{name}{_others(count)}",
        code="OC3101",
        loc=access.op.loc,
        expected="a place in the blocks' shared memory"
        if part is None
        else f"byte 0 to {part.size - access.width} of it",
        found=found,
    )


def allocations(op: Op) -> list[tuple[int, int, str]]:
    """Beginning, size and name of what the kernel of an operation allocates in shared memory."""
    out: list[tuple[int, int, str]] = []
    parent = op.parent
    while parent is not None and parent.parent is not None and parent.parent.parent is not None:
        op = parent.parent.parent
        parent = op.parent
        if op.name == "gpu.func":
            break
    for inner in op.walk():
        if inner.name == "cute.smem_alloc":
            out.append((int_attr(inner, "offset"), int_attr(inner, "bytes"), smem_name(inner)))
    return out


def smem_name(op: Op) -> str:
    """What messages call an allocation of shared memory."""
    label = op.attributes.get("label")
    what = label.value if isinstance(label, StringAttr) else "shared memory"
    return f"{what} from {op.loc}" if op.loc else f"{what} at {int_attr(op, 'offset')}"


def _neighbour(op: Op, buffer: Any, offset: int) -> str:
    """The allocation that a byte outside of another one is in, as the end of a sentence: the
    smallest one, which is not what the other one is a part of."""
    place, end = buffer.start + offset, buffer.start + buffer.size
    found = [
        (size, name, place - start) for start, size, name in allocations(op)
        if start <= place < start + size and not (start <= buffer.start and end <= start + size)
    ]  # fmt: skip
    if not found:
        return ""
    _, name, byte = min(found)
    return f", which is byte {byte} of {name!r}"


def coordinate(buffer: Any, offset: int) -> tuple[int, ...] | None:
    """The coordinate of a byte in the tensor that a buffer holds; None for vectors, whose elements
    are their coordinates, and where no tensor is known."""
    tensor = getattr(buffer, "tensor", None)
    if tensor is None or (len(tensor.shape) < 2 and tensor.strides in ((), (1,))):
        return None
    return tensor.coordinate(offset)


def byte_name(buffer: Any, place: int) -> str:
    """A byte of a buffer, with the coordinate of its element."""
    at = coordinate(buffer, place)
    return str(place) if at is None else f"{place} (element {at})"


def misaligned(
    lanes: Lanes, access: Any, buffer: Any, offsets: Array, where: Any, verb: str
) -> NoReturn:
    """A vector access at an address that its width does not divide."""
    need, base = access.need, buffer.base
    name, offset, count = _first(lanes, offsets, where, lambda o: (o + base) % need != 0)
    raise MisalignedError(
        f"{verb} of {buffer.name!r} is misaligned: byte offset {offset}, {name}{_others(count)}",
        code="OC3201",
        loc=access.op.loc,
        expected=f"an address that is a multiple of {need}",
        found=f"{base + offset:#x}, which is {(base + offset) % need} past one",
        hint="the pointer's type promises more alignment than the address has",
    )


def read_only(lanes: Lanes, op: Op, buffer: Any) -> NoReturn:
    """A write to memory that may only be read."""
    raise OutOfBoundsError(
        f"write to {buffer.name!r}, which is read-only, {lanes.name((0, 0))}",
        code="OC3103",
        loc=op.loc,
        hint="pass a writable array",
    )


def not_shared(lanes: Lanes, op: Op) -> NoReturn:
    """An operation on memory that other threads see, on registers."""
    raise OutOfBoundsError(
        f"{op.name} on registers, {lanes.name((0, 0))}",
        code="OC3104",
        loc=op.loc,
        expected="a pointer to global or shared memory",
    )


def located(lanes: Lanes, op: Op, table: Any, address: int) -> SimPointer:
    """The pointer for an address.

    Raises:
        OutOfBoundsError: no known array holds the byte.
    """
    buffer = table.find(address)
    if buffer is None:
        what = "is null" if address == 0 else "belongs to no known array"
        raise OutOfBoundsError(
            f"the address {address & ((1 << 64) - 1):#x} {what}, {lanes.name((0, 0))}",
            code="OC3102",
            loc=op.loc,
            hint="pass the array to the function, or register it with the simulator",
        )
    return SimPointer(buffer, address - buffer.base)
