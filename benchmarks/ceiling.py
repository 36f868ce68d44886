# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What `mma.sync` and fma reach when nothing else happens: loops on registers.

In: a kind of product. Out: operations per second::

    rate("f16")        # of mma.sync m16n8k16 with f32 accumulators

Operands are random numbers, of which each instruction has others than the one before, as in a
product of matrices: what changes takes power, and power limits the clock.
"""

from typing import Any

import torch
from timing import burst

import opencute as cutlass
from opencute import cute
from opencute.kernels.gemm.sm80 import TensorCorePlan
from opencute.kernels.gemm.sm80_simt import SimtPlan

__all__ = ["rate", "register_loop"]

UNROLL = 8
SETS = 2  # of operands of a thread
WIDTH = 64  # elements of a set, or more
PLANS = {
    kind: TensorCorePlan(dtype, (128, 128, k), (2, 2), 2, 1, (True, True), (1, 1, 1), True)
    for kind, dtype, k in (
        ("f16", cutlass.Float16, 16),
        ("bf16", cutlass.BFloat16, 16),
        ("tf32", cutlass.TFloat32, 8),
        ("i8", cutlass.Int8, 32),
    )
}
PLANS["f32"] = SimtPlan((128, 128, 1), (4, 2), 2, 1, (False, False), (1, 1, 1), True)
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "i8": 8}


@cute.kernel
def register_loop(
    mX: cute.Tensor, mOut: cute.Tensor, rounds: cutlass.Int32, mma: cute.TiledMma, plan: Any
):
    tid, _, _ = cute.arch.thread_idx()
    bid, _, _ = cute.arch.block_idx()
    m, n, k = plan.tile
    rA = [mma.make_fragment_A(mma.partition_shape_A((m, k))) for _ in range(SETS)]
    rB = [mma.make_fragment_B(mma.partition_shape_B((n, k))) for _ in range(SETS)]
    rD = mma.make_fragment_C(mma.partition_shape_C((m, n)))
    rD.fill(0)
    for i, held in enumerate((*rA, *rB)):
        row = cute.make_tensor(
            (mX.iterator + (tid * 2 * SETS + i) * WIDTH).align(16),
            cute.make_layout(cute.size(held)),
        )
        flat = cute.make_tensor(held.iterator, cute.make_layout(cute.size(held)))
        cute.autovec_copy(row, flat)
    for _ in range(rounds):
        for i in cutlass.range_constexpr(UNROLL):
            cute.gemm(mma, rD, rA[i % SETS], rB[i // SETS % SETS], rD)
    for i in cutlass.range_constexpr(cute.size(rD)):
        mOut[bid, tid, i] = rD[i]


@cute.jit
def launch(x: cute.Tensor, out: cute.Tensor, rounds: cutlass.Int32, plan: cutlass.Constexpr):
    x = x if cutlass.const_expr(not hasattr(plan, "dtype")) else cute.recast_tensor(x, plan.dtype)
    register_loop(x, out, rounds, plan.tiled_mma(), plan).launch(
        grid=[out.shape[0], 1, 1], block=[plan.threads, 1, 1]
    )


def rate(kind, rounds=1024):
    """Operations per second (fma counts two) of products on registers, on all multiprocessors."""
    plan = PLANS[kind]
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    dtype = {16: torch.float16, 32: torch.float32, 8: torch.int8}[BITS[kind]]
    if kind == "bf16":
        dtype = torch.bfloat16
    shape = (plan.threads, 2 * SETS * WIDTH)
    x = torch.randn(shape, device="cuda") if kind != "i8" else torch.randint(-9, 9, shape)
    x = x.to("cuda", dtype)
    out_dtype = torch.int32 if kind == "i8" else torch.float32
    per_thread = plan.tile[0] * plan.tile[1] // plan.threads
    out = torch.empty(2 * sms, plan.threads, per_thread, device="cuda", dtype=out_dtype)
    time = burst({"loop": lambda: launch(x, out, rounds, plan)}, iters=10, rounds=5)["loop"]
    m, n, k = plan.tile
    return 2.0 * m * n * k * UNROLL * rounds * 2 * sms / (time * 1e-6)
