# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Matrix products of whole warps.

Registers of 32 threads become a matrix, and back, by the thread-value layouts of the records in
`opencute.arch`. Products of elements of up to 16 bits are exact; sums are taken in f32 (f64 for
f64, and exactly for integers), so results agree with hardware to some ulp of the largest product.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from opencute.arch.mma import ELEMENT_BITS, MmaAtom, mma_atom
from opencute.dialects.ptx_matrix import MmaOp
from opencute.dialects.tiled import GemmOp, extents
from opencute.ir.core import Op
from opencute.layout import Layout
from opencute.sim.fused.products import outer as fused_outer
from opencute.sim.lanes import Lanes
from opencute.sim.memory import SimPointer
from opencute.sim.numbers.bulk import to_f32
from opencute.sim.numbers.exact import fma as exact_fma
from opencute.sim.numbers.words import WORDS, together
from opencute.sim.registry import Function, semantics
from opencute.sim.semantics.matrices import Warps, holders_of, places_of
from opencute.sim.semantics.tile_access import TileAccess
from opencute.sim.sync.group import WARP
from opencute.sim.taint import Taint
from opencute.sim.values import Array

__all__ = [
    "elements_of",
    "matrix_of",
    "mma_taint",
    "numbers_of",
    "registers_of",
    "sum_of_products",
]


# ---------------------------------------------------------------------- products
def numbers_of(values: Array, type: str) -> Array:
    """Elements as the hardware reads them, in the type that products are taken in."""
    if type in ("s8", "s4", "s32"):
        return values.astype(np.float64)
    if type == "u8":
        return values.view(np.uint8).astype(np.float64)
    if type == "u4":
        return (values.astype(np.int64) & 15).astype(np.float64)
    if type == "tf32":
        return (values.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    return values if type in ("f64", "f32") else to_f32(values)


@lru_cache(maxsize=512)
def _from_registers(layout: Layout, shape: tuple[int, int], uses: tuple[int, int]) -> Array:
    """For each element of the matrix of some tiles, the register (thread, value) that holds it."""
    first, second = uses
    values = places_of(layout).shape[1]
    row, column = np.indices((first * shape[0], second * shape[1]))
    f, i = np.divmod(row, shape[0])
    s, j = np.divmod(column, shape[1])
    thread, value = np.divmod(holders_of(layout)[i + shape[0] * j], values)
    return (thread * second + s) * first * values + f * values + value


@lru_cache(maxsize=512)
def _to_registers(layout: Layout, shape: tuple[int, int], uses: tuple[int, int]) -> Array:
    """For each register (thread, value) of some tiles, the element of the matrix."""
    first, second = uses
    places = places_of(layout)[:, None, None]
    s, f = np.arange(second)[:, None, None], np.arange(first)[:, None]
    row, column = f * shape[0] + places % shape[0], s * shape[1] + places // shape[0]
    return (row * (second * shape[1]) + column).reshape(WARP, -1)


@lru_cache(maxsize=512)
def _words_from(make: Any, layout: Layout, shape: tuple[int, int], uses: tuple[int, int],
                grain: int) -> tuple[int, Array]:  # fmt: skip
    """What `make` gives, as words of up to so many elements that stay together."""
    index = make(layout, shape, uses)
    grain = together(index, grain)
    return grain, np.ascontiguousarray(index[..., ::grain] // grain)


def _taken(values: Array, make: Any, *tile: Any) -> Array:
    """For each warp the elements that `make` names, several at once where they stay together."""
    flat, dtype = values.reshape(values.shape[0], -1), values.dtype
    grain, index = _words_from(make, *tile, max(8 // dtype.itemsize, 1))
    if grain == 1:
        return flat.take(index, axis=1)
    words = np.ascontiguousarray(flat).view(WORDS[dtype.itemsize * grain])
    return words.take(index, axis=1).view(dtype)


def matrix_of(rows: Array, layout: Layout, shape: tuple[int, int], uses: tuple[int, int]) -> Array:
    """Registers as matrices: (warps, uses[0] * shape[0], uses[1] * shape[1])."""
    return _taken(rows, _from_registers, layout, shape, uses)


def registers_of(
    matrix: Array, layout: Layout, shape: tuple[int, int], uses: tuple[int, int]
) -> Array:
    """The inverse of `matrix_of`: (warps, 32, values)."""
    return _taken(matrix, _to_registers, layout, shape, uses)


def multiply(atom: MmaAtom, a: Array, b: Array, c: Array, uses: tuple[int, int, int]) -> Array:
    """Registers (warps, 32, n) of ``a * b + c``, for `uses` atoms along m, n and k."""
    m, n, k = atom.mnk
    um, un, uk = uses
    _, ta, tb, tc = atom.types
    left = numbers_of(matrix_of(a, atom.a, (m, k), (um, uk)), ta)
    right = numbers_of(matrix_of(b, atom.b, (n, k), (un, uk)), tb).swapaxes(1, 2)
    if tc == "f16":  # each instruction rounds
        out = sum_of_products(left, right, matrix_of(c, atom.c, (m, n), (um, un)), tc, k)
        return registers_of(out, atom.c, (m, n), (um, un))
    products = registers_of(left @ right, atom.c, (m, n), (um, un)).reshape(c.shape)
    if tc == "s32":
        return (products.astype(np.int64) + c).astype(np.int32)
    products += c
    return products.astype(c.dtype, copy=False)


def sum_of_products(left: Array, right: Array, acc: Array, type: str, k: int) -> Array:
    """``acc + left @ right`` as instructions that go `k` elements along give it in a type."""
    if type == "s32":
        total = (left @ right).astype(np.int64) + acc
        return total.astype(np.int32)
    if type != "f16":
        return left @ right + acc
    out = acc
    for step in range(left.shape[2] // k):
        part = slice(step * k, (step + 1) * k)
        total = left[:, :, part] @ right[:, part] + out.astype(np.float32)
        out = total.astype(np.float16)
    return out


def _spread(
    atom: MmaAtom, masks: tuple[Array | None, ...], uses: tuple[int, int, int], warps: int
) -> Array:
    """Which registers of the result depend on garbage; masks are rows of A, B and C."""
    m, n, k = atom.mnk
    um, un, uk = uses
    out: Array = np.zeros((warps, um * m, un * n), np.bool_)
    a, b, c = masks
    if a is not None:
        rows: Array = np.any(matrix_of(a, atom.a, (m, k), (um, uk)), axis=2)
        out |= rows[:, :, None]
    if b is not None:
        columns: Array = np.any(matrix_of(b, atom.b, (n, k), (un, uk)), axis=2)
        out |= columns[:, None, :]
    if c is not None:
        out |= matrix_of(c, atom.c, (m, n), (um, un))
    return registers_of(out, atom.c, (m, n), (um, un))


@semantics("cute.gemm", lanes=True, taint="memory")
def gemm(op: Op) -> Function:
    """Products of fragments."""
    assert isinstance(op, GemmOp)
    return _Gemm(op)


class _Gemm:
    def __init__(self, op: GemmOp) -> None:
        self.op = op
        self.atom = mma_atom(op.atom.value)
        self.d, self.a, self.b, self.c = (
            TileAccess(op, getattr(op, x), f"{x}_layout") for x in "dabc"
        )
        _, m, n = extents(op.d_layout)
        self.uses = (m, n, extents(op.a_layout)[2])

    def __call__(
        self, lanes: Lanes, d: SimPointer, a: SimPointer, b: SimPointer, c: SimPointer,
        taints: Any = (),
    ) -> None:  # fmt: skip
        sides = ((self.a, a), (self.b, b), (self.c, c))
        values = [t.access.read(lanes, p, t.starts(())) for t, p in sides]
        garbage = [t.access.garbage(lanes, p, t.starts(())) for t, p in sides]
        if self.atom.threads == 1:
            out, taint = self._single(lanes, values, garbage)
        else:
            out, taint = self._warp(lanes, values, garbage)
        self.d.access.write(lanes, out, d, self.d.starts(()))
        self.d.access.leave(lanes, d, taint, self.d.starts(()))

    def _warp(self, lanes: Lanes, values: Any, garbage: Any) -> tuple[Array, Taint | None]:
        warps = Warps(self.op, lanes)
        rows = [warps.rows(v) for v in values]
        out = warps.back(multiply(self.atom, rows[0], rows[1], rows[2], self.uses))
        found = [g for g in garbage if g is not None]
        if not found:
            return out, None
        masks = tuple(
            None
            if g is None
            else warps.rows(np.broadcast_to(lanes.full(g.mask), lanes.full(v).shape))
            for g, v in zip(garbage, values, strict=True)
        )
        mask = warps.back(_spread(self.atom, masks, self.uses, rows[0].shape[0]))
        return out, Taint(mask, found[0].origin)

    def _single(self, lanes: Lanes, values: Any, garbage: Any) -> tuple[Array, Taint | None]:
        m, n, k = self.uses
        a, b, c = values
        out = _outer(lanes, (a, b, c), self.uses)
        found = [g for g in garbage if g is not None]
        if not found:
            return out, None
        mask = np.zeros((1, 1, n, m), np.bool_)
        if garbage[0] is not None:
            g = np.broadcast_to(garbage[0].mask, (*garbage[0].mask.shape[:2], m * k))
            mask = mask | g.reshape(*g.shape[:2], k, 1, m).any(axis=2)
        if garbage[1] is not None:
            g = np.broadcast_to(garbage[1].mask, (*garbage[1].mask.shape[:2], n * k))
            mask = mask | g.reshape(*g.shape[:2], k, n, 1).any(axis=2)
        if garbage[2] is not None:
            g = np.broadcast_to(garbage[2].mask, (*garbage[2].mask.shape[:2], m * n))
            mask = mask | g.reshape(*g.shape[:2], n, m)
        return out, Taint(mask.reshape(*mask.shape[:2], m * n), found[0].origin)


def _outer(lanes: Lanes, values: tuple[Array, ...], uses: tuple[int, int, int]) -> Array:
    """Products of one thread, of vectors of m and of n elements, k times."""
    (m, n, k), (a, b, c) = uses, values
    if c.dtype == np.float32:
        sizes = (k, m), (k, n), (n, m)
        tiles = [lanes.full(v).reshape(lanes.n, *s) for v, s in zip(values, sizes, strict=True)]
        out = fused_outer(*tiles)
        if out is not None:
            return out.reshape(lanes.P, lanes.Q, m * n)
    acc = c.reshape(*c.shape[:2], n, m)
    left = a.reshape(*a.shape[:2], k, 1, m)
    right = b.reshape(*b.shape[:2], k, n, 1)
    for step in range(k):
        acc = exact_fma(left[:, :, step], right[:, :, step], acc, c.dtype)
    return np.ascontiguousarray(acc).reshape(*acc.shape[:2], m * n)


# ---------------------------------------------------------------------- one instruction
def elements_of(registers: Array, type: str) -> Array:
    """What registers hold: (warps, 32, registers) as (warps, 32, elements)."""
    import ml_dtypes

    bits = ELEMENT_BITS[type]
    if bits >= 32:
        return registers.view(np.float32) if type == "tf32" else registers
    words = np.ascontiguousarray(registers)
    if bits >= 8:
        dtype: Any = {
            "f16": np.float16, "bf16": ml_dtypes.bfloat16, "e4m3": ml_dtypes.float8_e4m3fn,
            "e5m2": ml_dtypes.float8_e5m2, "s8": np.int8, "u8": np.int8,
        }[type]  # fmt: skip
        return words.view(dtype)
    per = 32 // bits
    fields = words.view(np.uint32)[..., None] >> (np.arange(per, dtype=np.uint32) * np.uint32(bits))
    out = (fields & np.uint32((1 << bits) - 1)).astype(np.int8).reshape(*words.shape[:2], -1)
    return (out ^ 8) - 8 if type == "s4" else out


@semantics("ptx.mma", lanes=True, taint=lambda op: mma_taint)
def mma(op: Op) -> Function:
    """One matrix instruction of a warp."""
    assert isinstance(op, MmaOp)
    atom = mma_atom(op.atom.value)

    def run(lanes: Lanes, a: Any, b: Any, c: Any) -> Any:
        warps = Warps(op, lanes)
        rows = [
            elements_of(warps.rows(v), t) for v, t in zip((a, b, c), atom.types[1:], strict=True)
        ]
        if atom.bit_op:
            out = _bits(atom, rows)
        else:
            out = multiply(atom, rows[0], rows[1], rows[2], (1, 1, 1))
        if out.dtype.itemsize < 4:
            out = np.ascontiguousarray(out).view(np.int32)
        return warps.back(out)

    return run


def mma_taint(*masks: Any) -> Any:
    """Garbage anywhere in a warp's operands counts for all of a thread's result."""
    out = masks[0].any(axis=2, keepdims=True)
    for mask in masks[1:]:
        out = out | mask.any(axis=2, keepdims=True)
    return out


def _bits(atom: MmaAtom, rows: list[Array]) -> Array:
    """Counts of the bits that are set in both (and), or in one only (xor)."""
    m, n, k = atom.mnk
    left = matrix_of(rows[0], atom.a, (m, k), (1, 1)).astype(np.float32)
    right = matrix_of(rows[1], atom.b, (n, k), (1, 1)).astype(np.float32).swapaxes(1, 2)
    both = left @ right
    if atom.bit_op == "xor":
        both = left.sum(axis=2)[:, :, None] + right.sum(axis=1)[:, None, :] - 2 * both
    acc = matrix_of(rows[2], atom.c, (m, n), (1, 1))
    return registers_of(acc + both.astype(np.int32), atom.c, (m, n), (1, 1))
