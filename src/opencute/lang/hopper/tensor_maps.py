# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Tensor maps that kernels copy and change, for tensors that only they know.

A map in global memory is changed in place, or in shared memory and copied from there; a release and
an acquire stand between that and the copies that use it::

    copy_tensormap(atom, workspace)                  # one thread
    update_tma_descriptor(atom, tensor, workspace)   # a warp
    fence_tma_desc_release()
    fence_tma_desc_acquire(workspace)
    cute.copy(atom, g, s, tma_bar_ptr=bar, tma_desc_ptr=workspace)
"""

from __future__ import annotations

from typing import Any

from opencute.arch.tma import DESCRIPTOR_ALIGN, DESCRIPTOR_BYTES
from opencute.base.errors import LayoutError, TypeMismatchError
from opencute.dialects import cute, ptx
from opencute.dialects.cute import PtrType
from opencute.dialects.hopper import tensor_maps
from opencute.ir.core import Value
from opencute.ir.types import I8
from opencute.lang.hopper.tma_atoms import global_tensor, map_values, tma_atom_of
from opencute.lang.hopper.tma_copy import by_one_thread, narrow
from opencute.lang.numbers import Int32
from opencute.lang.pointers import AddressSpace, Pointer
from opencute.lang.tensors import TracedTensor
from opencute.layout import Layout, congruent

__all__ = [
    "copy_tensormap",
    "cp_fence_tma_desc_release",
    "fence_tma_desc_acquire",
    "fence_tma_desc_release",
    "map_place",
    "update_tma_descriptor",
]

_WORDS = DESCRIPTOR_BYTES // 4
_ACQUIRE = "tensormap::generic.acquire.gpu"
_RELEASE = "tensormap::generic.release.gpu"


def map_place(pointer: Any, *spaces: AddressSpace) -> Value:
    """The place of a tensor map, from a pointer to anything.

    Raises:
        TypeMismatchError: not a pointer, or to other memory.
    """
    if not isinstance(pointer, Pointer) or (spaces and pointer.memspace not in spaces):
        raise TypeMismatchError(
            "this is no pointer to a tensor map", code="OC1602", found=str(pointer),
            expected=" or ".join(s.name for s in spaces) or "a pointer",
        )  # fmt: skip
    align = max(pointer.alignment, DESCRIPTOR_ALIGN)
    return cute.recast(pointer.value, PtrType(I8, pointer.memspace.name, align))


def _words(value: Value) -> TracedTensor:
    type = value.type
    assert isinstance(type, PtrType)
    return TracedTensor(Pointer(value, Int32).recast(Int32), Layout(_WORDS))


def copy_tensormap(tma_atom: Any, tensormap_ptr: Any, *, loc: Any = None, ip: Any = None) -> None:
    """Write an atom's tensor map to memory; one thread does that.

    Args:
        tma_atom: the atom.
        tensormap_ptr: 128 bytes of global or shared memory, a multiple of 128.
    """
    source = tensor_maps.descriptor_address(tma_atom_of(tma_atom).map)
    _words(map_place(tensormap_ptr)).store(_words(source).load())


def update_tma_descriptor(
    tma_atom: Any, gmem_tensor: Any, tma_desc_ptr: Any, *, loc: Any = None, ip: Any = None
) -> None:
    """Make a tensor map in memory that of another tensor: its address, extents and strides.

    All threads of a warp call it; one of them does it.

    Args:
        tma_atom: the atom that the map was copied from.
        gmem_tensor: a tensor of the same modes, in global memory.
        tma_desc_ptr: the map, in global or shared memory.

    Raises:
        LayoutError: the tensor has other modes than that of the atom.
    """
    atom, tensor = tma_atom_of(tma_atom), global_tensor(gmem_tensor)
    if not congruent(tensor.layout.shape, atom.gmem_shape):
        raise LayoutError(
            "update_tma_descriptor: the tensor has other modes than that of the atom",
            code="OC1335", expected=str(atom.gmem_shape), found=tensor.layout,
        )  # fmt: skip
    place = map_place(tma_desc_ptr)
    extents, strides = map_values(tensor, atom.plan, atom.tile.type.bits)
    address: Any = tensor.iterator.toint()

    def replace() -> None:
        tensor_maps.replace_tensormap(place, "global_address", address.ir_value())
        for i, n in enumerate(extents):
            tensor_maps.replace_tensormap(place, "global_dim", narrow(n, 32), i)
        for i, d in enumerate(strides):
            tensor_maps.replace_tensormap(place, "global_stride", narrow(d, 64), i)

    by_one_thread(replace)


def fence_tma_desc_release(*, loc: Any = None, ip: Any = None) -> None:
    """Make changes of tensor maps in global memory visible to copies of the whole GPU."""
    ptx.fence_proxy(_RELEASE)


def fence_tma_desc_acquire(tma_desc_ptr: Any, *, loc: Any = None, ip: Any = None) -> None:
    """Let the thread's copies see a tensor map in global memory as it has been released.

    Args:
        tma_desc_ptr: the map.
    """
    ptx.fence_proxy(_ACQUIRE, map_place(tma_desc_ptr, AddressSpace.gmem, AddressSpace.generic))


def cp_fence_tma_desc_release(
    tma_desc_global_ptr: Any, tma_desc_shared_ptr: Any, *, loc: Any = None, ip: Any = None
) -> None:
    """Copy a tensor map from shared to global memory and release it; a warp does that together.

    Args:
        tma_desc_global_ptr: where to.
        tma_desc_shared_ptr: where from.
    """
    dst = map_place(tma_desc_global_ptr, AddressSpace.gmem, AddressSpace.generic)
    tensor_maps.copy_fence_tensormap(dst, map_place(tma_desc_shared_ptr, AddressSpace.smem))
