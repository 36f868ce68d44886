# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How fast the simulator is, in CPU seconds, so that a busy machine does not matter.

    python benchmarks/simulator.py [--only NAME] [--check] [--examples] [--json FILE]

Each kernel runs once to be compiled and then until a second is spent. A lane-op is one operation of
the IR in one thread, a vector counting as one. With --check, each is also run while races are
looked for; with --examples, so are some public examples (OPENCUTE_UPSTREAM), whole processes.
"""

import argparse
import gc
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "examples")]

import add_tiled_copy  # noqa: E402
import relu_2d  # noqa: E402

import cutlass  # noqa: E402 - after the path is set
import cutlass.cute as cute  # noqa: E402
import cutlass.utils as utils  # noqa: E402
from cutlass.cute.runtime import from_dlpack  # noqa: E402
from opencute.base.knobs import KNOBS  # noqa: E402
from opencute.kernels.gemm import HopperConfig, gemm  # noqa: E402
from opencute.sim.simulator import Simulator  # noqa: E402

RNG = np.random.default_rng(0)


@cute.kernel
def scalar_add_kernel(gA: cute.Tensor, gB: cute.Tensor, gC: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdim, _, _ = cute.arch.block_dim()
    i = bidx * bdim + tidx
    _, n = gA.shape
    gC[i // n, i % n] = gA[i // n, i % n] + gB[i // n, i % n]


@cute.jit
def scalar_add(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
    scalar_add_kernel(mA, mB, mC).launch(grid=cute.size(mA) // 256, block=256)


TILE = 16


@cute.kernel
def smem_matmul_kernel(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    smem = utils.SmemAllocator()
    sA = smem.allocate_tensor(cutlass.Float32, cute.make_layout((TILE, TILE), stride=(TILE, 1)))
    sB = smem.allocate_tensor(cutlass.Float32, cute.make_layout((TILE, TILE), stride=(TILE, 1)))
    row, col = by * TILE + ty, bx * TILE + tx
    acc = cutlass.Float32(0.0)
    for t in range(mA.shape[1] // TILE):
        sA[ty, tx] = mA[row, t * TILE + tx]
        sB[ty, tx] = mB[t * TILE + ty, col]
        cute.arch.sync_threads()
        for k in cutlass.range_constexpr(TILE):
            acc += sA[ty, k] * sB[k, tx]
        cute.arch.sync_threads()
    mC[row, col] = acc


@cute.jit
def smem_matmul(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
    grid = (mC.shape[1] // TILE, mC.shape[0] // TILE, 1)
    smem_matmul_kernel(mA, mB, mC).launch(grid=grid, block=(TILE, TILE, 1))


@cute.kernel
def tensor_tile_kernel(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, mma: cute.TiledMma):
    tid, _, _ = cute.arch.thread_idx()
    bm, bn, _ = cute.arch.block_idx()
    thr = mma.get_slice(tid)
    tA = thr.partition_A(cute.local_tile(mA, (128, 32), (bm, None)))
    tB = thr.partition_B(cute.local_tile(mB, (128, 32), (bn, None)))
    tC = thr.partition_C(cute.local_tile(mC, (128, 128), (bm, bn)))
    rA = mma.make_fragment_A(tA[None, None, None, 0])
    rB = mma.make_fragment_B(tB[None, None, None, 0])
    rC = mma.make_fragment_C(tC)
    rC.fill(0.0)
    for k in range(cute.size(tA, mode=[3])):
        cute.autovec_copy(tA[None, None, None, k], rA)
        cute.autovec_copy(tB[None, None, None, k], rB)
        cute.gemm(mma, rC, rA, rB, rC)
    cute.autovec_copy(rC, tC)


@cute.jit
def tensor_tile(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
    op = cute.nvgpu.warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
    mma = cute.make_tiled_mma(op, (2, 2, 1), permutation_mnk=(32, 32, 16))
    grid = (mC.shape[0] // 128, mC.shape[1] // 128, 1)
    tensor_tile_kernel(mA, mB, mC, mma).launch(grid=grid, block=mma.size)


def floats(shape, dtype=np.float32):
    return RNG.integers(-3, 4, shape).astype(dtype)


def call(fn, *arrays):
    args = [from_dlpack(a, assumed_align=16) for a in arrays]
    return lambda: fn(*args)


def cases():
    """Name, what to call, floating-point operations."""
    a, b, c = (floats((1024, 1024)) for _ in range(3))
    yield "scalar add 1024x1024 f32", call(scalar_add, a, b, c), a.size
    x = floats((1024, 1024), np.float16)
    yield "relu_2d 1024x1024 f16", lambda: relu_2d.kernel_fn(x), 0
    yield "add_tiled_copy 1024x1024 f32", lambda: add_tiled_copy.kernel_fn(a, b), a.size
    p, q, r = (floats((256, 256)) for _ in range(3))
    yield "smem matmul 256^3 f32", call(smem_matmul, p, q, r), 2 * 256**3
    h, g, s = floats((256, 64), np.float16), floats((256, 64), np.float16), floats((256, 256))
    yield "mma 256x256x64 f16", call(tensor_tile, h, g, s), 2 * 256 * 256 * 64
    h, g, s = floats((512, 512), np.float16), floats((512, 512), np.float16), floats((512, 512))
    yield "mma 512x512x512 f16", call(tensor_tile, h, g, s), 2 * 512**3
    h, g = floats((512, 512), np.float16), floats((512, 512), np.float16)
    config = HopperConfig((128, 128))
    yield "wgmma 512x512x512 f16", lambda: gemm(h, g, config=config), 2 * 512**3


def public_example(path, *arguments):
    """CPU seconds of `opencute run` on a public example, imports included."""
    base = KNOBS.upstream
    if base is None or not (Path(base) / path).exists():
        return None
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OPENCUTE_TARGET": "sim"}
    command = [sys.executable, "-m", "opencute.tools", "run", str(Path(base) / path), *arguments]
    spent = lambda u: u.ru_utime + u.ru_stime  # noqa: E731
    before = spent(resource.getrusage(resource.RUSAGE_CHILDREN))
    subprocess.run(command, env=environment, check=True, capture_output=True)
    return spent(resource.getrusage(resource.RUSAGE_CHILDREN)) - before


AMPERE = "examples/python/CuTeDSL/cute/ampere/kernel"
ONCE = ("--warmup_iterations", "0", "--iterations", "1")
EXAMPLES = {
    "tensorop_gemm 128x128x64": (
        f"{AMPERE}/dense_gemm/tensorop_gemm.py", "--mnkl", "128,128,64,1", *ONCE,
    ),
    "flash_attention_v2 128x192x64": (
        f"{AMPERE}/attention/flash_attention_v2.py", "--batch_size", "1", "--seqlen_q", "128",
        "--seqlen_k", "192", "--num_head", "1", "--head_dim", "64", *ONCE,
    ),
    "elementwise_add.py": (f"{AMPERE}/elementwise/elementwise_add.py", *ONCE),
}  # fmt: skip


def lane_ops():
    return sum(s.report.lane_ops for s in gc.get_objects() if isinstance(s, Simulator))


def measure(fn, seconds=1.0):
    """CPU seconds and lane-ops of one call."""
    fn()
    fn()  # compiled helpers too
    ops, count = lane_ops(), 0
    start = time.process_time()
    while True:
        fn()
        count += 1
        spent = time.process_time() - start
        if spent > seconds:
            return spent / count, (lane_ops() - ops) / count


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--examples", action="store_true")
    parser.add_argument("--json")
    options = parser.parse_args()
    rows = []
    with KNOBS.override(target="sim"):
        for name, fn, flops in cases():
            if options.only not in name:
                continue
            for check in (False, True) if options.check else (False,):
                with KNOBS.override(sim_check=check):
                    cpu, ops = measure(fn)
                row = {"kernel": name, "check": check, "cpu_s": cpu, "lane_ops": ops,
                       "G_lane_ops_per_s": ops / cpu / 1e9,
                       "gflops": flops / cpu / 1e9}  # fmt: skip
                rows.append(row)
                print(f"{name:32} {'check' if check else 'plain'}  {cpu * 1e3:9.1f} ms  "
                      f"{row['G_lane_ops_per_s']:6.3f} G lane-ops/s  "
                      f"{row['gflops']:6.3f} GFLOP/s", flush=True)  # fmt: skip
    for name, command in EXAMPLES.items() if options.examples else ():
        cpu = public_example(*command)
        if cpu is not None:
            rows.append({"example": name, "cpu_s": cpu})
            print(f"{name:32} whole process {cpu:6.1f} s", flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
