# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Tensor maps in host code and as arguments of kernels.

In: ``cute.tma_descriptor`` of a host function. Out: 128 bytes of its stack, which a call of the
driver fills, after the tensor has been found to be one that a map can describe::

    %map = alloca [128 x i8], align 64
    ... checks: ret i32 (BAD_TENSOR_MAP | which << 8 | what) ...
    %s = call i32 @cuTensorMapEncodeTiled(ptr %map, i32 6, i32 2, ptr %p, ptr %dims, ...)

A kernel takes the map as bytes in constant memory, where every instruction can read it.
"""

from __future__ import annotations

from collections.abc import Sequence

from opencute.arch.tma import (
    DESCRIPTOR_ALIGN,
    DESCRIPTOR_BYTES,
    INTERLEAVES,
    L2_PROMOTIONS,
    OOB_FILLS,
    TMA_SWIZZLES,
    Tile,
    map_hint,
)
from opencute.base.location import Location
from opencute.codegen.emitter import Emitter, OpPrinter
from opencute.dialects.hopper.tensor_maps import DescriptorOp, tile_of
from opencute.ir.core import Op

__all__ = [
    "BAD_TENSOR_MAP",
    "DESCRIPTOR_PARAMETER",
    "MAPS",
    "REFUSED",
    "encode_map",
    "map_fault",
]

BAD_TENSOR_MAP = 1 << 29
"""Set in a host function's result that says which map could not be made, and why."""
REFUSED = 0xFF
"""The reason where it is the driver that says no."""
DESCRIPTOR_PARAMETER = (
    f'ptr byval([{DESCRIPTOR_BYTES} x i8]) align {DESCRIPTOR_ALIGN} "nvvm.grid_constant"'
)
_ENCODE = {False: "cuTensorMapEncodeTiled", True: "cuTensorMapEncodeIm2col"}
_TOP_DIM, _TOP_STRIDE = (1 << 32) - 1, (1 << 40) - 1


def _address(e: Emitter, op: Op) -> None:
    e.names[op.results[0]] = e.ref(op.operands[0])


MAPS: dict[str, OpPrinter] = {"cute.tma_descriptor_address": _address}


def encode_map(e: Emitter, op: DescriptorOp, number: int) -> None:
    """Print the map of a tensor.

    Args:
        op: the operation.
        number: which of the function's maps it is.
    """
    tile, name = tile_of(op), _ENCODE[tile_of(op).im2col]
    dims, strides = e.refs(op.dims), e.refs(op.strides)
    address = e.assign(f"ptrtoint {e.typed(op.ptr)} to i64")
    _check(e, tile, address, dims, strides, number)
    map_ = e.names[op.map] = e.alloca("i8", DESCRIPTOR_BYTES, DESCRIPTOR_ALIGN)
    pointer = e.assign(f"inttoptr i64 {address} to ptr")
    arguments = [
        ("ptr", map_), ("i32", str(tile.type.code)), ("i32", str(tile.rank)), ("ptr", pointer),
        ("ptr", _array(e, "i64", dims)), ("ptr", _array(e, "i64", strides or ["0"])),
        *_box(e, tile),
        ("ptr", _array(e, "i32", list(map(str, tile.strides)))),
        ("i32", str(INTERLEAVES[tile.interleave])), ("i32", str(TMA_SWIZZLES[tile.swizzle].code)),
        ("i32", str(L2_PROMOTIONS[tile.l2])), ("i32", str(OOB_FILLS[tile.oob])),
    ]  # fmt: skip
    status = e.call(name, "i32", arguments)
    _fail_if(e, e.assign(f"icmp ne i32 {status}, 0"), number, REFUSED)


def _box(e: Emitter, tile: Tile) -> list[tuple[str, str]]:
    if not tile.im2col:
        return [("ptr", _array(e, "i32", list(map(str, tile.box))))]
    return [
        ("ptr", _array(e, "i32", list(map(str, tile.lower)))),
        ("ptr", _array(e, "i32", list(map(str, tile.upper)))),
        ("i32", str(tile.channels)), ("i32", str(tile.pixels)),
    ]  # fmt: skip


def _array(e: Emitter, type: str, values: Sequence[str]) -> str:
    """Values in memory of the stack."""
    base = e.alloca(type, len(values), 8)
    for i, value in enumerate(values):
        place = e.assign(f"getelementptr {type}, ptr {base}, i32 {i}") if i else base
        e.void(f"store {type} {value}, ptr {place}, align {4 if type == 'i32' else 8}")
    return base


def _check(
    e: Emitter, tile: Tile, address: str, dims: list[str], strides: list[str], number: int
) -> None:
    """Leave with a number of `arch.tma.map_faults` if there is one."""
    low = 31 if tile.interleave == "32b" else 15
    _fail_if(e, _has_bits(e, address, low), number, 0)
    for i, n in enumerate(dims):
        less = e.assign(f"sub i64 {n}, 1")
        _fail_if(e, e.assign(f"icmp ugt i64 {less}, {_TOP_DIM}"), number, 1 + i)
    for i, d in enumerate(strides, 1):
        high = e.assign(f"icmp ugt i64 {d}, {_TOP_STRIDE}")
        bad = e.assign(f"or i1 {high}, {_has_bits(e, d, low)}")
        _fail_if(e, bad, number, 8 + i)


def _has_bits(e: Emitter, value: str, bits: int) -> str:
    return e.assign(f"icmp ne i64 {e.assign(f'and i64 {value}, {bits}')}, 0")


def _fail_if(e: Emitter, condition: str, number: int, what: int) -> None:
    bad, good = e.label("badmap"), e.label("map")
    e.branch(condition, bad, good)
    e.start(bad)
    e.void(f"ret i32 {BAD_TENSOR_MAP | number << 8 | what}")
    e.start(good)


def map_fault(
    code: int, maps: Sequence[tuple[Location | None, Tile]]
) -> tuple[str, Location | None, str]:
    """What a host function's result says about a map, in words, where the map is made, and what to
    change."""
    loc, tile = maps[code >> 8 & 0xFFFF]
    what, need = code & 0xFF, 32 if tile.interleave == "32b" else 16
    text = f"the stride of dimension {what - 8} is no multiple of {need} bytes below 2^40"
    if what == 0:
        text = f"the tensor's address is no multiple of {need} bytes"
    elif what == REFUSED:
        text = "the driver refuses the tensor"
    elif what < 8:
        text = f"the extent of dimension {what - 1} is not between 1 and 2^32"
    return text, loc, map_hint(what, tile)
