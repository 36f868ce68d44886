# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Copies of tiles of a tensor between global and shared memory, by the tensor memory accelerator.

One thread starts a copy; coordinates are i32, innermost first, as the tensor map has them. A load
tells an mbarrier of shared memory when it is done, and counts its bytes there; stores and
reductions belong to the thread's bulk groups::

    "ptx.tma_load"(%dst, %map, %bar, %x, %y) {mode = "tile",
        operandSegmentSizes = array<i32: 1, 1, 1, 2, 0, 0, 0>} : (...) -> ()
    "ptx.tma_store"(%map, %src, %x, %y) {mode = "tile", ...}
"""

from __future__ import annotations

from collections.abc import Sequence

from opencute.arch.tma import MAX_RANK
from opencute.base.errors import VerificationError
from opencute.dialects.cute import PtrType
from opencute.dialects.hopper.tensor_maps import check_map
from opencute.dialects.ptx import check_word
from opencute.ir.attributes import Attribute, DenseI32Attr, StringAttr
from opencute.ir.builder import build
from opencute.ir.core import Op, Value
from opencute.ir.declare import SCALAR_INT, Trait, attr, op, operand, optional, variadic
from opencute.ir.types import I16, I32, I64

__all__ = [
    "MODES",
    "REDUCTIONS",
    "TmaLoadOp",
    "TmaPrefetchOp",
    "TmaReduceOp",
    "TmaStoreOp",
    "check_shared",
    "tma_load",
    "tma_prefetch",
    "tma_reduce",
    "tma_store",
]

MODES = ("tile", "im2col")
REDUCTIONS = ("add", "min", "max", "inc", "dec", "and", "or", "xor")
_EFFECTS = Trait.READS | Trait.WRITES


def _wrong(op_: Op, what: str, expected: object, found: object) -> VerificationError:
    return VerificationError(
        f"{op_.name}: {what}", code="OC1435", loc=op_.loc, expected=expected, found=found
    )


def check_shared(op_: Op, ptr: Value, align: int, spaces: tuple[str, ...] = ("smem",)) -> None:
    """Raise unless a pointer is to shared memory, as aligned as an instruction needs it."""
    type = ptr.type
    if isinstance(type, PtrType) and (type.space not in spaces or type.align < align):
        raise _wrong(
            op_, "an operand is in the wrong memory, or not aligned",
            f"{' or '.join(spaces)}, align<{align}>", type,
        )  # fmt: skip


def _check(op_: Op, coords: Sequence[Value], offsets: Sequence[Value] = ()) -> None:
    mode = check_word(op_, "mode", MODES)
    n = len(coords)
    low = 3 if mode == "im2col" else 1
    if not low <= n <= MAX_RANK or any(c.type != I32 for c in coords):
        raise _wrong(
            op_, "wrong coordinates", f"{low} to {MAX_RANK} of i32", [str(c.type) for c in coords]
        )
    loads = op_.name not in ("ptx.tma_store", "ptx.tma_reduce")
    want = n - 2 if mode == "im2col" and loads else 0
    if len(offsets) != want or any(c.type != I16 for c in offsets):
        raise _wrong(op_, "wrong offsets", f"{want} of i16", [str(c.type) for c in offsets])


def _check_hint(op_: Op, mask: Value | None, cache: Value | None) -> None:
    for name, value, type in (("mask", mask, I16), ("cache", cache, I64)):
        if value is not None and value.type != type:
            raise _wrong(op_, f"wrong {name}", type, value.type)


@op("ptx.tma_load", _EFFECTS)
class TmaLoadOp(Op):
    """Start copying a tile from global memory to `dst` in shared memory, and its bytes onto the
    mbarrier `bar`. With `mask`, to the same place of all blocks of the cluster that it names, each
    of which has its own barrier. `offsets` are those of im2col, `cache` a cache policy."""

    dst = operand()
    map = operand()
    bar = operand()
    coords = variadic(SCALAR_INT)
    offsets = variadic(SCALAR_INT)
    mask = optional(SCALAR_INT)
    cache = optional(SCALAR_INT)
    mode = attr(StringAttr)

    def verify(self) -> None:
        check_map(self, self.map)
        check_shared(self, self.dst, 16)
        check_shared(self, self.bar, 8)
        _check(self, self.coords, self.offsets)
        _check_hint(self, self.mask, self.cache)


@op("ptx.tma_store", _EFFECTS)
class TmaStoreOp(Op):
    """Start copying a tile from `src` in shared memory to global memory."""

    map = operand()
    src = operand()
    coords = variadic(SCALAR_INT)
    cache = optional(SCALAR_INT)
    mode = attr(StringAttr)

    def verify(self) -> None:
        check_map(self, self.map)
        check_shared(self, self.src, 16)
        _check(self, self.coords)
        _check_hint(self, None, self.cache)


@op("ptx.tma_reduce", _EFFECTS)
class TmaReduceOp(Op):
    """As ptx.tma_store, but combine memory with the tile: `op` is one of REDUCTIONS."""

    map = operand()
    src = operand()
    coords = variadic(SCALAR_INT)
    cache = optional(SCALAR_INT)
    mode = attr(StringAttr)
    op = attr(StringAttr)

    def verify(self) -> None:
        check_word(self, "op", REDUCTIONS)
        check_map(self, self.map)
        check_shared(self, self.src, 16)
        _check(self, self.coords)
        _check_hint(self, None, self.cache)


@op("ptx.tma_prefetch", _EFFECTS)
class TmaPrefetchOp(Op):
    """Start fetching a tile into the L2 cache."""

    map = operand()
    coords = variadic(SCALAR_INT)
    offsets = variadic(SCALAR_INT)
    cache = optional(SCALAR_INT)
    mode = attr(StringAttr)

    def verify(self) -> None:
        check_map(self, self.map)
        _check(self, self.coords, self.offsets)
        _check_hint(self, None, self.cache)


def _some(value: Value | None) -> tuple[Value, ...]:
    return () if value is None else (value,)


def _build(name: str, mode: str, *groups: Sequence[Value], **words: str) -> Op:
    attrs: dict[str, Attribute] = {k: StringAttr(w) for k, w in {"mode": mode, **words}.items()}
    attrs["operandSegmentSizes"] = DenseI32Attr(tuple(len(g) for g in groups))
    return build(name, [v for g in groups for v in g], (), attrs)


def tma_load(
    dst: Value,
    map: Value,
    bar: Value,
    coords: Sequence[Value],
    *,
    offsets: Sequence[Value] = (),
    mask: Value | None = None,
    cache: Value | None = None,
    mode: str = "tile",
) -> Op:
    """Start copying a tile to shared memory."""
    return _build(
        "ptx.tma_load", mode, (dst,), (map,), (bar,), coords, offsets, _some(mask), _some(cache)
    )


def tma_store(
    map: Value,
    src: Value,
    coords: Sequence[Value],
    *,
    cache: Value | None = None,
    mode: str = "tile",
) -> Op:
    """Start copying a tile to global memory."""
    return _build("ptx.tma_store", mode, (map,), (src,), coords, _some(cache))


def tma_reduce(
    op: str,
    map: Value,
    src: Value,
    coords: Sequence[Value],
    *,
    cache: Value | None = None,
    mode: str = "tile",
) -> Op:
    """Start combining global memory with a tile."""
    return _build("ptx.tma_reduce", mode, (map,), (src,), coords, _some(cache), op=op)


def tma_prefetch(
    map: Value,
    coords: Sequence[Value],
    *,
    offsets: Sequence[Value] = (),
    cache: Value | None = None,
    mode: str = "tile",
) -> Op:
    """Start fetching a tile into the L2 cache."""
    return _build("ptx.tma_prefetch", mode, (map,), coords, offsets, _some(cache))
