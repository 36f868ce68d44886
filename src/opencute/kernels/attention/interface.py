# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What to call: attention of torch or NumPy arrays, and its derivatives.

out = attention(q, k, v, causal=True)                        # differentiable, if torch's are
out, lse = attention(q, k, v, return_lse=True)
dq, dk, dv = attention_backward(grad, q, k, v, out, lse)
out = attention_varlen(q, k, v, starts, starts, longest, longest)  # sequences end to end
"""

from __future__ import annotations

import itertools
import math
import operator
from dataclasses import dataclass, replace
from typing import Any

import opencute as cutlass
from opencute import utils
from opencute.base.errors import ArgumentError
from opencute.compiler.targets import run_target
from opencute.cute.runtime import from_dlpack
from opencute.kernels.arrays import (
    apart,
    empty,
    empty_like,
    host_values,
    item_bits,
    strides,
    vector_elements,
    zeros,
)
from opencute.kernels.attention import autograd
from opencute.kernels.attention.config import (
    WARPGROUP_HEADS,
    AttentionConfig,
    BackwardConfig,
    WarpgroupBackwardConfig,
    WarpgroupConfig,
    backward_heuristic,
    check_scale,
    heuristic,
    warpgroup_backward_heuristic,
    warpgroup_heuristic,
)
from opencute.kernels.attention.sm80 import AttentionPlan, attention_forward
from opencute.kernels.attention.sm80_backward import BackwardPlan
from opencute.kernels.attention.sm80_backward import attention_backward as launch_backward
from opencute.kernels.attention.sm90 import WarpgroupPlan
from opencute.kernels.attention.sm90 import attention_forward as launch_warpgroups
from opencute.kernels.attention.sm90_backward import attention_backward as launch_warpgroups_back
from opencute.kernels.attention.sm90_backward_plan import WarpgroupBackwardPlan
from opencute.kernels.attention.sm90_persistent import attention_persistent
from opencute.kernels.checked import checked
from opencute.kernels.tuned import tuned

__all__ = [
    "attention", "attention_backward", "attention_varlen", "attention_varlen_backward",
]  # fmt: skip

_CLASSES = {
    "float16": cutlass.Float16, "bfloat16": cutlass.BFloat16,
    "float8_e4m3fn": cutlass.Float8E4M3FN,
}  # fmt: skip


@tuned("attention", "q k causal window")
@checked(arrays="q k v", optional="out", numbers="scale q_scale k_scale v_scale")
def attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    causal: bool = False,
    window: tuple[int | None, int | None] | None = None,
    scale: float | None = None,
    return_lse: bool = False,
    out: Any = None,
    config: AttentionConfig | WarpgroupConfig | None = None,
    q_scale: float | None = None,
    k_scale: float | None = None,
    v_scale: float | None = None,
) -> Any:
    """``softmax(scale * q @ k.T) @ v`` for each head of each batch.

    Args:
        q: array (B, Sq, H, D) of f16 or bf16; D is a multiple of 8 up to 256, and contiguous.
        k, v: arrays (B, Sk, Hk, D) of the same type; each head of them serves H / Hk heads of `q`.
        causal: whether the last query sees all keys, and each one before it one key less.
        window: how many keys before and after that place a query sees besides the one there;
            None, or no fewer than there are: all. Windows that hide something on sm_90a only, for
            the heads that its kernels take; gradients for those of 64 and 128 elements.
        scale: of the scores, from 2**-126 to 2**20; 1 / sqrt(D) when omitted. Scaled scores are
            f32: where they reach 2**n, weights are right to a factor of 1 + 2**(n - 24), and those
            of 2**24 and more are best avoided.
        return_lse: whether the logarithms of the sums are wanted too.
        out: where the result goes; a new array when omitted.
        config: how the work is shared; a good choice when omitted.
        q_scale, k_scale, v_scale: what elements of `q`, `k` and `v` are multiplied with; 1 when
            omitted. Only for e4m3; the bounds of `scale` hold for its product with the first two.

    On sm_90a `q`, `k` and `v` may be of float8_e4m3fn, without gradients; the result is then of
    bf16, or as `out` is, and weights are rounded to e4m3. Strides are free, as long as rows start
    at multiples of 16 bytes. A query that sees no key has the result 0. Where torch wants gradients
    of `q`, `k` or `v`, the result has them, and `out` must be omitted.

    Returns:
        The result (B, Sq, H, D); with `return_lse` also the logarithms (B, H, Sq) in f32.

    Raises:
        ArgumentError: shapes or types do not fit, or the configuration does not.

    Source: Dao, "FlashAttention-2: Faster Attention with Better Parallelism and Work
    Partitioning", 2023.
    """
    scales = (q_scale, k_scale, v_scale)
    call = _Call.of(q, k, v, None, causal, scale, window, scales)
    return _attention(call, return_lse, out, config)


@checked(
    arrays="q k v cu_seqlens_q cu_seqlens_k",
    optional="out",
    integers="max_seqlen_q max_seqlen_k",
    numbers="scale q_scale k_scale v_scale",
)
def attention_varlen(
    q: Any,
    k: Any,
    v: Any,
    cu_seqlens_q: Any,
    cu_seqlens_k: Any,
    max_seqlen_q: int,
    max_seqlen_k: int,
    *,
    causal: bool = False,
    scale: float | None = None,
    return_lse: bool = False,
    out: Any = None,
    config: AttentionConfig | WarpgroupConfig | None = None,
    q_scale: float | None = None,
    k_scale: float | None = None,
    v_scale: float | None = None,
) -> Any:
    """`attention` of sequences of different lengths that lie end to end.

    Args:
        q: array (total of queries, H, D).
        k, v: arrays (total of keys, Hk, D).
        cu_seqlens_q, cu_seqlens_k: arrays (sequences + 1,) of i32: where each sequence starts, and
            where the last one ends.
        max_seqlen_q, max_seqlen_k: lengths of the longest sequence, or more; with less, what is
            behind is not computed. Both lengths and starts are checked where the host can read the
            latter, as in the simulator.
        causal, scale, return_lse, out, config, q_scale, k_scale, v_scale: as for `attention`; the
            causal rule holds for each sequence on its own.

    Rows of `q` that belong to no sequence have the result 0 and the logarithm -inf, but rows of an
    `out` that was given are left as they are: starts are not read before the kernel runs.

    Returns:
        The result, like `q`; with `return_lse` also the logarithms (H, total of queries) in f32.
    """
    lengths = _Lengths.of(cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k)
    scales = (q_scale, k_scale, v_scale)
    call = _Call.of(q, k, v, lengths, causal, scale, scales=scales)
    return _attention(call, return_lse, out, config)


@tuned("attention_backward", "q k causal window deterministic")
@checked(arrays="grad q k v out lse", numbers="scale")
def attention_backward(
    grad: Any,
    q: Any,
    k: Any,
    v: Any,
    out: Any,
    lse: Any,
    *,
    causal: bool = False,
    window: tuple[int | None, int | None] | None = None,
    scale: float | None = None,
    deterministic: bool = False,
    config: BackwardConfig | WarpgroupBackwardConfig | None = None,
) -> tuple[Any, Any, Any]:
    """The gradients of what went into `attention`.

    Args:
        grad: gradient of the result, an array like `q`.
        q, k, v, causal, window, scale: as there; D is at most 128.
        out, lse: what `attention` returned.
        deterministic: whether the gradient of `q` is summed in an order that is always the same,
            so that equal inputs give equal bits; it costs some time. Those of `k` and `v` always
            are.
        config: how the work is shared; a good choice when omitted.

    Returns:
        Gradients of `q`, `k` and `v`, in their type; sums are taken in f32.

    Raises:
        ArgumentError: shapes or types do not fit, or the configuration does not.
    """
    call = _Call.of(q, k, v, None, causal, scale, window)
    _refuse_narrow(call)
    return _backward(call, grad, out, lse, deterministic, config)


@checked(
    arrays="grad q k v out lse cu_seqlens_q cu_seqlens_k",
    integers="max_seqlen_q max_seqlen_k",
    numbers="scale",
)
def attention_varlen_backward(
    grad: Any,
    q: Any,
    k: Any,
    v: Any,
    out: Any,
    lse: Any,
    cu_seqlens_q: Any,
    cu_seqlens_k: Any,
    max_seqlen_q: int,
    max_seqlen_k: int,
    *,
    causal: bool = False,
    scale: float | None = None,
    deterministic: bool = False,
    config: BackwardConfig | None = None,
) -> tuple[Any, Any, Any]:
    """The gradients of what went into `attention_varlen`; arguments as there and for
    `attention_backward`. Those of rows that belong to no sequence are 0."""
    lengths = _Lengths.of(cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k)
    call = _Call.of(q, k, v, lengths, causal, scale)
    _refuse_narrow(call)
    return _backward(call, grad, out, lse, deterministic, config)


@dataclass(frozen=True)
class _Lengths:
    """Sequences that lie end to end: where they start, and the longest."""

    starts_q: Any
    starts_k: Any
    longest_q: int
    longest_k: int

    @classmethod
    def of(cls, starts_q: Any, starts_k: Any, longest_q: Any, longest_k: Any) -> _Lengths:
        """From arguments; lengths that are no integers raise TypeError."""
        return cls(starts_q, starts_k, operator.index(longest_q), operator.index(longest_k))

    def none(self) -> bool:
        """Whether there are no sequences."""
        return int(self.starts_q.shape[0]) == 1


@dataclass(frozen=True)
class _Call:
    """What is asked for: arrays (B, S, H, D), with `lengths` those of B = 1."""

    q: Any
    k: Any
    v: Any
    lengths: _Lengths | None
    dtype: Any
    causal: bool
    scale: float
    window: tuple[int | None, int | None] | None = None
    gain: float = 1.0

    @classmethod
    def of(
        cls, q: Any, k: Any, v: Any, lengths: _Lengths | None, causal: bool, scale: float | None,
        window: tuple[int | None, int | None] | None = None,
        scales: tuple[float | None, ...] = (None, None, None),
    ) -> _Call:  # fmt: skip
        """The arguments of a call, checked."""
        rank = 4 if lengths is None else 3
        dtype = _check(rank, q, k, v)
        scale = 1.0 / math.sqrt(q.shape[-1]) if scale is None else float(scale)
        factors = [1.0 if x is None else float(x) for x in scales]
        if dtype.width != 8 and any(x is not None for x in scales):
            raise ArgumentError(
                "only e4m3 has scales", code="OC2525", expected="three of float8_e4m3fn",
                found=str(q.dtype), hint="omit q_scale, k_scale and v_scale",
            )  # fmt: skip
        if not all(0.0 < x < 2.0**127 for x in factors):
            raise ArgumentError(
                "the scale is not positive and finite", code="OC2522", found=factors
            )
        scale *= factors[0] * factors[1]
        check_scale(scale)
        if lengths is not None:
            _check_lengths(lengths, int(q.shape[0]), int(k.shape[0]))
            for side, t, longest in (("q", q, lengths.longest_q), ("k", k, lengths.longest_k)):
                starts = lengths.starts_q if side == "q" else lengths.starts_k
                _check_starts(side, starts, int(t.shape[0]), longest)
        window = _window(window, int(q.shape[-3]), int(k.shape[-3]))
        return cls(q, k, v, lengths, dtype, causal, scale, window, factors[2])

    def whole(self, array: Any) -> Any:
        """An array as (B, S, H, D)."""
        return array if self.lengths is None else array[None]

    @property
    def group(self) -> int:
        """Heads of queries to one of keys."""
        return int(self.q.shape[-2]) // int(self.k.shape[-2])

    def starts(self) -> tuple[Any, Any]:
        """Where sequences start, or None twice."""
        return (self.lengths.starts_q, self.lengths.starts_k) if self.lengths else (None, None)

    def longest(self) -> tuple[int, int]:
        """Lengths of the longest sequences."""
        if self.lengths is None:
            return int(self.q.shape[1]), int(self.k.shape[1])
        rows, keys = int(self.q.shape[0]), int(self.k.shape[0])  # no sequence is longer than all
        return min(self.lengths.longest_q, rows), min(self.lengths.longest_k, keys)

    def reach(self) -> tuple[int | None, int | None]:
        """How many keys before and after its place a query sees; None: all."""
        before, after = self.window or (None, None)
        return before, 0 if self.causal and (after is None or after > 0) else after

    def tiles(self, m: int) -> int:
        """Room for tiles of `m` queries, of all sequences."""
        batch, length = (int(x) for x in self.whole(self.q).shape[:2])
        if self.lengths is None:
            return batch * -(-length // m)
        return length // m + int(self.lengths.starts_q.shape[0]) - 1


def _attention(call: _Call, return_lse: bool, out: Any, config: Any) -> Any:
    if autograd.wanted(call.q, call.k, call.v):
        _refuse_narrow(call)
        if out is not None:
            raise ArgumentError(
                "there are no gradients of what is written to out", code="OC2527",
                hint="omit out, or call under torch.no_grad()",
            )  # fmt: skip
        result = autograd.apply(_forward, _backward, call, config)
        return result if return_lse else result[0]
    out, logs = _forward(call, return_lse, out, config)
    return (out, logs) if return_lse else out


def _refuse_narrow(call: _Call) -> None:
    if call.dtype.width == 8:
        raise ArgumentError(
            "there are no gradients of attention in e4m3", code="OC2525",
            expected="three of f16, or of bf16", found=str(call.q.dtype),
        )  # fmt: skip


def _result(call: _Call, out: Any) -> Any:
    """The array for the result: the given one, or a new one.

    Of sequences end to end, the new one is of zeros: some rows may belong to none.
    """
    new = empty if call.lengths is None else zeros
    if out is not None:
        apart("out", out)
    if call.dtype.width != 8:
        out = new(call.q, tuple(call.q.shape), call.q.dtype) if out is None else out
        _fits("out", out, call.q)
        return out
    if out is None:
        import ml_dtypes

        out = new(
            call.q, tuple(call.q.shape),
            "bfloat16" if hasattr(call.q, "new_empty") else ml_dtypes.bfloat16,
        )  # fmt: skip
    wanted, name = ("float16", "bfloat16"), str(out.dtype).rpartition(".")[2]
    if tuple(out.shape) != tuple(call.q.shape) or name not in wanted:
        raise ArgumentError(
            "out does not fit q", code="OC2523", expected=(tuple(call.q.shape), wanted),
            found=(tuple(out.shape), name),
        )  # fmt: skip
    return out


def _forward(call: _Call, lse: bool, out: Any = None, config: Any = None) -> tuple[Any, Any]:
    q, k = call.whole(call.q), call.whole(call.k)
    out = _result(call, out)
    batch, queries, heads, _ = (int(x) for x in q.shape)
    logs = empty(q, (batch, heads, queries), "float32") if lse else None
    if logs is not None and call.lengths is not None:
        logs[...] = -math.inf  # rows that belong to no sequence
    if 0 not in q.shape and not (call.lengths is not None and call.lengths.none()):
        if 0 in k.shape:
            out[...] = 0
            if logs is not None:
                logs[...] = -math.inf
        else:
            _launch(call, call.whole(out), logs, config)
    return out, logs if logs is None or call.lengths is None else logs[0]


def _launch(call: _Call, out: Any, logs: Any, config: Any) -> None:
    """Run the kernel that a configuration is for, or the best one that takes these arrays."""
    arrays = {n: call.whole(t) for n, t in zip("qkv", (call.q, call.k, call.v), strict=True)}
    tensors = [_tensor(name, t) for name, t in {**arrays, "out": out}.items()]
    head_dim = int(call.q.shape[-1])
    why, narrow = _no_warpgroups(call, *arrays.values(), out), call.dtype.width == 8
    if config is None and not why:
        masked = call.causal or call.window is not None
        config = warpgroup_heuristic(head_dim, masked, narrow, call.longest()[0])
    if isinstance(config, WarpgroupConfig) and not config.persistent:
        if call.lengths is not None or narrow:
            why = why or "sequences end to end, or e4m3, for blocks that do not stay"
    _check_warpgroups(call, isinstance(config, WarpgroupConfig), why, config)
    smem, scale = utils.get_smem_capacity_in_bytes(), call.scale * math.log2(math.e)
    config = heuristic(head_dim, smem, call.lengths is not None) if config is None else config
    if isinstance(config, WarpgroupConfig):
        config.check(head_dim, smem, call.dtype.width)
        _launch_warpgroups(call, tensors, logs, scale, config)
        return
    config.check(head_dim, smem)
    plan = AttentionPlan(
        call.dtype, head_dim, config.m, config.n, config.warps, call.causal, group=call.group,
        alike=strides(arrays["k"]) == strides(arrays["v"]), stages=config.stages,
        ahead=config.ahead,
    )  # fmt: skip
    attention_forward(*tensors, logs, *call.starts(), call.longest()[0], scale, plan)


def _check_warpgroups(call: _Call, wanted: bool, why: str, config: Any) -> None:
    """Refuse warpgroups where they cannot be, and windows and e4m3 without them.

    Args:
        wanted: whether the configuration is one for warpgroups.
        why: why they cannot be, or nothing.
    """
    only = call.window is not None or call.dtype.width == 8
    if (wanted and why) or (only and not wanted):
        raise ArgumentError(
            "no attention with warpgroups here, and windows and e4m3 need them", code="OC2548",
            expected="sm_90a, heads of 64, 96, 128, 192 or 256 elements (64 or 128 for gradients), "
            "and no array that repeats elements", found=why or config,
        )  # fmt: skip


def _launch_warpgroups(
    call: _Call, tensors: list[Any], logs: Any, scale: float, config: WarpgroupConfig
) -> None:
    before, after = call.reach()
    blocks = utils.HardwareInfo().get_device_multiprocessor_count() if config.persistent else 0
    plan = WarpgroupPlan(
        call.dtype, int(call.q.shape[-1]), config.groups, config.n, config.stages, before, after,
        call.group, config.queries, blocks, config.slack, tensors[3].element_type,
    )  # fmt: skip
    if not config.persistent:
        launch_warpgroups(*tensors, logs, scale, plan)
        return
    gain = (call.gain,) if plan.narrow else ()
    attention_persistent(*tensors, logs, *call.starts(), call.longest()[0], scale, plan, *gain)


def _no_warpgroups(call: _Call, *arrays: Any) -> str:
    """Why warpgroups do not do this, or nothing."""
    arch = run_target().arch
    if arch != "sm_90a":
        return arch
    if int(call.q.shape[-1]) not in WARPGROUP_HEADS:
        return f"heads of {int(call.q.shape[-1])} elements"
    for array in arrays:
        steps = zip(strides(array)[:-1], array.shape[:-1], strict=True)
        if any((s <= 0 and int(n) > 1) or s * item_bits(array) % 128 for s, n in steps):
            return f"an array with the strides {strides(array)}"
    return ""


def _window(window: Any, queries: int, keys: int) -> tuple[int | None, int | None] | None:
    """The window as two numbers, or None where it hides nothing.

    Numbers that hide nothing are left out, so that kernels meet none that exceeds 32 bits.

    Raises:
        ArgumentError: it is no window.
    """
    if window is None:
        return None
    try:
        before, after = (_side(x) for x in window)
    except (TypeError, ValueError):
        before, after = -1, -1
    if any(x is not None and x < 0 for x in (before, after)):
        raise ArgumentError(
            "this is no window", code="OC2549", found=window,
            expected="how many keys before and after its place a query sees, or None: all",
        )  # fmt: skip
    # The last query's place is the last key; the first key is queries - 1 or less after a place.
    before = None if before is None or before >= keys else before
    after = None if after is None or after >= queries else after
    return None if before is None and after is None else (before, after)


def _side(count: Any) -> int | None:
    """One side of a window; TypeError: it is no whole number."""
    if count is None or (isinstance(count, float) and count == math.inf):
        return None
    if isinstance(count, bool):
        raise TypeError(count)
    return operator.index(count)


def _backward(
    call: _Call, grad: Any, out: Any, lse: Any, deterministic: bool = False,
    config: BackwardConfig | WarpgroupBackwardConfig | None = None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    q, k = call.whole(call.q), call.whole(call.k)
    batch, queries, heads, head_dim = (int(x) for x in q.shape)
    if head_dim > 128:
        raise ArgumentError(
            "there are no gradients of heads this large", code="OC2528", found=head_dim,
            expected="at most 128 elements",
        )  # fmt: skip
    _fits("grad", grad, call.q)
    _fits("out", out, call.q)
    shape = (batch, heads, queries)
    if str(lse.dtype).rpartition(".")[2] != "float32":
        raise ArgumentError(
            "lse is of another type", code="OC2535", expected="float32", found=str(lse.dtype),
            hint="pass what attention(..., return_lse=True) returned",
        )  # fmt: skip
    if tuple(lse.shape) != (shape if call.lengths is None else shape[1:]):
        raise ArgumentError(
            "lse does not fit q", code="OC2523", expected=shape, found=tuple(lse.shape)
        )
    grads = tuple(empty_like(t) for t in (call.q, call.k, call.v))
    nothing = 0 in q.shape or 0 in k.shape
    if nothing or call.lengths is not None:  # rows may belong to no sequence
        for t in grads:
            t[...] = 0
    if nothing or (call.lengths is not None and call.lengths.none()):
        return grads
    why = _no_warpgroups(call, q, k, call.whole(call.v), call.whole(grad), *grads)
    if head_dim not in (64, 128):
        why = why or f"gradients of heads of {head_dim} elements"
    if call.lengths is not None:
        why = why or "gradients of sequences end to end"
    if config is None:
        smem = utils.get_smem_capacity_in_bytes()
        config = backward_heuristic(head_dim, smem) if why else warpgroup_backward_heuristic()
    _check_warpgroups(call, isinstance(config, WarpgroupBackwardConfig), why, config)
    _launch_backward(call, (call.q, call.k, call.v, out, grad, *grads), lse, deterministic, config)
    return grads


def _launch_backward(
    call: _Call, arrays: tuple[Any, ...], lse: Any, deterministic: bool,
    config: BackwardConfig | WarpgroupBackwardConfig,
) -> None:  # fmt: skip
    """Run the kernels that a configuration is for."""
    q = call.whole(call.q)
    heads, head_dim = int(q.shape[2]), int(q.shape[3])
    if isinstance(config, WarpgroupBackwardConfig) and deterministic:
        config = replace(config, atomics=False)
    config.check(head_dim, utils.get_smem_capacity_in_bytes())
    plan: BackwardPlan | WarpgroupBackwardPlan
    if isinstance(config, WarpgroupBackwardConfig):
        plan = WarpgroupBackwardPlan(
            call.dtype, head_dim, config.queries(head_dim), config.stages, config.grads,
            config.early, *call.reach(), group=call.group, ordered=deterministic,
            atomics=config.atomics,
        )  # fmt: skip
    else:
        plan = BackwardPlan(
            call.dtype, head_dim, config.m, config.n, config.warps, config.stages, call.causal,
            group=call.group, ordered=deterministic,
        )  # fmt: skip
    tiles = call.tiles(plan.m)
    stats = empty(q, (tiles, heads, 2, plan.m), "float32")
    sums = empty(q, (tiles, heads, plan.m * plan.depth), "float32")
    turns = empty(q, (tiles, heads, plan.turns), "int32") if deterministic else None
    names = ("q", "k", "v", "out", "grad", "dq", "dk", "dv")
    tensors = tuple(_tensor(name, call.whole(t)) for name, t in zip(names, arrays, strict=True))
    if isinstance(plan, WarpgroupBackwardPlan):
        launch_warpgroups_back(tensors, lse, stats, sums, turns, call.scale, plan)
    else:
        launch_backward(
            tensors, call.whole(lse), stats, sums, turns, *call.starts(), *call.longest(),
            call.scale, plan,
        )  # fmt: skip


def _fits(name: str, array: Any, q: Any) -> None:
    if tuple(array.shape) != tuple(q.shape) or array.dtype != q.dtype:
        raise ArgumentError(
            f"{name} does not fit q", code="OC2523", expected=(tuple(q.shape), str(q.dtype)),
            found=(tuple(array.shape), str(array.dtype)),
        )  # fmt: skip


def _tensor(name: str, array: Any) -> Any:
    """The array with a layout that may differ between calls, but for what the kernel relies on."""
    bits = item_bits(array)
    if vector_elements(int(array.shape[-1]), bits, array) != 128 // bits:
        raise ArgumentError(
            f"rows of {name} do not start at multiples of 16 bytes", code="OC2524",
            expected=f"an aligned address, and strides that are multiples of {128 // bits}",
            hint="pass a contiguous copy",
        )  # fmt: skip
    return from_dlpack(array).mark_layout_dynamic(leading_dim=3)


def _check(rank: int, q: Any, k: Any, v: Any) -> Any:
    """The type of the elements.

    Raises:
        ArgumentError: these arrays are no attention.
    """
    names = [str(t.dtype).rpartition(".")[2] for t in (q, k, v)]
    if len(set(names)) > 1 or names[0] not in _CLASSES:
        raise ArgumentError(
            "no attention of these types", code="OC2525", found=names,
            expected="three of f16, or of bf16; on sm_90a also of float8_e4m3fn",
        )  # fmt: skip
    shapes = [tuple(int(x) for x in t.shape) for t in (q, k, v)]
    good = all(len(s) == rank for s in shapes) and shapes[1] == shapes[2]
    if good:
        (h, d), (hk, dk) = shapes[0][-2:], shapes[1][-2:]
        good = d == dk and d % 8 == 0 and 8 <= d <= 256 and hk > 0 and h % hk == 0
        good = good and (rank == 3 or shapes[0][0] == shapes[1][0])
    if not good:
        wanted = "(B, Sq, H, D), (B, Sk, Hk, D)" if rank == 4 else "(Tq, H, D), (Tk, Hk, D)"
        raise ArgumentError(
            "these shapes do not fit", code="OC2526", found=shapes,
            expected=f"{wanted} twice; D a multiple of 8 up to 256, H of Hk",
        )  # fmt: skip
    return _CLASSES[names[0]]


def _check_starts(side: str, starts: Any, total: int, longest: int) -> None:
    """Check where sequences start, where the host can read the numbers.

    Args:
        side: "q" or "k".
        starts: an array (sequences + 1,).
        total: rows of the array that they lie in.
        longest: length that no sequence exceeds.

    Raises:
        ArgumentError: a sequence begins before the one before it ends, or ends past the array, or
            is longer.
    """
    numbers = host_values(starts)
    if numbers is None:
        return
    name, values = f"cu_seqlens_{side}", numbers.tolist()
    if values and values[0] < 0:
        raise ArgumentError(f"{name} begins before the array", code="OC2571", found=values[0])
    for i, (first, end) in enumerate(itertools.pairwise(values)):
        where = f"sequence {i} from {first} to {end}"
        if end < first or end > total:
            raise ArgumentError(
                f"{name} does not fit {side}", code="OC2571", found=where,
                expected=f"numbers that never fall, up to {total}",
            )  # fmt: skip
        if end - first > longest:
            raise ArgumentError(
                f"a sequence is longer than max_seqlen_{side}", code="OC2571", found=where,
                expected=f"at most {longest} rows",
            )  # fmt: skip


def _check_lengths(lengths: _Lengths, queries: int, keys: int) -> None:
    starts = (lengths.starts_q, lengths.starts_k)
    shapes = [tuple(int(x) for x in s.shape) for s in starts]
    names = [str(s.dtype).rpartition(".")[2] for s in starts]
    if len(shapes[0]) != 1 or shapes[0] != shapes[1] or 0 in shapes[0] or set(names) != {"int32"}:
        raise ArgumentError(
            "these are no starts of sequences", code="OC2529", found=(shapes, names),
            expected="two arrays (sequences + 1,) of i32",
        )  # fmt: skip
    if lengths.none() or 0 in (queries, keys):
        return
    longest = (lengths.longest_q, lengths.longest_k)
    if min(longest) <= 0:
        raise ArgumentError(
            "the longest sequence has no rows", code="OC2529", found=longest,
            expected="max_seqlen_q and max_seqlen_k of at least 1",
        )  # fmt: skip
