# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Memories: arrays of the caller, registers of each lane, and pointers into them.

Every buffer has an address. For a caller's array it is the real one, so that an address computed
outside (``array.ctypes.data``, ``tensor.data_ptr()``) means the same place here; for registers it
is made up. A pointer keeps the buffer it came from, so that an access beyond it is found even where
another array happens to lie. `RAW` stands for the whole address space: pointers made from integers
point into it and find their buffer at each access.

>>> p = Buffer.from_numpy(np.zeros(4, np.float32), "x").pointer(8)
>>> p.offset, p.buffer.size
(8, 16)
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opencute.base.errors import ArgumentError
from opencute.sim.values import Array

__all__ = [
    "RAW", "AddressTable", "Buffer", "RowBuffer", "SimPointer", "TensorModes", "common_buffer",
]  # fmt: skip


class _Bytes:
    """Memory at an address, as NumPy's array interface describes it."""

    def __init__(self, address: int, size: int, read_only: bool, owner: object) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (address, read_only),
            "version": 3,
        }


def _letter(mode: int) -> str:
    """What an index is called: i, j, k, ..."""
    return "ijklmn"[mode] if mode < 6 else f"i{mode}"


@dataclass(frozen=True)
class TensorModes:
    """How a tensor's elements lie in the memory that they span.

    Args:
        shape: its extents.
        strides: in elements.
        bits: of an element.
        begin: of the coordinate 0, in bytes.

    Example:
        >>> modes = TensorModes((40, 8), (8, 1), 32)
        >>> modes.coordinate(1292), modes.past((40, 3))
        ((40, 3), '(40, 3): mode 0 has no 40')
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    bits: int
    begin: int = 0

    def coordinate(self, offset: int) -> tuple[int, ...] | None:
        """The coordinate that a byte belongs to; outside of the tensor the mode with the largest
        stride goes on. None where there is none or several."""
        left = (offset - self.begin) * 8 // self.bits
        found = [0] * len(self.shape)
        order = sorted(range(len(self.shape)), key=lambda m: (-self.strides[m], self.shape[m]))
        for m in order:
            if self.strides[m] > 0 and self.shape[m] > 1:
                found[m], left = divmod(left, self.strides[m])
        inner = [m for m in order if self.strides[m] > 0 and self.shape[m] > 1][1:]
        if left or any(found[m] >= self.shape[m] for m in inner):
            return None
        return tuple(found)

    def past(self, at: tuple[int, ...]) -> str:
        """A coordinate, and which of its indices leaves its extent."""
        for m, (i, n) in enumerate(zip(at, self.shape, strict=True)):
            if not 0 <= i < n:
                other = "" if len(at) == 1 or i < 0 else (
                    ", or an index past the end of another mode, which wraps around"
                )  # fmt: skip
                return f"{at}: mode {m} has no {i}{other}"
        return str(at)

    def bounds(self) -> str:
        """What coordinates are in the tensor."""
        return f"a coordinate in {self.shape}: " + ", ".join(
            f"0 <= {_letter(m)} < {n}" for m, n in enumerate(self.shape)
        )


class Buffer:
    """A piece of global memory: one array of the caller.

    Args:
        raw: its bytes.
        base: its address.
        name: what messages call it.
        read_only: whether a store to it is a fault.
        initialised: whether its bytes count as written.
        owner: kept alive as long as the buffer.

    Attributes:
        counted: its address as far as sectors are counted: that in memory which a GPU's allocator
            gave, so that counts do not depend on where the host's put the array.
        tensor: how a tensor lies in it, for messages.
        reached: where what kernels do with it is noted, if somebody asks for that.
    """

    __slots__ = (
        "_views", "base", "counted", "name", "owner", "raw", "reached", "read_only", "size",
        "tensor", "written",
    )  # fmt: skip
    space = "gmem"
    part = every = None
    """Of the memory of a cluster: see `ClusterBuffer`."""

    def __init__(
        self,
        raw: Array,
        base: int,
        name: str,
        *,
        read_only: bool = False,
        initialised: bool = True,
        owner: object = None,
    ) -> None:
        self.raw = raw
        self.base = base
        self.counted = base
        self.tensor: TensorModes | None = None
        self.reached: Any = None
        self.size = raw.size
        self.name = name
        self.read_only = read_only
        self.owner = owner
        self.written: Array | None = None if initialised else np.zeros(self.size, np.bool_)
        self._views: dict[Any, Array] = {}

    @classmethod
    def from_numpy(
        cls, array: Array, name: str = "array", *, read_only: bool = False, initialised: bool = True
    ) -> Buffer:
        """The memory that an array lives in, from its lowest to its highest byte.

        Example:
            >>> Buffer.from_numpy(np.arange(6, dtype=np.int16)[::2]).size
            10
        """
        base = int(array.__array_interface__["data"][0])
        low = high = 0
        for extent, stride in zip(array.shape, array.strides, strict=True):
            reach = (extent - 1) * stride
            low, high = low + min(reach, 0), high + max(reach, 0)
        size = high - low + array.itemsize if array.size else 0
        read_only = read_only or not array.flags.writeable
        return cls.from_address(
            base + low, size, name, owner=array, read_only=read_only, initialised=initialised
        )

    @classmethod
    def from_address(
        cls,
        address: int,
        size: int,
        name: str = "array",
        *,
        owner: object = None,
        read_only: bool = False,
        initialised: bool = True,
    ) -> Buffer:
        """`size` bytes at an address of this process, which `owner` keeps alive.

        Raises:
            ArgumentError: the size is negative, or the address is null and the size is not 0.
        """
        if size < 0 or (size and not address):
            raise ArgumentError(
                f"{name}: {size} bytes at address {address:#x} are no memory", code="OC2301"
            )
        if size:
            raw = np.asarray(_Bytes(address, size, read_only, owner))
        else:
            raw = np.empty(0, np.uint8)
        return cls(raw, address, name, read_only=read_only, initialised=initialised, owner=owner)

    def pointer(self, byte_offset: int = 0) -> SimPointer:
        """A pointer into the buffer."""
        return SimPointer(self, byte_offset)

    def items(self, dtype: Any) -> Array:
        """The buffer as a list of items, as many as fit."""
        view = self._views.get(dtype)
        if view is None:
            size = np.dtype(dtype).itemsize
            view = self._views[dtype] = self.raw[: self.size // size * size].view(dtype)
        return view

    def rows(self, width: int) -> Array:
        """The buffer as rows of `width` bytes."""
        view = self._views.get(width)
        if view is None:
            view = self.raw[: self.size // width * width].reshape(-1, width)
            self._views[width] = view
        return view

    def __repr__(self) -> str:
        return f"<buffer {self.name}: {self.size} bytes at {self.base:#x}>"


class _AddressSpace(Buffer):
    """Stands for all addresses; see `RAW`."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(np.empty(0, np.uint8), 0, "memory")


RAW: Buffer = _AddressSpace()
"""The buffer of pointers whose origin is not known; their offset is the address."""


class RowBuffer:
    """Registers: `size` bytes for each of the lanes that started together.

    While the last write was of all bytes by all lanes, only that value is kept (`value`), without a
    copy; anything else makes rows of bytes of it.

    Args:
        rows: number of lanes (blocks and threads).
        size: bytes for each.
        name: what messages call it.
        base: the address, equal for all lanes as on hardware.
    """

    __slots__ = (
        "_raw", "base", "done", "guard", "lanes", "name", "origin", "size", "spoilers", "stride",
        "value", "written",
    )  # fmt: skip
    space = "rmem"
    read_only = False
    every = None

    def __init__(self, lanes: tuple[int, int], size: int, name: str, base: int) -> None:
        self.lanes = lanes
        self.size = size
        self.stride = -(-size // 16) * 16
        self.name = name
        self.base = base
        self.value: Array | None = None
        self.written: Array | None = np.zeros((1, 1, size), np.bool_)
        self.done: Array | None = None
        """Lanes that have written all of theirs, whatever `written` says."""
        self._raw: Array | None = None
        self.guard: Any = None
        """Asked at each access, for registers that asynchronous units use."""
        self.spoilers: Any = None
        """Where garbage comes from that was written here (`taint.Spoilers`)."""

    @property
    def raw(self) -> Array:
        """The bytes, one row for each lane."""
        if self._raw is None:
            n = self.lanes[0] * self.lanes[1]
            self._raw = np.zeros((n, self.stride), np.uint8)
        if self.value is not None:
            value, self.value = self.value, None
            whole = self._raw[:, : self.size].view(value.dtype)
            whole.reshape(*self.lanes, -1)[...] = value
        return self._raw

    def items(self, dtype: Any) -> Array:
        """The bytes as rows of items."""
        return self.raw.view(dtype)

    def forget(self) -> None:
        """Drop the bytes: everything is about to be written."""
        self.value = None

    def __repr__(self) -> str:
        return f"<registers {self.name}: {self.size} bytes for each of {self.lanes}>"


@dataclass(eq=False)
class SimPointer:
    """A place in a buffer.

    Args:
        buffer: where it points into.
        offset: bytes from its start: an int, or an array when lanes differ.
    """

    __slots__ = ("buffer", "offset")
    buffer: Any
    offset: Any

    def moved(self, delta: Any) -> SimPointer:
        """The pointer `delta` bytes further."""
        return SimPointer(self.buffer, self.offset + delta)

    def mapped(self, fn: Any) -> SimPointer:
        """The pointer with a function applied to its offsets, where lanes differ."""
        offset = self.offset
        return SimPointer(self.buffer, fn(offset)) if type(offset) is np.ndarray else self

    def address(self) -> Any:
        """The address, an int or an array of int64."""
        base = self.buffer.base
        return self.offset + base if base else self.offset


def common_buffer(pointers: Sequence[SimPointer]) -> Any:
    """The buffer in which the offsets of all these pointers mean what they do; None: there is no
    such one. Pointers to several arrays of a cluster's blocks lose the bounds of each."""
    buffer = pointers[0].buffer
    if all(p.buffer is buffer for p in pointers):
        return buffer
    every = buffer.every
    if every is not None and all(p.buffer.every is every for p in pointers):
        return every
    return None


class AddressTable:
    """Which buffer an address belongs to."""

    def __init__(self) -> None:
        self._bases: list[int] = []
        self._buffers: dict[int, Any] = {}
        self._next = 0x7000_0000_0000_0000

    def add(self, buffer: Any) -> None:
        """Make a buffer known; of two at one address, the larger one counts."""
        known = self._buffers.get(buffer.base)
        if known is None:
            insort(self._bases, buffer.base)
        elif known.size > buffer.size:
            return
        self._buffers[buffer.base] = buffer

    def replace(self, buffer: Any) -> None:
        """Make a buffer known in place of what was at its address."""
        self._buffers.pop(buffer.base, None)
        if buffer.base in self._bases:
            self._bases.remove(buffer.base)
        self.add(buffer)

    def reserve(self, size: int) -> int:
        """An address that nothing else has, for memory that is not an array of the caller."""
        base = self._next
        self._next += -(-(size + 4096) // 4096) * 4096
        return base

    def buffers(self) -> list[Any]:
        """All known buffers."""
        return list(self._buffers.values())

    def find(self, address: int) -> Any | None:
        """The buffer that holds the byte at an address."""
        at = bisect_right(self._bases, address) - 1
        # An array may lie inside of a larger one that starts before it, so look back a little.
        for base in self._bases[max(at - 8, 0) : at + 1][::-1]:
            buffer = self._buffers[base]
            if address < base + buffer.size:
                return buffer
        return None
