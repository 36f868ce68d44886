# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`ExternalArray`: memory that belongs to somebody else, described.

In: an address, a shape and the rest, usually from `opencute.runtime.dlpack.export`. Out: the same
facts as attributes, and the array as NumPy or DLPack consumers want it::

    a = export(torch.ones(2, 3))
    a.shape, a.strides, a.dtype.name          # (2, 3), (3, 1), "float32"
    a.numpy()                                 # a view, no copy
"""

# pyright: reportUnknownMemberType=false
# NumPy's own annotations have unknown parameters.

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from opencute.base.errors import ArgumentError
from opencute.runtime.capsule import MAX_VERSION, READ_ONLY, SUBBYTE_PADDED, give
from opencute.runtime.dltypes import DLType, to_numpy_dtype

__all__ = ["CPU", "CUDA", "CUDA_HOST", "CUDA_MANAGED", "ExternalArray"]

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13


class ExternalArray:
    """An array in somebody else's memory.

    Args:
        address: first byte of the element at coordinate 0.
        shape: extents, outermost first.
        strides: in elements.
        dtype: element type.
        device: DLPack device type (1 CPU, 2 CUDA, 3 pinned, 13 managed) and index.
        read_only: writing would break the owner's promise to others.
        owner: kept alive with this object.
        padded: elements narrower than a byte take a whole byte each (as in ml_dtypes).
        framework: "torch", "numpy", "jax", ... ; tells whose current stream a launch belongs on.
        stream: the stream on which the producer finishes the contents, when it said so.
    """

    __slots__ = (
        "__weakref__",
        "address",
        "device",
        "dtype",
        "framework",
        "owner",
        "padded",
        "read_only",
        "shape",
        "stream",
        "strides",
    )

    def __init__(
        self,
        address: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        dtype: DLType,
        device: tuple[int, int] = (CPU, 0),
        read_only: bool = False,
        owner: object = None,
        padded: bool = False,
        framework: str = "",
        stream: int | None = None,
    ) -> None:
        self.address = address
        self.shape = shape
        self.strides = strides
        self.dtype = dtype
        self.device = device
        self.read_only = read_only
        self.owner = owner
        self.padded = padded
        self.framework = framework
        self.stream = stream

    def __repr__(self) -> str:
        kind = {CPU: "cpu", CUDA: "cuda", CUDA_HOST: "cuda_host", CUDA_MANAGED: "cuda_managed"}
        where = f"{kind.get(self.device[0], self.device[0])}:{self.device[1]}"
        return (
            f"ExternalArray(0x{self.address:x}, {self.dtype.name}, shape={tuple(self.shape)}, "
            f"strides={tuple(self.strides)}, {where}{', read-only' if self.read_only else ''})"
        )

    @property
    def ndim(self) -> int:
        """Number of modes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        size = 1
        for extent in self.shape:
            size *= extent
        return size

    @property
    def bits_per_element(self) -> int:
        """Distance in memory of two elements at stride 1; below 8 for packed narrow types."""
        bits = self.dtype.bits * self.dtype.lanes
        return -(-bits // 8) * 8 if self.padded else bits

    @property
    def is_cpu(self) -> bool:
        """Whether this process may touch the memory directly."""
        return self.device[0] in (CPU, CUDA_HOST, CUDA_MANAGED)

    @property
    def is_cuda(self) -> bool:
        """Whether a kernel may touch the memory."""
        return self.device[0] in (CUDA, CUDA_HOST, CUDA_MANAGED)

    @property
    def span(self) -> tuple[int, int]:
        """The first byte that belongs to the array and the byte after its last."""
        if not self.size:
            return self.address, self.address
        steps = [(n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)]
        bits = self.bits_per_element
        low = sum(s for s in steps if s < 0) * bits // 8
        high = -(-(sum(s for s in steps if s > 0) + 1) * bits // 8)
        return self.address + low, self.address + high

    @property
    def allocation(self) -> int:
        """Address of the first byte of the memory that the array is a part of, if that is known;
        else of the array itself."""
        owner = self.owner
        if isinstance(owner, np.ndarray):
            whole = cast("NDArray[Any]", owner)
            while isinstance(whole.base, np.ndarray):
                whole = whole.base
            return int(whole.__array_interface__["data"][0])
        if self.framework == "torch" and isinstance(owner, tuple):
            return int(cast("Any", owner)[1].data_ptr())
        return self.span[0]

    @property
    def __array_interface__(self) -> dict[str, Any]:
        if not self.is_cpu:
            raise ArgumentError(
                "the array is in GPU memory", code="OC2014", hint="copy it to the CPU first"
            )
        dtype = to_numpy_dtype(self.dtype)
        if self.bits_per_element != dtype.itemsize * 8:
            raise ArgumentError(
                f"NumPy has no packed {self.dtype.name} arrays",
                code="OC2014",
                hint="pass the stored bytes as uint8",
            )
        return {
            "version": 3,
            "shape": tuple(self.shape),
            "strides": tuple(s * dtype.itemsize for s in self.strides),
            # NumPy's protocol knows its own types only; ml_dtypes travel as unsigned bits.
            "typestr": dtype.str if dtype.isbuiltin == 1 else f"<u{dtype.itemsize}",
            "data": (self.address, self.read_only),
        }

    def numpy(self) -> NDArray[Any]:
        """The array as NumPy's, without a copy; it keeps the owner alive.

        Raises:
            ArgumentError: the memory is not the CPU's, or NumPy has no such element type.
        """
        if isinstance(self.owner, np.ndarray):
            return cast("NDArray[Any]", self.owner)
        interface = self.__array_interface__
        dtype = to_numpy_dtype(self.dtype)
        if not self.size:
            empty: NDArray[Any] = np.empty(self.shape, dtype)
            empty.setflags(write=not self.read_only)
            return empty
        array = np.asarray(_Interface(interface, self))
        return array if array.dtype == dtype else array.view(dtype)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        """A DLPack capsule of the array; the contents are not waited for, nor copied.

        Raises:
            BufferError: a copy or another device is asked for, or the consumer's version of DLPack
                cannot say that the array is read-only.
        """
        if copy or (dl_device is not None and tuple(dl_device) != self.device):
            raise BufferError("this array can only be shared as it is, on its own device")
        versioned = max_version is not None and max_version[0] >= MAX_VERSION[0]
        if self.read_only and not versioned:
            raise BufferError("a read-only array needs a consumer that takes DLPack 1.0")
        flags = READ_ONLY * self.read_only | SUBBYTE_PADDED * (self.padded and self.dtype.bits < 8)
        return give(
            self.address,
            self.shape,
            self.strides,
            self.dtype,
            self.device,
            flags=flags,
            owner=self,
            versioned=versioned,
        )


class _Interface:
    """What NumPy keeps as the base of the view: the description, and the array behind it."""

    def __init__(self, interface: dict[str, Any], array: ExternalArray) -> None:
        self.__array_interface__ = interface
        self.array = array
