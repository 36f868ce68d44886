# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Tensor maps that a kernel keeps in memory and changes, as grouped GEMMs do.

maps = utils.TensorMapManager(utils.TensorMapUpdateMode.SMEM, 128)
a_map = maps.get_tensormap_ptr(workspace[(block, 0, None)].iterator)
maps.init_tensormap_from_atom(atom, smem_ptr, warp_id)       # once
maps.fence_tensormap_initialization()
maps.update_tensormap((tensor,), (atom,), (a_map,), warp_id, (smem_ptr,))
maps.fence_tensormap_update(a_map)
cute.copy(atom, g, s, tma_bar_ptr=bar, tma_desc_ptr=a_map)
"""

# What users pass may be anything, whatever the annotations say.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

import enum
from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.base.errors import ArgumentError
from opencute.cute.nvgpu import cpasync
from opencute.lang.pointers import AddressSpace

__all__ = ["TensorMapManager", "TensorMapUpdateMode"]

_BYTES = 128


class TensorMapUpdateMode(enum.Enum):
    """Where maps are changed: in place, or in shared memory and then copied."""

    GMEM = "gmem"
    SMEM = "smem"


class TensorMapManager:
    """What blocks do with their tensor maps.

    Args:
        tensormap_update_mode: where maps are changed.
        bytes_per_tensormap: 128.

    Raises:
        ArgumentError: no such mode or size.
    """

    def __init__(
        self, tensormap_update_mode: TensorMapUpdateMode, bytes_per_tensormap: int = _BYTES
    ) -> None:
        if not isinstance(tensormap_update_mode, TensorMapUpdateMode):
            raise ArgumentError(
                "no such way to change tensor maps", code="OC2193",
                found=repr(tensormap_update_mode),
                expected="TensorMapUpdateMode.GMEM or TensorMapUpdateMode.SMEM",
            )  # fmt: skip
        if bytes_per_tensormap != _BYTES:
            raise ArgumentError(
                "a tensor map has 128 bytes", code="OC2193", found=bytes_per_tensormap
            )
        self.tensormap_update_mode = tensormap_update_mode
        self.bytes_per_tensormap = bytes_per_tensormap

    def get_tensormap_ptr(
        self,
        ptr: Any,
        address_space: AddressSpace = AddressSpace.gmem,
        *,
        loc: Any = None,
        ip: Any = None,
    ) -> Any:
        """A pointer to a map in a workspace.

        Args:
            ptr: where it is, in global memory.
            address_space: `gmem` or `generic`, as the one who asks needs it.

        Raises:
            ArgumentError: another address space.
        """
        if address_space not in (AddressSpace.gmem, AddressSpace.generic):
            raise ArgumentError(
                "a map that copies use is in global memory", code="OC2193", found=address_space,
                expected="AddressSpace.gmem or AddressSpace.generic",
            )  # fmt: skip
        if ptr.memspace is address_space:
            return ptr.align(_BYTES)
        return cute.make_ptr(ptr.dtype, ptr.toint(), address_space, assumed_align=_BYTES)

    @cute.jit
    def init_tensormap_from_atom(
        self, copy_atom: Any, dst_ptr: Any, warp_id: Any, *, loc: Any = None, ip: Any = None
    ) -> None:
        """Write an atom's map to memory; the threads of one warp do that.

        Args:
            copy_atom: the atom.
            dst_ptr: 128 bytes, in global memory or (to be changed there) in shared memory.
            warp_id: which warp.
        """
        if cute.arch.make_warp_uniform(cute.arch.warp_idx()) == warp_id:
            with cute.arch.elect_one():
                cpasync.copy_tensormap(copy_atom, dst_ptr)
            cute.arch.sync_warp()

    def fence_tensormap_initialization(self, *, loc: Any = None, ip: Any = None) -> None:
        """Let changes come after what `init_tensormap_from_atom` wrote."""
        cute.arch.fence_acq_rel_cta()

    @cute.jit
    def update_tensormap(
        self,
        tensor_gmem: Any,
        tma_copy_atom: Any,
        tensormap_gmem_ptr: Any,
        warp_id: Any,
        tensormap_smem_ptr: Any = None,
        *,
        loc: Any = None,
        ip: Any = None,
    ) -> None:
        """Make maps those of other tensors, once the stores that one warp has started with them
        have read what they store. The threads of that warp do it.

        Args:
            tensor_gmem: the tensors.
            tma_copy_atom: for each the atom that its map was copied from.
            tensormap_gmem_ptr: for each the map that copies use.
            warp_id: which warp.
            tensormap_smem_ptr: for each, where it is changed in shared memory, if it is.
        """
        in_smem = self.tensormap_update_mode is TensorMapUpdateMode.SMEM
        if cute.arch.make_warp_uniform(cute.arch.warp_idx()) == warp_id:
            changed = tensormap_smem_ptr if in_smem else tensormap_gmem_ptr
            cute.arch.cp_async_bulk_commit_group()
            cute.arch.cp_async_bulk_wait_group(0, read=True)
            cute.arch.sync_warp()
            for i in cutlass.range_constexpr(len(tensor_gmem)):
                cpasync.update_tma_descriptor(tma_copy_atom[i], tensor_gmem[i], changed[i])
            cute.arch.sync_warp()
            if cutlass.const_expr(in_smem):
                for i in cutlass.range_constexpr(len(tensor_gmem)):
                    cpasync.cp_fence_tma_desc_release(tensormap_gmem_ptr[i], changed[i])
            else:
                cpasync.fence_tma_desc_release()

    def fence_tensormap_update(
        self, tensormap_gmem_ptr: Any, *, loc: Any = None, ip: Any = None
    ) -> None:
        """Let the thread's copies see a map as it was changed last.

        Args:
            tensormap_gmem_ptr: the map.
        """
        cpasync.fence_tma_desc_acquire(tensormap_gmem_ptr)
