# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels that convert bit patterns between float formats, and the patterns to try.

Each element has a container of its own in memory, so that vectors of any length can be tried.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from codegen.samples import kernel_module
from opencute.dialects import arith, cute
from opencute.ir.core import Op, Value
from opencute.ir.types import I32, FloatType, IntegerType, Type, VectorType
from opencute.numeric.dtypes import DTYPES, DType

__all__ = ["FLOATS", "bits_kernel", "patterns"]

FLOATS = [t for t in DTYPES.values() if t.is_float]


def _float(t: DType) -> FloatType:
    return FloatType(t.mlir, t.width)


def _lanes(element: Type, n: int) -> Type:
    return VectorType(n, element)


def bits_kernel(
    src: DType, dst: DType, n: int, rounding: str, saturate: bool, *, random: bool = False
) -> Op:
    """A kernel of pointers to `n` patterns of `src` and of `dst` (and to random bits)."""
    layout = cute.LayoutAttr(n, 1)

    def body(a: Value, c: Value, *more: Value) -> None:
        raw = cute.tile_load(a, layout)
        if src.width < src.container_bits:
            raw = arith.cast("trunci", raw, IntegerType(src.width))
        x = arith.cast("bitcast", raw, _float(src))
        bits = cute.tile_load(more[0], layout) if more else None
        y = cute.convert(x, _lanes(_float(dst), n), rounding, saturate=saturate, random=bits)
        out = arith.cast("bitcast", y, IntegerType(dst.width))
        if dst.width < dst.container_bits:
            out = arith.cast("extui", out, IntegerType(dst.container_bits))
        cute.tile_store(out, c, layout)

    elements: list[Type] = [IntegerType(t.container_bits) for t in (src, dst)]
    if random:
        elements.append(I32)
    types = [cute.PtrType(e, "gmem", max(getattr(e, "width", 8) // 8, 1)) for e in elements]
    return kernel_module("convert", types, body, 1)


def patterns(t: DType) -> Any:
    """All patterns of a small type; of a larger one, boundaries of every format and random ones."""
    if t.width <= 16:
        return np.arange(1 << t.width, dtype=t.bits_dtype)
    rng = np.random.default_rng(5)
    numbers: list[float] = [0.0, np.inf, np.nan]
    for f in FLOATS:
        if f.width > 16:
            continue
        codes = [0, 1, 2, 3, (1 << f.mantissa_bits) - 1, 1 << f.mantissa_bits, f.max_code - 1,
                 f.max_code, *rng.integers(0, f.max_code, 12).tolist()]  # fmt: skip
        values = sorted({f.value_of(c) for c in codes if c <= f.max_code})
        numbers += values
        numbers += [(a + b) / 2 for a, b in itertools.pairwise(values)]
        step = f.value_of(f.max_code) - f.value_of(f.max_code - 1)
        numbers += [f.max + step / 2, f.max + step, f.value_of(1) / 2, f.value_of(1) / 4]
    with np.errstate(all="ignore"):
        exact = np.array(numbers, np.float64).astype("f4" if t.width == 32 else "f8")
        spread = np.exp2(rng.uniform(-160, 140, 1500)).astype(exact.dtype)
    codes = exact.view(t.bits_dtype)
    one = codes.dtype.type(1)
    near = [codes, codes + one, codes - one, spread.view(t.bits_dtype)]
    near.append(
        rng.integers(0, 1 << 32, 1500, np.uint64).astype(t.bits_dtype)
        << codes.dtype.type(t.width - 32)
    )
    bits = np.concatenate(near)
    sign = codes.dtype.type(1 << (t.width - 1))
    bits = np.concatenate([bits, bits | sign])
    mask = ((1 << t.width) - 1) >> t.pad_bits << t.pad_bits
    return bits & codes.dtype.type(mask)
