# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What to call: attention of a few queries with a latent cache, for torch or NumPy arrays.

out = mla_decode(q_nope, q_rope, cache, lengths, scale=192**-0.5)
out = mla_decode(q_nope, q_rope, pages, lengths, block_table=table, scale=192**-0.5)
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from opencute.base.errors import ArgumentError
from opencute.base.interned import interned
from opencute.compiler.targets import run_target
from opencute.kernels.arrays import (
    MOST_BLOCKS,
    element_name,
    empty,
    fill,
    multiprocessors,
    portions,
    stepping,
    strides,
)
from opencute.kernels.checked import checked, separate
from opencute.kernels.decode.combine import slots_for
from opencute.kernels.decode.interface import CLASSES, check_cache, check_values, result, rows
from opencute.kernels.mla.config import KEYS, LATENT, ROPE, MlaConfig, heuristic
from opencute.kernels.mla.sm90 import mla_forward
from opencute.kernels.mla.sm90_plan import MlaPlan
from opencute.kernels.repeat.operators import repeated
from opencute.kernels.scales import check_scale
from opencute.kernels.tuned import tuned

__all__ = ["mla_decode"]

MOST_QUERIES = 16


@tuned("mla_decode", "q_nope cache block_table causal")
@checked(arrays="q_nope q_rope cache", optional="seqlens_k block_table out", numbers="scale")
@repeated
@separate(inplace="q_nope")
def mla_decode(
    q_nope: Any,
    q_rope: Any,
    cache: Any,
    seqlens_k: Any = None,
    *,
    scale: float,
    block_table: Any = None,
    causal: bool = True,
    return_lse: bool = False,
    out: Any = None,
    config: MlaConfig | None = None,
) -> Any:
    """Attention of a few queries with keys whose first 512 elements are the values too.

    All heads share the keys: ``softmax(scale * (q_nope @ c.T + q_rope @ r.T)) @ c`` for a cache of
    rows ``(c, r)`` with 512 and 64 elements. On sm_90a.

    Args:
        q_nope, q_rope: arrays (B, Sq, H, 512) and (B, Sq, H, 64) of f16 or bf16; Sq is at most 16.
        cache: array (B, S, 576) of the same type. With `block_table` (pages, page, 576), where a
            page has a multiple of 64 keys. An axis of one head before the last is allowed.
        seqlens_k: array (B,) of i32: how many keys of each sequence there are, those of the
            queries included; S when omitted. What lies behind them is not used.
        scale: of the scores, from 2**-126 to 2**20. It is that of the heads before they were made
            latent. Scaled scores are f32: where they reach 2**n, weights are right to a factor of
            1 + 2**(n - 24), and those of 2**24 and more are best avoided.
        block_table: array (B, P) of i32: the pages of each sequence, in order. Of those that it
            does not reach, the table may say anything.
        causal: whether the last query sees all keys, and each one before it one key less.
        return_lse: whether the logarithms of the sums are wanted too.
        out: where the result goes; a new array when omitted.
        config: how the work is shared; a good choice when omitted.

    Lengths and pages in the host's memory, as in the simulator, are checked. Those of a device are
    not: a length counts as the nearest that there is room for, and a page that the cache does not
    have reads as zeros.

    Strides are free, as long as rows start at multiples of 16 bytes. A query that sees no key, or
    of which all scores are -inf, has the result 0 and the logarithm -inf.

    Returns:
        The result (B, Sq, H, 512); with `return_lse` also the logarithms (B, H, Sq) in f32.

    Raises:
        ArgumentError: shapes or types do not fit, the configuration does not, or the processor is
            another one.

    Source: DeepSeek-AI, "DeepSeek-V2: A Strong, Economical, and Efficient Mixture-of-Experts
    Language Model", 2024.
    """
    cache = _without_head(cache)
    dtype = _check(q_nope, q_rope, cache, block_table is not None)
    batch, queries, heads, _ = (int(x) for x in q_nope.shape)
    check_scale(float(scale))
    page = check_cache(batch, int(cache.shape[1]), seqlens_k, block_table)
    if page is not None and page % KEYS:
        raise ArgumentError(
            "tiles do not divide a page", code="OC2561", found=page,
            expected=f"a multiple of {KEYS} keys",
        )  # fmt: skip
    keys = int(cache.shape[1]) * (1 if block_table is None else int(block_table.shape[1]))
    check_values(seqlens_k, block_table, keys, int(cache.shape[0]), page)
    out = result("out", out, q_nope, tuple(q_nope.shape))
    logs = empty(q_nope, (batch, heads, queries), "float32") if return_lse else None
    if 0 not in q_nope.shape:
        if keys == 0 or 0 in cache.shape:
            fill(out, 0)
            if logs is not None:
                fill(logs, -math.inf)
        else:
            if config is None:
                config = heuristic(queries * heads, keys, batch, multiprocessors(q_nope))
            config.check(queries * heads)
            plan = interned(MlaPlan(
                dtype, replace(config, splits=1), queries, heads, causal, page,
                slots_for(config.splits, LATENT),
            ))  # fmt: skip
            arrays = {"q_nope": q_nope, "q_rope": q_rope, "cache": cache, "out": out}
            _launch(plan, config.splits, arrays, logs, seqlens_k, block_table, float(scale))
    return (out, logs) if return_lse else out


def _launch(
    plan: MlaPlan, splits: int, arrays: dict[str, Any], logs: Any, lengths: Any, table: Any,
    scale: float,
) -> None:  # fmt: skip
    """Run the kernel."""
    batch, queries, heads, _ = (int(x) for x in arrays["q_nope"].shape)
    if batch > MOST_BLOCKS:
        for part in portions(batch):
            some = {n: t if n == "cache" and table is not None else t[part] for n, t in
                    arrays.items()}  # fmt: skip
            few = [None if t is None else t[part] for t in (logs, lengths, table)]
            _launch(plan, splits, some, few[0], few[1], few[2], scale)
        return
    arch = run_target().arch
    if arch != "sm_90a":
        raise ArgumentError(
            "attention with a latent cache needs warpgroups", code="OC2567", expected="sm_90a",
            found=arch,
        )  # fmt: skip
    cache = arrays["cache"]
    if any(s <= 0 and n > 1 for n, s in zip(cache.shape, strides(cache), strict=True)):
        raise ArgumentError(
            "the cache repeats elements, or goes backwards", code="OC2568",
            expected="positive strides", found=strides(cache),
            hint="pass a contiguous copy",
        )  # fmt: skip
    arrays["cache"] = stepping(cache)
    parts = part_logs = None
    if splits > 1:
        like = arrays["q_nope"]
        parts = empty(like, (splits, batch, queries, heads, LATENT), "float32")
        part_logs = empty(like, (splits, batch, heads, queries), "float32")
    tensors = [rows(name, t) for name, t in arrays.items()]
    mla_forward(
        *tensors, logs, lengths, table, parts, part_logs, scale * math.log2(math.e), plan
    )  # fmt: skip


def _without_head(cache: Any) -> Any:
    """The cache without an axis of one head."""
    return cache[:, :, 0] if len(cache.shape) == 4 and int(cache.shape[2]) == 1 else cache


def _check(q_nope: Any, q_rope: Any, cache: Any, paged: bool) -> Any:
    """The type of the elements.

    Raises:
        ArgumentError: these arrays are no attention with a latent cache.
    """
    names = [element_name(t) for t in (q_nope, q_rope, cache)]
    if len(set(names)) > 1 or names[0] not in CLASSES:
        raise ArgumentError(
            "no attention of these types", code="OC2525", expected="three of f16, or of bf16",
            found=names,
        )  # fmt: skip
    nope, rope, keys = (tuple(int(x) for x in t.shape) for t in (q_nope, q_rope, cache))
    good = len(nope) == 4 and len(keys) == 3 and nope[:3] == rope[:3]
    good = good and (nope[3], rope[3:], keys[2]) == (LATENT, (ROPE,), LATENT + ROPE)
    if not (good and nope[1] <= MOST_QUERIES and (paged or nope[0] == keys[0])):
        wanted = "(pages, page, 576)" if paged else "(B, S, 576)"
        raise ArgumentError(
            "these shapes are no decoding with a latent cache", code="OC2569",
            expected=f"(B, Sq, H, {LATENT}), (B, Sq, H, {ROPE}), {wanted}; Sq up to {MOST_QUERIES}",
            found=(nope, rope, keys),
        )  # fmt: skip
    return CLASSES[names[0]]
