# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Products of warpgroups in the simulator against NumPy, through real descriptors; and each fault
beside the kernel that is right."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from lang.hopper.products import MN, RMEM, SMEM, K, kinds_of, operands, run
from opencute import cute, utils
from opencute.arch.descriptors import Strides
from opencute.base.errors import RaceError, SimulationError, UninitializedError
from opencute.base.knobs import KNOBS
from opencute.cute.nvgpu import warpgroup
from opencute.cute.runtime import from_dlpack
from opencute.lang.hopper.descriptors import Descriptor

pytestmark = pytest.mark.t0

F16, BF16, F32 = cutlass.Float16, cutlass.BFloat16, cutlass.Float32
E4M3, E5M2 = cutlass.Float8E4M3FN, cutlass.Float8E5M2
S8, U8, S32 = cutlass.Int8, cutlass.Uint8, cutlass.Int32


def _op(types: tuple[Any, ...], n: int, *rest: Any) -> Any:
    a, b, acc = types
    if a in (F16, BF16):
        return warpgroup.MmaF16BF16Op(a, acc, (64, n), *rest)
    if a is cutlass.TFloat32:
        return warpgroup.MmaTF32Op((64, n), *rest)
    kind = warpgroup.MmaI8Op if a in (S8, U8) else warpgroup.MmaF8Op
    return kind(a, b, acc, (64, n), *rest)


TYPES = [
    (F16, F16, F32), (F16, F16, F16), (BF16, BF16, F32), (cutlass.TFloat32, cutlass.TFloat32, F32),
    *((a, b, acc) for a in (E4M3, E5M2) for b in (E4M3, E5M2) for acc in (F32, F16)),
    *((a, b, S32) for a in (S8, U8) for b in (S8, U8)),
]  # fmt: skip
WIDTHS = ("SW128", "SW64", "SW32", "INTER")


@pytest.mark.parametrize("source", [SMEM, RMEM], ids=["ss", "rs"])
@pytest.mark.parametrize("types", TYPES, ids=lambda t: ".".join(x.__name__ for x in t))
def test_all_types(types: Any, source: Any):
    at = TYPES.index(types) * 2 + (source is RMEM)
    integer = types[2] is S32
    for turn in range(2):
        n = (8, 16, 24, 32, 48, 96, 160, 256)[(at + 3 * turn) % 8]
        if not integer:
            n = 8 * (1 + (11 * at + 17 * turn) % 32)
        op = _op(types, n, source)
        k = 2 * op.shape[2]
        width = WIDTHS[(at + turn) % 4]
        k = max(k, 8 * int(width[2:] if width != "INTER" else 16) // op.a_dtype.width)
        run(op, kinds_of(K, K, width), 64, n, k)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("majors", [(K, K), (K, MN), (MN, K), (MN, MN)])
def test_all_majors_and_swizzles(majors: Any, width: str):
    op = _op((F16, F16, F32), 64, SMEM, *majors)
    run(op, kinds_of(*majors, width), 64, 64, 64)


def test_every_third_n():
    for n in range(40, 257, 24):
        run(_op((F16, F16, F32), n), kinds_of(K, K, "SW32"), 64, n, 16)


def test_tiles_of_several_instructions():
    run(_op((BF16, BF16, F32), 64, SMEM, K, MN), kinds_of(K, MN, "SW128"), 128, 128, 128)
    run(_op((F16, F16, F32), 64), kinds_of(K, K, "SW128"), 256, 64, 64, (2, 1, 1))
    run(_op((F16, F16, F32), 32, RMEM, K, MN), kinds_of(K, MN, "SW64"), 128, 64, 32, (1, 2, 1))


def test_tf32_is_cut_not_rounded():
    op = warpgroup.MmaTF32Op((64, 8))
    a, b, _ = operands(op, 64, 8, 32)
    a = abs(a) + np.float32(2.0**-11)
    c = np.zeros((64, 8), np.float32)
    _host(a, b, c, op, kinds_of(K, K, "SW128"))
    cut = (a.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    np.testing.assert_array_equal(c, cut @ b.T)
    assert (c != a @ b.T).any()


def _host(a: Any, b: Any, c: Any, op: Any, kinds: Any) -> None:
    from lang.hopper.products import host

    host(from_dlpack(a), from_dlpack(b), from_dlpack(c), op, (1, 1, 1), kinds)


# ---------------------------------------------------------------- faults, one at a time
N = 32


@cute.kernel
def faulty(
    mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, tiled: cute.TiledMma,
    fault: cutlass.Constexpr, threads: cutlass.Constexpr,
):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    atom = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_SW128, F16)
    la, lb = cute.tile_to_shape(atom, (64, 64), (0, 1)), cute.tile_to_shape(atom, (N, 64), (0, 1))
    smem = utils.SmemAllocator()
    sA = smem.allocate_tensor(F16, la.outer, 1024, la.inner)
    sB = smem.allocate_tensor(F16, lb.outer, 1024, lb.inner)
    for i in range(tidx, cute.size(sA), threads):
        sA[i] = mA[i]
    if cutlass.const_expr(fault != "nobody wrote B"):
        for i in range(tidx, cute.size(sB), threads):
            sB[i] = mB[i]
    if cutlass.const_expr(fault != "no proxy fence"):
        cute.arch.fence_proxy("async.shared", space="cta")
    if cutlass.const_expr(fault != "no barrier"):
        cute.arch.sync_threads()
    thr = tiled.get_slice(tidx % 128)
    tCgC = thr.partition_C(mC)
    acc = tiled.make_fragment_C(tCgC.shape)
    tCrA = tiled.make_fragment_A(thr.partition_A(sA))
    tCrB = tiled.make_fragment_B(thr.partition_B(sB))
    if cutlass.const_expr(fault == "start"):
        tCrA = cute.make_tensor(tCrA.iterator + 8, tCrA.layout)
    elif cutlass.const_expr(fault == "stride"):
        tCrB = _with(tCrB, Strides(16, 512, 128))
    elif cutlass.const_expr(fault == "swizzle"):
        tCrB = _with(tCrB, Strides(16, 1024, 64))
    elif cutlass.const_expr(fault == "outside"):
        tCrB = _with(tCrB, Strides(16, 1 << 16, 128))
    elif cutlass.const_expr(fault == "threads disagree"):
        tCrB = cute.make_tensor(tCrB.iterator + tidx % 2, tCrB.layout)
    elif cutlass.const_expr(fault == "warps disagree"):
        tCrB = cute.make_tensor(tCrB.iterator + tidx // 64, tCrB.layout)
    if cutlass.const_expr(fault == "filled in part"):
        acc[0] = F32(0.0)
    else:
        acc.fill(0.0)
    if cutlass.const_expr("no fence" not in fault):
        warpgroup.fence()
    if cutlass.const_expr("made anew" in fault):
        acc = cute.make_rmem_tensor_like(acc)
        tiled.set(warpgroup.Field.ACCUMULATE, "added to" in fault)
    if cutlass.const_expr(fault == "written after the fence"):
        acc[3] = F32(0.0)
    if cutlass.const_expr("a warp is missing" in fault):
        if tidx < 96:
            cute.gemm(tiled, acc, tCrA, tCrB, acc)
    else:
        cute.gemm(tiled, acc, tCrA, tCrB, acc)
    if cutlass.const_expr(fault != "no commit"):
        warpgroup.commit_group()
    if cutlass.const_expr(fault == "overwritten before the wait"):
        sB[tidx] = F16(0.0)
    if cutlass.const_expr(fault == "one group left"):
        warpgroup.wait_group(1)
    elif cutlass.const_expr("no wait" not in fault):
        warpgroup.wait_group(0)
    if cutlass.const_expr(fault == "overwritten without a barrier"):
        sB[tidx] = F16(0.0)
    if cutlass.const_expr(fault == "overwritten after a barrier"):
        cute.arch.sync_threads()
        sB[tidx] = F16(0.0)
    if cutlass.const_expr(fault == "a warp is missing, and no wait"):
        acc = cute.make_rmem_tensor_like(acc)
        acc.fill(0.0)
    cute.basic_copy(acc, tCgC)


def _with(tensor: Any, strides: Strides) -> Any:
    old = tensor.iterator
    low = old.low - old.strides.low + strides.low
    return cute.make_tensor(
        Descriptor(low, strides, old.dtype, old.mn_major, old.shape), tensor.layout
    )


@cute.jit
def launch(
    mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, fault: cutlass.Constexpr,
    threads: cutlass.Constexpr,
):  # fmt: skip
    tiled = cute.make_tiled_mma(warpgroup.MmaF16BF16Op(F16, F32, (64, N, 16), SMEM, K, K))
    faulty(mA, mB, mC, tiled, fault, threads).launch(grid=1, block=threads, smem=16384)


def product(fault: str, threads: int = 128) -> bool:
    """Whether the numbers are right."""
    rng = np.random.default_rng(1)
    a = rng.integers(-4, 5, (64, 64)).astype(np.float16)
    b = rng.integers(-4, 5, (N, 64)).astype(np.float16)
    c = np.zeros((64, N), np.float32)
    launch(from_dlpack(a), from_dlpack(b), from_dlpack(c), fault, threads)
    return bool((c == a.astype(np.float32) @ b.astype(np.float32).T).all())


def test_the_kernel_without_a_fault():
    assert product("")
    assert product("", 256)  # both warpgroups do the same
    assert product("made anew")  # registers that nothing has touched need no further fence


@pytest.mark.parametrize("fault", ["start", "stride", "swizzle"])
def test_a_wrong_descriptor_gives_wrong_numbers(fault: str):
    assert not product(fault)


@pytest.mark.parametrize(
    ("fault", "code", "words"),
    [
        ("outside", "OC3042", "operand B of a product leaves shared memory"),
        ("threads disagree", "OC3043", "disagree on the descriptor of B"),
        ("warps disagree", "OC3044", "start different products: warpgroup 0"),
        ("a warp is missing", "OC3501", "the other warps of the warpgroup, to start the product"),
        ("a warp is missing, and no wait", "OC3045", "not all warps of a warpgroup take part"),
        ("no fence", "OC3041", "no fence has ordered"),
        ("made anew, and no fence", "OC3041", "no fence has ordered"),
        ("written after the fence", "OC3041", "no fence has ordered"),
        ("no commit", "OC3040", "an accumulator is read while a product"),
        ("no wait", "OC3040", "an accumulator is read while a product"),
        ("one group left", "OC3040", "an accumulator is read while a product"),
    ],
)
def test_faults_are_reported(fault: str, code: str, words: str):
    with pytest.raises(SimulationError, match=words) as e:
        product(fault)
    assert e.value.code == code and e.value.loc is not None


def test_garbage_goes_through_a_product():
    with pytest.raises(UninitializedError, match="a store to memory"):
        product("nobody wrote B")


@pytest.mark.parametrize(
    ("fault", "element"), [("made anew, and added to", 0), ("filled in part", 1)]
)
def test_a_product_adds_to_an_accumulator_that_nothing_filled(fault: str, element: int):
    """What a product of `made anew` overwrites is no garbage; what it adds to is."""
    with pytest.raises(UninitializedError, match=rf"a store to memory.*element {element}\b") as e:
        product(fault)
    assert e.value.code == "OC3301"
    assert re.search(r"read by cute\.wgmma at .*, from bytes of registers", e.value.hint or "")


# ---------------------------------------------------------------- what the checking mode finds
@pytest.mark.parametrize("fault", ["", "overwritten after a barrier"])
@pytest.mark.parametrize("seed", [0, 3])
def test_right_kernels_pass_the_checks(fault: str, seed: int):
    with KNOBS.override(sim_check=True, sim_seed=seed):
        assert product(fault)


@pytest.mark.parametrize("seed", [0, 3])
def test_a_warp_waits_for_its_own_part_of_a_product(seed: int):
    """A warp that has waited knows that the product has read for it; the others' parts are over as
    well, on GPUs, but the manual does not say so."""
    fault = "overwritten without a barrier"
    with (
        KNOBS.override(sim_check=True, sim_seed=seed),
        pytest.warns(RuntimeWarning, match="OC3410.*lets each warp wait for its own"),
    ):
        assert product(fault)


def test_that_is_an_error_where_only_what_the_manual_says_counts():
    with (
        KNOBS.override(sim_check=True, sim_strict=True),
        pytest.raises(RaceError, match="not all warps that started it") as e,
    ):
        product("overwritten without a barrier")
    assert e.value.code == "OC3410" and e.value.loc is not None
    with KNOBS.override(sim_check=True, sim_strict=True):
        assert product("overwritten after a barrier")


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("no proxy fence", "no proxy fence between them"),
        ("no barrier", "no order between them"),
        ("overwritten before the wait", "a product of a warpgroup"),
    ],
)
def test_races_with_products_are_found(fault: str, words: str):
    with KNOBS.override(sim_check=True), pytest.raises(RaceError, match=words) as e:
        product(fault)
    assert e.value.loc is not None


def test_a_buffer_that_is_overwritten_too_early_gives_wrong_numbers():
    assert not product("overwritten before the wait")
    assert product("overwritten without a barrier")


@cute.kernel
def drifting(mA: cute.Tensor, mC: cute.Tensor, tiled: cute.TiledMma):
    """Warps come one by one, and overwrite what others read once they have waited."""
    tidx, _, _ = cute.arch.thread_idx()
    atom = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_SW32, F16)
    layout = cute.tile_to_shape(atom, (64, 16), (0, 1))
    sA = utils.SmemAllocator().allocate_tensor(F16, layout.outer, 1024, layout.inner)
    for i in range(tidx, cute.size(sA), 128):
        sA[i] = mA[i]
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    thr = tiled.get_slice(tidx)
    tCgC = thr.partition_C(mC)
    acc = tiled.make_fragment_C(tCgC.shape)
    acc.fill(0.0)
    tCrA = tiled.make_fragment_A(thr.partition_A(sA))
    tCrB = tiled.make_fragment_B(thr.partition_B(sA))
    if tidx < 64:
        cute.arch.barrier(barrier_id=1, number_of_threads=64)
    warpgroup.fence()
    cute.gemm(tiled, acc, tCrA, tCrB, acc)
    warpgroup.commit_group()
    if tidx < 32:
        cute.arch.nanosleep(10)
    warpgroup.wait_group(0)
    sA[(tidx * 8 + 517) % 1024] = F16(0.0)
    cute.basic_copy(acc, tCgC)


@cute.jit
def launch_drifting(mA: cute.Tensor, mC: cute.Tensor):
    tiled = cute.make_tiled_mma(warpgroup.MmaF16BF16Op(F16, F32, (64, 64, 16), SMEM, K, K))
    drifting(mA, mC, tiled).launch(grid=1, block=128)


@pytest.mark.parametrize("seed", range(4))
def test_a_product_is_one_for_all_four_warps(seed: int):
    a = np.random.default_rng(5).integers(-4, 5, (64, 16)).astype(np.float16)
    c = np.zeros((64, 64), np.float32)
    with (
        KNOBS.override(sim_check=True, sim_seed=seed),
        pytest.warns(RuntimeWarning, match="OC3410"),
    ):
        launch_drifting(from_dlpack(a), from_dlpack(c))
    np.testing.assert_array_equal(c, a.astype(np.float32) @ a.astype(np.float32).T)
