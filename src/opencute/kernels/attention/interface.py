# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What to call: attention of torch or NumPy arrays, and its derivatives.

out = attention(q, k, v, causal=True)                        # differentiable, if torch's are
out, lse = attention(q, k, v, return_lse=True)
dq, dk, dv = attention_backward(grad, q, k, v, out, lse)
out = attention_varlen(q, k, v, starts, starts, longest, longest)  # sequences end to end
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from opencute import utils
from opencute.base.errors import ArgumentError
from opencute.base.interned import interned
from opencute.compiler.targets import run_target
from opencute.cute.runtime import from_dlpack
from opencute.kernels.arrays import (
    apart,
    check_rows,
    element_name,
    empty,
    empty_like,
    fill,
    item_bits,
    near,
    strides,
)
from opencute.kernels.attention.autograd import differentiable
from opencute.kernels.attention.call import Call, Lengths, check_grad, class_of, fits
from opencute.kernels.attention.config import (
    WARPGROUP_HEADS,
    AttentionConfig,
    BackwardConfig,
    WarpgroupBackwardConfig,
    WarpgroupConfig,
    backward_heuristic,
    heuristic,
    warpgroup_backward_heuristic,
    warpgroup_heuristic,
)
from opencute.kernels.attention.outside import clear_outside
from opencute.kernels.attention.sm80 import AttentionPlan, attention_forward
from opencute.kernels.attention.sm80_backward import BackwardPlan
from opencute.kernels.attention.sm80_backward import attention_backward as launch_backward
from opencute.kernels.attention.sm90 import WarpgroupPlan
from opencute.kernels.attention.sm90 import attention_forward as launch_warpgroups
from opencute.kernels.attention.sm90_backward import attention_backward as launch_warpgroups_back
from opencute.kernels.attention.sm90_backward_plan import WarpgroupBackwardPlan
from opencute.kernels.attention.sm90_persistent import attention_persistent
from opencute.kernels.checked import checked, separate
from opencute.kernels.repeat.operators import repeated
from opencute.kernels.tuned import tuned

__all__ = [
    "attention", "attention_backward", "attention_varlen", "attention_varlen_backward",
]  # fmt: skip


@differentiable(lambda: attention_backward)
@tuned("attention", "q k causal window")
@checked(arrays="q k v", optional="out", numbers="scale")
@repeated
@separate(inplace="q")
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
    q_scale: Any = None,
    k_scale: Any = None,
    v_scale: Any = None,
) -> Any:
    """``softmax(scale * q @ k.T) @ v`` for each head of each batch.

    Args:
        q: array (B, Sq, H, D) of f16 or bf16; D is a multiple of 8 up to 256, and contiguous.
        k, v: arrays (B, Sk, Hk, D) of the same type; each head of them serves H / Hk heads of `q`.
        causal: whether the last query sees all keys, and each one before it one key less.
        window: how many keys before and after that place a query sees besides the one there;
            None, or no fewer than there are: all. Tiles of keys outside of it are skipped.
        scale: of the scores, from 2**-126 to 2**20; 1 / sqrt(D) when omitted. Scaled scores are
            f32: where they reach 2**n, weights are right to a factor of 1 + 2**(n - 24), and those
            of 2**24 and more are best avoided.
        return_lse: whether the logarithms of the sums are wanted too.
        out: where the result goes; a new array when omitted.
        config: how the work is shared; a good choice when omitted.
        q_scale, k_scale, v_scale: what elements of `q`, `k` and `v` are multiplied with; 1 when
            omitted. Only for eight bits. Numbers, or arrays of float32 on the device of `q`: one
            element, (heads,) or (B, heads), with the heads of each, or those of `k`. The bounds of
            `scale` hold for its product with the first two; elements on a GPU are not looked at.

    On sm_90a `q`, `k` and `v` may each be of float8_e4m3fn or float8_e5m2; the result is then of
    bf16, or as `out` is, and weights are rounded to e4m3. Such tensors have no gradients in torch's
    graph, which rounds those to eight bits too: `attention_backward` gives them. Strides are free,
    as long as rows start at multiples of 16 bytes. A query that sees no key, or of which all scores
    are -inf, has the result 0 and the logarithm -inf. Where torch wants gradients of `q`, `k` or
    `v`, the result has them, and `out` must be omitted.

    Returns:
        The result (B, Sq, H, D); with `return_lse` also the logarithms (B, H, Sq) in f32.

    Raises:
        ArgumentError: shapes or types do not fit, or the configuration does not.

    Source: Dao, "FlashAttention-2: Faster Attention with Better Parallelism and Work
    Partitioning", 2023.
    """
    call = Call.of(q, k, v, None, causal, scale, window, (q_scale, k_scale, v_scale))
    out, logs = _forward(call, return_lse, out, config)
    return (out, logs) if return_lse else out


@differentiable(lambda: attention_varlen_backward)
@checked(
    arrays="q k v cu_seqlens_q cu_seqlens_k",
    optional="out",
    integers="max_seqlen_q max_seqlen_k",
    numbers="scale",
)
@repeated
@separate(inplace="q")
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
    window: tuple[int | None, int | None] | None = None,
    scale: float | None = None,
    return_lse: bool = False,
    out: Any = None,
    config: AttentionConfig | WarpgroupConfig | None = None,
    q_scale: Any = None,
    k_scale: Any = None,
    v_scale: Any = None,
) -> Any:
    """`attention` of sequences of different lengths that lie end to end.

    Args:
        q: array (total of queries, H, D).
        k, v: arrays (total of keys, Hk, D).
        cu_seqlens_q, cu_seqlens_k: arrays (sequences + 1,) of i32: where each sequence starts, and
            where the last one ends.
        max_seqlen_q, max_seqlen_k: lengths of the longest sequence, or more; with less, what is
            behind may be 0. Both lengths and starts are checked where the host can read the
            latter, as in the simulator.
        causal, window, scale, return_lse, out, config, q_scale, k_scale, v_scale: as for
            `attention`; the causal rule and the window hold for each sequence on its own.

    Rows of `q` that belong to no sequence have the result 0 and the logarithm -inf, but rows of an
    `out` that was given are left as they are: starts are not read before the kernel runs.

    Returns:
        The result, like `q`; with `return_lse` also the logarithms (H, total of queries) in f32.
    """
    lengths = Lengths.of(cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k)
    call = Call.of(q, k, v, lengths, causal, scale, window, (q_scale, k_scale, v_scale))
    out, logs = _forward(call, return_lse, out, config)
    return (out, logs) if return_lse else out


@tuned("attention_backward", "q k causal window deterministic")
@checked(arrays="grad q k v out lse", numbers="scale")
@repeated
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
    q_scale: Any = None,
    k_scale: Any = None,
    v_scale: Any = None,
) -> tuple[Any, Any, Any]:
    """The gradients of what went into `attention`.

    Args:
        grad: gradient of the result, an array like `out`.
        q, k, v, causal, window, scale, q_scale, k_scale, v_scale: as there.
        out, lse: what `attention` returned.
        deterministic: whether the gradient of `q` is summed in an order that is always the same,
            so that equal inputs give equal bits; it costs some time. Those of `k` and `v` always
            are.
        config: how the work is shared; a good choice when omitted.

    `q`, `k` and `v` may each be of float8_e4m3fn or float8_e5m2, on any processor. Both are exact
    in f16 and bf16: they are copied in the type of `grad`, and all products are those of 16 bits.
    Copies move 3 bytes an element: their floor is 72 us for 4x16x4096x128 on an H200, beside 2400
    to 2500 for the rest. Gradients are those of ``q * q_scale``, ``k * k_scale`` and
    ``v * v_scale``, what had been rounded to eight bits.

    Returns:
        Gradients of `q`, `k` and `v`, in the type of `grad`; sums are taken in f32.

    Raises:
        ArgumentError: shapes or types do not fit, or the configuration does not.
    """
    call = Call.of(q, k, v, None, causal, scale, window, (q_scale, k_scale, v_scale))
    return _backward(call, grad, out, lse, deterministic, config)


@checked(
    arrays="grad q k v out lse cu_seqlens_q cu_seqlens_k",
    integers="max_seqlen_q max_seqlen_k",
    numbers="scale",
)
@repeated
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
    window: tuple[int | None, int | None] | None = None,
    scale: float | None = None,
    deterministic: bool = False,
    config: BackwardConfig | WarpgroupBackwardConfig | None = None,
    q_scale: Any = None,
    k_scale: Any = None,
    v_scale: Any = None,
) -> tuple[Any, Any, Any]:
    """The gradients of what went into `attention_varlen`; arguments as there and for
    `attention_backward`. Those of rows that belong to no sequence are 0."""
    lengths = Lengths.of(cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k)
    call = Call.of(q, k, v, lengths, causal, scale, window, (q_scale, k_scale, v_scale))
    return _backward(call, grad, out, lse, deterministic, config)


def _result(call: Call, out: Any) -> Any:
    """The array for the result: the given one, or a new one."""
    if out is not None:
        apart("out", out)
    if not call.narrow:
        out = empty_like(call.q) if out is None else out
        fits("out", out, call.q)
        return out
    if out is None:
        import ml_dtypes

        out = empty(
            call.q, tuple(call.q.shape),
            "bfloat16" if hasattr(call.q, "new_empty") else ml_dtypes.bfloat16,
        )  # fmt: skip
    wanted, name = ("float16", "bfloat16"), element_name(out)
    if tuple(out.shape) != tuple(call.q.shape) or name not in wanted:
        raise ArgumentError(
            "out does not fit q", code="OC2523", expected=(tuple(call.q.shape), wanted),
            found=(tuple(out.shape), name),
        )  # fmt: skip
    return out


def _forward(call: Call, lse: bool, out: Any = None, config: Any = None) -> tuple[Any, Any]:
    q, k = call.whole(call.q), call.whole(call.k)
    new, out = out is None, _result(call, out)
    batch, queries, heads, _ = (int(x) for x in q.shape)
    logs = empty(q, (batch, heads, queries), "float32") if lse else None
    if logs is not None and call.lengths is not None:
        fill(logs, -math.inf)  # rows that belong to no sequence
    if 0 not in q.shape and not (call.lengths is not None and call.lengths.none()):
        if new and call.lengths is not None:
            clear_outside(_rows(out), None, None, call.lengths.starts_q, None, *call.longest())
        if 0 in k.shape:
            fill(out, 0)
            if logs is not None:
                fill(logs, -math.inf)
        else:
            _launch(call, call.whole(out), logs, config)
    elif new:
        fill(out, 0)
    return out, logs if logs is None or call.lengths is None else logs[0]


def _launch(call: Call, out: Any, logs: Any, config: Any) -> None:
    """Run the kernel that a configuration is for, or the best one that takes these arrays."""
    head_dim, arch = int(call.q.shape[-1]), run_target().arch
    if call.narrow and (why := _no_warpgroups(arch, call)):  # whatever the strides are
        _check_warpgroups(call, False, why, config)
    arrays = {n: call.whole(t) for n, t in zip("qkv", (call.q, call.k, call.v), strict=True)}
    tensors = [_tensor(name, t) for name, t in {**arrays, "out": out}.items()]
    why, narrow = _no_warpgroups(arch, call, *arrays.values(), out), call.narrow
    if config is None and not why:
        masked = call.causal or call.window is not None
        config = warpgroup_heuristic(head_dim, masked, narrow, call.longest()[0])
    if isinstance(config, WarpgroupConfig) and not config.persistent:
        if call.lengths is not None or narrow:
            why = why or "sequences end to end, or eight bits, for blocks that do not stay"
    _check_warpgroups(call, isinstance(config, WarpgroupConfig), why, config)
    smem, scale = utils.get_smem_capacity_in_bytes(arch), call.scale * math.log2(math.e)
    config = heuristic(head_dim, smem, call.lengths is not None) if config is None else config
    stay = isinstance(config, WarpgroupConfig) and config.persistent
    if not stay and (parts := call.parts()):
        for part in parts:
            some = None if logs is None else part.of_queries(logs)
            _launch(call.part(part), part.of_queries(out), some, config)
        return
    if isinstance(config, WarpgroupConfig):
        config.check(head_dim, smem, call.dtype.width)
        _launch_warpgroups(call, tensors, out, logs, scale, config)
        return
    config.check(head_dim, smem)
    for i, name in enumerate("kv", 1):
        arrays[name] = near(arrays[name], 1, config.n)
        tensors[i] = _tensor(name, arrays[name])
    plan = interned(AttentionPlan(
        call.dtype, head_dim, config.m, config.n, config.warps, call.causal,
        call.group, strides(arrays["k"]) == strides(arrays["v"]), config.stages, config.ahead,
        *call.reach(),
    ))  # fmt: skip
    attention_forward(*tensors, logs, *call.starts(), call.longest()[0], scale, plan)


def _check_warpgroups(call: Call, wanted: bool, why: str, config: Any) -> None:
    """Refuse warpgroups where they cannot be, and eight bits without them.

    Args:
        wanted: whether the configuration is one for warpgroups.
        why: why they cannot be, or nothing.
    """
    if (wanted and why) or (call.narrow and not wanted):
        raise ArgumentError(
            "no attention with warpgroups here, and types of eight bits need them", code="OC2548",
            expected="sm_90a, heads of 64, 96, 128, 192 or 256 elements, and no array that repeats "
            "elements", found=why or config,
        )  # fmt: skip


def _launch_warpgroups(
    call: Call, tensors: list[Any], out: Any, logs: Any, scale: float, config: WarpgroupConfig
) -> None:
    blocks = utils.HardwareInfo().get_device_multiprocessor_count() if config.persistent else 0
    plan = interned(WarpgroupPlan(
        call.dtype, int(call.q.shape[-1]), config.groups, config.n, config.stages,
        *call.reach(), call.group, config.queries, blocks, config.slack, class_of(out),
        config.turned, *(call.types[1:] if call.narrow else ()),
    ))  # fmt: skip
    if not config.persistent:
        launch_warpgroups(*tensors, logs, scale, plan)
        return
    more = (call.numbers[2], *_factors(call)) if plan.narrow else ()
    attention_persistent(*tensors, logs, *call.starts(), call.longest()[0], scale, plan, *more)


def _factors(call: Call) -> tuple[Any, ...]:
    """The arrays that queries, keys and values are multiplied with, or None."""
    return tuple(None if t is None else from_dlpack(t).mark_layout_dynamic() for t in call.of_heads)


def _no_warpgroups(arch: str, call: Call, *arrays: Any) -> str:
    """Why warpgroups do not do this, or nothing."""
    if arch != "sm_90a":
        return arch
    if int(call.q.shape[-1]) not in WARPGROUP_HEADS:
        return f"heads of {int(call.q.shape[-1])} elements"
    for array in arrays:
        steps = zip(strides(array)[:-1], array.shape[:-1], strict=True)
        if any((s <= 0 and int(n) > 1) or s * item_bits(array) % 128 for s, n in steps):
            return f"an array with the strides {strides(array)}"
    return ""


def _backward(
    call: Call, grad: Any, out: Any, lse: Any, deterministic: bool = False,
    config: BackwardConfig | WarpgroupBackwardConfig | None = None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    q, k = call.whole(call.q), call.whole(call.k)
    batch, queries, heads, head_dim = (int(x) for x in q.shape)
    check_grad(call, grad, out)
    shape = (batch, heads, queries)
    if element_name(lse) != "float32":
        raise ArgumentError(
            "lse is of another type", code="OC2535", expected="float32", found=str(lse.dtype),
            hint="pass what attention(..., return_lse=True) returned",
        )  # fmt: skip
    if tuple(lse.shape) != (shape if call.lengths is None else shape[1:]):
        raise ArgumentError(
            "lse does not fit q", code="OC2523", expected=shape, found=tuple(lse.shape)
        )
    grads = tuple(empty(t, tuple(t.shape), grad.dtype) for t in (call.q, call.k, call.v))
    if 0 in q.shape or 0 in k.shape or (call.lengths is not None and call.lengths.none()):
        for t in grads:
            fill(t, 0)
        return grads
    scaled = call.narrow
    if scaled:
        call = call.widened(grad)
        q, k = call.whole(call.q), call.whole(call.k)
    arch = run_target().arch
    smem = utils.get_smem_capacity_in_bytes(arch)
    # Gradients are new: they lie in memory as warpgroups want them.
    why = _no_warpgroups(arch, call, q, k, call.whole(call.v), call.whole(grad))
    if config is None:
        config = (backward_heuristic(head_dim, smem) if why else
                  warpgroup_backward_heuristic(head_dim))  # fmt: skip
    _check_warpgroups(call, isinstance(config, WarpgroupBackwardConfig), why, config)
    if isinstance(config, WarpgroupBackwardConfig) and deterministic:
        config = replace(config, atomics=False)
    config.check(head_dim, smem)
    if call.lengths is not None:
        clear_outside(*(_rows(t) for t in grads), *call.starts(), *call.longest())
    arrays = (call.q, call.k, call.v, out, grad)
    _launch_backward(call, arrays, grads, lse, deterministic, config, scaled)
    return grads


def _launch_backward(
    call: Call, arrays: tuple[Any, ...], grads: tuple[Any, ...], lse: Any, deterministic: bool,
    config: BackwardConfig | WarpgroupBackwardConfig, scaled: bool,
) -> None:  # fmt: skip
    """Run the kernels that a configuration is for.

    Args:
        scaled: whether operands were of eight bits, and have factors.
    """
    q = call.whole(call.q)
    if parts := call.parts():
        for part in parts:
            of_q, of_k = part.of_queries, part.of_keys
            into = (of_q(grads[0]), of_k(grads[1]), of_k(grads[2]))
            some = call.part(part)
            own = (some.q, some.k, some.v, *(of_q(t) for t in arrays[3:]))
            _launch_backward(some, own, into, of_q(lse), deterministic, config, scaled)
        return
    heads, head_dim = int(q.shape[2]), int(q.shape[3])
    if isinstance(config, WarpgroupBackwardConfig):
        launch: Any = launch_warpgroups_back
        plan = interned(WarpgroupBackwardPlan(
            call.dtype, head_dim, config.queries(head_dim), config.stages,
            config.grads, config.early, *call.reach(), call.group, deterministic, config.atomics,
            call.lengths is not None, scaled=scaled,
        ))  # fmt: skip
    else:
        launch = launch_backward
        plan = interned(BackwardPlan(
            call.dtype, head_dim, config.m, config.n, config.warps, config.stages,
            *call.reach(), call.group, deterministic, scaled,
        ))  # fmt: skip
        arrays = tuple(near(t, t.ndim - 3, max(config.m, config.n)) for t in arrays)
    tiles = call.tiles(plan.m)
    stats = empty(q, (tiles, heads, 2, plan.known), "float32")
    sums = empty(q, (tiles, heads, plan.m * plan.depth), "float32")
    turns = empty(q, (tiles, heads, plan.turns), "int32") if deterministic else None
    names = ("q", "k", "v", "out", "grad")
    tensors = [_tensor(name, call.whole(t)) for name, t in zip(names, arrays, strict=True)]
    tensors += [_marked(call.whole(t)) for t in grads]
    more: tuple[Any, ...] = ()
    if scaled:
        of_q, of_k, of_v = call.numbers
        more = (call.scale / of_q, call.scale / of_k, of_v, *_factors(call))
    launch(
        *tensors, call.whole(lse), stats, sums, turns, *call.starts(), *call.longest(), call.scale,
        plan, *more,
    )  # fmt: skip


def _tensor(name: str, array: Any) -> Any:
    """The array with a layout that may differ between calls, but for what the kernel relies on."""
    check_rows(name, array)
    return _marked(array)


def _rows(array: Any) -> Any:
    """A new array (rows, heads, elements)."""
    return from_dlpack(array).mark_layout_dynamic(leading_dim=2)


def _marked(array: Any) -> Any:
    return from_dlpack(array).mark_layout_dynamic(leading_dim=3)
