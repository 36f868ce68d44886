# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Quick ways through the conversions that kernels use most.

Goes in: two types, a rounding, saturation. Comes out: a function on bits, or None where only the
definition in `opencute.numeric.convert` serves::

    >>> shortcut(F32, BF16, "rne", False)(np.array([0x3F808000], np.uint32))
    array([16256], dtype=uint16)

Each gives the same bits as the definition (tests compare them); each is ten to fifty times faster,
because the definition takes some forty NumPy steps per element.
"""

# NumPy's stubs give Any for most of what an array of unknown dtype does.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from opencute.numeric.codec import Array
from opencute.numeric.dtypes import BF16, F16, F32, F64, TF32, DType
from opencute.numeric.rounding import Rounding

__all__ = ["BitsFunction", "shortcut", "to_bf16_odd"]

BitsFunction: TypeAlias = Callable[[Array], Array]


def shortcut(src: DType, dst: DType, mode: Rounding, saturate: bool) -> BitsFunction | None:
    """The quick function from `src` bits to `dst` bits, if there is one.

    Types of at most 16 bits need none: `convert_bits` looks their results up in a table.
    """
    if src.is_integer and dst.is_integer and src.width <= 64 and dst.width <= 64:
        return None if saturate or dst.is_subbyte else lambda bits: _extend(bits, src, dst)
    if mode == "rne" and dst in (F32, F64) and not saturate:
        if src in (F32, F64):
            return lambda bits: _cast_float(bits, src, dst)
        if src.is_integer and src.width <= 64:
            return lambda bits: _signed_view(bits, src).astype(dst.numpy_dtype).view(dst.bits_dtype)
    if src is F32 and not saturate:
        if dst is TF32 and mode in ("rna", "rtz"):
            return lambda bits: _to_tf32(bits, mode)
        if dst is F16 and mode == "rne":
            return lambda bits: _cast_float(bits, src, dst)
        if dst is BF16 and mode == "rne":
            return _to_bf16
    return None


def to_bf16_odd(bits: Array) -> Array:
    """f32 bits to bf16 bits, "rounded to odd": cut off, the last bit set if anything was lost.

    Rounding such a bf16 again, in any mode, to a format with at most 5 fraction bits gives what
    rounding the f32 once would have given: the two bits beyond say below, at or above half.
    """
    lost = (bits & np.uint32(0xFFFF)) != 0
    return (bits >> np.uint32(16)).astype(np.uint16) | lost.astype(np.uint16)


def _signed_view(bits: Array, t: DType) -> Array:
    return bits.view(t.numpy_dtype)


def _extend(bits: Array, src: DType, dst: DType) -> Array:
    return _signed_view(bits, src).astype(dst.bits_dtype)


def _cast_float(bits: Array, src: DType, dst: DType) -> Array:
    values = bits.view(src.numpy_dtype)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        out = values.astype(dst.numpy_dtype).view(dst.bits_dtype)
    return _one_nan(out, np.isnan(values), dst)


def _to_bf16(bits: Array) -> Array:
    odd = (bits >> np.uint32(16)) & np.uint32(1)
    out = ((bits + np.uint32(0x7FFF) + odd) >> np.uint32(16)).astype(np.uint16)
    return _one_nan(out, np.isnan(bits.view(np.float32)), BF16)


def _to_tf32(bits: Array, mode: Rounding) -> Array:
    half = np.uint32(0x1000 if mode == "rna" else 0)
    out = (bits + half) & np.uint32(0xFFFFE000)
    return _one_nan(out, np.isnan(bits.view(np.float32)), TF32)


def _one_nan(out: Array, nan: Array, dst: DType) -> Array:
    return np.where(nan, dst.bits_dtype.type(dst.nan_bits), out) if nan.any() else out
