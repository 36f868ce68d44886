# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What to call: norms of torch or NumPy arrays over their last axis.

y = rms_norm(x, weight)
y, h = rms_norm(x, weight, residual=h, prenorm=True)      # h = x + h, y its norm
dx, dw = rms_norm_backward(dy, x, weight)
"""

from __future__ import annotations

from typing import Any

from opencute import utils
from opencute.base.errors import ArgumentError
from opencute.base.interned import interned
from opencute.compiler.targets import run_target
from opencute.kernels.arrays import (
    as_rows,
    empty,
    empty_like,
    floating,
    multiprocessors,
    same_shape,
    strides,
)
from opencute.kernels.checked import checked, separate
from opencute.kernels.norm.config import (
    ClusterRows,
    cluster_backward_choice,
    cluster_choice,
    ring_choice,
    whole_parts,
)
from opencute.kernels.norm.sm80 import norm
from opencute.kernels.norm.sm80_backward import norm_backward
from opencute.kernels.norm.sm90 import cluster_norm
from opencute.kernels.norm.sm90_backward import ring_backward
from opencute.kernels.norm.sm90_ring import RingPlan, ring_norm
from opencute.kernels.reduce.interface import sum as reduce_sum
from opencute.kernels.repeat.operators import repeated
from opencute.kernels.row_config import RowConfig, choose, heuristic, vector_of
from opencute.kernels.tuned import tuned

__all__ = ["layer_norm", "layer_norm_backward", "rms_norm", "rms_norm_backward"]


@tuned("layer_norm", "x residual")
@checked(arrays="x", optional="weight bias residual out", numbers="eps", rows="x residual")
@repeated
@separate(inplace="x residual")
def layer_norm(
    x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5, *, residual: Any = None,
    prenorm: bool = False, out: Any = None, config: RowConfig | ClusterRows | None = None,
) -> Any:  # fmt: skip
    """``(x - mean) / sqrt(variance + eps) * weight + bias`` over the last axis.

    Args:
        x: array (..., N) of f16, bf16 or f32 whose last axis is contiguous.
        weight, bias: arrays (N,), or None.
        eps: added to the variance.
        residual: an array like `x` that is added to it before, or None.
        prenorm: whether to return ``x + residual`` too.
        out: where the result goes; a new array when omitted.
        config: how the work is shared; a good choice when omitted. `ClusterRows` asks for clusters
            of blocks, on Hopper.

    Returns:
        The result, in the type of `x`; sums are taken in f32. With `prenorm`, the result and
        ``x + residual``.

    Raises:
        ArgumentError: shapes or types do not fit.

    Source: Ba, Kiros, Hinton, "Layer Normalization", 2016.
    """
    return _norm(x, weight, bias, eps, residual, prenorm, out, config, centred=True)


@tuned("rms_norm", "x residual")
@checked(arrays="x", optional="weight residual out", numbers="eps", rows="x residual")
@repeated
@separate(inplace="x residual")
def rms_norm(
    x: Any, weight: Any = None, eps: float = 1e-6, *, residual: Any = None, prenorm: bool = False,
    out: Any = None, config: RowConfig | ClusterRows | None = None,
) -> Any:  # fmt: skip
    """``x / sqrt(mean(x * x) + eps) * weight`` over the last axis.

    Arguments, result and errors are those of `layer_norm`.

    Source: Zhang, Sennrich, "Root Mean Square Layer Normalization", 2019.
    """
    return _norm(x, weight, None, eps, residual, prenorm, out, config, centred=False)


@tuned("layer_norm_backward", "x")
@checked(arrays="grad x", optional="weight prenorm_grad", numbers="eps")
@repeated
def layer_norm_backward(
    grad: Any, x: Any, weight: Any = None, eps: float = 1e-5, *, bias: bool = True,
    prenorm_grad: Any = None, config: RowConfig | ClusterRows | None = None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """The gradients of what went into `layer_norm`.

    Args:
        grad: gradient of the result, an array like `x`.
        x: what was normalised: with a residual, the sum.
        weight, eps: as there.
        bias: whether there was one.
        prenorm_grad: gradient of ``x + residual`` from elsewhere, which is added, or None.
        config: how the work is shared; a good choice when omitted.

    Returns:
        Gradients of `x` (and of the residual), of the weight, and of the bias; None for what there
        was not. Those of weight and bias have the type of the weight, else of `x`.
    """
    return _backward(grad, x, weight, eps, bias, prenorm_grad, config, centred=True)


@tuned("rms_norm_backward", "x")
@checked(arrays="grad x", optional="weight prenorm_grad", numbers="eps")
@repeated
def rms_norm_backward(
    grad: Any, x: Any, weight: Any = None, eps: float = 1e-6, *, prenorm_grad: Any = None,
    config: RowConfig | ClusterRows | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """The gradients of what went into `rms_norm`: those of `x` and of the weight.

    Arguments are those of `layer_norm_backward`.
    """
    return _backward(grad, x, weight, eps, False, prenorm_grad, config, centred=False)[:2]


def _norm(
    x: Any, weight: Any, bias: Any, eps: float, residual: Any, prenorm: bool, out: Any,
    config: RowConfig | ClusterRows | None, *, centred: bool,
) -> Any:  # fmt: skip
    out = empty_like(x) if out is None else out
    same_shape(x=x, residual=residual, out=out)
    floating(x=x, weight=weight, bias=bias, residual=residual, out=out)
    n = _columns(x, weight=weight, bias=bias)
    weight, bias = _dense(weight), _dense(bias)
    total = x if prenorm and residual is None else empty_like(x) if prenorm else None
    if 0 not in x.shape:
        rows, into = as_rows("x", x), as_rows("out", out, written=True)
        added = None if residual is None else as_rows("residual", residual)
        kept = None if residual is None or total is None else as_rows("total", total, written=True)
        loaded = (rows,) if added is None else (rows, added)
        config = config or _choice(n, centred, loaded, into, kept, weight, bias)
        arrays = (rows, added, weight, bias, kept, into, float(eps))
        if isinstance(config, ClusterRows) and config.stages:
            plan = _ring(config, n, centred, loaded, 1)
            ring_norm(*arrays, _shares(config, rows), plan)
        elif isinstance(config, ClusterRows):
            cluster_norm(*arrays, config.part(n), config.blocks, centred)
        else:
            norm(*arrays, config.rows(n), centred)
    return (out, total) if prenorm else out


def _choice(
    n: int, centred: bool, loaded: tuple[Any, ...], *arrays: Any
) -> RowConfig | ClusterRows:
    """A good choice: clusters for long rows, where there are clusters.

    Args:
        loaded: those of the arrays that are read but once, rows.
    """
    shared = None
    if run_target().arch.startswith("sm_90"):
        vec = vector_of(n, *loaded, *arrays)
        shared = ring_choice(n, vec, loaded, centred=centred) or cluster_choice(n, vec)
    return shared or choose(n, *loaded, *arrays)


def _clusters(blocks: int) -> int:
    """How many clusters run at a time, if a multiprocessor has one block."""
    return int(utils.HardwareInfo().get_max_active_clusters(blocks))


def _shares(config: ClusterRows, rows: Any) -> int:
    """How many clusters share the rows of a matrix, where they stay."""
    count = int(rows.shape[0])
    most = min(count, config.beside * _clusters(config.blocks))
    return -(-count // -(-count // most))  # those that take a row less are as well left out


def _ring(
    config: ClusterRows, n: int, centred: bool, loaded: tuple[Any, ...], least: int
) -> RingPlan:
    """How clusters that stay share rows of `n` elements.

    Args:
        loaded: what bulk copies load.
        least: stages that there must be.

    Raises:
        ArgumentError: they cannot.
    """
    rows = config.part(n)
    if config.stages < least or not whole_parts(n, config.blocks, *loaded):
        raise ArgumentError(
            "bulk copies cannot bring these rows", code="OC2503", found=config,
            expected=f"at least {least} stages, and parts of rows that start at multiples of 16 "
            "bytes",
        )  # fmt: skip
    return interned(RingPlan(rows, config.blocks, config.stages, config.beside, centred))


def _cluster_backward_choice(n: int, vec: int, loaded: tuple[Any, ...]) -> ClusterRows | None:
    """Clusters for rows that the registers of a block do not hold, where there are clusters."""
    if not run_target().arch.startswith("sm_90"):
        return None
    return cluster_backward_choice(n, vec, loaded)


def _backward(
    grad: Any, x: Any, weight: Any, eps: float, bias: bool, prenorm_grad: Any,
    config: RowConfig | ClusterRows | None, *, centred: bool,
) -> tuple[Any, Any, Any]:  # fmt: skip
    same_shape(x=x, grad=grad, prenorm_grad=prenorm_grad)
    floating(x=x, grad=grad, weight=weight, prenorm_grad=prenorm_grad)
    n = _columns(x, weight=weight)
    weight = _dense(weight)
    like = x if weight is None else weight
    dx = empty_like(x)
    wanted = (weight is not None, bias)
    if 0 in x.shape:
        zeros = [None if not w else reduce_sum(empty(like, (0, n), like.dtype), 0) for w in wanted]
        return dx, zeros[0], zeros[1]
    rows, into, grads = as_rows("x", x), as_rows("dx", dx, written=True), as_rows("grad", grad)
    added = None if prenorm_grad is None else as_rows("prenorm_grad", prenorm_grad)
    loaded = tuple(t for t in (rows, grads, added) if t is not None)
    if config is None:
        vec = vector_of(n, rows, into, grads, added, weight)
        config = _cluster_backward_choice(n, vec, loaded) or _backward_choice(n, vec)
    if isinstance(config, ClusterRows):
        plan = _ring(config, n, centred, loaded, 4)
        shares = _shares(config, rows)
    else:
        plan = config.rows(n, 2)
        shares = min(-(-int(rows.shape[0]) // plan.groups), _BLOCKS * multiprocessors(x))
    groups = 1 if isinstance(config, ClusterRows) else config.groups
    partial = [empty(rows, (shares * groups, n), "float32") if w else None for w in wanted]
    arrays = (grads, rows, weight, added, into, *partial, float(eps), shares, plan)
    if isinstance(config, ClusterRows):
        ring_backward(*arrays)
    else:
        norm_backward(*arrays, centred)
    dw, db = (
        None if p is None else reduce_sum(p, 0, out=empty(like, (n,), like.dtype)) for p in partial
    )
    return dx, dw, db


_BLOCKS = 2  # of a multiprocessor: their sums of weight and bias are few, and one loads at a time


def _backward_choice(n: int, vec: int) -> RowConfig:
    """As `heuristic`, with half as many elements for a thread, which holds more of each."""
    each = max(16, vec)
    if n <= 32 * each:
        return heuristic(n, vec)
    if n <= 512 * each:
        return RowConfig(32 * -(-n // (each * 32)), vec)
    return RowConfig(256, vec)  # in chunks; more threads would have too few registers


def _dense(vector: Any) -> Any:
    """A vector whose elements are neighbours, as kernels read it: itself, or a copy."""
    if vector is None or int(vector.shape[0]) < 2 or strides(vector)[0] == 1:
        return vector
    return vector.contiguous() if hasattr(vector, "contiguous") else vector.copy()


def _columns(x: Any, **vectors: Any) -> int:
    n = int(x.shape[-1]) if len(x.shape) else 0
    for name, given in vectors.items():
        if given is not None and tuple(given.shape) != (n,):
            raise ArgumentError(
                f"{name} does not fit the last axis", code="OC2505", expected=(n,),
                found=tuple(given.shape),
            )  # fmt: skip
    return n
