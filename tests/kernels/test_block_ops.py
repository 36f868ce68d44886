# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What the threads of a block do together: one table of small kernels, each with its result in
NumPy. Every kernel runs in the simulator, is assembled, and runs on a GPU where there is one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute, pipeline, utils
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack

arch = cute.arch
F32, F16, I32, I64, U32 = np.float32, np.float16, np.int32, np.int64, np.uint32
Array = Any


@cute.kernel
def case_kernel(body: cutlass.Constexpr, a: cute.Tensor, out: cute.Tensor) -> None:
    tid, _, _ = arch.thread_idx()
    body(a, out, tid)


@cute.jit
def run_case(
    body: cutlass.Constexpr, a: cute.Tensor, out: cute.Tensor, threads: cutlass.Constexpr
) -> None:
    case_kernel(body, a, out).launch(grid=1, block=threads)


@dataclass(frozen=True)
class Case:
    """A kernel's body, its input and its expected output."""

    name: str
    body: Any
    a: Array
    expected: Array
    threads: int
    start: Array
    tolerance: float


CASES: list[Case] = []


def case(
    a: Array,
    expected: Array,
    *,
    threads: int = 64,
    start: Array | None = None,
    tolerance: float = 0,
) -> Callable[[Any], Any]:
    """Add a case; `start` is what the output holds before, zeros if not given."""

    def add(body: Any) -> Any:
        want = np.asarray(expected)
        begin = np.zeros_like(want) if start is None else np.asarray(start)
        CASES.append(Case(body.__name__, cute.jit(body), a, want, threads, begin, tolerance))
        return body

    return add


def _rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


T = np.arange(64)
LANE, WARP = T % 32, T // 32
X32 = _rng(0).standard_normal(64).astype(F32)
X16 = _rng(1).standard_normal(64).astype(F16)
N32 = _rng(2).integers(-(2**31), 2**31, 64).astype(I32)
N64 = _rng(3).integers(-(2**62), 2**62, 64).astype(I64)
SMALL = _rng(4).integers(0, 4, 64).astype(I32)


# ---------------------------------------------------------------- shuffles
@case(X32, X32[T ^ 1])
def shuffle_bfly(a, out, tid):
    out[tid] = arch.shuffle_sync_bfly(a[tid], offset=1)


@case(X32, X32[WARP * 32 + 5])
def shuffle_idx(a, out, tid):
    out[tid] = arch.shuffle_sync(a[tid], 5)


@case(X16, X16[np.where(LANE + 3 < 32, T + 3, T)])
def shuffle_down_half(a, out, tid):
    out[tid] = arch.shuffle_sync_down(a[tid], 3)


@case(N64, N64[np.where(LANE >= 7, T - 7, T)])
def shuffle_up_long(a, out, tid):
    out[tid] = arch.shuffle_sync_up(a[tid], 7)


@case(N32, N32[T // 8 * 8 + (T % 8 + 1) % 8])
def shuffle_in_segments(a, out, tid):
    out[tid] = arch.shuffle_sync_op(a[tid], (tid + 1) % 8, 0xFFFFFFFF, (24 << 8) | 31, "idx")


@case((X32 > 0).astype(I32), (X32 > 0).astype(I32)[T ^ 16])
def shuffle_boolean(a, out, tid):
    out[tid] = arch.shuffle_sync_bfly(a[tid] > 0, 16).to(cutlass.Int32)


@case(np.arange(256, dtype=F16), np.arange(256, dtype=F16).reshape(64, 4)[T ^ 2].ravel())
def shuffle_vector(a, out, tid):
    tile = cute.zipped_divide(a, (4,))[None, tid]
    cute.zipped_divide(out, (4,))[None, tid].store(arch.shuffle_sync_bfly(tile.load(), 2))


@case(N32, N32[WARP * 32])
def warp_uniform(a, out, tid):
    out[tid] = arch.make_warp_uniform(a[tid])


# ---------------------------------------------------------------- votes
ODD = [bool(x % 2) for x in N32]
BALLOT = np.array([sum(1 << i for i in range(32) if ODD[w * 32 + i]) for w in (0, 1)], U32)


@case(N32, BALLOT[WARP].view(I32))
def ballot(a, out, tid):
    out[tid] = arch.vote_ballot_sync(a[tid] % 2 != 0)


@case(
    SMALL,
    np.array([4 + 2 * bool((SMALL[w * 32 : w * 32 + 32] == 3).any()) for w in WARP], I32),
)
def votes(a, out, tid):
    any_ = arch.vote_any_sync(a[tid] == 3)
    all_ = arch.vote_all_sync(a[tid] < 4)
    uni = arch.vote_uni_sync(tid % 2 == 0)
    out[tid] = all_.to(cutlass.Int32) * 4 + any_.to(cutlass.Int32) * 2 + uni.to(cutlass.Int32)


def _peers(keys: Array) -> Array:
    masks = [sum(1 << i for i in range(32) if keys[t // 32 * 32 + i] == keys[t]) for t in T]
    return np.array(masks, U32).view(I32)


@case(SMALL, _peers(SMALL))
def match_any(a, out, tid):
    out[tid] = arch.match_any_sync(a[tid])


@case(N64, np.where(WARP == 0, -1, 0).astype(I32))
def match_all_long(a, out, tid):
    key = a[tid] if tid >= 32 else cutlass.Int64(5)
    mask, equal = arch.match_all_sync(key)
    out[tid] = mask if equal else cutlass.Int32(0)


# ---------------------------------------------------------------- reductions
BY_WARP = N32.reshape(2, 32)


@case(
    N32,
    np.stack(
        [
            BY_WARP.sum(1, dtype=I32), BY_WARP.min(1), BY_WARP.max(1),
            np.bitwise_and.reduce(BY_WARP, 1), np.bitwise_or.reduce(BY_WARP, 1),
            np.bitwise_xor.reduce(BY_WARP, 1), BY_WARP.view(U32).max(1).view(I32),
        ]
    ).T.ravel(),
)  # fmt: skip
def redux_integers(a, out, tid):
    for i in cutlass.range_constexpr(6):
        kind = ("add", "min", "max", "and", "or", "xor")[i]
        out[tid // 32 * 7 + i] = arch.warp_redux_sync(a[tid], kind)
    out[tid // 32 * 7 + 6] = arch.warp_redux_sync(a[tid].to(cutlass.Uint32), "max").to(
        cutlass.Int32
    )


NANS = X32.copy()
NANS[40] = np.nan
FIRST, SECOND = X32[:32], np.delete(NANS[32:], 8)


@case(
    NANS,
    np.array(
        [
            FIRST.max(), FIRST.min(), FIRST.max(), abs(FIRST).max(),
            SECOND.max(), SECOND.min(), np.nan, abs(SECOND).max(),
        ],
        F32,
    ),
)  # fmt: skip
def redux_floats(a, out, tid):
    at = tid // 32 * 4
    out[at] = arch.warp_redux_sync(value=a[tid], kind="fmax")
    out[at + 1] = arch.warp_redux_sync(a[tid], "fmin")
    out[at + 2] = arch.warp_redux_sync(a[tid], "fmax", mask_and_clamp=0xFFFFFFFF, nan=True)
    out[at + 3] = arch.warp_redux_sync(a[tid], "fmax", abs=True)


@case(N32, np.repeat(N32.reshape(8, 8).max(1), 8))
def reduction_in_groups(a, out, tid):
    out[tid] = arch.warp_reduction_max(a[tid], threads_in_group=8)


@case(np.arange(64, dtype=F32), np.repeat([496.0, 1520.0], 32).astype(F32))
def reduction_sum(a, out, tid):
    out[tid] = arch.warp_reduction_sum(a[tid])


@case(N32, np.array([2], I32))
def one_of_each_warp(a, out, tid):
    with arch.elect_one():
        arch.atomic_add(out.iterator, 1)


@case(N32, np.array([1, 1], I32))
def what_one_lane_assigns(a, out, tid):
    x = 0
    for _ in range(1):
        with arch.elect_one():
            x = 7
            if a[tid] == 123456789:
                continue
    out[tid // 32] = arch.popc(arch.vote_ballot_sync(x == 7))


# ---------------------------------------------------------------- barriers and shared memory
@case(X32, X32[::-1])
def reversed_through_shared_memory(a, out, tid):
    s = utils.SmemAllocator().allocate_tensor(cutlass.Float32, 64)
    s[tid] = a[tid]
    arch.sync_threads()
    out[tid] = s[63 - tid]


@case(X32, X32[WARP * 32 + 31 - LANE])
def reversed_in_each_warp(a, out, tid):
    s = arch.alloc_smem(cutlass.Float32, 64, 128)
    (s + tid).store(a[tid])
    arch.sync_warp()
    out[tid] = (s + (tid ^ 31)).load()


@case(X32, np.concatenate([X32[:32], X32[:32] * 2]))
def producer_and_consumer_warps(a, out, tid):
    s = utils.SmemAllocator().allocate_tensor(cutlass.Float32, 32)
    full = pipeline.NamedBarrier(barrier_id=1, num_threads=64)
    if tid < 32:
        s[tid] = a[tid]
        full.arrive()
        out[tid] = a[tid]
    else:
        full.wait()
        out[tid] = s[tid - 32] * 2


@case(SMALL, np.array([(SMALL == 3).sum(), 1, 0], I32))
def barrier_reductions(a, out, tid):
    count = arch.barrier_red("popc", a[tid] == 3)
    some = arch.barrier_red("or", a[tid] == 3, barrier_id=2, number_of_threads=64)
    every = arch.barrier_red("and", a[tid] == 3)
    if tid == 0:
        out[0] = count
        out[1] = some.to(cutlass.Int32)
        out[2] = every.to(cutlass.Int32)


@cute.struct
class Inner:
    re: cutlass.Float32
    im: cutlass.Float32


@cute.struct
class Storage:
    halves: cute.struct.MemRange[cutlass.Float16, 64]
    count: cutlass.Int64
    inner: Inner
    wide: cute.struct.Align[cute.struct.MemRange[cutlass.Float32, 64], 128]


@case(X32, np.append(X32.astype(F16).astype(F32) + X32, [np.float32(71.5)]))
def struct_members(a, out, tid):
    storage = utils.SmemAllocator().allocate(Storage)
    storage.halves[tid] = a[tid].to(cutlass.Float16)
    wide = storage.wide.get_tensor(cute.make_layout((8, 8)))
    wide[tid] = a[tid]
    if tid == 1:
        storage.count = 64
        storage.inner.re = 7.5
    arch.sync_threads()
    out[tid] = storage.halves[tid].to(cutlass.Float32) + wide[tid]
    if tid == 0:
        out[64] = storage.inner.re.load() + storage.count.load().to(cutlass.Float32)


@case(X32, X32.view(I32))
def union_of_types(a, out, tid):
    @cute.union
    class Both:
        floats: cute.struct.MemRange[cutlass.Float32, 64]
        ints: cute.struct.MemRange[cutlass.Int32, 64]

    both = utils.SmemAllocator().allocate(Both)
    both.floats[tid] = a[tid]
    out[tid] = both.ints[tid]


@case(X32, X32 * 2)
def struct_across_branches(a, out, tid):
    storage = utils.SmemAllocator().allocate(Storage)
    if tid % 2 == 0:
        storage.wide[tid] = a[tid] * 2
    else:
        storage.wide[tid] = a[tid] + a[tid]
    for _ in range(2):
        storage.wide[tid] = storage.wide[tid] * 1
    out[tid] = storage.wide[tid]


SWIZZLED = np.arange(512, dtype=F16)


@case(SWIZZLED, SWIZZLED)
def swizzled_pointer(a, out, tid):
    """What goes in by a swizzled pointer comes out by it."""
    layout = cute.make_layout((8, 64), stride=(64, 1))
    s = utils.SmemAllocator().allocate_tensor(
        cutlass.Float16, layout, 128, cute.make_swizzle(3, 4, 3)
    )
    for i in range(8):
        s[i, tid] = a[i * 64 + tid]
    arch.sync_threads()
    for i in range(8):
        out[i * 64 + tid] = s[i, tid]


@case(
    SWIZZLED,
    SWIZZLED.reshape(8, 8, 8)[np.arange(8)[:, None], np.arange(8) ^ np.arange(8)[:, None]].ravel(),
)
def swizzled_addresses(a, out, tid):
    """Row r has its 16-byte pieces exchanged by r: seen through a pointer without the swizzle."""
    layout = cute.make_layout((8, 64), stride=(64, 1))
    plain = utils.SmemAllocator().allocate_tensor(cutlass.Float16, layout, 1024)
    ptr = cute.recast_ptr(plain.iterator, cute.make_swizzle(3, 4, 3))
    s = cute.make_tensor(ptr, layout)
    for i in range(8):
        s[i, tid] = a[i * 64 + tid]
    arch.sync_threads()
    for i in range(8):
        out[i * 64 + tid] = plain[i, tid]


@case(np.arange(256, dtype=F32), np.arange(256, dtype=F32).reshape(64, 4)[T ^ (T // 8)].ravel())
def swizzled_instructions(a, out, tid):
    """cp.async and loads with hints put the swizzle of their pointers on, too."""
    plain = utils.SmemAllocator().allocate_tensor(cutlass.Float32, 256, 1024)
    s = cute.recast_ptr(plain.iterator, cute.make_swizzle(3, 4, 3))
    to = (s + tid * 4).align(16)
    arch.cp_async(to, (a.iterator + tid * 4).align(16), 16)
    arch.cp_async_commit_group()
    arch.cp_async_wait_all()
    arch.sync_threads()
    v = arch.load(to, num_elements=4)
    arch.atomic_add(to, 1.0, scope="cta")
    arch.atomic_add(to, -1.0, scope="cta")
    arch.sync_threads()
    for i in cutlass.range_constexpr(4):
        out[tid * 4 + i] = plain[tid * 4 + i] + (v[i] - a[tid * 4 + i])


# ---------------------------------------------------------------- atomics
@case(SMALL, np.bincount(SMALL, minlength=4).astype(I32))
def histogram(a, out, tid):
    arch.atomic_add(out.iterator + a[tid], 1, sem="relaxed", scope="gpu")


@case(np.arange(64, dtype=F32), np.array([2016.0], F32))
def atomic_add_shared(a, out, tid):
    s = arch.alloc_smem(cutlass.Float32, 1)
    if tid == 0:
        s.store(0.0)
    arch.sync_threads()
    arch.atomic_add(s, a[tid], scope="cta")
    arch.sync_threads()
    if tid == 0:
        out[0] = s.load()


@case(
    N32,
    np.array(
        [
            np.bitwise_and.reduce(N32),
            np.bitwise_or.reduce(N32),
            np.bitwise_xor.reduce(N32),
            N32.min(),
            N32.max(),
        ],
        I32,
    ),
    start=np.array([-1, 0, 0, 2**31 - 1, -(2**31)], I32),
)
def atomic_integers(a, out, tid):
    arch.atomic_and(out.iterator, a[tid])
    arch.atomic_or(out.iterator + 1, a[tid])
    arch.atomic_xor(out.iterator + 2, a[tid])
    arch.atomic_min(out.iterator + 3, a[tid])
    arch.atomic_max(out.iterator + 4, a[tid])


@case(
    N32.view(U32),
    np.array([N32.view(U32).min(), N32.view(U32).max()], U32),
    start=np.array([2**32 - 1, 0], U32),
)
def atomic_unsigned(a, out, tid):
    arch.atomic_min(out.iterator, a[tid])
    arch.atomic_max(out.iterator + 1, a[tid])


@case(
    X32,
    np.array([X32.max(), X32.min(), abs(X32).max()], F32),
    start=np.array([-np.inf, np.inf, 0], F32),
)
def atomic_floats(a, out, tid):
    arch.atomic_fmax(out.iterator, a[tid], sem="relaxed", scope="gpu")
    arch.atomic_fmin(out.iterator + 1, a[tid])
    arch.atomic_fmax(out.iterator + 2, a[tid] if a[tid] >= 0 else -a[tid], sign_bit=False)


@case(N32, np.array([64 % 10, 0, 1], I32), start=np.array([0, 63, 0], I32))
def atomic_counters(a, out, tid):
    arch.atomic_inc(out.iterator, 9)
    if tid > 0:
        arch.atomic_dec(out.iterator + 1, 100)
    old = arch.atomic_cas(out.iterator + 2, 0, 1)
    if old > 1:
        out[2] = 99


@case(N32, np.array([64, 7], I32))
def through_llvm_pointers(a, out, tid):
    arch.atomic_add(out.iterator.llvm_ptr, cutlass.Int32(1))
    if tid == 0:
        arch.store((out.iterator + 1).llvm_ptr, cutlass.Int32(7), sem="relaxed", scope="gpu")
        v = arch.load((out.iterator + 1).llvm_ptr, cutlass.Int32, sem="relaxed", scope="sys")
        out[1] = v


@case(np.ones(64, F16), np.array([64.0], F16))
def atomic_half(a, out, tid):
    arch.atomic_add(out.iterator, a[tid])


@case(N64, np.array([N64.sum()], I64))
def atomic_long(a, out, tid):
    arch.red_add(out.iterator, a[tid])


@case(SMALL, np.array([64], I32))
def exchange_loses_nothing(a, out, tid):
    s = arch.alloc_smem(cutlass.Int32, 1)
    if tid == 0:
        s.store(0)
    arch.sync_threads()
    mine = arch.atomic_exch(s, 1)
    arch.atomic_add(out.iterator, mine)
    arch.sync_threads()
    if tid == 0:
        out[0] = out[0] + s.load()


# ---------------------------------------------------------------- loads, stores, copies
@case(X32, X32 + 1)
def hints(a, out, tid):
    v = arch.load(a.iterator + tid, cutlass.Float32, cop="cg")
    w = arch.load(a.iterator + tid, level1_eviction_priority="evict_last", level_prefetch_size=128)
    arch.store(out.iterator + tid, v * 0 + w + 1, cop="cs")


@case(N32, N32)
def ordered(a, out, tid):
    v = arch.load(a.iterator + tid, cutlass.Int32, sem="acquire", scope="sys")
    arch.store(out.iterator + tid, v, sem="release", scope="gpu")


@case(np.arange(256, dtype=F32), np.arange(256, dtype=F32))
def wide(a, out, tid):
    v = arch.load((a.iterator + tid * 4).align(16), num_elements=4, cop="nc")
    arch.store((out.iterator + tid * 4).align(16), v)


@case(
    np.arange(256, dtype=F32),
    np.where(np.arange(256) % 4 < np.arange(256) // 4 % 5, np.arange(256), 0).astype(F32),
)
def cp_async_with_zeros(a, out, tid):
    s = utils.SmemAllocator().allocate_tensor(cutlass.Float32, 256, 16)
    arch.cp_async(
        (s.iterator + tid * 4).align(16), (a.iterator + tid * 4).align(16), 16, cache="cg",
        src_bytes=tid % 5 * 4,
    )  # fmt: skip
    arch.cp_async_commit_group()
    arch.cp_async_wait_group(0)
    arch.sync_threads()
    for i in range(4):
        out[i * 64 + tid] = s[i * 64 + tid]


@case(X32, X32)
def cp_async_in_two_groups(a, out, tid):
    s = utils.SmemAllocator().allocate_tensor(cutlass.Float32, 64, 16)
    if tid < 32:
        arch.cp_async(s.iterator + tid, a.iterator + tid, 4)
        arch.cp_async_commit_group()
        arch.cp_async(s.iterator + tid + 32, a.iterator + tid + 32, 4)
        arch.cp_async_commit_group()
        arch.cp_async_wait_group(1)
        out[tid] = s[tid]
        arch.cp_async_wait_all()
        out[tid + 32] = s[tid + 32]


@case(X32, X32)
def fences(a, out, tid):
    out[tid] = a[tid]
    arch.fence_acq_rel_cta()
    arch.fence_acq_rel_gpu()
    arch.fence_sc("sys")
    arch.fence_proxy("async.shared", space="cta")
    arch.fence_view_async_shared()
    arch.nanosleep(sleep_time=20)


# ---------------------------------------------------------------- arithmetic
def _bits(x: int) -> list[int]:
    u = x & 0xFFFFFFFF
    return [u.bit_count() if hasattr(u, "bit_count") else bin(u).count("1"), 32 - u.bit_length()]


@case(N32, np.array([sum(_bits(int(x))) for x in N32], I32))
def bit_counts(a, out, tid):
    out[tid] = arch.popc(a[tid]) + arch.clz(a[tid])


@case(
    N32,
    np.array(
        [int.from_bytes((int(x) & 0xFFFFFFFF).to_bytes(4, "little"), "big") for x in N32], U32
    ).view(I32),
)
def byte_swap(a, out, tid):
    out[tid] = arch.prmt(a[tid], 0, 0x0123)


@case(X32, (X32.astype(np.float64) * X32 + X32[::-1]).astype(F32))
def packed_fma(a, out, tid):
    x, y = a[tid], a[63 - tid]
    out[tid], _ = arch.fma_packed_f32x2((x, y), (x, y), (y, x))


@case(X32, np.maximum(np.maximum(X32, 0.25), -X32))
def three_way_maximum(a, out, tid):
    out[tid] = arch.fmax(a[tid], 0.25, -a[tid])


@case(X32, (1 / X32.astype(np.float64)).astype(F32), tolerance=2e-7)
def reciprocal(a, out, tid):
    out[tid] = arch.rcp_approx(a[tid])


# ---------------------------------------------------------------- registers
@case(N32, ((1 << LANE.astype(np.uint64)) - 1).astype(U32).view(I32))
def lane_masks(a, out, tid):
    out[tid] = arch.lanemask_lt().to(cutlass.Int32)


@case(N32, np.array([0, 1, 0, 1, 1024], I32))
def clusters_of_one_block(a, out, tid):
    _ = utils.SmemAllocator().allocate(1024)
    if tid == 0:
        out[0] = arch.block_idx_in_cluster()
        out[1] = arch.cluster_size()
        out[2] = arch.cluster_idx()[0] + arch.block_in_cluster_idx()[1]
        out[3] = arch.cluster_dim()[2] * arch.block_in_cluster_dim()[0]
        out[4] = arch.dynamic_smem_size()


def _call(c: Case, where: str) -> Array:
    a, out = c.a.copy(), c.start.copy()
    with KNOBS.override(target=where):
        run_case(c.body, from_dlpack(a), from_dlpack(out), c.threads)
    return out


def _compare(c: Case, found: Array) -> None:
    if c.tolerance:
        np.testing.assert_allclose(found, c.expected, rtol=c.tolerance)
    else:
        np.testing.assert_array_equal(found, c.expected)


@pytest.mark.t1
@pytest.mark.parametrize("c", CASES, ids=lambda c: c.name)
def test_simulator(c: Case) -> None:
    _compare(c, _call(c, "sim:sm_90a"))


@pytest.mark.t1
@pytest.mark.parametrize("name", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
def test_machine_code(name: str) -> None:
    for c in CASES:
        with KNOBS.override(target=f"sim:{name}"):
            made = cute.compile(run_case, c.body, from_dlpack(c.a), from_dlpack(c.start), c.threads)
            assert ".target " + name in made.__ptx__


@pytest.mark.t2
@pytest.mark.parametrize("c", CASES, ids=lambda c: c.name)
def test_gpu(c: Case) -> None:
    _compare(c, _call(c, "cuda"))
