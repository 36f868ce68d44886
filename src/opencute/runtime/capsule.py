# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""DLPack capsules: taking one over, and making one.

In: a ``PyCapsule`` named "dltensor" or "dltensor_versioned". Out: a `Taken` with the tensor's
fields; the producer's deleter runs exactly once, when the `Taken` dies::

    taken = take(array.__dlpack__(max_version=(1, 1)))
    taken.address, taken.shape, taken.strides
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

from opencute.base.errors import ArgumentError
from opencute.runtime.dltypes import DLType

__all__ = [
    "MAX_VERSION", "READ_ONLY", "SUBBYTE_PADDED", "Taken", "give", "pack", "row_major", "take",
    "unpack",
]  # fmt: skip

MAX_VERSION = (1, 1)
READ_ONLY = 1 << 0
SUBBYTE_PADDED = 1 << 2


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    _fields_ = [
        ("tensor", _Tensor),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


class _ManagedVersioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


# PYFUNCTYPE keeps the GIL: deleters of Python libraries want it, the others do not mind.
_Deleter = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


def _api(name: str, result: Any, *arguments: Any) -> Any:
    """A function of the C API; a private prototype, so that nobody else's ctypes use changes it."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_is_valid = _api("PyCapsule_IsValid", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_get_pointer = _api("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
_set_name = _api("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_new = _api("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
# For the destructor, which may not make a new reference to its dying capsule.
_raw_is_valid = _api("PyCapsule_IsValid", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
_raw_pointer = _api("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)

_NAME, _USED = b"dltensor", b"used_dltensor"
_NAME_V, _USED_V = b"dltensor_versioned", b"used_dltensor_versioned"


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in elements of a compact row-major array."""
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


class Taken:
    """A tensor whose producer's deleter has not run yet.

    Args:
        pointer: address of the managed tensor.
        deleter: the producer's function, 0 for none.
        tensor: its description.
        flags: DLPack's flags, 0 from producers that have none.
    """

    __slots__ = ("address", "deleter", "device", "dtype", "flags", "pointer", "shape", "strides")

    def __init__(self, pointer: int, deleter: int, tensor: _Tensor, flags: int) -> None:
        self.pointer = pointer
        self.deleter = deleter
        self.flags = flags
        ndim = tensor.ndim
        self.shape: tuple[int, ...] = tuple(tensor.shape[:ndim]) if ndim else ()
        # A null pointer means compact row-major, and producers may leave it null for ndim 0.
        self.strides: tuple[int, ...] = (
            tuple(tensor.strides[:ndim]) if ndim and tensor.strides else row_major(self.shape)
        )
        self.address = (tensor.data or 0) + tensor.byte_offset
        self.dtype = DLType(tensor.code, tensor.bits, tensor.lanes)
        self.device = (int(tensor.device_type), int(tensor.device_id))

    def __del__(self) -> None:
        pointer, self.pointer = getattr(self, "pointer", 0), 0
        # At exit the producer's library may be half gone; the process returns the memory anyway.
        if pointer and self.deleter and sys is not None and not sys.is_finalizing():  # pyright: ignore[reportUnnecessaryComparison]
            _Deleter(self.deleter)(pointer)


def take(capsule: object) -> Taken:
    """Take a capsule over; it cannot be taken again.

    Raises:
        ArgumentError: not a DLPack capsule, one that was taken before, or of a later major version.
    """
    if _is_valid(capsule, _NAME_V):
        pointer = int(_get_pointer(capsule, _NAME_V))
        versioned = _ManagedVersioned.from_address(pointer)
        deleter = versioned.deleter or 0
        _set_name(capsule, _USED_V)
        if versioned.major != MAX_VERSION[0]:
            # Only the deleter's place is the same in every version.
            if deleter:
                _Deleter(deleter)(pointer)
            raise ArgumentError(
                f"the array's DLPack version is {versioned.major}.{versioned.minor}",
                code="OC2012",
                expected=f"{MAX_VERSION[0]}.x",
            )
        return Taken(pointer, deleter, versioned.tensor, versioned.flags)
    if _is_valid(capsule, _NAME):
        pointer = int(_get_pointer(capsule, _NAME))
        managed = _Managed.from_address(pointer)
        _set_name(capsule, _USED)
        return Taken(pointer, managed.deleter or 0, managed.tensor, 0)
    raise ArgumentError(
        "expected a DLPack capsule that nobody has taken yet", code="OC2012", found=repr(capsule)
    )


_TENSOR_BYTES = ctypes.sizeof(_Tensor)
_BYTES_AT = bytes.__basicsize__ - 1  # where the contents of a bytes object start


def pack(
    address: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: DLType,
    device: tuple[int, int],
) -> bytes:
    """A DLTensor with its extents and strides behind it, for native code; it owns nothing."""
    ndim = len(shape)
    record = bytes(_TENSOR_BYTES + 16 * ndim)
    start = id(record) + _BYTES_AT
    numbers = start + _TENSOR_BYTES
    (ctypes.c_int64 * (2 * ndim)).from_address(numbers)[:] = [*shape, *strides]
    tensor = _Tensor.from_address(start)
    tensor.data, (tensor.device_type, tensor.device_id), tensor.ndim = address, device, ndim
    tensor.code, tensor.bits, tensor.lanes = dtype.code, dtype.bits, dtype.lanes
    pointer = ctypes.POINTER(ctypes.c_int64)
    tensor.shape = ctypes.cast(numbers, pointer)
    tensor.strides = ctypes.cast(numbers + 8 * ndim, pointer)
    return record


def unpack(record: bytes) -> Taken:
    """What a record holds."""
    return Taken(0, 0, _Tensor.from_address(id(record) + _BYTES_AT), 0)


_given: dict[int, tuple[object, ...]] = {}


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _forget(pointer: int | None) -> None:
    """The deleter of tensors that we gave away."""
    _given.pop(pointer or 0, None)


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _destroy(capsule: int | None) -> None:
    """The destructor of our capsules: frees the tensor unless a consumer took it."""
    for name in (_NAME, _NAME_V):
        if _raw_is_valid(capsule, name):
            _given.pop(int(_raw_pointer(capsule, name)), None)


def give(
    address: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: DLType,
    device: tuple[int, int],
    *,
    flags: int,
    owner: object,
    versioned: bool,
) -> object:
    """A capsule for memory that `owner` keeps alive.

    Args:
        address: first byte of the first element.
        shape: extents.
        strides: in elements.
        dtype: element type.
        device: DLPack device type and index.
        flags: DLPack's flags; a capsule without versions cannot say them.
        owner: kept until the consumer's deleter call.
        versioned: make a "dltensor_versioned" capsule.
    """
    ndim = len(shape)
    extents = (ctypes.c_int64 * max(ndim, 1))(*shape)
    steps = (ctypes.c_int64 * max(ndim, 1))(*strides)
    tensor = _Tensor(
        address or None,
        device[0],
        device[1],
        ndim,
        dtype.code,
        dtype.bits,
        dtype.lanes,
        ctypes.cast(extents, ctypes.POINTER(ctypes.c_int64)),
        ctypes.cast(steps, ctypes.POINTER(ctypes.c_int64)),
        0,
    )
    deleter = ctypes.cast(_forget, ctypes.c_void_p)
    managed: _Managed | _ManagedVersioned
    if versioned:
        managed = _ManagedVersioned(*MAX_VERSION, None, deleter, flags, tensor)
    else:
        managed = _Managed(tensor, None, deleter)
    pointer = ctypes.addressof(managed)
    _given[pointer] = (managed, extents, steps, owner)
    name = _NAME_V if versioned else _NAME
    return _new(pointer, name, ctypes.cast(_destroy, ctypes.c_void_p))
