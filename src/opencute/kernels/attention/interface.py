# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What to call: attention of torch or NumPy arrays."""

from __future__ import annotations

import math
from typing import Any

import opencute as cutlass
from opencute import utils
from opencute.base.errors import ArgumentError
from opencute.cute.runtime import from_dlpack
from opencute.kernels.arrays import empty, empty_like, item_bits, vector_elements
from opencute.kernels.attention.config import AttentionConfig, heuristic
from opencute.kernels.attention.sm80 import AttentionPlan, attention_forward

__all__ = ["attention"]

_CLASSES = {"float16": cutlass.Float16, "bfloat16": cutlass.BFloat16}


def attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    causal: bool = False,
    scale: float | None = None,
    lse: bool = False,
    out: Any = None,
    config: AttentionConfig | None = None,
) -> Any:
    """``softmax(scale * q @ k.T) @ v`` for each head of each batch.

    Args:
        q: array (B, Sq, H, D) of f16 or bf16; D is a multiple of 8 up to 256, and contiguous.
        k, v: arrays (B, Sk, Hk, D) of the same type; each head of them serves H / Hk heads of `q`.
        causal: whether the last query sees all keys, and each one before it one key less.
        scale: of the scores, positive; 1 / sqrt(D) when omitted.
        lse: whether the logarithms of the sums are wanted too.
        out: where the result goes; a new array when omitted.
        config: how the work is shared; a good choice when omitted.

    Strides are free, as long as rows start at multiples of 16 bytes. A query that sees no key has
    the result 0.

    Returns:
        The result (B, Sq, H, D); with `lse` also the logarithms (B, H, Sq) in f32.

    Raises:
        ArgumentError: shapes or types do not fit, or the configuration does not.

    Source: Dao, "FlashAttention-2: Faster Attention with Better Parallelism and Work
    Partitioning", 2023.
    """
    dtype = _check(q, k, v)
    scale = 1.0 / math.sqrt(q.shape[3]) if scale is None else float(scale)
    if not scale > 0.0:
        raise ArgumentError("the scale is not positive", code="OC2522", found=scale)
    out = empty_like(q) if out is None else out
    if tuple(out.shape) != tuple(q.shape) or out.dtype != q.dtype:
        raise ArgumentError(
            "out does not fit q", code="OC2523", expected=(tuple(q.shape), str(q.dtype)),
            found=(tuple(out.shape), str(out.dtype)),
        )  # fmt: skip
    batch, queries, heads, head_dim = (int(x) for x in q.shape)
    logs = empty(q, (batch, heads, queries), "float32") if lse else None
    if 0 not in q.shape:
        if 0 in k.shape:
            out[...] = 0
            if logs is not None:
                logs[...] = -math.inf
        else:
            config = heuristic(head_dim) if config is None else config
            config.check(head_dim, utils.get_smem_capacity_in_bytes())
            plan = AttentionPlan(
                dtype, head_dim, config.m, config.n, config.warps, causal,
                group=heads // int(k.shape[2]), alike=_strides(k) == _strides(v),
            )  # fmt: skip
            arrays = (_tensor(n, t) for n, t in zip("qkv", (q, k, v), strict=True))
            attention_forward(*arrays, _tensor("out", out), logs, scale * math.log2(math.e), plan)
    return (out, logs) if lse else out


def _strides(array: Any) -> tuple[int, ...]:
    return tuple(array.stride() if hasattr(array, "stride") else array.strides)


def _tensor(name: str, array: Any) -> Any:
    """The array with a layout that may differ between calls, but for what the kernel relies on."""
    if vector_elements(int(array.shape[-1]), item_bits(array), array) != 8:
        raise ArgumentError(
            f"rows of {name} do not start at multiples of 16 bytes", code="OC2524",
            expected="an aligned address, and strides that are multiples of 8",
            hint="pass a contiguous copy",
        )  # fmt: skip
    return from_dlpack(array).mark_layout_dynamic(leading_dim=3)


def _check(q: Any, k: Any, v: Any) -> Any:
    """The type of the elements.

    Raises:
        ArgumentError: these arrays are no attention.
    """
    names = [str(t.dtype).rpartition(".")[2] for t in (q, k, v)]
    if len(set(names)) > 1 or names[0] not in _CLASSES:
        raise ArgumentError(
            "no attention of these types", code="OC2525", expected="three of f16, or of bf16",
            found=names,
        )  # fmt: skip
    shapes = [tuple(int(x) for x in t.shape) for t in (q, k, v)]
    good = all(len(s) == 4 for s in shapes) and shapes[1] == shapes[2]
    if good:
        (b, _, h, d), (bk, _, hk, dk) = shapes[0], shapes[1]
        good = b == bk and d == dk and d % 8 == 0 and 8 <= d <= 256 and hk > 0 and h % hk == 0
    if not good:
        raise ArgumentError(
            "these shapes do not fit", code="OC2526", found=shapes,
            expected="(B, Sq, H, D), (B, Sk, Hk, D) twice; D a multiple of 8 up to 256, H of Hk",
        )  # fmt: skip
    return _CLASSES[names[0]]
