# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What to call: HSTU attention of torch or NumPy arrays."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import opencute as cutlass
from opencute import utils
from opencute.base.errors import ArgumentError
from opencute.base.interned import interned
from opencute.cute.runtime import from_dlpack
from opencute.kernels.arrays import (
    apart,
    check_rows,
    element_name,
    empty_like,
    fill,
    item_bits,
    near,
    portions,
    strides,
    vector_elements,
)
from opencute.kernels.attention.call import attends, shapes_hint
from opencute.kernels.attention.config import AttentionConfig, heuristic
from opencute.kernels.checked import checked, separate
from opencute.kernels.hstu.sm80 import HstuPlan, hstu_forward
from opencute.kernels.repeat.operators import repeated
from opencute.kernels.tuned import tuned

__all__ = ["hstu_attention"]

_CLASSES = {"float16": cutlass.Float16, "bfloat16": cutlass.BFloat16}


@tuned("hstu_attention", "q k bias causal")
@checked(arrays="q k v", optional="bias out", numbers="scale divisor")
@repeated
@separate(inplace="q")
def hstu_attention(
    q: Any,
    k: Any,
    v: Any,
    bias: Any = None,
    *,
    causal: bool = False,
    scale: float = 1.0,
    divisor: float = 1.0,
    out: Any = None,
    config: AttentionConfig | None = None,
) -> Any:
    """``silu(scale * q @ k.T + bias) @ v / divisor`` for each head of each batch.

    Args:
        q: array (B, Sq, H, D) of f16 or bf16; D is a multiple of 8 up to 256, and contiguous.
        k, v: arrays (B, Sk, Hk, D) of the same type; each head of them serves H / Hk heads of `q`.
        bias: array (B or 1, H or 1, Sq, Sk) of the same type, or None: what depends on positions
            and times. Of keys that `causal` hides it may say anything.
        causal: whether the last query sees all keys, and each one before it one key less.
        scale, divisor: of the scores, and of the result; many models divide by the length.
        out: where the result goes; a new array when omitted.
        config: how the work is shared, in one stage; a good choice when omitted.

    Strides are free, as long as rows start at multiples of 16 bytes.

    Returns:
        The result (B, Sq, H, D). Weights are rounded to the type of `q`.

    Raises:
        ArgumentError: shapes or types do not fit, or the configuration does not.

    Source: Zhai et al., "Actions Speak Louder than Words: Trillion-Parameter Sequential Transducers
    for Generative Recommendations", 2024, section 3.1.
    """
    dtype = _check(q, k, v, bias)
    scale, divisor = float(scale), float(divisor)
    if divisor == 0.0:
        raise ArgumentError("the divisor is zero", code="OC2590", found=divisor)
    if not (math.isfinite(scale) and math.isfinite(divisor)):
        raise ArgumentError("scale or divisor is not finite", code="OC2590", found=(scale, divisor))
    if out is not None:
        apart("out", out)
    out = empty_like(q) if out is None else out
    if tuple(out.shape) != tuple(q.shape) or out.dtype != q.dtype:
        raise ArgumentError(
            "out does not fit q", code="OC2590", expected=(tuple(q.shape), str(q.dtype)),
            found=(tuple(out.shape), str(out.dtype)),
        )  # fmt: skip
    if 0 in q.shape:
        return out
    if 0 in k.shape:
        fill(out, 0)
        return out
    batch, _, heads, head_dim = (int(x) for x in q.shape)
    smem = utils.get_smem_capacity_in_bytes()
    config = replace(heuristic(head_dim, smem) if config is None else config, stages=1)
    more = 0 if bias is None else 2 * config.m * (config.n + 8)
    config.check(head_dim, smem - more)
    if bias is not None:
        bias = near(_spread(bias, batch, heads), 2, config.m)
    plan = interned(HstuPlan(
        dtype, head_dim, config.m, config.n, config.warps, causal, heads // int(k.shape[2]),
        biased=bias is not None,
    ))  # fmt: skip
    k, v = (near(t, 1, config.n) for t in (k, v))
    given = {"q": q, "k": k, "v": v, "out": out, "bias": bias}
    for part in portions(batch):
        tensors = [None if t is None else _tensor(n, t[part]) for n, t in given.items()]
        hstu_forward(*tensors, scale, 1.0 / divisor, plan)
    return out


def _hint(q: Any, k: Any, v: Any, bias: Any = None) -> str:
    """What is wrong with shapes that do not fit, and what to change."""
    if attends(4, q, k, v):
        return f"a bias of {bias} is not for scores of {(q[0], q[2], q[1], k[1])}"
    return shapes_hint(4, q, k, v)


def _check(q: Any, k: Any, v: Any, bias: Any) -> Any:
    """The type of the elements.

    Raises:
        ArgumentError: these arrays are no attention.
    """
    arrays = [q, k, v] if bias is None else [q, k, v, bias]
    names = [element_name(t) for t in arrays]
    if len(set(names)) > 1 or names[0] not in _CLASSES:
        raise ArgumentError(
            "no attention of these types", code="OC2525", expected="all of f16, or of bf16",
            found=names,
        )  # fmt: skip
    shapes = [tuple(int(x) for x in t.shape) for t in arrays]
    good = all(len(s) == 4 for s in shapes) and attends(4, *shapes[:3])
    if good and bias is not None:
        (b, sq, h, _), sk = shapes[0], shapes[1][1]
        good = shapes[3][0] in (1, b) and shapes[3][1] in (1, h) and shapes[3][2:] == (sq, sk)
    if not good:
        raise ArgumentError(
            "these shapes do not fit", code="OC2526", found=shapes,
            expected="(B, Sq, H, D), (B, Sk, Hk, D) twice, and a bias (B or 1, H or 1, Sq, Sk); "
            "D a multiple of 8 up to 256, H of Hk",
            hint=_hint(*shapes),
        )  # fmt: skip
    return _CLASSES[names[0]]


def _spread(bias: Any, batch: int, heads: int) -> Any:
    """A bias for all batches and heads; a copy with longer rows where they are not aligned."""
    *others, length = (int(x) for x in bias.shape)
    if strides(bias)[-1] != 1 or vector_elements(length, item_bits(bias), bias) != 8:
        room = empty_like(bias, (*others, -(-length // 8) * 8))
        room[..., :length] = bias
        fill(room[..., length:], 0)
        bias = room
    shape = (batch, heads, *bias.shape[2:])
    if hasattr(bias, "expand"):
        return bias.expand(shape)
    import numpy as np

    return np.broadcast_to(bias, shape)


def _tensor(name: str, array: Any) -> Any:
    check_rows(name, array)
    return from_dlpack(array).mark_layout_dynamic(leading_dim=3)
