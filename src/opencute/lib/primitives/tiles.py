# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Copies of tiles by tensor maps, and changes of the maps.

In: pointers, the address of a tensor map, and coordinates, innermost first. Out: one instruction::

    prims.cp_async_bulk_tensor_shared_cta_global(smem, desc.get_ptr(), (k, m), mbar)
    prims.cp_async_bulk_tensor_global_shared_cta(desc.get_ptr(), smem, (k, m))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opencute.arch.tma import DESCRIPTOR_BYTES, SMEM_ALIGN
from opencute.base.errors import ArgumentError
from opencute.dialects import cute, ptx
from opencute.dialects.cute import PtrType
from opencute.dialects.hopper import bulk, tensor_maps, tma
from opencute.ir.core import Value
from opencute.ir.types import I8
from opencute.lang.block.atomics import pointer_of
from opencute.lang.block.words import word
from opencute.lang.hopper.mbarriers import barrier_place
from opencute.lang.hopper.tensor_maps import map_place
from opencute.lang.hopper.tma_copy import cache_policy_of, narrow
from opencute.lang.numbers import Uint8
from opencute.lang.pointers import AddressSpace
from opencute.lib.primitives.words import CTAGroup

__all__ = [
    "cp_async_bulk_prefetch_tensor",
    "cp_async_bulk_shared_cluster_shared_cta",
    "cp_async_bulk_tensor_global_shared_cta",
    "cp_async_bulk_tensor_shared_cluster_global",
    "cp_async_bulk_tensor_shared_cta_global",
    "cp_reduce_async_bulk_tensor_global_shared_cta",
    "fence_proxy_acquire",
    "fence_proxy_release",
    "prefetch_tensormap",
    "tensormap_replace",
]

_RUN_ALIGN = 16


def _name(x: Any) -> str:
    return str(getattr(x, "value", x))


def _place(ptr: Any, what: str, align: int) -> Value:
    """A pointer to shared memory as one to bytes, aligned as copies need it."""
    value = pointer_of(ptr, what, Uint8).value
    type: Any = value.type
    return cute.recast(value, PtrType(I8, type.space, align))


def _coords(coords: Any) -> list[Value]:
    return [narrow(c, 32) for c in coords]


def _mode(offsets: Sequence[Any]) -> str:
    return "im2col" if offsets else "tile"


def cp_async_bulk_tensor_shared_cta_global(
    dst: Any, tensor_map: Any, coords: Sequence[Any], mbar: Any,
    im2col_offsets: Sequence[Any] = (), *, cache_policy: Any = None, loc: Any = None,
    ip: Any = None,
) -> None:  # fmt: skip
    """Start copying a tile from global to shared memory; an mbarrier counts its bytes.

    Args:
        dst: where to, a multiple of 128 bytes.
        tensor_map: pointer to the map.
        coords: of the tile's first element, innermost first.
        mbar: the barrier.
        im2col_offsets: for maps of columns of pixels, what is added to the coordinates of pixels.
        cache_policy: a cache policy.
    """
    cp_async_bulk_tensor_shared_cluster_global(
        dst, tensor_map, coords, mbar, im2col_offsets, cache_policy=cache_policy
    )


def cp_async_bulk_tensor_shared_cluster_global(
    dst: Any, tensor_map: Any, coords: Sequence[Any], mbar: Any,
    im2col_offsets: Sequence[Any] = (), *, multicast_mask: Any = None, group: Any = None,
    cache_policy: Any = None, loc: Any = None, ip: Any = None,
) -> None:  # fmt: skip
    """As `cp_async_bulk_tensor_shared_cta_global`, also for several blocks of the cluster.

    Args:
        dst: where to, a multiple of 128 bytes.
        tensor_map: pointer to the map.
        coords: of the tile's first element, innermost first.
        mbar: the barrier; the same place of each block counts that block's bytes.
        im2col_offsets: for maps of columns of pixels, what is added to the coordinates of pixels.
        multicast_mask: the ranks of the blocks that get the tile, as bits; this block if omitted.
        group: `CTAGroup.CTA_1`; pairs of blocks begin with sm_100.
        cache_policy: a cache policy.

    Raises:
        ArgumentError: a pair of blocks.
    """
    what = "cp_async_bulk_tensor_shared_cluster_global"
    if group not in (None, CTAGroup.CTA_1):
        raise ArgumentError(
            f"{what}: copies of this architecture are for one block", code="OC2942",
            expected="CTAGroup.CTA_1", found=group,
        )  # fmt: skip
    offsets = list(im2col_offsets or ())
    tma.tma_load(
        _place(dst, what, SMEM_ALIGN),
        map_place(tensor_map, AddressSpace.gmem, AddressSpace.generic),
        barrier_place(mbar, what), _coords(coords), offsets=[narrow(o, 16) for o in offsets],
        mask=None if multicast_mask is None else narrow(multicast_mask, 16),
        cache=cache_policy_of(cache_policy), mode=_mode(offsets),
    )  # fmt: skip


def cp_async_bulk_tensor_global_shared_cta(
    tensor_map: Any, src: Any, coords: Sequence[Any], *, im2col: bool = False,
    cache_policy: Any = None, loc: Any = None, ip: Any = None,
) -> None:  # fmt: skip
    """Start copying a tile from shared to global memory, as part of the thread's group.

    Args:
        tensor_map: pointer to the map.
        src: where from, a multiple of 128 bytes.
        coords: of the tile's first element, innermost first.
        im2col: the map is of columns of pixels; there are no offsets (`.im2col_no_offs` in PTX).
        cache_policy: a cache policy.
    """
    tma.tma_store(
        map_place(tensor_map, AddressSpace.gmem, AddressSpace.generic),
        _place(src, "cp_async_bulk_tensor_global_shared_cta", SMEM_ALIGN), _coords(coords),
        cache=cache_policy_of(cache_policy), mode="im2col" if im2col else "tile",
    )  # fmt: skip


def cp_reduce_async_bulk_tensor_global_shared_cta(
    tensor_map: Any, src: Any, coords: Sequence[Any], op: Any, *, im2col: bool = False,
    cache_policy: Any = None, loc: Any = None, ip: Any = None,
) -> None:  # fmt: skip
    """Start combining global memory with a tile, as part of the thread's group.

    Args:
        tensor_map: pointer to the map.
        src: where from, a multiple of 128 bytes.
        coords: of the tile's first element, innermost first.
        op: a `ReductionOp`.
        im2col: the map is of columns of pixels; there are no offsets (`.im2col_no_offs` in PTX).
        cache_policy: a cache policy.
    """
    tma.tma_reduce(
        _name(op), map_place(tensor_map, AddressSpace.gmem, AddressSpace.generic),
        _place(src, "cp_reduce_async_bulk_tensor_global_shared_cta", SMEM_ALIGN), _coords(coords),
        cache=cache_policy_of(cache_policy), mode="im2col" if im2col else "tile",
    )  # fmt: skip


def cp_async_bulk_prefetch_tensor(
    tensor_map: Any, coords: Sequence[Any], im2col_offsets: Sequence[Any] = (), *,
    cache_policy: Any = None, loc: Any = None, ip: Any = None,
) -> None:  # fmt: skip
    """Start fetching a tile into the L2 cache.

    Args:
        tensor_map: pointer to the map.
        coords: of the tile's first element, innermost first.
        im2col_offsets: for maps of columns of pixels, what is added to the coordinates of pixels.
        cache_policy: a cache policy.
    """
    offsets = list(im2col_offsets or ())
    tma.tma_prefetch(
        map_place(tensor_map, AddressSpace.gmem, AddressSpace.generic), _coords(coords),
        offsets=[narrow(o, 16) for o in offsets], cache=cache_policy_of(cache_policy),
        mode=_mode(offsets),
    )  # fmt: skip


def cp_async_bulk_shared_cluster_shared_cta(
    dst: Any, src: Any, mbar: Any, size: Any, *, loc: Any = None, ip: Any = None
) -> None:
    """Start copying `size` bytes to the shared memory of another block of the cluster.

    Args:
        dst: where to, in that block (see `mapa`).
        src: where from, in this block.
        mbar: a barrier of that block, which counts the bytes.
        size: a multiple of 16.
    """
    what = "cp_async_bulk_shared_cluster_shared_cta"
    bulk.bulk_copy(
        _place(dst, what, _RUN_ALIGN), _place(src, what, _RUN_ALIGN), word(size),
        barrier_place(mbar, what),
    )  # fmt: skip


# ---------------------------------------------------------------- tensor maps
def prefetch_tensormap(tensor_map: Any, *, loc: Any = None, ip: Any = None) -> None:
    """Fetch a tensor map into the cache that copies read it from.

    Args:
        tensor_map: pointer to the map.
    """
    tensor_maps.prefetch_tensormap(map_place(tensor_map, AddressSpace.gmem, AddressSpace.generic))


def tensormap_replace(
    field: Any, tensor_map: Any, *, new_value: Any, ord: int = 0, loc: Any = None, ip: Any = None
) -> None:
    """Change one field of a tensor map in global or shared memory.

    Args:
        field: a `TensormapField`.
        tensor_map: pointer to the map.
        new_value: the address, extent, stride (of dimension `ord` + 1, in bytes) and so on.
        ord: the dimension, for fields that have one value for each.
    """
    name = _name(field)
    width = getattr(tensor_maps.FIELDS[name][1], "width", 32)
    tensor_maps.replace_tensormap(map_place(tensor_map), name, narrow(new_value, width), ord)


def _proxies(from_proxy: Any, to_proxy: Any, what: str) -> None:
    found = f"{_name(from_proxy)} to {_name(to_proxy)}"
    if found != "generic to tensormap":
        raise ArgumentError(
            f"{what}: there is no such fence", code="OC2943", found=found,
            expected="generic to tensormap",
        )  # fmt: skip


def fence_proxy_release(
    scope: Any, *, from_proxy: Any = "generic", to_proxy: Any = "tensormap", loc: Any = None,
    ip: Any = None,
) -> None:  # fmt: skip
    """Make changes of tensor maps in global memory visible to copies among some threads.

    Args:
        scope: a `MemScope`.
        from_proxy: `Proxy.GENERIC`.
        to_proxy: `Proxy.TENSORMAP`.

    Raises:
        ArgumentError: other proxies.
    """
    _proxies(from_proxy, to_proxy, "fence_proxy_release")
    ptx.fence_proxy(f"tensormap::generic.release.{_name(scope)}")


def fence_proxy_acquire(
    scope: Any, addr: Any, size: Any = DESCRIPTOR_BYTES, *, from_proxy: Any = "generic",
    to_proxy: Any = "tensormap", loc: Any = None, ip: Any = None,
) -> None:  # fmt: skip
    """Let the thread's copies see a tensor map in global memory as it has been released.

    Args:
        scope: a `MemScope`.
        addr: pointer to the map.
        size: its bytes, 128.
        from_proxy: `Proxy.GENERIC`.
        to_proxy: `Proxy.TENSORMAP`.

    Raises:
        ArgumentError: other proxies, or another size.
    """
    _proxies(from_proxy, to_proxy, "fence_proxy_acquire")
    if int(size) != DESCRIPTOR_BYTES:
        raise ArgumentError(
            "a tensor map has 128 bytes", code="OC2943", expected=DESCRIPTOR_BYTES, found=size
        )
    place = map_place(addr, AddressSpace.gmem, AddressSpace.generic)
    ptx.fence_proxy(f"tensormap::generic.acquire.{_name(scope)}", place)
