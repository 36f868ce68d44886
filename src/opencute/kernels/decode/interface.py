# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What to call: attention of a few queries with a cache, for torch or NumPy arrays.

out = decode_attention(q, k_cache, v_cache, lengths)
out, lse = decode_attention(q, k_pages, v_pages, lengths, block_table=table, return_lse=True)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import opencute as cutlass
from opencute import utils
from opencute.base.errors import ArgumentError
from opencute.base.interned import interned
from opencute.compiler.targets import run_target
from opencute.cute.runtime import from_dlpack
from opencute.kernels.arrays import (
    MOST_BLOCKS,
    apart,
    check_rows,
    element_name,
    empty,
    empty_like,
    fill,
    host_values,
    item_bits,
    multiprocessors,
    near,
    portions,
    strides,
)
from opencute.kernels.checked import checked, separate
from opencute.kernels.decode.combine import slots_for
from opencute.kernels.decode.config import DecodeConfig, Work, heuristic
from opencute.kernels.decode.merge import splits_ahead
from opencute.kernels.decode.parts import DecodePlan
from opencute.kernels.decode.sm80 import decode_forward
from opencute.kernels.decode.sm90 import decode_forward as launch_bulk
from opencute.kernels.repeat.operators import repeated
from opencute.kernels.scales import (
    check_elements,
    check_products,
    check_scale,
    no_scales,
    split_scale,
)
from opencute.kernels.tags import call_tag
from opencute.kernels.tuned import tuned

__all__ = [
    "CLASSES",
    "beyond",
    "check_cache",
    "check_values",
    "clusters",
    "decode_attention",
    "indices",
    "result",
    "rows",
]

CLASSES = {"float16": cutlass.Float16, "bfloat16": cutlass.BFloat16}
NARROW = {"float8_e4m3fn": cutlass.Float8E4M3FN, "float8_e5m2": cutlass.Float8E5M2}
MOST_QUERIES = 16


@tuned("decode_attention", "q k_cache block_table causal")
@checked(
    arrays="q k_cache v_cache", optional="seqlens_k block_table out", numbers="scale",
)  # fmt: skip
@repeated
@separate(inplace="q")
def decode_attention(
    q: Any,
    k_cache: Any,
    v_cache: Any,
    seqlens_k: Any = None,
    *,
    block_table: Any = None,
    causal: bool = True,
    scale: float | None = None,
    k_scale: Any = None,
    v_scale: Any = None,
    return_lse: bool = False,
    out: Any = None,
    config: DecodeConfig | None = None,
) -> Any:
    """``softmax(scale * q @ k.T) @ v`` of a few queries with the keys and values of a cache.

    Args:
        q: array (B, Sq, H, D) of f16 or bf16; Sq is at most 16, D a multiple of 8 up to 256.
        k_cache, v_cache: arrays (B, S, Hk, D) of the same type, or both of e4m3 or e5m2 (D is a
            multiple of 16 then); each head of them serves H / Hk heads of `q`. With `block_table`
            (pages, page, Hk, D), where a page has a multiple of 16 keys.
        seqlens_k: array (B,) of i32: how many keys of each sequence there are, those of the
            queries included; S when omitted. What lies behind them is not used.
        block_table: array (B, P) of i32: the pages of each sequence, in order. Of those that it
            does not reach, the table may say anything.
        causal: whether the last query sees all keys, and each one before it one key less.
        scale: of the scores, from 2**-126 to 2**20; 1 / sqrt(D) when omitted. Scaled scores are
            f32: where they reach 2**n, weights are right to a factor of 1 + 2**(n - 24), and those
            of 2**24 and more are best avoided.
        k_scale, v_scale: what keys and values of eight bits are multiplied with: a positive number,
            or an array of f32 with one for each head of them, or one for all; 1 when omitted. The
            bounds of `scale` hold for its product with `k_scale`; elements on a GPU are not looked
            at.
        return_lse: whether the logarithms of the sums are wanted too.
        out: where the result goes; a new array when omitted.
        config: how the work is shared; a good choice when omitted.

    Lengths and pages in the host's memory, as in the simulator, are checked. Those of a device are
    not: a length counts as the nearest that there is room for, and a page that the cache does not
    have reads as zeros where TMA loads it, as other memory elsewhere.

    Keys and values of eight bits are exact in f16, in which they are multiplied; `q` is rounded to
    it relative to the largest of a row where it is bf16, and weights to f16.

    Strides are free, as long as rows start at multiples of 16 bytes. A query that sees no key, or
    of which all scores are -inf, has the result 0 and the logarithm -inf.

    Returns:
        The result (B, Sq, H, D); with `return_lse` also the logarithms (B, H, Sq) in f32.

    Raises:
        ArgumentError: shapes or types do not fit, or the configuration does not.

    Source: Dao, Haziza, Massa, Sizov, "Flash-Decoding for long-context inference", 2023.
    """
    call = _Call.of(q, k_cache, v_cache, seqlens_k, block_table, causal, scale)
    call = replace(call, **_scales(call, k_scale, v_scale))
    out = result("out", out, q, tuple(q.shape))
    batch, queries, heads, _ = (int(x) for x in q.shape)
    logs = empty(q, (batch, heads, queries), "float32") if return_lse else None
    if 0 not in q.shape:
        if call.work.keys == 0 or 0 in k_cache.shape:
            fill(out, 0)
            if logs is not None:
                fill(logs, -math.inf)
        else:
            _launch(call, out, logs, config)
    return (out, logs) if return_lse else out


@dataclass(frozen=True)
class _Call:
    """What is asked for."""

    q: Any
    k: Any
    v: Any
    lengths: Any
    table: Any
    dtype: Any
    causal: bool
    scale: float
    work: Work
    cache: Any = None
    v_scale: float = 1.0
    k_scales: Any = None
    v_scales: Any = None

    @classmethod
    def of(
        cls, q: Any, k: Any, v: Any, lengths: Any, table: Any, causal: bool, scale: float | None
    ) -> _Call:
        """The arguments of a call, checked."""
        dtype, cache = _check(q, k, v, table is not None)
        batch, queries, heads, head_dim = (int(x) for x in q.shape)
        scale = 1.0 / math.sqrt(head_dim) if scale is None else float(scale)
        check_scale(scale)
        page = check_cache(batch, int(k.shape[1]), lengths, table)
        keys = int(k.shape[1]) if table is None else int(table.shape[1]) * int(k.shape[1])
        check_values(lengths, table, keys, int(k.shape[0]), page)
        shared = heads // int(k.shape[2])
        work = Work(queries * shared, head_dim, keys, batch * int(k.shape[2]), page,
                    multiprocessors(q), item_bits(k))  # fmt: skip
        return cls(q, k, v, lengths, table, dtype, causal, scale, work, cache)

    def part(self, batches: slice) -> _Call:
        """The call for some sequences; what `work` says is of all of them."""
        lengths, table = (None if t is None else t[batches] for t in (self.lengths, self.table))
        k, v = (t if self.table is not None else t[batches] for t in (self.k, self.v))
        return replace(self, q=self.q[batches], k=k, v=v, lengths=lengths, table=table)


def _scales(call: _Call, k_scale: Any, v_scale: Any) -> dict[str, Any]:
    """What scales change of a call.

    Raises:
        ArgumentError: keys and values have none, or these are no scales.
    """
    if call.cache is None:
        no_scales((k_scale, v_scale), call.k.dtype, [*NARROW])
        return {}
    heads = int(call.k.shape[2])
    (of_k, k_scales), (of_v, v_scales) = (
        split_scale(name, given, call.q)
        for name, given in (("k_scale", k_scale), ("v_scale", v_scale))
    )
    for name, array in (("k_scale", k_scales), ("v_scale", v_scales)):
        if array is not None:
            fits = tuple(int(n) for n in array.shape) in ((), (1,), (heads,))
            check_elements(name, array, fits, f"(), (1,) or ({heads},)")
    scale = call.scale * of_k
    check_products(scale, None, k_scales)
    flat = [None if a is None else a.reshape(-1) for a in (k_scales, v_scales)]
    return {"scale": scale, "v_scale": of_v, "k_scales": flat[0], "v_scales": flat[1]}


def _launch(call: _Call, out: Any, logs: Any, config: DecodeConfig | None) -> None:
    """Run the kernel for the processor, and these arrays."""
    smem = utils.get_smem_capacity_in_bytes()
    bulk = _has_tensor_maps(call)
    if config is None:
        config = heuristic(call.work, smem, clusters() if bulk else None)
    config.check(call.work.head_dim, call.work.page, smem, call.work.bits)
    if config.splits == 1:
        config = replace(config, merge="launch")
    if config.merge != "launch" and not bulk:
        raise ArgumentError(
            "only a kernel whose tiles TMA loads puts splits together itself", code="OC2560",
            found=config, expected="merge='launch'",
        )  # fmt: skip
    q, heads = call.q, int(call.k.shape[2])
    batch, queries, all_heads, head_dim = (int(x) for x in q.shape)
    if batch > MOST_BLOCKS:
        for part in portions(batch):
            _launch(call.part(part), out[part], None if logs is None else logs[part], config)
        return
    flagged, clustered = config.merge == "flags", config.merge == "cluster"
    slots = splits_ahead(config.splits) if flagged else slots_for(config.splits, head_dim)
    plan = interned(DecodePlan(
        call.dtype, head_dim, replace(config, splits=config.splits if clustered else 1), queries,
        all_heads // heads, call.causal, call.work.page, call.cache, 1 if clustered else slots,
        beyond(config, heads * -(-call.work.rows // config.rows), batch),
    ))  # fmt: skip
    parts = part_logs = flags = tag = None
    if config.splits > 1 and not clustered:
        parts = empty(q, (config.splits, batch, queries, all_heads, head_dim), "float32")
        part_logs = empty(q, (config.splits, batch, all_heads, queries), "float32")
    k, v = (t if bulk else near(t, 1, config.n) for t in (call.k, call.v))
    tensors = [
        rows(name, t) for name, t in (("q", q), ("k_cache", k), ("v_cache", v),
                                      ("out", out))
    ]  # fmt: skip
    if flagged:
        blocks = heads * -(-call.work.rows // config.rows)
        flags = empty(q, (batch, blocks, config.splits), "int64")
        tag = call_tag()
    arguments = (
        *tensors, logs, call.lengths, call.table, parts, part_logs,
        call.scale * math.log2(math.e), plan, call.v_scale, call.k_scales, call.v_scales,
    )  # fmt: skip
    if bulk:
        launch_bulk(*arguments, flags, tag)
    else:
        decode_forward(*arguments)


def beyond(config: DecodeConfig, places: int, batch: int) -> tuple[int, int]:
    """Heads of keys, and sequences, of a cluster: no more than divide those that there are."""
    heads = math.gcd(config.beyond, places)
    return heads, math.gcd(config.beyond // heads, batch)


def clusters() -> Callable[[int], int] | None:
    """How many clusters of so many blocks run at a time, where that is how splits are put together
    unless a configuration says otherwise: on Hopper, of which it was measured."""
    return _active if run_target().arch.startswith("sm_90") else None


def _active(blocks: int) -> int:
    return int(utils.HardwareInfo().get_max_active_clusters(blocks))


def _has_tensor_maps(call: _Call) -> bool:
    """Whether tiles are loaded by TMA: from sm_90 on, but for sm_120 and what is like it, where
    ptxas makes each load a branch and a possible call."""
    vec = 128 // call.work.bits
    good = all(s > 0 and s % vec == 0 for t in (call.k, call.v) for s in strides(t)[:-1])
    return good and 90 <= int(run_target().arch.removeprefix("sm_").rstrip("af")) < 120


def rows(name: str, array: Any) -> Any:
    """The array with a layout that may differ between calls, but for what the kernel relies on.

    Raises:
        ArgumentError: rows do not start where they should.
    """
    check_rows(name, array)
    return from_dlpack(array).mark_layout_dynamic(leading_dim=len(array.shape) - 1)


def result(name: str, array: Any, like: Any, shape: tuple[int, ...]) -> Any:
    """Where a result goes: an array that was given, or a new one.

    Raises:
        ArgumentError: what was given has another shape or type, or elements share memory.
    """
    if array is None:
        return empty_like(like, shape)
    if tuple(array.shape) != shape or array.dtype != like.dtype:
        raise ArgumentError(
            f"{name} does not fit q", code="OC2523", expected=(shape, str(like.dtype)),
            found=(tuple(array.shape), str(array.dtype)),
        )  # fmt: skip
    apart(name, array)
    return array


def indices(name: str, array: Any, shape: tuple[int | None, ...]) -> None:
    """Check an array of lengths, or of pages.

    Args:
        shape: what it must have; None: any extent.

    Raises:
        ArgumentError: it has another shape or type, or is not contiguous.
    """
    given = tuple(int(x) for x in array.shape)
    fits = len(given) == len(shape) and all(
        want in (None, got) for want, got in zip(shape, given, strict=True)
    )
    kind = element_name(array)
    if (
        not fits
        or kind != "int32"
        or (given[-1] > 1 and 0 not in given and strides(array)[-1] != 1)
    ):
        raise ArgumentError(
            f"{name} is no list of numbers for these sequences", code="OC2562",
            expected=f"contiguous i32 of the shape {shape}",
            found=f"{kind} of the shape {given}, strides {strides(array)}",
        )  # fmt: skip


def check_cache(batch: int, page: int, lengths: Any, table: Any) -> int | None:
    """Keys of a page, or None without a table.

    Raises:
        ArgumentError: lengths or table do not fit the sequences, or a page does not fit tiles.
    """
    if lengths is not None:
        indices("seqlens_k", lengths, (batch,))
    if table is None:
        return None
    indices("block_table", table, (batch, None))
    if page < 16 or page % 16:
        raise ArgumentError(
            "pages of this size are not supported", code="OC2563", found=page,
            expected="a multiple of 16 keys",
        )  # fmt: skip
    if lengths is None:
        raise ArgumentError(
            "pages without the lengths of sequences", code="OC2564",
            hint="pass seqlens_k: how many keys of its pages each sequence has",
        )  # fmt: skip
    return page


def check_values(lengths: Any, table: Any, room: int, pages: int, page: int | None) -> None:
    """Check how many keys there are, and which pages, where the host can read the numbers.

    Args:
        lengths, table: as `check_cache` takes them.
        room: for keys of a sequence.
        pages: how many there are.
        page: keys of one, or None.

    Raises:
        ArgumentError: a sequence has more keys than there is room for, or a page that is none.
    """
    counts = None if lengths is None else host_values(lengths)
    if counts is None:
        return
    for i, count in enumerate(counts.tolist()):
        if not 0 <= count <= room:
            raise ArgumentError(
                f"seqlens_k[{i}] is no number of keys that the cache has", code="OC2570",
                expected=f"0 to {room}", found=count,
            )  # fmt: skip
    entries = None if table is None else host_values(table)
    if entries is None or page is None:
        return
    for i, (row, count) in enumerate(zip(entries, counts.tolist(), strict=True)):
        used = row[: -(-count // page)]
        wrong = ((used < 0) | (used >= pages)).nonzero()[0]
        if len(wrong):
            at = int(wrong[0])
            raise ArgumentError(
                f"block_table[{i}, {at}] is no page of the cache", code="OC2570",
                expected=f"0 to {pages - 1}", found=int(used[at]),
                hint=f"the {count} keys of sequence {i} are in the first {len(used)} pages of its "
                "row",
            )  # fmt: skip


def _check(q: Any, k: Any, v: Any, paged: bool) -> tuple[Any, Any]:
    """The type of queries, and that of keys and values, None if it is the same.

    Raises:
        ArgumentError: these arrays are no attention for decoding.
    """
    names = [element_name(t) for t in (q, k, v)]
    narrow = names[1] in NARROW
    if names[0] not in CLASSES or names[1] != names[2] or not (narrow or names[0] == names[1]):
        raise ArgumentError(
            "no attention of these types", code="OC2525", found=names,
            expected="three of f16, or of bf16; or keys and values both of e4m3 or both of e5m2",
        )  # fmt: skip
    shapes = [tuple(int(x) for x in t.shape) for t in (q, k, v)]
    good = all(len(s) == 4 for s in shapes) and shapes[1] == shapes[2]
    vec = 128 // item_bits(k)
    if good:
        (b, sq, h, d), (bk, _, hk, dk) = shapes[:2]
        good = d == dk and d % vec == 0 and 8 <= d <= 256 and hk > 0 and h % hk == 0
        good = good and sq <= MOST_QUERIES and (paged or b == bk)
    if not good:
        cache = "(pages, page, Hk, D)" if paged else "(B, S, Hk, D)"
        raise ArgumentError(
            "these shapes are no decoding", code="OC2565", found=shapes,
            expected=f"(B, Sq, H, D), {cache} twice; Sq up to {MOST_QUERIES}, D a multiple of "
            f"{vec} up to 256, H of Hk",
        )  # fmt: skip
    return CLASSES[names[0]], NARROW.get(names[1])
